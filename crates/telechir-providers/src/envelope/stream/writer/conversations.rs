//! Events of Mistral's Conversations API.

use serde_json::{Value, json};

use super::events::EventWriter;
use crate::envelope::stream::content_start::{ContentStart, start_of};
use crate::envelope::stream::head::StreamHead;

pub(super) fn start(writer: &mut EventWriter, head: &StreamHead) {
    let event = json!({"type": "conversation.response.started", "conversation_id": head.id});
    writer.event("conversation.response.started", &event);
}

fn message(writer: &mut EventWriter, at: usize, part: usize, content: &Value) {
    let event = json!({
        "type": "message.output.delta", "id": format!("msg_{at}"), "output_index": at,
        "content_index": part, "role": "assistant", "content": content,
    });
    writer.event("message.output.delta", &event);
}

pub(super) fn grow(writer: &mut EventWriter, at: usize, start: &ContentStart, piece: &str) {
    match start {
        ContentStart::Text => message(writer, at, 0, &piece.into()),
        ContentStart::Call { id, name } => {
            let event = json!({
                "type": "function.call.delta", "id": format!("fc_{at}"), "output_index": at,
                "tool_call_id": id, "name": name, "arguments": piece,
            });
            writer.event("function.call.delta", &event);
        }
    }
}

pub(super) fn complete(writer: &mut EventWriter, at: usize, entry: &Value) {
    if let Some((start, text)) = start_of(writer.api, entry) {
        return grow(writer, at, &start, &text);
    }
    if let Some(parts) = entry.get("content").and_then(Value::as_array) {
        for (part, content) in parts.iter().enumerate() {
            message(writer, at, part, content);
        }
        return;
    }
    let kind = entry["type"].as_str().unwrap_or_default();
    for phase in ["started", "done"] {
        let name = format!("{kind}.{phase}");
        let mut event = entry.clone();
        event["type"] = name.as_str().into();
        event["output_index"] = at.into();
        if event.get("id").is_none() {
            event["id"] = format!("entry_{at}").into();
        }
        let late = if phase == "started" {
            "info"
        } else {
            "arguments"
        };
        if let Some(members) = event.as_object_mut() {
            members.shift_remove(late);
            members.shift_remove("object");
        }
        writer.event(&name, &event);
    }
}

pub(super) fn end(writer: &mut EventWriter, document: &Value) {
    let event = json!({"type": "conversation.response.done", "usage": document["usage"]});
    writer.event("conversation.response.done", &event);
}
