//! Responses that arrive in pieces: bytes in, deltas out, at the end the same turn as the whole
//! response.
//!
//! A stream only ever becomes a turn by [`Stream::finish`], which reads the whole response again
//! as if it had come at once: what was cut off can never run.

mod events;
mod sse;

use serde::Serialize;
use serde_json::Value;
use telechir_protocol::{IncompleteCall, IncompleteCallError, ModelTurn};

use crate::numbers::RoundedNumbers;
use crate::{DecodeError, Dialect, Report};

pub(crate) use events::{EventAssembler, Events};

/// Most bytes of one response, all its pieces together.
pub(crate) const MAX_RESPONSE: usize = 256 * 1024 * 1024;

/// A response that is arriving.
pub struct Stream {
    dialect: Dialect,
    receiver: Box<dyn StreamDecoder>,
    received: usize,
    is_broken: bool,
}

/// What a piece adds, to show while the rest is on its way. Nothing here may be carried out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// Words for a person.
    Text {
        /// The place of the content in the response.
        index: u64,
        /// What follows.
        text: String,
    },
    /// Thinking.
    Reasoning {
        /// The place of the content in the response.
        index: u64,
        /// What follows.
        text: String,
    },
    /// A call: the place, and what this piece says of id, name and arguments.
    Call(CallDelta),
    /// A call whose every piece is there. It may run when the stream has ended well.
    CallEnd {
        /// The place of the call in the response.
        index: u64,
    },
    /// Anything else that a person may want to see, in the provider's own words.
    Other {
        /// The provider's name of the event.
        event: String,
        /// The event.
        json: Value,
    },
}

/// A piece of a call, as [`IncompleteCall`] merges them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallDelta {
    /// The place of the call in the response.
    pub index: u64,
    /// What joins it with its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The next characters of its arguments, which are JSON once all are there.
    pub arguments: String,
}

impl From<CallDelta> for IncompleteCall {
    fn from(piece: CallDelta) -> Self {
        Self {
            index: Some(piece.index),
            call_id: piece.call_id.map(Into::into),
            name: piece.name,
            arguments: piece.arguments,
        }
    }
}

/// A response that has arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamedResponse {
    /// The response as the provider would have sent it at once.
    pub response: Value,
    /// What it means.
    pub turn: ModelTurn,
    /// What could not be read as it was said.
    pub report: Report,
}

/// Why a stream is no response. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// Bytes that are no event of this dialect.
    #[error("read event {number} of the stream: {problem}")]
    BadEvent {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The stream ended before the response did.
    #[error("read the stream to its end: {missing}; nothing of it was carried out")]
    Truncated {
        /// What did not come.
        missing: String,
    },
    /// The provider says an error instead of going on.
    #[error("read the stream: the provider answered with an error: {message}")]
    Provider {
        /// The provider's words.
        message: String,
    },
    /// More than a response can have.
    #[error("read the stream: it is longer than {limit} bytes")]
    TooLong {
        /// The most.
        limit: usize,
    },
    /// A piece was pushed after one that could not be read.
    #[error("go on with a stream that failed before")]
    Broken,
    /// Pieces that do not belong together.
    #[error(transparent)]
    Pieces(#[from] IncompleteCallError),
    /// The whole response cannot be read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// How a dialect puts its pieces together.
pub(crate) trait StreamDecoder: Send {
    /// Takes bytes as they come, cut anywhere.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError>;

    /// The whole response, as the provider would have sent it at once, and what was rounded of it.
    fn finish(self: Box<Self>, rounded: &mut RoundedNumbers) -> Result<Value, StreamError>;
}

impl Dialect {
    /// Begins to read a response that arrives in pieces; none when this dialect's never do.
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
    pub fn stream(self) -> Option<Stream> {
        let receiver = self.wire().stream_decoder()?;
        Some(Stream {
            dialect: self,
            receiver,
            received: 0,
            is_broken: false,
        })
    }
}

impl Stream {
    /// Takes bytes as they come, cut anywhere, and says what they add.
    ///
    /// # Errors
    /// When they are no event of the dialect, or the provider says an error. The stream cannot
    /// go on then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        if self.is_broken {
            return Err(StreamError::Broken);
        }
        self.received = self.received.saturating_add(bytes.len());
        let pushed = if self.received > MAX_RESPONSE {
            Err(StreamError::TooLong {
                limit: MAX_RESPONSE,
            })
        } else {
            self.receiver.push(bytes)
        };
        self.is_broken = pushed.is_err();
        pushed
    }

    /// The whole response and what it means.
    ///
    /// # Errors
    /// When the response had not come to its end, or cannot be read.
    pub fn finish(self) -> Result<StreamedResponse, StreamError> {
        if self.is_broken {
            return Err(StreamError::Broken);
        }
        let mut rounded = RoundedNumbers::default();
        let response = self.receiver.finish(&mut rounded)?;
        let (turn, mut report) = self.dialect.wire().decode_response(response.clone())?;
        rounded.tell("", &mut report);
        Ok(StreamedResponse {
            response,
            turn,
            report,
        })
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("dialect", &self.dialect)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}
