//! Assembles a response of InvokeModelWithResponseStream: each chunk is an Anthropic event.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_protocol::json_limits;

use crate::StreamError;
use crate::anthropic::AnthropicMessageBuilder;
use crate::json::text_of;
use crate::precision::ParsingLosses;
use crate::stream::{Delta, EventAssembler};

/// Field with the usage, in the last event and in the complete response.
const METRICS: &str = "amazon-bedrock-invocationMetrics";

/// A message as received so far.
#[derive(Debug, Default)]
pub(super) struct InvokeResponseBuilder {
    builder: AnthropicMessageBuilder,
    metrics: Option<Value>,
    number: usize,
    rounded: ParsingLosses,
}

impl EventAssembler for InvokeResponseBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        if name != Some("chunk") {
            return Ok(vec![Delta::Other {
                event: name.unwrap_or_default().to_owned(),
                json: event,
            }]);
        }
        let bad = |problem: String| StreamError::bad_event(self.number, problem);
        let bytes = STANDARD
            .decode(text_of(&event, "bytes"))
            .map_err(|error| bad(format!("its `bytes` are not base64: {error}")))?;
        let mut event: Value = json_limits::parse(&bytes)
            .map_err(|error| bad(format!("its `bytes` are not JSON: {error}")))?;
        self.rounded.check_event(&bytes);
        if let Some(members) = event.as_object_mut() {
            self.metrics = members
                .shift_remove(METRICS)
                .or_else(|| self.metrics.take());
        }
        self.builder.event(None, event)
    }

    fn finish(self, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        rounded.absorb(self.rounded);
        let mut message = self.builder.finish(rounded)?;
        if let Some((members, metrics)) = message.as_object_mut().zip(self.metrics) {
            members.insert(METRICS.to_owned(), metrics);
        }
        Ok(message)
    }
}
