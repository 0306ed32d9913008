//! Errors of calls to applications and the accessibility bus.

use std::time::Duration;

use telechir_device::DeviceError;

/// Why a call to an application or the bus failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BusError {
    /// There is no bus, or the connection is lost.
    #[error("connect to the accessibility bus: {0}")]
    Gone(String),
    /// The reply did not arrive in time.
    #[error("receive a reply from {peer} within {} ms", limit.as_millis())]
    TimedOut {
        /// The peer that did not reply.
        peer: &'static str,
        /// The duration of the timeout.
        limit: Duration,
    },
    /// The call returned an error: the object is gone or lacks the interface.
    #[error("call an application: {0}")]
    Refused(String),
    /// The reply could not be decoded.
    #[error("decode the reply of an application: {0}")]
    Malformed(String),
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
        Self::Malformed(error.to_string())
    }
}

impl From<BusError> for DeviceError {
    fn from(error: BusError) -> Self {
        match error {
            BusError::TimedOut { peer, limit } => Self::Timeout {
                what: match peer {
                    "an application" => "receive a reply from the application",
                    _ => "receive a reply from the accessibility bus",
                },
                limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            },
            BusError::Gone(message) => Self::Unavailable {
                what: "the accessibility of applications",
                message: format!("{message}; use screenshots, pointer and keyboard instead"),
            },
            BusError::Refused(message) | BusError::Malformed(message) => Self::Refused {
                message: format!("The application rejected the request: {message}."),
            },
        }
    }
}

/// The element with this ref is gone.
pub(crate) fn stale(id: &str) -> DeviceError {
    DeviceError::Stale {
        target: id.to_owned(),
    }
}
