//! Decodes streamed responses: takes bytes, returns deltas, and finally the same turn as for a
//! response that was not streamed.
//!
//! Only [`Stream::finish`] produces a turn: it decodes the assembled response. So a call of a
//! truncated stream can never run.

mod decoder;
mod events;
mod sse;

use serde_json::Value;
use telechir_protocol::ModelTurn;

use crate::precision::ParsingLosses;
use crate::{Dialect, Report};

pub(crate) use decoder::StreamDecoder;
pub use decoder::{CallDelta, Delta, StreamError};
pub(crate) use events::{EventAssembler, SseDecoder};

/// Maximum size of one streamed response, in bytes.
const MAX_RESPONSE_BYTES: usize = 256 * 1024 * 1024;

/// A response that is being received.
pub struct ResponseStream {
    dialect: Dialect,
    decoder: Box<dyn StreamDecoder>,
    received_bytes: usize,
    is_broken: bool,
}

/// A response that was received completely.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamedResponse {
    /// The response as the provider sends it without streaming.
    pub response: Value,
    /// The response, decoded into neutral contents.
    pub turn: ModelTurn,
    /// What could not be decoded exactly.
    pub report: Report,
}

impl Dialect {
    /// Starts to decode a streamed response; `None` if the dialect has no streams.
    ///
    /// ```
    /// use telechir_providers::{Delta, Dialect};
    /// let bytes = br#"event: message_start
    /// data: {"type": "message_start", "message": {"role": "assistant", "content": []}}
    ///
    /// data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    ///
    /// data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
    ///
    /// data: {"type": "content_block_stop", "index": 0}
    ///
    /// data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    ///
    /// data: {"type": "message_stop"}
    ///
    /// "#;
    /// let mut stream = Dialect::AnthropicMessages.stream().unwrap();
    /// let mut deltas = Vec::new();
    /// for piece in bytes.chunks(7) {
    ///     deltas.extend(stream.push(piece)?);
    /// }
    /// assert_eq!(deltas, [Delta::Text { index: 0, text: "Hi".to_owned() }]);
    /// let received = stream.finish()?;
    /// assert_eq!(received.response["content"][0]["text"], "Hi");
    /// assert_eq!(received.response["stop_reason"], "end_turn");
    /// assert!(received.turn.calls().is_empty());
    /// # Ok::<(), telechir_providers::StreamError>(())
    /// ```
    pub fn stream(self) -> Option<ResponseStream> {
        let decoder = self.codec().stream_decoder?();
        Some(ResponseStream {
            dialect: self,
            decoder,
            received_bytes: 0,
            is_broken: false,
        })
    }
}

impl ResponseStream {
    /// Takes the next bytes, which may end anywhere in an event, and returns what they add.
    ///
    /// # Errors
    /// If the bytes are not an event of the dialect, or the provider sent an error. Every later
    /// push fails, too.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        if self.is_broken {
            return Err(StreamError::Broken);
        }
        self.received_bytes = self.received_bytes.saturating_add(bytes.len());
        let pushed = if self.received_bytes > MAX_RESPONSE_BYTES {
            Err(StreamError::TooLong {
                limit: MAX_RESPONSE_BYTES,
            })
        } else {
            self.decoder.push(bytes)
        };
        self.is_broken = pushed.is_err();
        pushed
    }

    /// Ends the stream: returns the complete response and the decoded turn.
    ///
    /// # Errors
    /// If the response is incomplete or cannot be decoded.
    pub fn finish(self) -> Result<StreamedResponse, StreamError> {
        let dialect = self.dialect;
        let (response, rounded) = self.into_response()?;
        let (turn, mut report) = dialect.decode_turn(response.clone())?;
        report.absorb(rounded);
        Ok(StreamedResponse {
            response,
            turn,
            report,
        })
    }

    /// The complete response, not decoded, and what was rounded in it.
    pub(crate) fn into_response(self) -> Result<(Value, Report), StreamError> {
        if self.is_broken {
            return Err(StreamError::Broken);
        }
        let mut rounded = ParsingLosses::default();
        let response = self.decoder.finish(&mut rounded)?;
        let mut report = Report::default();
        rounded.report_missing_members(&response, &mut report);
        rounded.report_to("", &mut report);
        Ok((response, report))
    }
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("dialect", &self.dialect)
            .field("received_bytes", &self.received_bytes)
            .finish_non_exhaustive()
    }
}
