//! Errors of the X11 crate and their conversion to [`DeviceError`].

use std::io;

use telechir_device::DeviceError;
use x11rb::errors::{ConnectError, ConnectionError, ParseError, ReplyError, ReplyOrIdError};
use x11rb::x11_utils::X11Error;

/// Why a request to the X server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XError {
    /// The connection broke: the server exited or closed it.
    #[error("connect to the X server, or stay connected")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server returned a protocol error.
    #[error("the X server rejected a request: {0:?}")]
    Refused(X11Error),
    /// The server or a client did not reply in time.
    #[error("{what} within {limit_ms} ms")]
    TimedOut {
        /// The operation, as a phrase that continues "failed to".
        what: &'static str,
        /// The timeout in milliseconds.
        limit_ms: u64,
    },
    /// The request cannot be fulfilled; the text is addressed to the model.
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
            // Requests of this crate should not be refused; the server is still connected.
            XError::Refused(_) => Self::Unavailable {
                what: "the action",
                message: error.to_string(),
            },
            XError::TimedOut { what, limit_ms } => Self::Timeout { what, limit_ms },
            XError::Impossible(message) => Self::Refused { message },
        }
    }
}
