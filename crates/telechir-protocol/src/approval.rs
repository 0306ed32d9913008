//! Asking a person, whatever the reason: a provider's check, a policy, a tool's own mode.

use serde::{Deserialize, Serialize};

use crate::{Content, Meta, SafetyCheck};

/// A question for a person about one exact call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    /// Names the question.
    pub id: String,
    /// The call it is about: a function, computer or shell call.
    pub call: Box<Content>,
    /// The provider's checks, when they are the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safety_checks: Vec<SafetyCheck>,
    /// The policy's reason, when it is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest of the exact call; an answer holds for no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalResponse {
    /// The question's name.
    pub id: String,
    /// Anything but a clear yes is a no.
    pub approved: bool,
    /// The person's words, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Content>>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}
