//! Why a service did not do what was asked.

use std::time::Duration;

/// The kind of a service's refusal or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceErrorKind {
    /// The key or the configuration cannot be used as it is.
    Configuration,
    /// The service does not accept a member of the request.
    Invalid,
    /// The key is wrong, expired, or not allowed to do this.
    Unauthorized,
    /// A limit of the user's plan, or of what it may cost.
    Quota,
    /// Something is in use, such as a context.
    Busy,
    /// The session has ended, or never was.
    Gone,
    /// No answer, or an error of the service itself.
    Unreachable,
    /// The answer is not that of this service.
    Unreadable,
}

/// Why a service did not do what was asked. The text is a sentence without a full stop, and has
/// neither a key nor an address of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ServiceError {
    /// What kind of failure it is.
    pub kind: ServiceErrorKind,
    /// When the service wants to be asked again.
    pub retry_after: Option<Duration>,
    text: String,
}

impl ServiceError {
    pub(crate) fn new(kind: ServiceErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            retry_after: None,
            text: text.into(),
        }
    }

    pub(crate) fn with(mut self, more: &str) -> Self {
        self.text = format!("{}; {more}", self.text);
        self
    }
}
