//! What the decoder of a dialect's stream receives and returns.

use serde::Serialize;
use serde_json::Value;
use telechir_protocol::{IncompleteCall, IncompleteCallError};

use crate::DecodeError;
use crate::precision::ParsingLosses;

/// What an event adds to the response, for display. Not to be executed before the stream ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// Text that the model writes to the user.
    Text {
        /// Position of the content in the response.
        index: u64,
        /// The characters to append.
        text: String,
    },
    /// Text of the model's reasoning.
    Reasoning {
        /// Position of the content in the response.
        index: u64,
        /// The characters to append.
        text: String,
    },
    /// A part of a call.
    Call(CallDelta),
    /// All parts of a call were received. It may run once the stream has ended without an error.
    CallEnd {
        /// Position of the call in the response.
        index: u64,
    },
    /// Any other event, as the provider sent it.
    Other {
        /// The provider's name of the event.
        event: String,
        /// The event's JSON, also if its form is unknown.
        json: Value,
    },
}

/// A part of a call, in the form that [`IncompleteCall`] merges.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallDelta {
    /// Position of the call in the response.
    pub index: u64,
    /// The id that connects the call and its result, when this part has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The name of the tool, when this part has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Characters to append to the arguments; complete arguments are JSON.
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

/// Why a stream did not become a response. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// Bytes that are not an event of this dialect.
    #[error("read event {number} of the stream: {problem}")]
    BadEvent {
        /// Number of the event, from 1.
        number: usize,
        /// What is wrong with the event.
        problem: String,
    },
    /// The stream ended before the response was complete.
    #[error("read the stream to its end: {missing}; no call was executed")]
    Truncated {
        /// What was missing at the end.
        missing: String,
    },
    /// The provider sent an error.
    #[error("read the stream: the provider sent an error: {message}")]
    Provider {
        /// The provider's error message.
        message: String,
    },
    /// The response is larger than the limit.
    #[error("read the stream: it exceeds {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Bytes were pushed after a push had failed.
    #[error("continue a stream after an error")]
    Broken,
    /// Parts of a call contradict each other.
    #[error(transparent)]
    InconsistentCall(#[from] IncompleteCallError),
    /// The assembled response cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl StreamError {
    /// An event that its dialect does not accept; `number` is from 1.
    pub(crate) fn bad_event(number: usize, problem: impl Into<String>) -> Self {
        Self::BadEvent {
            number,
            problem: problem.into(),
        }
    }

    /// A stream that ended without this part.
    pub(crate) fn truncated(missing: impl Into<String>) -> Self {
        Self::Truncated {
            missing: missing.into(),
        }
    }
}

/// Assembles a dialect's events into a response.
pub(crate) trait StreamDecoder: Send {
    /// Takes the next bytes, which may end anywhere in an event.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError>;

    /// The complete response as the provider sends it without streaming. Adds the numbers that were
    /// rounded to `rounded`.
    fn finish(self: Box<Self>, rounded: &mut ParsingLosses) -> Result<Value, StreamError>;
}
