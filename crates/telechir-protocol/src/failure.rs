//! Why a call or a step did not do what was asked: data for the model, not an error of ours.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The sort of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The call says something that cannot be done: a point off the picture, an unknown key.
    InvalidInput,
    /// The policy or a person said no.
    Denied,
    /// The device or this program cannot do it.
    Unsupported,
    /// A label or a ref of a picture that is no longer the newest.
    Stale,
    /// The device failed while doing it.
    #[default]
    Device,
    /// It did not end in time.
    Timeout,
    /// It was stopped before its end.
    Cancelled,
    /// An earlier step of the same batch failed, so this one was never begun.
    NotExecuted,
    /// A crash came between the start and the end: nobody knows whether it had its effect.
    Interrupted,
}

/// Why something did not happen. In JSON an object, or only its `message` as a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The sort.
    pub kind: FailureKind,
    /// One sentence for the model: what, where, what to do instead.
    pub message: String,
}

impl Failure {
    /// A failure of this kind with one sentence for the model.
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
        enum Wire {
            Message(String),
            Whole {
                #[serde(default)]
                kind: FailureKind,
                message: String,
            },
        }
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Message(message) => Self {
                kind: FailureKind::default(),
                message,
            },
            Wire::Whole { kind, message } => Self { kind, message },
        })
    }
}
