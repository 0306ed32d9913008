//! What an X server can do to us, and how that reads to the engine.

use std::io;

use telechir_device::DeviceError;
use x11rb::errors::{ConnectError, ConnectionError, ParseError, ReplyError, ReplyOrIdError};
use x11rb::x11_utils::X11Error;

/// Why a request to the X server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XError {
    /// The connection broke: the server ended, or threw us out.
    #[error("talk to the X server")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server said no.
    #[error("the X server refused: {0:?}")]
    Refused(X11Error),
    /// The server did not answer in time.
    #[error("{what} within {limit_ms} ms")]
    Silent {
        /// What was waited for.
        what: &'static str,
        /// The limit.
        limit_ms: u64,
    },
    /// What is asked for cannot be done; the text is for the model.
    #[error("{0}")]
    Impossible(String),
}

impl From<ConnectionError> for XError {
    fn from(error: ConnectionError) -> Self {
        Self::Lost(Box::new(error))
    }
}

impl From<io::Error> for XError {
    fn from(error: io::Error) -> Self {
        Self::Lost(Box::new(error))
    }
}

impl From<ParseError> for XError {
    fn from(error: ParseError) -> Self {
        Self::Lost(Box::new(error))
    }
}

impl From<ConnectError> for XError {
    fn from(error: ConnectError) -> Self {
        Self::Lost(Box::new(error))
    }
}

impl From<ReplyError> for XError {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => Self::Refused(error),
        }
    }
}

impl From<ReplyOrIdError> for XError {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => Self::Refused(error),
            ReplyOrIdError::IdsExhausted => Self::Lost(Box::new(error)),
        }
    }
}

impl From<XError> for DeviceError {
    fn from(error: XError) -> Self {
        match error {
            XError::Lost(source) => Self::Disconnected {
                device: "desktop",
                source,
            },
            // Nothing of ours should be refused; the server is there all the same.
            XError::Refused(_) => Self::Unavailable {
                what: "the action",
                message: error.to_string(),
            },
            XError::Silent { what, limit_ms } => Self::Timeout { what, limit_ms },
            XError::Impossible(message) => Self::Refused { message },
        }
    }
}
