//! A response in events: the last of them brings it whole.

use serde_json::{Map, Value};

use crate::StreamError;
use crate::conversation::text_of;
use crate::stream::{Assemble, CallPiece, Delta};

/// Events that end a response and bring it whole.
const LAST: [&str; 3] = [
    "response.completed",
    "response.incomplete",
    "response.failed",
];

/// What has come of a response.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    response: Option<Value>,
}

impl Assemble for Arriving {
    fn event(&mut self, _name: Option<&str>, mut event: Value) -> Result<Vec<Delta>, StreamError> {
        let kind = text_of(&event, "type").to_owned();
        if LAST.contains(&kind.as_str()) {
            self.response = event.get_mut("response").map(Value::take);
            return Ok(Vec::new());
        }
        let index = event
            .get("output_index")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let delta = || text_of(&event, "delta").to_owned();
        let piece = match kind.as_str() {
            "error" => return Err(failed(&event)),
            "response.output_text.delta" | "response.refusal.delta" => Delta::Text {
                index,
                text: delta(),
            },
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Delta::Reasoning {
                    index,
                    text: delta(),
                }
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta" => Delta::Call(CallPiece {
                index,
                arguments: delta(),
                ..CallPiece::default()
            }),
            "response.output_item.added" => match begun(&event, index) {
                Some(piece) => Delta::Call(piece),
                None => return Ok(Vec::new()),
            },
            "response.output_item.done" if call_id(&event).is_some() => Delta::CallEnd { index },
            _ => return Ok(Vec::new()),
        };
        Ok(vec![piece])
    }

    fn finish(self) -> Result<Value, StreamError> {
        self.response.ok_or_else(|| StreamError::Truncated {
            missing: "the event that ends the response did not come".to_owned(),
        })
    }
}

fn call_id(event: &Value) -> Option<&str> {
    event.get("item")?.get("call_id")?.as_str()
}

fn begun(event: &Value, index: u64) -> Option<CallPiece> {
    let item = event.get("item")?;
    let name = item.get("name").or_else(|| item.get("type"))?.as_str()?;
    Some(CallPiece {
        index,
        call_id: Some(call_id(event)?.to_owned()),
        name: Some(name.to_owned()),
        arguments: String::new(),
    })
}

/// An `error` event: its members stand in it, or in `error`.
fn failed(event: &Value) -> StreamError {
    let none = Map::new();
    let nested = event.get("error").and_then(Value::as_object);
    let error = nested.or_else(|| event.as_object()).unwrap_or(&none);
    let member = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = Some(member("code")).filter(|code| !code.is_empty());
    let message = format!("{}: {}", kind.unwrap_or("error"), member("message"));
    StreamError::Provider { message }
}
