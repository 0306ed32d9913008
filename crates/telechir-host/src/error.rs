//! Why a session host could not be used.

use std::error::Error;
use std::fmt::Display;
use std::io;

use serde::{Deserialize, Serialize};

/// What went wrong, for callers that continue differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostErrorKind {
    /// The session executed other calls for too long; this one did not start.
    Busy,
    /// The call was cancelled.
    Cancelled,
    /// The connection to the session host was lost.
    Lost,
    /// The session host speaks another version of the protocol.
    Version,
    /// The key belongs to a turn with other contents; nothing was executed.
    KeyReused,
    /// A call has the id of an earlier, different one; it was not executed.
    CallIdReused,
    /// Every other failure; the message names it.
    #[default]
    Other,
}

/// Why a session host could not be used: a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    kind: HostErrorKind,
    message: String,
}

impl HostError {
    /// An error without a kind of its own.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(HostErrorKind::Other, message)
    }

    pub(crate) fn of(kind: HostErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    pub(crate) fn unreachable(name: impl Display, error: impl Display) -> Self {
        Self::new(format!("failed to reach session {name}: {error}"))
    }

    /// The kind of failure, by which callers continue differently.
    pub fn kind(&self) -> HostErrorKind {
        self.kind
    }
}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> Self {
        Self::new(format!("failed to use the session's files: {error}"))
    }
}

/// An error with all its causes on one line, as the commands and session hosts report it.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
