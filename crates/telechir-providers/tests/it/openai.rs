//! The dialect `openai-responses`.

mod arbitrary_input;
mod calls;
mod client_calls;
mod declare;
mod histories;
mod recorded;
mod rejected_requests;
mod results;
mod stream;
mod translate;
mod vectors;
mod without_raw;

use serde_json::{Value, json};
use telechir_protocol::{AnsweredTurn, Content, DataContent, Media, ModelTurn, ToolResult};
use telechir_providers::{Dialect, EncodedReply, History, Report};

const DIALECT: Dialect = Dialect::OpenaiResponses;
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// A turn whose output consists of these items.
fn turn(items: Value) -> ModelTurn {
    DIALECT
        .decode_response(json!({"output": items}).to_string().as_bytes())
        .unwrap()
        .0
}

/// The single content of a response with this item.
fn content(item: Value) -> Content {
    let turn = turn(json!([item]));
    assert_eq!(turn.contents().len(), 1);
    turn.contents()[0].clone()
}

fn history(value: &Value) -> History {
    DIALECT
        .decode_history(value.to_string().as_bytes())
        .unwrap()
        .0
}

fn written(history: &History) -> (Value, Report) {
    DIALECT.encode_history(history).unwrap()
}

fn answered(items: Value, results: Vec<ToolResult>) -> AnsweredTurn {
    turn(items).answer(results).unwrap()
}

fn reply(items: Value, results: Vec<ToolResult>) -> EncodedReply {
    DIALECT.encode_results(&answered(items, results)).unwrap()
}

fn image() -> Media {
    Media::Data(DataContent {
        uri: IMAGE.into(),
        media_type: None,
        name: None,
        meta: Default::default(),
    })
}

fn click(call_id: &str) -> Value {
    json!({
        "id": "cu_1", "type": "computer_call", "status": "completed", "call_id": call_id,
        "actions": [{"type": "click", "button": "left", "x": 0, "y": 0, "keys": null}],
    })
}
