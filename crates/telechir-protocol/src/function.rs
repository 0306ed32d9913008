//! Function calls, whole and in pieces.

mod incomplete;
mod partial;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use incomplete::{IncompleteCall, IncompleteCallError, IncompleteCalls};

use crate::{CallId, Content, Failure, Meta, bounded};

/// A call's arguments exactly as the provider returned them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Arguments {
    /// JSON inside a string (OpenAI).
    Text(String),
    /// JSON itself (Anthropic, Google).
    Json(Map<String, Value>),
}

impl Arguments {
    /// The arguments as text.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(members) => Value::Object(members.clone()).to_string(),
        }
    }

    /// The arguments as a value; empty text is an empty object.
    ///
    /// # Errors
    /// When the text is not JSON, or has more values than any call.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Text(text) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
            Self::Text(text) => bounded::parse(text.as_bytes()),
            Self::Json(members) => Ok(Value::Object(members.clone())),
        }
    }
}

/// A call of a tool that is neither a screen, a shell nor an editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionCall {
    /// Joins call and result; some providers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The provider's name of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments as they came. Also read as `returned_arguments`.
    #[serde(alias = "returned_arguments")]
    pub arguments: Arguments,
    /// Whether it is ours to carry out; false when the provider does it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub requires_local_execution: bool,
    /// Whether it may be an answer in a given form, disguised as a call.
    #[serde(default, skip_serializing_if = "is_no")]
    pub could_be_structured_output: bool,
    /// Why the call cannot be carried out at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

impl FunctionCall {
    /// A call of this tool that is ours to carry out.
    pub fn new(name: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            call_id: None,
            item_id: None,
            name: name.into(),
            arguments,
            requires_local_execution: true,
            could_be_structured_output: false,
            exception: None,
            meta: Meta::default(),
        }
    }

    /// The arguments as text, as they came where they came as text.
    pub fn arguments_as_str(&self) -> String {
        self.arguments.to_text()
    }

    /// The arguments as a value; empty text is an empty object.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn arguments_as_value(&self) -> Result<Value, serde_json::Error> {
        self.arguments.to_value()
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !*value
}

/// The one result of a [`FunctionCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionResult {
    /// Joins call and result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The tool, where a provider joins by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it returns, in parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Content>,
    /// What it returns, as the caller gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}
