//! Errors of devices.

use std::error::Error;

use telechir_protocol::{Failure, FailureKind};

/// Why a device failed. Texts continue "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The action is invalid; the message is for the model.
    #[error("perform the action: {message}")]
    Refused {
        /// What is wrong, and what to do instead.
        message: String,
    },
    /// The device does not support this action.
    #[error("perform `{action}`: this {device} does not support it")]
    Unsupported {
        /// Name of the action.
        action: String,
        /// Name of the device.
        device: &'static str,
    },
    /// The element of a ref is gone, or its document was replaced.
    #[error("find {target}: it is gone; read the elements again")]
    Stale {
        /// The label or ref of the target.
        target: String,
    },
    /// The operation did not end in time.
    #[error("{what} within {limit_ms} ms")]
    Timeout {
        /// The operation that was waited for.
        what: &'static str,
        /// The time limit in milliseconds.
        limit_ms: u64,
    },
    /// The page did not answer and was recovered.
    #[error("get an answer from the page within {limit_ms} ms: {remedy}")]
    Unresponsive {
        /// The time limit in milliseconds.
        limit_ms: u64,
        /// How it was recovered, and the state now.
        remedy: &'static str,
    },
    /// A required component is not installed or not allowed; the message says how to get it.
    #[error("start {what}: {message}")]
    Unavailable {
        /// The missing component as the message names it, such as "the editor".
        what: &'static str,
        /// What is wrong, and how to fix it.
        message: String,
    },
    /// The device exited during the action, and a new one was started.
    #[error(
        "finish the action: the {device} exited. A new, empty {device} was started; take a screenshot and start over"
    )]
    Restarted {
        /// Name of the device.
        device: &'static str,
    },
    /// The connection to a device that keeps running was cut and opened again.
    #[error(
        "finish the action: the connection to the {device} was cut, {}. {remedy}",
        match is_effect_unknown {
            true => "and whether the action took effect is unknown",
            false => "and the action was not performed",
        }
    )]
    Reconnected {
        /// Name of the device.
        device: &'static str,
        /// Whether the action may have taken effect; otherwise it did not.
        is_effect_unknown: bool,
        /// The state of the device now, and what to do, as a sentence without a full stop.
        remedy: &'static str,
    },
    /// The device's kill switch was pressed: nothing more may be done with it.
    #[error("continue: the user stopped this session ({why})")]
    Stopped {
        /// How the user stopped it.
        why: &'static str,
    },
    /// The device is gone.
    #[error("reach the {device}: it is gone{}", DeviceEnd::text(source.as_ref()))]
    Disconnected {
        /// Name of the device.
        device: &'static str,
        /// The device's own error; a [`DeviceEnd`] if it is known why the device ended.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Why a device ended, which [`DeviceError::Disconnected`] tells the model.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct DeviceEnd {
    /// A clause without a full stop, such as "the X server exited".
    pub reason: String,
}

impl DeviceEnd {
    fn text(source: &(dyn Error + Send + Sync + 'static)) -> String {
        let end = source.downcast_ref::<Self>();
        end.map_or_else(String::new, |end| format!(" ({})", end.reason))
    }
}

impl DeviceError {
    /// The failure as the model reads it.
    pub fn to_failure(&self) -> Failure {
        let kind = match self {
            Self::Refused { .. } => FailureKind::InvalidInput,
            Self::Unsupported { .. } => FailureKind::Unsupported,
            Self::Stale { .. } => FailureKind::Stale,
            Self::Timeout { .. } | Self::Unresponsive { .. } => FailureKind::Timeout,
            Self::Stopped { .. } => FailureKind::Cancelled,
            Self::Reconnected {
                is_effect_unknown: true,
                ..
            } => FailureKind::Interrupted,
            Self::Unavailable { .. }
            | Self::Restarted { .. }
            | Self::Reconnected { .. }
            | Self::Disconnected { .. } => FailureKind::Device,
        };
        let message = match self {
            Self::Refused { message } => message.clone(),
            Self::Unsupported { .. }
            | Self::Stale { .. }
            | Self::Timeout { .. }
            | Self::Unresponsive { .. }
            | Self::Unavailable { .. }
            | Self::Restarted { .. }
            | Self::Reconnected { .. }
            | Self::Stopped { .. }
            | Self::Disconnected { .. } => format!("Failed to {self}."),
        };
        Failure::new(kind, message)
    }
}
