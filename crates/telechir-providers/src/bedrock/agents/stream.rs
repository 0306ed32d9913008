//! Assembles a response of InvokeAgent from its events. No event marks the end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::ids;
use crate::StreamError;
use crate::json::text_of;
use crate::precision::ParsingLosses;
use crate::stream::{CallDelta, Delta, EventAssembler};

/// A response as received so far.
#[derive(Debug, Default)]
pub(super) struct AgentsResponseBuilder {
    events: Vec<Value>,
    calls: u64,
}

impl EventAssembler for AgentsResponseBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        let name = name.unwrap_or_default();
        let index = self.events.len() as u64;
        let deltas = match name {
            "chunk" => {
                let bytes = STANDARD.decode(text_of(&event, "bytes"));
                let bytes = bytes.map_err(|error| {
                    StreamError::bad_event(
                        self.events.len() + 1,
                        format!("its `bytes` are not base64: {error}"),
                    )
                })?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                vec![Delta::Text { index, text }]
            }
            "returnControl" => self.calls(&event),
            _ => vec![Delta::Other {
                event: name.to_owned(),
                json: event.clone(),
            }],
        };
        self.events.push(json!({name: event}));
        Ok(deltas)
    }

    fn finish(self, _: &mut ParsingLosses) -> Result<Value, StreamError> {
        if self.events.is_empty() {
            return Err(StreamError::truncated("the stream has no event"));
        }
        Ok(json!({"completion": self.events}))
    }
}

impl AgentsResponseBuilder {
    /// The deltas for the calls of a complete payload.
    fn calls(&mut self, payload: &Value) -> Vec<Delta> {
        let inputs = payload.get("invocationInputs").and_then(Value::as_array);
        let inputs = inputs.map_or(&[][..], Vec::as_slice);
        let ids = ids::of_invocation(text_of(payload, "invocationId"), inputs.len());
        let mut deltas = Vec::new();
        for (input, id) in inputs.iter().zip(ids) {
            let index = self.calls;
            self.calls += 1;
            let call = input.as_object().and_then(|input| input.values().next());
            let name = call.and_then(|call| call.get("function")?.as_str());
            let arguments = call.and_then(|call| call.get("parameters"));
            deltas.push(Delta::Call(CallDelta {
                index,
                call_id: Some(id),
                name: name.map(str::to_owned),
                arguments: arguments.map(Value::to_string).unwrap_or_default(),
            }));
            deltas.push(Delta::CallEnd { index });
        }
        deltas
    }
}
