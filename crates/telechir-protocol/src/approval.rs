//! Approval by the user: for a provider's safety check, a policy or a tool's approval mode.

use serde::{Deserialize, Serialize};

use crate::{Content, Meta, SafetyCheck};

/// A question to the user about one exact call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    /// Id of the question.
    pub id: String,
    /// The call that needs approval: a function, computer or shell call.
    pub call: Box<Content>,
    /// The provider's safety checks, if they are the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safety_checks: Vec<SafetyCheck>,
    /// The policy's reason, if the policy is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Digest of the exact call; a response is valid for no other call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// The user's response to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalResponse {
    /// Id of the question.
    pub id: String,
    /// Whether the user approved; anything but an explicit yes is false.
    pub approved: bool,
    /// The user's comment for the model; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The call that the response is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Content>>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}
