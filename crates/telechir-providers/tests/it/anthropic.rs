//! Tests of the dialect `anthropic-messages`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test matches the expected content and fails on any other"
)]

mod calls;
mod declare;
mod from_openai;
mod histories;
mod limits;
mod malformed_input;
mod message_order;
mod recorded;
mod results;
mod stream;
mod vectors;
mod without_raw;

use serde_json::{Value, json};
use telechir_protocol::{Content, DataContent, Media, ModelTurn, ToolResult};
use telechir_providers::{Dialect, EncodeError, EncodedReply, History, Report};

const DIALECT: Dialect = Dialect::AnthropicMessages;
/// A PNG of 8 by 6 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAEUlEQVR42mNwaDiAFTEMpAQAAdFIAedY0+sAAAAASUVORK5CYII=";

fn image_media() -> Media {
    Media::Data(DataContent::from_base64("image/png", PNG))
}

fn image() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})
}

/// The turn decoded from these blocks.
fn turn(blocks: &Value) -> ModelTurn {
    let message = json!({"type": "message", "role": "assistant", "content": blocks});
    DIALECT
        .decode_response(message.to_string().as_bytes())
        .unwrap()
        .0
}

/// The content decoded from a block.
fn content(block: &Value) -> Content {
    let turn = turn(&json!([block]));
    assert_eq!(turn.contents().len(), 1);
    turn.contents()[0].clone()
}

fn reply(blocks: &Value, results: Vec<ToolResult>) -> Result<EncodedReply, EncodeError> {
    DIALECT.encode_results(&turn(blocks).answer(results).unwrap())
}

fn history(value: &Value) -> History {
    DIALECT
        .decode_history(value.to_string().as_bytes())
        .unwrap()
        .0
}

fn written(history: &History) -> Result<(Value, Report), EncodeError> {
    DIALECT.encode_history(history)
}

/// A call of a toolset member.
fn member(id: &str, toolset: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": toolset, "input": input})
}
