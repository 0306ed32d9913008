//! Events of the Responses API.

use serde_json::{Value, json};

use super::events::EventWriter;
use crate::envelope::stream::content_start::{ContentStart, start_of};
use crate::envelope::stream::head::StreamHead;

fn send(writer: &mut EventWriter, mut event: Value) {
    event["sequence_number"] = writer.sequence.into();
    let name = event["type"].as_str().unwrap_or_default().to_owned();
    writer.event(&name, &event);
}

pub(super) fn start(writer: &mut EventWriter, head: &StreamHead) {
    let response = json!({
        "id": head.id, "object": "response", "created_at": head.created, "status": "in_progress",
        "model": head.model, "output": [], "parallel_tool_calls": true, "tool_choice": "auto",
        "tools": [],
    });
    send(
        writer,
        json!({"type": "response.created", "response": response}),
    );
}

/// The item with this much of its text.
fn item(at: usize, start: &ContentStart, text: Option<&str>) -> Value {
    let status = if text.is_some() {
        "completed"
    } else {
        "in_progress"
    };
    match start {
        ContentStart::Text => {
            let content: Vec<Value> = text.map(part).into_iter().collect();
            json!({"type": "message", "id": item_id(at, start), "role": "assistant",
                   "status": status, "content": content})
        }
        ContentStart::Call { id, name } => {
            json!({"type": "function_call", "id": item_id(at, start), "call_id": id, "name": name,
                   "arguments": text.unwrap_or_default(), "status": status})
        }
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn item_id(at: usize, start: &ContentStart) -> String {
    match start {
        ContentStart::Text => format!("msg_{at}"),
        ContentStart::Call { .. } => format!("fc_{at}"),
    }
}

pub(super) fn open(writer: &mut EventWriter, at: usize, start: &ContentStart) {
    let added = item(at, start, None);
    send(
        writer,
        json!({"type": "response.output_item.added", "output_index": at, "item": added}),
    );
    if *start == ContentStart::Text {
        send(
            writer,
            json!({"type": "response.content_part.added", "item_id": item_id(at, start),
                   "output_index": at, "content_index": 0, "part": part("")}),
        );
    }
}

pub(super) fn grow(writer: &mut EventWriter, at: usize, start: &ContentStart, piece: &str) {
    let mut event = json!({"type": "", "item_id": item_id(at, start), "output_index": at,
                           "delta": piece});
    match start {
        ContentStart::Text => {
            event["type"] = "response.output_text.delta".into();
            event["content_index"] = 0.into();
            event["logprobs"] = json!([]);
        }
        ContentStart::Call { .. } => {
            event["type"] = "response.function_call_arguments.delta".into();
        }
    }
    send(writer, event);
}

pub(super) fn close(writer: &mut EventWriter, at: usize, start: &ContentStart, text: &str) {
    let text = match start {
        ContentStart::Call { .. } if text.trim().is_empty() => "{}",
        _ => text,
    };
    let id = item_id(at, start);
    match start {
        ContentStart::Text => {
            send(
                writer,
                json!({"type": "response.output_text.done", "item_id": id, "output_index": at,
                       "content_index": 0, "text": text, "logprobs": []}),
            );
            send(
                writer,
                json!({"type": "response.content_part.done", "item_id": id, "output_index": at,
                       "content_index": 0, "part": part(text)}),
            );
        }
        ContentStart::Call { name, .. } => send(
            writer,
            json!({"type": "response.function_call_arguments.done", "item_id": id,
                   "output_index": at, "name": name, "arguments": text}),
        ),
    }
    let done = item(at, start, Some(text));
    send(
        writer,
        json!({"type": "response.output_item.done", "output_index": at, "item": done}),
    );
}

pub(super) fn complete(writer: &mut EventWriter, at: usize, item: &Value) {
    let is_plain = |start: &ContentStart| item["id"] == item_id(at, start).as_str();
    if let Some((start, text)) = start_of(writer.api, item).filter(|(start, _)| is_plain(start)) {
        open(writer, at, &start);
        grow(writer, at, &start, &text);
        return close(writer, at, &start, &text);
    }
    let mut added = item.clone();
    if item.get("status").is_some() {
        added["status"] = "in_progress".into();
    }
    send(
        writer,
        json!({"type": "response.output_item.added", "output_index": at, "item": added}),
    );
    send(
        writer,
        json!({"type": "response.output_item.done", "output_index": at, "item": item}),
    );
}

pub(super) fn end(writer: &mut EventWriter, document: &Value) {
    let status = document["status"].as_str().unwrap_or("completed");
    let name = format!("response.{status}");
    send(writer, json!({"type": name, "response": document}));
}
