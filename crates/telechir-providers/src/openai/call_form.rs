//! How a call stands on the wire, which decides how its output is written.

use serde_json::Value;
use telechir_protocol::{
    Command, ComputerCall, EditCall, EditTool, FunctionCall, Meta, ShellAction, ShellCall,
};

use super::PROVIDER;
use super::item::property;
use crate::companion;

/// The item a call is, where that is not what its neutral kind says.
pub(super) mod form_property {
    pub(in crate::openai) const PREVIEW: &str = "preview";
    pub(in crate::openai) const FUNCTION: &str = "function";
    pub(in crate::openai) const CUSTOM: &str = "custom";
    pub(in crate::openai) const LOCAL_SHELL: &str = "local_shell";
    /// Under this name the form is kept.
    pub(in crate::openai) const NAME: &str = "form";
}

/// The item that an output belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallItem {
    /// `computer_call` with `actions`.
    Computer,
    /// `computer_call` with `action`, of `computer_use_preview`.
    Preview,
    /// `function_call`.
    Function,
    /// `custom_tool_call`.
    Custom,
    /// `shell_call`.
    Shell {
        commands: usize,
        max_output: Option<u64>,
    },
    /// `local_shell_call` with its own id.
    LocalShell { item_id: Option<String> },
    /// `apply_patch_call`.
    Patch,
}

/// What an output has to know of its call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallForm {
    pub(super) item: CallItem,
    /// To be copied.
    pub(super) caller: Option<Value>,
}

impl CallForm {
    fn new(item: CallItem, meta: &Meta) -> Self {
        Self {
            item,
            caller: meta.property(PROVIDER, "caller").cloned(),
        }
    }

    /// `is_supported` is whether the computer tool has all its actions.
    pub(super) fn computer(call: &ComputerCall, is_supported: bool) -> Self {
        let item = match property(&call.meta, form_property::NAME) {
            _ if !is_supported => CallItem::Function,
            Some(form_property::FUNCTION) => CallItem::Function,
            Some(form_property::PREVIEW) => CallItem::Preview,
            Some(_) => CallItem::Computer,
            None if call.group.as_deref() == Some(companion::BROWSER) => CallItem::Function,
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
        let item = if local {
            CallItem::LocalShell {
                item_id: call.item_id.clone(),
            }
        } else if call.action == ShellAction::Execute {
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
        let custom = property(&call.meta, form_property::NAME) == Some(form_property::CUSTOM);
        Self::new(
            if custom {
                CallItem::Custom
            } else {
                CallItem::Function
            },
            &call.meta,
        )
    }
}
