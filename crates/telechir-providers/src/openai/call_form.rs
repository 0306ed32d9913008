//! How a call stands on the wire, which decides how its output is written.

use serde_json::Value;
use telechir_protocol::{
    Command, ComputerCall, EditCall, EditTool, FunctionCall, Meta, ShellAction, ShellCall,
};

use super::PROVIDER;
use super::item::property;
use crate::companion;

/// The item a call is, where that is not what its neutral kind says.
pub(super) mod form {
    pub(in crate::openai) const PREVIEW: &str = "preview";
    pub(in crate::openai) const FUNCTION: &str = "function";
    pub(in crate::openai) const CUSTOM: &str = "custom";
    pub(in crate::openai) const LOCAL_SHELL: &str = "local_shell";
    /// Under this name the form is kept.
    pub(in crate::openai) const NAME: &str = "form";
}

/// The item that an output belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
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
pub(super) struct Asked {
    pub(super) form: Form,
    /// To be copied.
    pub(super) caller: Option<Value>,
}

impl Asked {
    fn new(form: Form, meta: &Meta) -> Self {
        Self {
            form,
            caller: meta.property(PROVIDER, "caller").cloned(),
        }
    }

    /// `sayable` is whether the computer tool has all its actions.
    pub(super) fn computer(call: &ComputerCall, sayable: bool) -> Self {
        let form = match property(&call.meta, form::NAME) {
            _ if !sayable => Form::Function,
            Some(form::FUNCTION) => Form::Function,
            Some(form::PREVIEW) => Form::Preview,
            Some(_) => Form::Computer,
            None if call.group.as_deref() == Some(companion::BROWSER) => Form::Function,
            None => Form::Computer,
        };
        Self::new(form, &call.meta)
    }

    pub(super) fn shell(call: &ShellCall) -> Self {
        let local = match call.commands.as_slice() {
            [Command::Argv(_)] => true,
            [] | [_] => property(&call.meta, form::NAME) == Some(form::LOCAL_SHELL),
            _ => false,
        };
        let form = if local {
            Form::LocalShell {
                item_id: call.item_id.clone(),
            }
        } else if call.action == ShellAction::Execute {
            Form::Shell {
                commands: call.commands.len(),
                max_output: call.max_output,
            }
        } else {
            Form::Function
        };
        Self::new(form, &call.meta)
    }

    pub(super) fn edit(call: &EditCall) -> Self {
        let form = match call.tool {
            EditTool::Patch => Form::Patch,
            EditTool::Editor | EditTool::Memory => Form::Function,
        };
        Self::new(form, &call.meta)
    }

    pub(super) fn function(call: &FunctionCall) -> Self {
        let custom = property(&call.meta, form::NAME) == Some(form::CUSTOM);
        Self::new(
            if custom { Form::Custom } else { Form::Function },
            &call.meta,
        )
    }
}
