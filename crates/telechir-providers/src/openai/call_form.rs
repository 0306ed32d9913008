//! The item type of a call, which determines the item type of its output.

use serde_json::Value;
use telechir_protocol::{
    Command, ComputerCall, Content, EditCall, EditTool, FunctionCall, Meta, ShellAction, ShellCall,
};

use super::PROVIDER;
use super::item::property;
use crate::{extra_tools, fallback_tools};

/// Values of the `form` property, set if the item type differs from the default of the neutral
/// call.
pub(super) mod form_property {
    pub(in crate::openai) const PREVIEW: &str = "preview";
    pub(in crate::openai) const FUNCTION: &str = "function";
    pub(in crate::openai) const CUSTOM: &str = "custom";
    pub(in crate::openai) const LOCAL_SHELL: &str = "local_shell";
    /// The property that stores the form.
    pub(in crate::openai) const NAME: &str = "form";
}

/// The item type as which a call was or will be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallItem {
    /// `computer_call` with the `actions` list.
    Computer,
    /// `computer_call` with a single `action`, of `computer_use_preview`.
    Preview,
    /// A `function_call` item.
    Function,
    /// A `custom_tool_call` item.
    Custom,
    /// A `shell_call` item.
    Shell {
        commands: usize,
        max_output: Option<u64>,
    },
    /// `local_shell_call` with its item id.
    LocalShell { item_id: Option<String> },
    /// An `apply_patch_call` item.
    Patch,
    /// An item of this type, which has no neutral kind.
    Other(String),
}

/// What an output needs to know about its call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallForm {
    pub(super) item: CallItem,
    /// The call's `caller`, copied to the output.
    pub(super) caller: Option<Value>,
}

impl CallForm {
    fn new(item: CallItem, meta: &Meta) -> Self {
        Self {
            item,
            caller: meta.property(PROVIDER, "caller").cloned(),
        }
    }

    /// `is_supported`: whether the computer tool has an equivalent for all actions.
    pub(super) fn computer(call: &ComputerCall, is_supported: bool) -> Self {
        let item = match property(&call.meta, form_property::NAME) {
            _ if !is_supported => CallItem::Function,
            Some(form_property::FUNCTION) => CallItem::Function,
            Some(form_property::PREVIEW) => CallItem::Preview,
            Some(_) => CallItem::Computer,
            None if call.group.as_deref() == Some(extra_tools::BROWSER) => CallItem::Function,
            None => CallItem::Computer,
        };
        Self::new(item, &call.meta)
    }

    pub(super) fn shell(call: &ShellCall) -> Self {
        let local = match call.commands.as_slice() {
            [Command::Argv(_)] => true,
            [] | [_] => {
                property(&call.meta, form_property::NAME) == Some(form_property::LOCAL_SHELL)
            }
            _ => false,
        };
        // Only a function call can carry arguments that could not be read.
        let content = Content::ShellCall(call.clone());
        let is_unread = fallback_tools::unread_arguments(&content).is_some();
        let item = if local {
            CallItem::LocalShell {
                item_id: call.item_id.clone(),
            }
        } else if call.action == ShellAction::Execute && !is_unread {
            CallItem::Shell {
                commands: call.commands.len(),
                max_output: call.max_output,
            }
        } else {
            CallItem::Function
        };
        Self::new(item, &call.meta)
    }

    pub(super) fn edit(call: &EditCall) -> Self {
        let item = match call.tool {
            EditTool::Patch => CallItem::Patch,
            EditTool::Editor | EditTool::Memory => CallItem::Function,
        };
        Self::new(item, &call.meta)
    }

    pub(super) fn function(call: &FunctionCall) -> Self {
        let item = match property(&call.meta, form_property::NAME) {
            Some(form_property::CUSTOM) => CallItem::Custom,
            None | Some(form_property::FUNCTION) => CallItem::Function,
            Some(other) => CallItem::Other(other.to_owned()),
        };
        Self::new(item, &call.meta)
    }
}
