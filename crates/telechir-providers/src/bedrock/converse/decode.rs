//! Decodes Converse requests, responses, and lists of messages or content blocks.

use serde_json::{Value, json};
use telechir_protocol::{Content, ErrorContent, Message, Meta, ModelTurn, Raw, UsageContent};

use super::{DIALECT, JsonObject, OPAQUE_PREFIX, PROVIDER, decode_block, rules};
use crate::anthropic;
use crate::bedrock::{anthropic_bridge, detect};
use crate::json::text_of;
use crate::{DecodeError, Envelope, History, Report};

/// Decodes one response.
pub(super) fn decode_response(document: &Value) -> Result<(ModelTurn, Report), DecodeError> {
    detect::reject_error_body(document)?;
    let message = document
        .get("output")
        .and_then(|output| output.get("message"));
    let Some(message) = message.and_then(Value::as_object) else {
        let problem = if document.get("messages").is_some() {
            "expected a single response, found a request"
        } else {
            "expected a response with `output.message`"
        };
        return Err(detect::wrong_shape(DIALECT, problem, document));
    };
    let (messages, report) = messages(vec![Value::Object(message.clone())], json!([]), document)?;
    let mut contents: Vec<Content> = messages
        .into_iter()
        .flat_map(|message| message.contents)
        .collect();
    contents.extend(stopped(document));
    contents.extend(usage(document));
    let turn = ModelTurn::new(contents)?;
    let calls = turn.calls();
    let mut ids = calls.iter().filter_map(|call| call.call_id());
    if let Some(id) = ids.find(|id| !rules::is_id(id.as_str())) {
        let problem = format!("a result cannot refer to the `toolUseId` {:?}", id.as_str());
        return Err(detect::wrong_shape(DIALECT, problem, document));
    }
    Ok((turn, report))
}

/// Decodes a history in any envelope.
pub(super) fn decode_history(document: Value) -> Result<(History, Report), DecodeError> {
    detect::reject_error_body(&document)?;
    let (items, envelope, tools) = match &document {
        Value::Array(items) if !items.is_empty() && items.iter().all(is_content) => {
            return read_blocks(items, &document);
        }
        Value::Array(items) => (items.clone(), Envelope::List, json!([])),
        Value::Object(all) if all.get("messages").is_some_and(Value::is_array) => {
            let items = all["messages"].as_array().cloned().unwrap_or_default();
            (items, envelope(all, "messages"), tools(all))
        }
        Value::Object(all) if all.contains_key("output") => {
            let message = document["output"].get("message").cloned();
            let Some(message) = message.filter(Value::is_object) else {
                let problem = "`output` has no `message`";
                return Err(detect::wrong_shape(DIALECT, problem, &document));
            };
            (vec![message], envelope(all, "output"), json!([]))
        }
        Value::Object(all) if all.contains_key("role") => {
            (vec![document.clone()], envelope(all, "content"), json!([]))
        }
        _ => {
            let problem = "expected `messages`, `output` or a list of messages";
            return Err(detect::wrong_shape(DIALECT, problem, &document));
        }
    };
    let (messages, report) = messages(items, tools, &document)?;
    Ok((History { messages, envelope }, report))
}

fn envelope(all: &JsonObject, member: &'static str) -> Envelope {
    let mut rest = all.clone();
    let placeholder = match member {
        "output" => {
            let mut output = all[member].clone();
            output["message"] = Value::Null;
            output
        }
        _ => Value::Null,
    };
    rest.insert(member.to_owned(), placeholder);
    Envelope::Object {
        dialect: DIALECT,
        member,
        rest,
    }
}

/// The tools of a request in Anthropic's format, for their names and versions.
pub(super) fn tools(request: &JsonObject) -> Value {
    let specs = request
        .get("toolConfig")
        .and_then(|config| config.get("tools")?.as_array());
    let function = |tool: &Value| {
        let spec = tool.get("toolSpec")?;
        let schema = spec
            .get("inputSchema")
            .and_then(|schema| schema.get("json"));
        Some(json!({"name": spec.get("name")?, "input_schema": schema}))
    };
    let converted = request
        .get("additionalModelRequestFields")
        .and_then(|fields| fields.get("tools")?.as_array());
    let functions = specs.into_iter().flatten().filter_map(function);
    functions
        .chain(converted.into_iter().flatten().cloned())
        .collect()
}

/// Whether an item is a content block without a message.
fn is_content(item: &Value) -> bool {
    item.as_object().is_some_and(|members| {
        members.len() == 1 && !members.contains_key("role") && !members.contains_key("content")
    })
}

/// Decodes blocks without a message: those of a result, or of a response.
fn read_blocks(items: &[Value], document: &Value) -> Result<(History, Report), DecodeError> {
    let has_results = items.iter().any(|item| {
        let result = item.get("toolResult");
        result.is_some_and(|result| result.get("type").is_none())
    });
    let role = if has_results { "user" } else { "assistant" };
    let message = json!({"role": role, "content": items});
    let (mut messages, report) = messages(vec![message], json!([]), document)?;
    for message in &mut messages {
        message.meta.raw_representation = Some(Raw::new(DIALECT, Value::Null));
    }
    let envelope = Envelope::List;
    Ok((History { messages, envelope }, report))
}

/// Decodes messages as Anthropic's, then restores their original JSON.
fn messages(
    mut items: Vec<Value>,
    tools: Value,
    document: &Value,
) -> Result<(Vec<Message>, Report), DecodeError> {
    let mut converted = Vec::new();
    let mut originals = Vec::new();
    for (at, item) in items.iter_mut().enumerate() {
        let wrong = |problem: &str| {
            let problem = format!("messages[{at}] {problem}");
            detect::wrong_shape(DIALECT, problem, document)
        };
        let members = item.as_object_mut();
        let members = members.ok_or_else(|| wrong("must be an object"))?;
        let Some(Value::Array(blocks)) = members.insert("content".to_owned(), Value::Null) else {
            return Err(wrong("needs `content` as a list"));
        };
        if let Some(index) = blocks.iter().position(detect::is_typed) {
            let problem = format!(
                "has a `type` in content[{index}], which blocks of this dialect do not have"
            );
            return Err(wrong(&problem));
        }
        let blocks = decode_block::join_cache_points(blocks);
        let content: Vec<Value> = blocks.iter().map(decode_block::block).collect();
        let mut message = members.clone();
        message.insert("content".to_owned(), content.into());
        converted.push(Value::Object(message));
        originals.push(blocks);
    }
    let request = json!({"messages": converted, "tools": tools});
    let (history, report) = anthropic::decode_history(request)
        .map_err(|error| detect::decode_error_as(error, DIALECT))?;
    let mut messages = history.messages;
    for ((message, blocks), around) in messages.iter_mut().zip(originals).zip(items) {
        let mut blocks = blocks.into_iter();
        for content in &mut message.contents {
            restore_own_blocks(content, &mut blocks);
            decode_block::read_recording(content);
        }
        if let Some(raw) = &mut message.meta.raw_representation {
            DIALECT.clone_into(&mut raw.dialect);
            *raw.json_mut() = around;
        }
    }
    Ok((messages, report))
}

/// Replaces a content's raw representation by its original blocks.
pub(super) fn restore_own_blocks(content: &mut Content, blocks: &mut impl Iterator<Item = Value>) {
    anthropic_bridge::each_meta(content, &mut |meta| {
        anthropic_bridge::from_anthropic(meta, PROVIDER)
    });
    anthropic_bridge::restore_names(content);
    anthropic_bridge::move_unknown(content, OPAQUE_PREFIX, DIALECT);
    let Some(raw) = content
        .meta_mut()
        .and_then(|meta| meta.raw_representation.as_mut())
    else {
        // A content without a raw representation is a single block.
        blocks.next();
        return;
    };
    DIALECT.clone_into(&mut raw.dialect);
    *raw.json_mut() = match raw.json() {
        Value::Array(run) => blocks.by_ref().take(run.len()).collect(),
        _ => blocks.next().unwrap_or_default(),
    };
}

/// An error content, if the service itself stopped the response.
fn stopped(response: &Value) -> Option<Content> {
    let message = match text_of(response, "stopReason") {
        "guardrail_intervened" => "A guardrail intervened.",
        "content_filtered" => "The response was filtered.",
        "malformed_model_output" => "The model's output is malformed.",
        "malformed_tool_use" => "The model's tool call is malformed.",
        _ => return None,
    };
    let mut error = ErrorContent {
        message: message.to_owned(),
        error_code: Some(text_of(response, "stopReason").to_owned()),
        error_details: response.get("trace").cloned(),
        meta: Meta::default(),
    };
    let reason = response["stopReason"].clone();
    error.meta.set_property(PROVIDER, "stopReason", reason);
    Some(Content::Error(error))
}

fn usage(response: &Value) -> Option<Content> {
    let usage = response.get("usage")?.as_object()?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let mut content = UsageContent {
        input_token_count: count("inputTokens"),
        output_token_count: count("outputTokens"),
        total_token_count: count("totalTokens"),
        meta: Meta::default(),
    };
    for member in [
        "stopReason",
        "usage",
        "metrics",
        "additionalModelResponseFields",
    ] {
        if let Some(value) = response.get(member).filter(|value| !value.is_null()) {
            content.meta.set_property(PROVIDER, member, value.clone());
        }
    }
    Some(Content::Usage(content))
}
