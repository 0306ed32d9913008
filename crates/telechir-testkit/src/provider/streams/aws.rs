//! AWS event streams: frames with a length, headers and two checksums.

use axum::body::Bytes;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{StreamedBody, halves, items, without};
use crate::provider::shape::text_or_empty;

/// The type of a header's value: a string.
const STRING: u8 = 7;

/// A response of Converse.
pub(super) fn converse(answer: &Value) -> StreamedBody {
    let message = &answer["output"]["message"];
    let mut frames = frame("messageStart", &json!({"role": "assistant"}));
    for (index, block) in items(message, "content").iter().enumerate() {
        let mut at = |event: &str, name: &str, value: Value| {
            let payload = json!({"contentBlockIndex": index, name: value});
            frames.extend(frame(event, &payload));
        };
        let mut delta = |value: Value| at("contentBlockDelta", "delta", value);
        if let Some(call) = block.get("toolUse") {
            let start = Value::Object(without(call, &["input"]));
            at("contentBlockStart", "start", json!({"toolUse": start}));
            for half in halves(&call["input"].to_string()) {
                at(
                    "contentBlockDelta",
                    "delta",
                    json!({"toolUse": {"input": half}}),
                );
            }
        } else if let Some(reasoning) = block.get("reasoningContent") {
            let reasoning = &reasoning["reasoningText"];
            for half in halves(text_or_empty(reasoning, "text")) {
                delta(json!({"reasoningContent": {"text": half}}));
            }
            let signature = &reasoning["signature"];
            delta(json!({"reasoningContent": {"signature": signature}}));
        } else {
            for half in halves(text_or_empty(block, "text")) {
                delta(json!({"text": half}));
            }
        }
        frames.extend(frame(
            "contentBlockStop",
            &json!({"contentBlockIndex": index}),
        ));
    }
    let stop = without(answer, &["output", "usage", "metrics"]);
    frames.extend(frame("messageStop", &stop.into()));
    let metadata = json!({"usage": answer["usage"], "metrics": answer["metrics"]});
    frames.extend(frame("metadata", &metadata));
    streamed(frames)
}

/// Events of another format, each in a frame.
pub(super) fn chunks(events: &[Value]) -> StreamedBody {
    let chunk = |event: &Value| {
        let bytes = BASE64_STANDARD.encode(event.to_string());
        frame("chunk", &json!({"bytes": bytes, "p": "abcdef"}))
    };
    streamed(events.iter().flat_map(chunk).collect())
}

fn streamed(frames: Vec<u8>) -> StreamedBody {
    StreamedBody {
        kind: "application/vnd.amazon.eventstream",
        bytes: Bytes::from(frames),
    }
}

fn frame(event: &str, payload: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in [
        (":event-type", event),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ] {
        headers.push(u8::try_from(name.len()).unwrap_or_default());
        headers.extend(name.bytes());
        headers.push(STRING);
        headers.extend(u16::try_from(value.len()).unwrap_or_default().to_be_bytes());
        headers.extend(value.bytes());
    }
    let payload = payload.to_string();
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or_default().to_be_bytes();
    let mut frame = Vec::new();
    // Two lengths and their checksum, headers, payload and a checksum.
    frame.extend(length(12 + headers.len() + payload.len() + 4));
    frame.extend(length(headers.len()));
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload.bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}
