//! File edits: the neutral form of apply_patch, text editors and memory tools.

mod json;
mod step;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CallId, Failure, Meta};

pub use step::{EDIT_STEPS, EditStep};

/// Which tool the model thinks it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditTool {
    /// OpenAI `apply_patch`.
    Patch,
    /// Anthropic text editors.
    Editor,
    /// Anthropic memory.
    Memory,
}

/// One operation: its name (`create_file`, `str_replace`, `view`, …) and arguments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditOperation {
    /// The provider's name of the operation.
    pub name: String,
    /// The file or folder.
    #[cfg_attr(
        feature = "schema",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub path: Option<String>,
    /// The other arguments, as they came.
    #[cfg_attr(feature = "schema", serde(flatten))]
    pub args: Map<String, Value>,
}

/// What a model asks of an editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditCall {
    /// Joins call and result.
    pub call_id: CallId,
    /// The provider's name of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Which tool.
    pub tool: EditTool,
    /// The operations in order.
    pub operations: Vec<EditOperation>,
    /// Why the call cannot be carried out at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// The one result of an [`EditCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditResult {
    /// Joins call and result.
    pub call_id: CallId,
    /// What the operations say, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it did not do what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}
