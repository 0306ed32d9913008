//! Why a call or a step failed: data for the model, not an error of this program.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The kind of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The call is invalid: a point outside the screenshot, an unknown key.
    InvalidInput,
    /// The policy or the user denied it.
    Denied,
    /// The device or this program does not support it.
    Unsupported,
    /// A label or ref of a screenshot that is no longer the latest one.
    Stale,
    /// The device failed while performing it.
    #[default]
    Device,
    /// It did not end within its time limit.
    Timeout,
    /// It was stopped before it was complete.
    Cancelled,
    /// It was not started, because an earlier step of the same batch failed.
    NotExecuted,
    /// A crash happened during it, so its effect is unknown.
    Interrupted,
}

/// Why an action failed. In JSON an object, or only its `message` as a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// One sentence for the model: what, where, what to do instead.
    pub message: String,
}

impl Failure {
    /// Creates a failure of this kind with one sentence for the model.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum FailureForm {
            Message(String),
            Object {
                #[serde(default)]
                kind: FailureKind,
                message: String,
            },
        }
        Ok(match FailureForm::deserialize(deserializer)? {
            FailureForm::Message(message) => Self {
                kind: FailureKind::default(),
                message,
            },
            FailureForm::Object { kind, message } => Self { kind, message },
        })
    }
}
