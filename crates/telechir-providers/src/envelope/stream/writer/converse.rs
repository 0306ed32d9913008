//! Events of ConverseStream. Text and thinking have no start event.

use serde_json::{Value, json};

use super::events::EventWriter;
use crate::envelope::stream::content_start::{ContentStart, start_of};

pub(super) fn start(writer: &mut EventWriter) {
    writer.frame("messageStart", &json!({"role": "assistant"}));
}

pub(super) fn open(writer: &mut EventWriter, at: usize, start: &ContentStart) {
    if let ContentStart::Call { id, name } = start {
        let call = json!({"toolUse": {"toolUseId": id, "name": name}});
        let event = json!({"contentBlockIndex": at, "start": call});
        writer.frame("contentBlockStart", &event);
    }
}

fn delta(writer: &mut EventWriter, at: usize, delta: &Value) {
    let event = json!({"contentBlockIndex": at, "delta": delta});
    writer.frame("contentBlockDelta", &event);
}

pub(super) fn grow(writer: &mut EventWriter, at: usize, start: &ContentStart, piece: &str) {
    let piece = match start {
        ContentStart::Text => json!({"text": piece}),
        ContentStart::Call { .. } => json!({"toolUse": {"input": piece}}),
    };
    delta(writer, at, &piece);
}

pub(super) fn close(writer: &mut EventWriter, at: usize) {
    writer.frame("contentBlockStop", &json!({"contentBlockIndex": at}));
}

pub(super) fn complete(writer: &mut EventWriter, at: usize, block: &Value) {
    match start_of(writer.api, block) {
        Some((start, text)) => {
            open(writer, at, &start);
            grow(writer, at, &start, &text);
        }
        None => other(writer, at, block),
    }
    close(writer, at);
}

fn other(writer: &mut EventWriter, at: usize, block: &Value) {
    if let Some(thinking) = block.pointer("/reasoningContent/reasoningText") {
        for name in ["text", "signature"] {
            if let Some(text) = thinking.get(name) {
                delta(writer, at, &json!({"reasoningContent": {name: text}}));
            }
        }
        return;
    }
    for (name, value) in block.as_object().into_iter().flatten() {
        let content = value.get("content").filter(|_| name == "toolResult");
        match content {
            Some(content) => {
                let mut start = value.clone();
                if let Some(start) = start.as_object_mut() {
                    start.shift_remove("content");
                }
                let event = json!({"contentBlockIndex": at, "start": {"toolResult": start}});
                writer.frame("contentBlockStart", &event);
                delta(writer, at, &json!({"toolResult": content}));
            }
            None => delta(writer, at, &json!({name.as_str(): value})),
        }
    }
}

pub(super) fn end(writer: &mut EventWriter, document: &Value) {
    writer.frame(
        "messageStop",
        &json!({"stopReason": document["stopReason"]}),
    );
    let metadata = json!({"usage": document["usage"], "metrics": {"latencyMs": 0}});
    writer.frame("metadata", &metadata);
}
