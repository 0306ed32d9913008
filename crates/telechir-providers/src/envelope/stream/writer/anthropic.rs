//! Anthropic's events, as server-sent events or in InvokeModel's frames.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::events::EventWriter;
use crate::envelope::api::Api;
use crate::envelope::stream::content_start::{ContentStart, start_of};
use crate::envelope::stream::head::StreamHead;

fn send(writer: &mut EventWriter, event: &Value) {
    if writer.api == Api::Invoke {
        let bytes = STANDARD.encode(event.to_string());
        return writer.frame("chunk", &json!({"bytes": bytes}));
    }
    writer.event(event["type"].as_str().unwrap_or_default(), event);
}

pub(super) fn start(writer: &mut EventWriter, head: &StreamHead) {
    let message = json!({
        "id": head.id, "type": "message", "role": "assistant", "model": head.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    });
    send(
        writer,
        &json!({"type": "message_start", "message": message}),
    );
}

fn start_block(writer: &mut EventWriter, at: usize, block: &Value) {
    let event = json!({"type": "content_block_start", "index": at, "content_block": block});
    send(writer, &event);
}

pub(super) fn open(writer: &mut EventWriter, at: usize, start: &ContentStart) {
    let block = match start {
        ContentStart::Text => json!({"type": "text", "text": ""}),
        ContentStart::Call { id, name } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    };
    start_block(writer, at, &block);
}

fn delta(writer: &mut EventWriter, at: usize, delta: &Value) {
    let event = json!({"type": "content_block_delta", "index": at, "delta": delta});
    send(writer, &event);
}

pub(super) fn grow(writer: &mut EventWriter, at: usize, start: &ContentStart, piece: &str) {
    let piece = match start {
        ContentStart::Text => json!({"type": "text_delta", "text": piece}),
        ContentStart::Call { .. } => json!({"type": "input_json_delta", "partial_json": piece}),
    };
    delta(writer, at, &piece);
}

pub(super) fn close(writer: &mut EventWriter, at: usize) {
    send(writer, &json!({"type": "content_block_stop", "index": at}));
}

pub(super) fn complete(writer: &mut EventWriter, at: usize, block: &Value) {
    let mut empty = block.clone();
    match (start_of(writer.api, block), block["type"].as_str()) {
        (Some((start, text)), _) => {
            let emptied = match start {
                ContentStart::Text => ("text", json!("")),
                ContentStart::Call { .. } => ("input", json!({})),
            };
            empty[emptied.0] = emptied.1;
            start_block(writer, at, &empty);
            grow(writer, at, &start, &text);
        }
        (None, Some("thinking")) => {
            empty["thinking"] = "".into();
            empty["signature"] = "".into();
            start_block(writer, at, &empty);
            let text = json!({"type": "thinking_delta", "thinking": block["thinking"]});
            delta(writer, at, &text);
            if block.get("signature").is_some() {
                let signature = json!({"type": "signature_delta", "signature": block["signature"]});
                delta(writer, at, &signature);
            }
        }
        (None, _) => start_block(writer, at, block),
    }
    close(writer, at);
}

pub(super) fn end(writer: &mut EventWriter, document: &Value) {
    let mut delta = json!({
        "stop_reason": document["stop_reason"], "stop_sequence": document["stop_sequence"],
    });
    if let Some(details) = document.get("stop_details") {
        delta["stop_details"] = details.clone();
    }
    let usage = &document["usage"];
    send(
        writer,
        &json!({"type": "message_delta", "delta": delta, "usage": usage}),
    );
    send(writer, &json!({"type": "message_stop"}));
}
