//! Chunks of chat completions.

use serde_json::{Map, Value, json};

use super::events::EventWriter;
use crate::envelope::stream::content_start::{ContentStart, start_of};

fn send(writer: &mut EventWriter, delta: &Value, finish: &Value) {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    chunk(writer, &json!([choice]), None);
}

fn chunk(writer: &mut EventWriter, choices: &Value, usage: Option<&Value>) {
    let head = writer.head();
    let mut chunk = json!({
        "id": head.id, "object": "chat.completion.chunk", "created": head.created,
        "model": head.model, "choices": choices,
    });
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    writer.data(&chunk);
}

pub(super) fn start(writer: &mut EventWriter) {
    send(writer, &json!({"role": "assistant"}), &Value::Null);
}

fn index(writer: &EventWriter, id: &str) -> usize {
    let found = writer.calls.iter().position(|other| other == id);
    found.unwrap_or(writer.calls.len())
}

pub(super) fn open(writer: &mut EventWriter, start: &ContentStart) {
    if let ContentStart::Call { id, name } = start {
        let function = json!({"name": name, "arguments": ""});
        let index = index(writer, id);
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        send(writer, &json!({"tool_calls": [call]}), &Value::Null);
    }
}

pub(super) fn grow(writer: &mut EventWriter, start: &ContentStart, piece: &str) {
    let delta = match start {
        ContentStart::Text => json!({"content": piece}),
        ContentStart::Call { id, .. } => {
            let call = json!({"index": index(writer, id), "function": {"arguments": piece}});
            json!({"tool_calls": [call]})
        }
    };
    send(writer, &delta, &Value::Null);
}

pub(super) fn complete(writer: &mut EventWriter, content: &Value) {
    match start_of(writer.api, content) {
        Some((ContentStart::Text, text)) => {
            send(writer, &json!({"content": text}), &Value::Null);
        }
        Some((ContentStart::Call { id, .. }, _)) => {
            let mut call = content.clone();
            call["index"] = writer.calls.len().into();
            writer.calls.push(id);
            send(writer, &json!({"tool_calls": [call]}), &Value::Null);
        }
        None if content.get("id").is_some() => {
            let mut call = content.clone();
            call["index"] = writer.calls.len().into();
            writer.calls.push(String::new());
            send(writer, &json!({"tool_calls": [call]}), &Value::Null);
        }
        None => send(writer, &json!({"content": [content]}), &Value::Null),
    }
}

pub(super) fn end(writer: &mut EventWriter, document: &Value) {
    let message = document.pointer("/choices/0/message");
    let members = message.and_then(Value::as_object).into_iter().flatten();
    let rest: Map<String, Value> = members
        .filter(|(name, value)| {
            !value.is_null() && !matches!(name.as_str(), "role" | "content" | "tool_calls")
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !rest.is_empty() {
        send(writer, &rest.into(), &Value::Null);
    }
    let finish = document.pointer("/choices/0/finish_reason");
    send(writer, &json!({}), finish.unwrap_or(&Value::Null));
    if let Some(usage) = document.get("usage") {
        chunk(writer, &json!([]), Some(usage));
    }
    writer.done();
}
