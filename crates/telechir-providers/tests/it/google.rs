//! The dialects `google-generate-content` and `google-interactions`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test matches the expected content and fails on any other"
)]

mod calls;
mod declare;
mod histories;
mod recorded;
mod results;
mod without_raw;

use serde_json::{Value, json};
use telechir_protocol::{Content, DataContent, Media, ModelTurn, ToolResult};
use telechir_providers::{Dialect, EncodedReply, History, Report};

const PARTS: Dialect = Dialect::GoogleGenerateContent;
const STEPS: Dialect = Dialect::GoogleInteractions;
/// A PNG of 8 by 6 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAEUlEQVR42mNwaDiAFTEMpAQAAdFIAedY0+sAAAAASUVORK5CYII=";

fn image() -> Media {
    Media::Data(DataContent::from_base64("image/png", PNG))
}

/// A response with these parts.
fn response(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}], "responseId": "r1"})
}

/// A turn decoded from these parts.
fn turn(parts: &Value) -> ModelTurn {
    let bytes = response(parts).to_string();
    PARTS.decode_response(bytes.as_bytes()).unwrap().0
}

/// A turn decoded from these steps.
fn turn_of_steps(steps: &Value) -> ModelTurn {
    let interaction = json!({"id": "v1", "status": "requires_action", "steps": steps});
    let bytes = interaction.to_string();
    STEPS.decode_response(bytes.as_bytes()).unwrap().0
}

/// The content that a call of this function decodes to.
fn call(name: &str, args: Value) -> Content {
    let turn = turn(&json!([{"functionCall": {"id": "c1", "name": name, "args": args}}]));
    assert_eq!(turn.contents().len(), 1);
    turn.contents()[0].clone()
}

fn reply(dialect: Dialect, turn: ModelTurn, results: Vec<ToolResult>) -> EncodedReply {
    dialect
        .encode_results(&turn.answer(results).unwrap())
        .unwrap()
}

fn history(dialect: Dialect, value: &Value) -> History {
    let read = dialect.decode_history(value.to_string().as_bytes());
    read.unwrap_or_else(|error| panic!("{error}: {value}")).0
}

fn written(dialect: Dialect, history: &History) -> (Value, Report) {
    dialect.encode_history(history).unwrap()
}
