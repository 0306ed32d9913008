//! Chunks of `streamGenerateContent` and events of the Interactions API.

use serde_json::{Value, json};

use super::events::EventWriter;
use crate::envelope::stream::content_start::{ContentStart, start_of};
use crate::envelope::stream::head::StreamHead;

pub(super) fn text_chunk(writer: &mut EventWriter, text: &str) {
    part_chunk(writer, &json!({"text": text}));
}

pub(super) fn part_chunk(writer: &mut EventWriter, part: &Value) {
    let head = writer.head();
    let content = json!({"role": "model", "parts": [part]});
    writer.data(&json!({
        "candidates": [{"content": content, "index": 0}],
        "responseId": head.id, "modelVersion": head.model,
    }));
}

pub(super) fn end_chunk(writer: &mut EventWriter, document: &Value) {
    let mut last = document.clone();
    last["candidates"][0]["content"] = json!({"role": "model", "parts": []});
    writer.data(&last);
}

pub(super) fn start_interaction(writer: &mut EventWriter, head: &StreamHead) {
    let interaction = json!({
        "id": head.id, "object": "interaction", "status": "in_progress", "model": head.model,
    });
    let event = json!({"event_type": "interaction.created", "interaction": interaction});
    writer.event("interaction.created", &event);
}

fn start_step(writer: &mut EventWriter, at: usize, step: &Value) {
    let event = json!({"event_type": "step.start", "index": at, "step": step});
    writer.event("step.start", &event);
}

pub(super) fn open_step(writer: &mut EventWriter, at: usize, start: &ContentStart) {
    let step = match start {
        ContentStart::Text => json!({"type": "model_output"}),
        ContentStart::Call { id, name } => {
            json!({"type": "function_call", "id": id, "name": name, "arguments": {}})
        }
    };
    start_step(writer, at, &step);
}

pub(super) fn grow_step(writer: &mut EventWriter, at: usize, start: &ContentStart, piece: &str) {
    let delta = match start {
        ContentStart::Text => json!({"type": "text", "text": piece}),
        ContentStart::Call { .. } => json!({"type": "arguments_delta", "arguments": piece}),
    };
    let event = json!({"event_type": "step.delta", "index": at, "delta": delta});
    writer.event("step.delta", &event);
}

pub(super) fn close_step(writer: &mut EventWriter, at: usize) {
    let event = json!({"event_type": "step.stop", "index": at});
    writer.event("step.stop", &event);
}

pub(super) fn complete_step(writer: &mut EventWriter, at: usize, step: &Value) {
    match start_of(writer.api, step) {
        Some((start, text)) => {
            open_step(writer, at, &start);
            grow_step(writer, at, &start, &text);
        }
        None => start_step(writer, at, step),
    }
    close_step(writer, at);
}

pub(super) fn end_interaction(writer: &mut EventWriter, document: &Value) {
    let mut interaction = document.clone();
    if let Some(members) = interaction.as_object_mut() {
        members.shift_remove("steps");
    }
    let event = json!({"event_type": "interaction.completed", "interaction": interaction});
    writer.event("interaction.completed", &event);
    writer.done();
}
