//! Tests of the dialects of Amazon Bedrock.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test matches the expected content and fails on any other"
)]

mod agents;
mod anthropic_body;
mod converse;
mod declare;
mod recorded;
mod without_raw;

use serde_json::{Value, json};
use telechir_protocol::{DataContent, Media, ModelTurn, ToolResult};
use telechir_providers::{Dialect, EncodeError, EncodedReply, History};

/// A PNG of 8 by 6 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAEUlEQVR42mNwaDiAFTEMpAQAAdFIAedY0+sAAAAASUVORK5CYII=";

fn image() -> Media {
    Media::Data(DataContent::from_base64("image/png", PNG))
}

fn read(dialect: Dialect, document: &Value) -> ModelTurn {
    dialect
        .decode_response(document.to_string().as_bytes())
        .unwrap()
        .0
}

fn history(dialect: Dialect, document: &Value) -> History {
    dialect
        .decode_history(document.to_string().as_bytes())
        .unwrap()
        .0
}

/// A Converse response with these content blocks.
fn converse(blocks: &Value) -> Value {
    json!({
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 10, "outputTokens": 9, "totalTokens": 19},
        "metrics": {"latencyMs": 990},
    })
}

fn reply(
    dialect: Dialect,
    response: &Value,
    results: Vec<ToolResult>,
) -> Result<EncodedReply, EncodeError> {
    dialect.encode_results(&read(dialect, response).answer(results).unwrap())
}
