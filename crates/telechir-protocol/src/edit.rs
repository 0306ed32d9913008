//! File edits: the neutral form of apply_patch, text editors and memory tools.

mod json;
mod step;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CallId, Failure, Meta};

pub use step::{EDIT_STEPS, EditStep};

/// The kind of edit tool that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditTool {
    /// OpenAI's `apply_patch` tool, which edits by diffs.
    Patch,
    /// Anthropic's text editor tools.
    Editor,
    /// Anthropic's memory tool, whose paths start with `/memories`.
    Memory,
}

/// One operation: its name (`create_file`, `str_replace`, `view`, …) and arguments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditOperation {
    /// The provider's name of the operation.
    pub name: String,
    /// Path of the file or folder.
    #[cfg_attr(
        feature = "schema",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub path: Option<String>,
    /// The other arguments, verbatim.
    #[cfg_attr(feature = "schema", serde(flatten))]
    pub args: Map<String, Value>,
}

/// A model's call to an editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditCall {
    /// Pairs the call with its result.
    pub call_id: CallId,
    /// The provider's id of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The tool that the call uses.
    pub tool: EditTool,
    /// The operations in order.
    pub operations: Vec<EditOperation>,
    /// Why the call cannot be executed: it could not be decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// The result of an [`EditCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditResult {
    /// Pairs the result with its call.
    pub call_id: CallId,
    /// Text output of the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}
