//! Errors of CDP commands and their translation to device errors.

use std::time::Duration;

use telechir_device::DeviceError;

/// Why a CDP command failed. The texts complete "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CdpError {
    /// The connection to the browser is lost.
    #[error("reach Chromium: {reason}")]
    Lost { reason: String },
    /// The page is gone; the browser is not.
    #[error("reach the page: {0}")]
    PageGone(Gone),
    /// No reply within the limit.
    #[error("get an answer to {method} within {} ms", limit.as_millis())]
    Timeout {
        method: &'static str,
        limit: Duration,
    },
    /// Chromium returned an error.
    #[error("execute {method}: {message}")]
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

/// How a page can be gone while its browser still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Gone {
    /// The tab was closed.
    #[error("its tab was closed")]
    Closed,
    /// The renderer crashed; the tab still exists.
    #[error("it crashed; reload it or navigate to another address")]
    Crashed,
    /// The kernel killed the renderer.
    #[error(
        "it was killed, because the browser's processes together used more than {mebibytes} MiB of \
         memory; reload it or navigate to another address"
    )]
    OverMemoryLimit {
        /// The limit.
        mebibytes: u64,
    },
    /// A script filled the memory that Chromium gives to one page.
    #[error("it used up the memory for its scripts; reload it or navigate to another address")]
    FullHeap,
}

/// A refusal with this message.
pub(crate) fn refused(message: impl Into<String>) -> DeviceError {
    DeviceError::Refused {
        message: message.into(),
    }
}

/// The duration in milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
