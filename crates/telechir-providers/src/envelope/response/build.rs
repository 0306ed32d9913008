//! Builds a provider's response around encoded messages or items.

use serde_json::{Map, Value, json};

use super::{NO_ID, ResponseHead};
use crate::Report;
use crate::envelope::api::Api;
use crate::envelope::finish::{self, Finish};
use crate::envelope::members::put;
use crate::envelope::usage;
use crate::google::PLACEHOLDER;

/// Encloses the encoded contents.
pub(super) fn response(
    api: Api,
    head: &ResponseHead,
    items: Vec<Value>,
    report: &mut Report,
) -> Value {
    let mut document = match api {
        Api::Anthropic | Api::Invoke => anthropic(head, items, report),
        Api::Converse => {
            let content = joined(items, "assistant", "content", report);
            json!({"output": {"message": {"role": "assistant", "content": content}}})
        }
        Api::Generate => generate(items, report),
        Api::Responses => responses(head, items),
        Api::Interactions => {
            let is_made_up = |step: &Value| step.get("signature").is_some_and(is_placeholder);
            let steps: Vec<Value> = items.into_iter().filter(|step| !is_made_up(step)).collect();
            json!({"object": "interaction", "steps": steps})
        }
        Api::Chat | Api::Mistral => chat(head, items, report),
        Api::Conversations => json!({"object": "conversation.response", "outputs": items}),
        Api::Framework => json!({"type": "chat_response", "messages": items}),
        Api::Agents => agents(items),
    };
    add_head(api, head, &mut document, report);
    add_finish(api, head, &mut document, report);
    match &head.usage {
        Some(found) => usage::write(api, found, &mut document, report),
        None => add_unknown_usage(api, &mut document),
    }
    document
}

/// The content lists of all messages of the model.
fn joined(items: Vec<Value>, role: &str, member: &str, report: &mut Report) -> Vec<Value> {
    let mut joined = Vec::new();
    for (at, mut item) in items.into_iter().enumerate() {
        if item.get("role").is_some_and(|found| found != role) {
            let why = "the target's response holds only what the model wrote";
            report.lost("a message of the user", format!("messages[{at}]"), why);
            continue;
        }
        match item.get_mut(member).map(Value::take) {
            Some(Value::Array(list)) => joined.extend(list),
            Some(Value::String(text)) => joined.push(json!({"type": "text", "text": text})),
            _ => joined.push(item),
        }
    }
    joined
}

fn anthropic(head: &ResponseHead, items: Vec<Value>, report: &mut Report) -> Value {
    let content = joined(items, "assistant", "content", report);
    json!({
        "id": head.id.as_deref().unwrap_or(NO_ID),
        "type": "message",
        "role": "assistant",
        "model": head.model.as_deref().unwrap_or_default(),
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn generate(items: Vec<Value>, report: &mut Report) -> Value {
    let mut parts = joined(items, "model", "parts", report);
    // Only a request needs the placeholder of a signature.
    for part in parts.iter_mut().filter_map(Value::as_object_mut) {
        if part.get("thoughtSignature").is_some_and(is_placeholder) {
            part.shift_remove("thoughtSignature");
        }
    }
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn is_placeholder(signature: &Value) -> bool {
    signature == PLACEHOLDER
}

/// Items of a response have an id and a status, which those of a request may lack.
fn responses(head: &ResponseHead, items: Vec<Value>) -> Value {
    let status = match head.finish {
        Finish::MaxTokens | Finish::ContentFilter | Finish::Pause | Finish::ContextWindow => {
            "incomplete"
        }
        _ => "completed",
    };
    let output: Vec<Value> = items
        .into_iter()
        .enumerate()
        .map(|(at, item)| response_item(item, at))
        .collect();
    json!({
        "id": head.id.as_deref().unwrap_or(NO_ID),
        "object": "response",
        "created_at": seconds(head),
        "status": status,
        "model": head.model.as_deref().unwrap_or_default(),
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "error": null,
        "incomplete_details": null,
    })
}

fn response_item(item: Value, at: usize) -> Value {
    let Value::Object(mut item) = item else {
        return item;
    };
    let is_message = item.get("role").is_some();
    if is_message && !item.contains_key("type") {
        item.insert("type".to_owned(), "message".into());
    }
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let prefix = match kind {
        "message" => "msg",
        "function_call" => "fc",
        "computer_call" => "cu",
        "shell_call" => "sh",
        "reasoning" => "rs",
        _ => "item",
    };
    let id = format!("{prefix}_{at}");
    let has_status = kind != "reasoning";
    if !item.contains_key("id") {
        item.insert("id".to_owned(), id.into());
    }
    if has_status && !item.contains_key("status") {
        item.insert("status".to_owned(), "completed".into());
    }
    if is_message {
        output_parts(&mut item);
    }
    Value::Object(item)
}

/// A message of the model holds its text as parts of output.
fn output_parts(item: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = item.get("content") {
        let part = json!({"type": "output_text", "text": text});
        item.insert("content".to_owned(), Value::Array(vec![part]));
    }
    let parts = item.get_mut("content").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        if part["type"] == "output_text" && part.get("annotations").is_none() {
            part["annotations"] = json!([]);
        }
    }
}

/// One message for everything that the model wrote.
fn chat(head: &ResponseHead, items: Vec<Value>, report: &mut Report) -> Value {
    let mut message = json!({"role": "assistant", "content": null});
    for (at, item) in items.into_iter().enumerate() {
        let Value::Object(item) = item else { continue };
        if item.get("role").is_some_and(|role| role != "assistant") {
            let why = "the target's response holds only what the model wrote";
            report.lost("a message of another role", format!("messages[{at}]"), why);
            continue;
        }
        for (name, value) in item {
            merge(&mut message, &name, value);
        }
    }
    json!({
        "id": head.id.as_deref().unwrap_or(NO_ID),
        "object": "chat.completion",
        "created": seconds(head),
        "model": head.model.as_deref().unwrap_or_default(),
        "choices": [{"index": 0, "message": message, "finish_reason": null}],
    })
}

fn merge(message: &mut Value, name: &str, value: Value) {
    let joined = match (message[name].take(), value) {
        (Value::Array(mut all), Value::Array(more)) => {
            all.extend(more);
            Value::Array(all)
        }
        (Value::String(text), Value::String(more)) if name == "content" => {
            format!("{text}\n\n{more}").into()
        }
        (before, Value::Null) => before,
        (_, value) => value,
    };
    message[name] = joined;
}

/// The events of an agent's response.
fn agents(mut items: Vec<Value>) -> Value {
    let is_one = items.len() == 1;
    match items.pop() {
        Some(only) if is_one && only.get("completion").is_some() => only,
        Some(last) => {
            items.push(last);
            let events = items
                .into_iter()
                .flat_map(|item| match item.get("completion") {
                    Some(Value::Array(events)) => events.clone(),
                    _ => vec![item],
                });
            json!({"completion": events.collect::<Vec<_>>()})
        }
        None => json!({"completion": []}),
    }
}

/// Adds the id, the model and the time where the form has no place of its own for them.
fn add_head(api: Api, head: &ResponseHead, document: &mut Value, report: &mut Report) {
    let (id, model, created) = match api {
        Api::Generate => ("/responseId", "/modelVersion", "/createTime"),
        Api::Interactions => ("/id", "/model", "/created"),
        Api::Conversations => ("/conversation_id", "", ""),
        Api::Framework => ("/response_id", "/model_id", "/created_at"),
        Api::Anthropic | Api::Invoke => ("/id", "/model", ""),
        Api::Responses => ("/id", "/model", "/created_at"),
        Api::Chat | Api::Mistral => ("/id", "/model", "/created"),
        Api::Converse | Api::Agents => ("", "", ""),
    };
    let [id_at, model_at, created_at] = head.pointers;
    let why = "the target's response has no such member";
    match (&head.id, id) {
        (None, "/conversation_id" | "/id") => put(document, id, NO_ID),
        (None, _) => {}
        (Some(found), "") => report.lost(format!("response id `{found}`"), id_at, why),
        (Some(found), pointer) => put(document, pointer, found.as_str()),
    }
    match (&head.model, model) {
        (None, _) => {}
        (Some(found), "") => report.lost(format!("model `{found}`"), model_at, why),
        (Some(found), pointer) => {
            put(document, pointer, found.as_str());
            if !head.is_model_mapped {
                let why = "the target does not have this model; map it with --model-map";
                let how = "as it is named";
                report.preserved(format!("model `{found}`"), model_at, why, how);
            }
        }
    }
    let Some(found) = &head.created else { return };
    let what = format!("time `{}`", found.text);
    match created {
        "" => report.lost(what, created_at, why),
        pointer if matches!(api, Api::Responses | Api::Chat | Api::Mistral) => {
            put(document, pointer, found.seconds);
            if found.has_fraction() {
                let why = "the target's times are complete seconds";
                let how = format!("as {}", found.seconds);
                report.preserved(what, created_at, why, how);
            }
        }
        pointer => {
            put(document, pointer, found.rfc3339());
            if found.has_fraction() && !found.text.contains('T') {
                let why = "the fraction of a second is not written";
                report.preserved(what, created_at, why, format!("as {}", found.rfc3339()));
            }
        }
    }
}

fn seconds(head: &ResponseHead) -> u64 {
    head.created.as_ref().map_or(0, |created| created.seconds)
}

fn add_finish(api: Api, head: &ResponseHead, document: &mut Value, report: &mut Report) {
    let (word, is_same) = finish::write(api, head.finish);
    let is_same = is_same && (head.is_finish_exact || word == head.word);
    let written = word;
    match api {
        Api::Anthropic | Api::Invoke => {
            document["stop_reason"] = word.into();
            match (&head.detail, head.finish) {
                (Some(text), Finish::StopSequence) => {
                    document["stop_sequence"] = text.as_str().into()
                }
                (Some(text), Finish::Refusal | Finish::ContentFilter) => {
                    let details = json!({"type": "refusal", "category": null, "explanation": text});
                    document["stop_details"] = details;
                }
                _ => {}
            }
        }
        Api::Converse => document["stopReason"] = word.into(),
        Api::Generate => {
            document["candidates"][0]["finishReason"] = word.into();
            if let Some(detail) = &head.detail {
                document["candidates"][0]["finishMessage"] = detail.as_str().into();
            }
        }
        Api::Chat | Api::Mistral => {
            document["choices"][0]["finish_reason"] = word.into();
            if let (Some(text), Finish::Refusal) = (&head.detail, head.finish) {
                document["choices"][0]["message"]["refusal"] = text.as_str().into();
            }
        }
        Api::Framework => document["finish_reason"] = word.into(),
        Api::Responses => {
            if document["status"] == "incomplete" {
                document["incomplete_details"] = json!({"reason": word});
            }
        }
        Api::Interactions => document["status"] = word.into(),
        Api::Conversations | Api::Agents => {
            if matches!(head.finish, Finish::Stop | Finish::Calls) {
                return report_detail(api, head, report);
            }
        }
    }
    if !is_same {
        let what = format!("end `{}`", head.word);
        let why = "the target has no such end";
        if written.is_empty() {
            report.lost(what, head.word_pointer, why);
        } else {
            report.preserved(what, head.word_pointer, why, format!("as `{written}`"));
        }
    }
    report_detail(api, head, report);
}

/// Reports the explanation of the end, where the target has none.
fn report_detail(api: Api, head: &ResponseHead, report: &mut Report) {
    let Some(detail) = &head.detail else { return };
    let has_member = match api {
        Api::Anthropic | Api::Invoke => matches!(
            head.finish,
            Finish::StopSequence | Finish::Refusal | Finish::ContentFilter
        ),
        Api::Generate => true,
        Api::Chat | Api::Mistral => head.finish == Finish::Refusal,
        _ => false,
    };
    if !has_member {
        let why = "the target does not explain the end of a response";
        report.lost(format!("explanation `{detail}`"), head.word_pointer, why);
    }
}

/// Counts that a type requires are zero when the source has none.
fn add_unknown_usage(api: Api, document: &mut Value) {
    let usage = match api {
        Api::Anthropic | Api::Invoke => json!({"input_tokens": 0, "output_tokens": 0}),
        Api::Converse => json!({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}),
        Api::Mistral | Api::Conversations => {
            json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
        }
        _ => return,
    };
    put(document, usage::pointer(api), usage);
}
