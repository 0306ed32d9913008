//! The dialects `functions` and `functions-inline`: neutral tools as functions of any model.

mod calls;
mod declare;
mod losses;
mod other_dialects;
mod results;
mod services;
mod without_raw;

use serde_json::{Value, json};
use telechir_protocol::{Content, DataContent, Media, ModelTurn, ToolResult};
use telechir_providers::{Dialect, EncodedReply, History, Report};

pub(crate) const DIALECT: Dialect = Dialect::Functions;
pub(crate) const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// A response with this message.
pub(crate) fn response(message: &Value, finish: &str) -> Value {
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
}

/// A response with these calls: id, function, arguments.
pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Value {
    let entry = |(id, name, arguments): &(&str, &str, Value)| {
        let arguments = arguments
            .as_str()
            .map_or_else(|| arguments.to_string(), str::to_owned);
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    };
    let calls: Vec<Value> = calls.iter().map(entry).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    response(&message, "tool_calls")
}

pub(crate) fn turn_of(dialect: Dialect, document: &Value) -> ModelTurn {
    dialect
        .decode_response(document.to_string().as_bytes())
        .unwrap()
        .0
}

/// The single content of a response with this call.
pub(crate) fn call(name: &str, arguments: Value) -> Content {
    let turn = turn_of(DIALECT, &calls(&[("call_a", name, arguments)]));
    assert_eq!(turn.contents().len(), 1);
    turn.contents()[0].clone()
}

pub(crate) fn reply(dialect: Dialect, document: &Value, results: Vec<ToolResult>) -> EncodedReply {
    let turn = turn_of(dialect, document).answer(results).unwrap();
    dialect.encode_results(&turn).unwrap()
}

pub(crate) fn history_of(dialect: Dialect, value: &Value) -> History {
    dialect
        .decode_history(value.to_string().as_bytes())
        .unwrap()
        .0
}

pub(crate) fn written(dialect: Dialect, history: &History) -> (Value, Report) {
    dialect.encode_history(history).unwrap()
}

pub(crate) fn image() -> Media {
    Media::Data(DataContent {
        uri: IMAGE.into(),
        media_type: Some("image/png".to_owned()),
        name: None,
        meta: Default::default(),
    })
}
