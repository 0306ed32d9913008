//! How a device fails.

use telechir_protocol::{Failure, FailureKind};

/// Why a device did not do what it was asked. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The action says something that cannot be done; the message is for the model.
    #[error("carry out the action: {message}")]
    Refused {
        /// What is wrong and what to do instead.
        message: String,
    },
    /// This device cannot do such a thing.
    #[error("carry out `{action}`: this {device} cannot do it")]
    Unsupported {
        /// The action's name.
        action: String,
        /// What the device is.
        device: &'static str,
    },
    /// A ref whose document was replaced or whose element is gone.
    #[error("find {target}: it is gone; read the elements again")]
    Stale {
        /// The label or ref.
        target: String,
    },
    /// It did not end in time.
    #[error("{what} within {limit_ms} ms")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The limit.
        limit_ms: u64,
    },
    /// What it was asked of did not answer, and was made to answer again.
    #[error("get an answer from the page within {limit_ms} ms: {remedy}")]
    Unresponsive {
        /// The limit.
        limit_ms: u64,
        /// What was done about it, and what is there now.
        remedy: &'static str,
    },
    /// A part that is needed is not installed or not allowed; the message says how to get it.
    #[error("start {what}: {message}")]
    Unavailable {
        /// The part.
        what: &'static str,
        /// What is wrong and how to mend it.
        message: String,
    },
    /// The device ended during the action, and another was started in its place.
    #[error(
        "finish the action: the {device} ended under it. A fresh, empty {device} is there instead; look at it and begin again"
    )]
    Restarted {
        /// What the device is.
        device: &'static str,
    },
    /// A person stopped it, by the device's kill switch: nothing more is to be done with it.
    #[error("go on: a person stopped this session ({why})")]
    Stopped {
        /// What the person did.
        why: &'static str,
    },
    /// The device was there and is gone.
    #[error("reach the {device}: it is gone")]
    Disconnected {
        /// What the device is.
        device: &'static str,
        /// Devices differ too much for one type here.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl DeviceError {
    /// What the model is told.
    pub fn to_failure(&self) -> Failure {
        let kind = match self {
            Self::Refused { .. } => FailureKind::InvalidInput,
            Self::Unsupported { .. } => FailureKind::Unsupported,
            Self::Stale { .. } => FailureKind::Stale,
            Self::Timeout { .. } | Self::Unresponsive { .. } => FailureKind::Timeout,
            Self::Stopped { .. } => FailureKind::Cancelled,
            Self::Unavailable { .. } | Self::Restarted { .. } | Self::Disconnected { .. } => {
                FailureKind::Device
            }
        };
        let message = match self {
            Self::Refused { message } => message.clone(),
            Self::Unsupported { .. }
            | Self::Stale { .. }
            | Self::Timeout { .. }
            | Self::Unresponsive { .. }
            | Self::Unavailable { .. }
            | Self::Restarted { .. }
            | Self::Stopped { .. }
            | Self::Disconnected { .. } => format!("Failed to {self}."),
        };
        Failure::new(kind, message)
    }
}
