//! Responses as the providers stream them, written without telechir's dialects.

mod aws;

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use super::Provider;
use super::shape::text_or_empty;

/// A streamed body and its content type.
#[derive(Debug)]
pub(super) struct StreamedBody {
    pub(super) kind: &'static str,
    pub(super) bytes: Bytes,
}

/// The path of the same request without a stream; none if the path asks for none.
pub(super) fn path_without_stream(provider: Provider, path: &str) -> Option<String> {
    let (streamed, plain) = match provider {
        Provider::Google => (":streamGenerateContent", ":generateContent"),
        Provider::Converse => ("/converse-stream", "/converse"),
        Provider::BedrockInvoke => ("/invoke-with-response-stream", "/invoke"),
        Provider::Anthropic
        | Provider::Openai
        | Provider::GoogleSteps
        | Provider::Functions
        | Provider::FunctionsInline
        | Provider::MistralChat
        | Provider::MistralConversations
        | Provider::BedrockMessages => return None,
    };
    Some(format!("{}{plain}", path.strip_suffix(streamed)?))
}

/// A complete response as a stream.
pub(super) fn stream(provider: Provider, request: &Value, answer: &Value) -> StreamedBody {
    let events = match provider {
        Provider::Anthropic | Provider::BedrockMessages => anthropic(answer)
            .iter()
            .map(|event| named("type", event))
            .collect(),
        Provider::Openai => responses(answer)
            .iter()
            .map(|event| named("type", event))
            .collect(),
        Provider::GoogleSteps => interaction(answer)
            .iter()
            .map(|event| named("event_type", event))
            .collect(),
        Provider::MistralConversations => conversation(answer)
            .iter()
            .map(|event| named("type", event))
            .collect(),
        Provider::Google => generated(answer)
            .iter()
            .map(|chunk| format!("data: {chunk}\r\n\r\n"))
            .collect(),
        Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
            let mut lines: Vec<String> = completion(provider, request, answer)
                .iter()
                .map(|chunk| format!("data: {chunk}\n\n"))
                .collect();
            lines.push("data: [DONE]\n\n".to_owned());
            lines
        }
        Provider::Converse => return aws::converse(answer),
        Provider::BedrockInvoke => return aws::chunks(&anthropic(answer)),
    };
    StreamedBody {
        kind: "text/event-stream",
        bytes: events.concat().into(),
    }
}

fn named(member: &str, event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", text_or_empty(event, member))
}

/// A text in two parts.
fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rfind(|at| text.is_char_boundary(*at));
    let (first, second) = text.split_at(middle.unwrap_or(0));
    [first, second]
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The object with other values for some members.
fn with(value: &Value, changes: Value) -> Value {
    let mut changed = value.as_object().cloned().unwrap_or_default();
    if let Value::Object(changes) = changes {
        changed.extend(changes);
    }
    changed.into()
}

fn without(value: &Value, names: &[&str]) -> Map<String, Value> {
    let mut members = value.as_object().cloned().unwrap_or_default();
    members.retain(|name, _| !names.contains(&name.as_str()));
    members
}

fn anthropic(answer: &Value) -> Vec<Value> {
    let message = with(
        answer,
        json!({"content": [], "stop_reason": null, "stop_sequence": null}),
    );
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in items(answer, "content").iter().enumerate() {
        let (start, deltas) = match text_or_empty(block, "type") {
            "text" => (
                with(block, json!({"text": ""})),
                text_deltas(block, "text", "text_delta", "text"),
            ),
            "thinking" => {
                let mut deltas = text_deltas(block, "thinking", "thinking_delta", "thinking");
                let signature = block.get("signature");
                deltas.push(json!({"type": "signature_delta", "signature": signature}));
                (
                    with(block, json!({"thinking": "", "signature": ""})),
                    deltas,
                )
            }
            "tool_use" => {
                let input = block.get("input").map(Value::to_string).unwrap_or_default();
                let deltas = halves(&input)
                    .map(|part| json!({"type": "input_json_delta", "partial_json": part}));
                (with(block, json!({"input": {}})), deltas.to_vec())
            }
            _ => (block.clone(), Vec::new()),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut delta = without(answer, &["id", "type", "role", "model", "content", "usage"]);
    delta.entry("stop_reason").or_insert(Value::Null);
    events.push(json!({"type": "message_delta", "delta": delta, "usage": answer["usage"]}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn text_deltas(block: &Value, member: &str, kind: &str, name: &str) -> Vec<Value> {
    halves(text_or_empty(block, member))
        .iter()
        .map(|part| json!({"type": kind, name: part}))
        .collect()
}

fn responses(answer: &Value) -> Vec<Value> {
    let started = with(answer, json!({"status": "in_progress", "output": []}));
    let mut events = vec![json!({"type": "response.created", "response": started})];
    for (index, item) in items(answer, "output").iter().enumerate() {
        let id = item.get("id").cloned();
        let mut event = |kind: &str, members: Value| {
            let position = json!({"type": kind, "output_index": index, "item_id": id});
            events.push(with(&position, members));
        };
        match text_or_empty(item, "type") {
            "message" => {
                let empty = with(item, json!({"status": "in_progress", "content": []}));
                event("response.output_item.added", json!({"item": empty}));
                for (part_index, part) in items(item, "content").iter().enumerate() {
                    let at = |members| with(&json!({"content_index": part_index}), members);
                    let empty = with(part, json!({"text": ""}));
                    event("response.content_part.added", at(json!({"part": empty})));
                    let text = text_or_empty(part, "text");
                    for half in halves(text) {
                        event("response.output_text.delta", at(json!({"delta": half})));
                    }
                    event("response.output_text.done", at(json!({"text": text})));
                    event("response.content_part.done", at(json!({"part": part})));
                }
            }
            "function_call" => {
                let empty = with(item, json!({"status": "in_progress", "arguments": ""}));
                event("response.output_item.added", json!({"item": empty}));
                let arguments = text_or_empty(item, "arguments");
                for half in halves(arguments) {
                    event(
                        "response.function_call_arguments.delta",
                        json!({"delta": half}),
                    );
                }
                event(
                    "response.function_call_arguments.done",
                    json!({"arguments": arguments}),
                );
            }
            _ => event("response.output_item.added", json!({"item": item})),
        }
        event("response.output_item.done", json!({"item": item}));
    }
    let last = format!("response.{}", text_or_empty(answer, "status"));
    events.push(json!({"type": last, "response": answer}));
    (0_u64..)
        .zip(events)
        .map(|(number, event)| with(&event, json!({"sequence_number": number})))
        .collect()
}

fn completion(provider: Provider, request: &Value, answer: &Value) -> Vec<Value> {
    let head = without(answer, &["object", "choices", "usage"]);
    let choice = answer["choices"].get(0).cloned().unwrap_or_default();
    let message = choice.get("message").cloned().unwrap_or_default();
    let mut deltas = vec![Value::Object(without(&message, &["content", "tool_calls"]))];
    match message.get("content") {
        Some(Value::String(text)) => {
            deltas.extend(halves(text).map(|half| json!({"content": half})));
        }
        Some(content) if !content.is_null() => deltas.push(json!({"content": content})),
        _ => {}
    }
    for (index, call) in items(&message, "tool_calls").iter().enumerate() {
        let arguments = text_or_empty(&call["function"], "arguments");
        let function = with(&call["function"], json!({"arguments": ""}));
        let started = with(call, json!({"index": index, "function": function}));
        deltas.push(json!({"tool_calls": [started]}));
        deltas.extend(halves(arguments).map(
            |half| json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]}),
        ));
    }
    let chunk = |members: Value| {
        let all = with(&Value::Object(head.clone()), members);
        with(&all, json!({"object": "chat.completion.chunk"}))
    };
    let mut chunks: Vec<Value> = deltas
        .into_iter()
        .map(|delta| {
            chunk(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
        })
        .collect();
    let mut last = without(&choice, &["message"]);
    last.insert("delta".to_owned(), json!({}));
    let mut members = json!({"choices": [last]});
    if provider == Provider::MistralChat {
        members["usage"] = answer["usage"].clone();
    }
    chunks.push(chunk(members));
    if request["stream_options"]["include_usage"] == true {
        chunks.push(chunk(json!({"choices": [], "usage": answer["usage"]})));
    }
    chunks
}

/// One chunk per part, and two for a text; the last has the reason and the usage.
fn generated(answer: &Value) -> Vec<Value> {
    let candidate = answer["candidates"].get(0).cloned().unwrap_or_default();
    let head = without(answer, &["candidates", "usageMetadata"]);
    let mut parts = Vec::new();
    for part in items(&candidate["content"], "parts") {
        match part.get("text").and_then(Value::as_str) {
            Some(text) => parts.extend(halves(text).map(|half| with(part, json!({"text": half})))),
            None => parts.push(part.clone()),
        }
    }
    let count = parts.len();
    let chunk = |(index, part): (usize, Value)| {
        let content = json!({"role": "model", "parts": [part]});
        if index + 1 < count {
            let candidates = json!([{"content": content, "index": 0}]);
            return with(
                &Value::Object(head.clone()),
                json!({"candidates": candidates}),
            );
        }
        let last = with(&candidate, json!({"content": content}));
        with(answer, json!({"candidates": [last]}))
    };
    if parts.is_empty() {
        return vec![answer.clone()];
    }
    parts.into_iter().enumerate().map(chunk).collect()
}

fn interaction(answer: &Value) -> Vec<Value> {
    let started = with(answer, json!({"status": "in_progress"}));
    let started = without(&started, &["steps", "usage"]);
    let mut events = vec![json!({"event_type": "interaction.created", "interaction": started})];
    for (index, step) in items(answer, "steps").iter().enumerate() {
        let mut deltas = Vec::new();
        let start = match text_or_empty(step, "type") {
            "model_output" => {
                let texts = items(step, "content").iter();
                for content in texts {
                    deltas.extend(text_deltas(content, "text", "text", "text"));
                }
                Value::Object(without(step, &["content"]))
            }
            "function_call" => {
                let arguments = step["arguments"].to_string();
                deltas.extend(
                    halves(&arguments)
                        .map(|half| json!({"type": "arguments_delta", "arguments": half})),
                );
                with(step, json!({"arguments": {}}))
            }
            "thought" => {
                let signature = step.get("signature");
                deltas.push(json!({"type": "thought_signature", "signature": signature}));
                Value::Object(without(step, &["signature"]))
            }
            _ => step.clone(),
        };
        events.push(json!({"event_type": "step.start", "index": index, "step": start}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"event_type": "step.delta", "index": index, "delta": delta})),
        );
        events.push(json!({"event_type": "step.stop", "index": index}));
    }
    let last = without(answer, &["steps"]);
    events.push(json!({"event_type": "interaction.completed", "interaction": last}));
    events
}

fn conversation(answer: &Value) -> Vec<Value> {
    let id = answer.get("conversation_id");
    let mut events = vec![json!({"type": "conversation.response.started", "conversation_id": id})];
    for (index, entry) in items(answer, "outputs").iter().enumerate() {
        let head = Value::Object(without(entry, &["object", "type", "content", "arguments"]));
        let event = |kind: &str, members: Value| {
            let position = json!({"type": kind, "output_index": index});
            with(&with(&head, position), members)
        };
        match text_or_empty(entry, "type") {
            "message.output" => {
                let text = text_or_empty(entry, "content");
                events.extend(halves(text).map(|half| {
                    event(
                        "message.output.delta",
                        json!({"content": half, "content_index": 0}),
                    )
                }));
            }
            "function.call" => {
                let arguments = text_or_empty(entry, "arguments");
                events.extend(
                    halves(arguments)
                        .map(|half| event("function.call.delta", json!({"arguments": half}))),
                );
            }
            kind => events.push(event(&format!("{kind}.started"), json!({}))),
        }
    }
    events.push(json!({"type": "conversation.response.done", "usage": answer.get("usage")}));
    events
}
