//! Function calls, complete and streamed.

mod incomplete;
mod partial;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use incomplete::{IncompleteCall, IncompleteCallError, IncompleteCalls};

use crate::{CallId, Content, Failure, Meta, json_limits};

/// A call's arguments exactly as the provider returned them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Arguments {
    /// JSON inside a string (OpenAI).
    Text(String),
    /// A JSON object (Anthropic, Google).
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
    /// When the text is not JSON, or exceeds the limit on values.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Text(text) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
            Self::Text(text) => json_limits::parse(text.as_bytes()),
            Self::Json(members) => Ok(Value::Object(members.clone())),
        }
    }
}

/// A call to a tool that is neither a screen, a shell nor an editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionCall {
    /// Pairs the call with its result; some providers send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The provider's id of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Name of the called tool.
    pub name: String,
    /// The arguments, verbatim. Also read as `returned_arguments`.
    #[serde(alias = "returned_arguments")]
    pub arguments: Arguments,
    /// Whether this program executes the call; false if the provider does.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub requires_local_execution: bool,
    /// Whether the call may be structured output in disguise.
    #[serde(default, skip_serializing_if = "is_no")]
    pub could_be_structured_output: bool,
    /// Why the call cannot be executed: it could not be decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

impl FunctionCall {
    /// Creates a call to this tool that this program executes.
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

    /// The arguments as text, verbatim if they were sent as text.
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

/// The result of a [`FunctionCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionResult {
    /// Pairs the result with its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Name of the tool, for providers that pair by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The returned value as contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Content>,
    /// The returned value as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}
