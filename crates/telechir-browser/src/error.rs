//! How a command to the browser fails, and what that means to whoever asked.

use std::time::Duration;

use telechir_device::DeviceError;

/// Why a command of the protocol has no answer. Texts read after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CdpError {
    /// The browser is gone.
    #[error("reach Chromium: {why}")]
    Lost { why: String },
    /// The page is gone; the browser lives.
    #[error("reach the page: {0}")]
    PageGone(Gone),
    /// No answer in time.
    #[error("get an answer to {method} within {} ms", limit.as_millis())]
    Timeout {
        method: &'static str,
        limit: Duration,
    },
    /// Chromium says no.
    #[error("carry out {method}: {message}")]
    Protocol {
        method: &'static str,
        message: String,
    },
}

impl From<CdpError> for DeviceError {
    fn from(error: CdpError) -> Self {
        match error {
            CdpError::Lost { .. } => Self::Disconnected {
                device: "browser",
                source: Box::new(error),
            },
            CdpError::PageGone(gone) => refused(format!("Failed to reach the page: {gone}.")),
            CdpError::Timeout { limit, .. } => Self::Timeout {
                what: "get an answer from the page",
                limit_ms: millis(limit),
            },
            CdpError::Protocol { .. } => refused(format!("Failed to {error}.")),
        }
    }
}

/// How a page can be gone while its browser lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Gone {
    /// Nothing is left of it.
    #[error("its tab was closed")]
    Closed,
    /// Its process died; the tab is there.
    #[error("it crashed; reload it or go to another address")]
    Crashed,
}

/// A refusal in these words.
pub(crate) fn refused(message: impl Into<String>) -> DeviceError {
    DeviceError::Refused {
        message: message.into(),
    }
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
