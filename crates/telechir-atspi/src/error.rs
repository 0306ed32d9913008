//! How talking to applications fails.

use std::time::Duration;

use telechir_device::DeviceError;

/// Why an application or its bus gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BusError {
    /// There is no bus, or it is gone.
    #[error("talk to the accessibility bus: {0}")]
    Gone(String),
    /// It did not answer in time.
    #[error("hear from {whom} within {} ms", limit.as_millis())]
    Late {
        /// Who should have answered.
        whom: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// It said no: the object is gone, or has no such ability.
    #[error("ask an application: {0}")]
    Refused(String),
    /// It said something that cannot be read.
    #[error("understand an application: {0}")]
    Garbled(String),
}

impl From<zbus::Error> for BusError {
    fn from(error: zbus::Error) -> Self {
        use zbus::Error as Z;
        if let Z::MethodError(name, text, _) = &error {
            let text = text.as_deref().unwrap_or_default();
            return Self::Refused(format!("{name}: {text}"));
        }
        if matches!(error, Z::InputOutput(_) | Z::Handshake(_)) {
            return Self::Gone(error.to_string());
        }
        if matches!(error, Z::DBus(_) | Z::FDO(_)) {
            return Self::Refused(error.to_string());
        }
        Self::Garbled(error.to_string())
    }
}

impl From<BusError> for DeviceError {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Late { whom, limit } => Self::Timeout {
                what: match whom {
                    "an application" => "hear from the application",
                    _ => "hear from the accessibility bus",
                },
                limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            },
            BusError::Gone(message) => Self::Unavailable {
                what: "the accessibility of applications",
                message: format!("{message}; pointer and keys work without it"),
            },
            BusError::Refused(message) | BusError::Garbled(message) => Self::Refused {
                message: format!("The application does not do that: {message}."),
            },
        }
    }
}
