//! Converts between function calls and the neutral calls they represent.

use std::collections::HashSet;

use serde_json::Value;
use telechir_protocol::{
    Arguments, CallId, ComputerCall, Content, EditCall, EditTool, FunctionCall, ShellCall, TargetId,
};

use super::{COMPUTER, EDITOR, MEMORY, PATCH, SHELL, edit, shell};
use crate::extra_tools;
use crate::json::{Fields, present};

/// What is needed to decode the result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallInfo {
    /// A screen or browser call, with its tool group and action names.
    Computer(Option<String>, Vec<String>),
    /// A call of the shell.
    Shell,
    /// A call of an editor, memory or patch tool.
    Edit,
    /// A call of any other function, with its name.
    Function(String),
}

/// A call as a function name and arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionInvocation {
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
}

impl FunctionInvocation {
    /// The call as a text, for a model that cannot be shown the call itself.
    pub(crate) fn as_text(&self) -> String {
        let arguments = self.arguments.to_text();
        match arguments.trim() {
            "" | "{}" => format!("[{}]", self.name),
            arguments => format!("[{}] {arguments}", self.name),
        }
    }
}

/// Whether a provider executed the call without returning a result. Another provider would wait for
/// one.
pub(crate) fn is_hosted_without_result(content: &Content, answered: &HashSet<CallId>) -> bool {
    let Content::FunctionCall(call) = content else {
        return false;
    };
    let has_result = call
        .call_id
        .as_ref()
        .is_some_and(|id| answered.contains(id));
    !call.requires_local_execution && !has_result
}

/// Decodes a function call to the neutral call it represents. An invalid call carries the reason in
/// `exception`.
pub(crate) fn decode_call(name: &str, call_id: &str, arguments: Arguments) -> Content {
    let parsed = match arguments.to_value() {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(format!(
            "the arguments are not an object: {}",
            shortened(&other.to_string())
        )),
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    };
    let call = match name {
        COMPUTER | extra_tools::COMPUTER => {
            Some(computer_call(extra_tools::COMPUTER, call_id, &parsed))
        }
        extra_tools::BROWSER | extra_tools::EXECUTE_BROWSER => {
            Some(computer_call(name, call_id, &parsed))
        }
        SHELL | extra_tools::SHELL => Some(Content::ShellCall(shell::read(call_id, &parsed))),
        EDITOR => edit::read(EditTool::Editor, call_id, &parsed).map(Content::EditCall),
        MEMORY => edit::read(EditTool::Memory, call_id, &parsed).map(Content::EditCall),
        PATCH => edit::read(EditTool::Patch, call_id, &parsed).map(Content::EditCall),
        _ => None,
    };
    call.unwrap_or_else(|| {
        let exception = parsed.err();
        let mut call = FunctionCall::new(name, arguments);
        call.call_id = Some(call_id.into());
        call.exception = exception;
        Content::FunctionCall(call)
    })
}

fn computer_call(name: &str, call_id: &str, arguments: &Result<Fields, String>) -> Content {
    let refused = |exception: String| {
        let mut call = ComputerCall::new(call_id, Vec::new());
        call.exception = Some(exception);
        if extra_tools::is_browser(name) {
            call.group = Some(extra_tools::BROWSER.to_owned());
            call.target = Some(TargetId::from(extra_tools::BROWSER));
        } else {
            call.group = Some(extra_tools::COMPUTER_GROUP.to_owned());
        }
        call
    };
    let read = |arguments: Fields| {
        extra_tools::decode_computer_call(name, call_id, &Arguments::Json(arguments))
    };
    let call = match arguments {
        Err(problem) => refused(problem.clone()),
        Ok(members) => match read(members.clone()) {
            Some(call) if call.exception.is_none() => call,
            strict => read(without_defaults(members))
                .filter(|call| call.exception.is_none())
                .or(strict)
                .unwrap_or_else(|| {
                    refused("the arguments have no `action`; each call takes one".to_owned())
                }),
        },
    };
    Content::ComputerCall(call)
}

/// Removes arguments without effect, because small models fill in every declared one: null, empty
/// texts and lists, zero distances, the left button.
fn without_defaults(members: &Fields) -> Fields {
    let typing = members.get("action").is_some_and(|action| action == "type");
    let is_default = |name: &str, value: &Value| match value {
        Value::Null => true,
        Value::String(text) => {
            (text.is_empty() && !(typing && name == "text")) || (name == "button" && text == "left")
        }
        Value::Array(items) => items.is_empty() || (name == "coordinate" && all_zero(items)),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        Value::Object(members) => members.is_empty(),
    };
    members
        .iter()
        .filter(|(name, value)| !is_default(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn all_zero(items: &[Value]) -> bool {
    items.iter().all(|item| item.as_f64() == Some(0.0))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The call as a function name and arguments; `None` if the content is not a call.
pub(crate) fn to_function_call(content: &Content) -> Option<FunctionInvocation> {
    let mut called = readable_call(content)?;
    if let Some(arguments) = unread_arguments(content) {
        called.arguments = arguments;
    }
    Some(called)
}

/// Whether this is a call of our tools whose arguments could not be read.
pub(crate) fn is_unread(content: &Content) -> bool {
    if let Content::ComputerCall(call) = content {
        call.exception.is_some() && call.actions.is_empty()
    } else if let Content::ShellCall(call) = content {
        call.exception.is_some() && call.commands.is_empty()
    } else if let Content::EditCall(call) = content {
        call.exception.is_some() && call.operations.is_empty()
    } else {
        false
    }
}

/// The arguments of a call that could not be read, as they came.
pub(crate) fn unread_arguments(content: &Content) -> Option<Arguments> {
    if !is_unread(content) {
        return None;
    }
    let raw = content.meta()?.raw_representation.as_ref()?;
    let mut open: Vec<&Fields> = raw.json().as_object().into_iter().collect();
    while let Some(members) = open.pop() {
        let names = ["arguments", "input", "args"];
        if let Some(value) = names.into_iter().find_map(|name| present(members, name)) {
            return Some(match value {
                Value::Object(arguments) => Arguments::Json(arguments.clone()),
                Value::String(text) => Arguments::Text(text.clone()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                    Arguments::Text(value.to_string())
                }
            });
        }
        open.extend(members.values().filter_map(Value::as_object));
    }
    None
}

fn readable_call(content: &Content) -> Option<FunctionInvocation> {
    if let Content::ComputerCall(call) = content {
        return Some(computer_function(call));
    }
    if let Content::ShellCall(call) = content {
        return Some(shell_function(call));
    }
    if let Content::EditCall(call) = content {
        return Some(edit_function(call));
    }
    if let Content::FunctionCall(call) = content {
        return Some(FunctionInvocation {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
    }
    None
}

fn computer_function(call: &ComputerCall) -> FunctionInvocation {
    let (name, arguments) = extra_tools::encode_computer_call(call);
    let name = if name == extra_tools::COMPUTER {
        COMPUTER
    } else {
        name
    };
    FunctionInvocation {
        name: name.to_owned(),
        arguments: Arguments::Text(arguments),
    }
}

fn shell_function(call: &ShellCall) -> FunctionInvocation {
    FunctionInvocation {
        name: SHELL.to_owned(),
        arguments: Arguments::Text(Value::Object(shell::write(call)).to_string()),
    }
}

fn edit_function(call: &EditCall) -> FunctionInvocation {
    let name = match call.tool {
        EditTool::Patch => PATCH,
        EditTool::Editor => EDITOR,
        EditTool::Memory => MEMORY,
    };
    FunctionInvocation {
        name: name.to_owned(),
        arguments: Arguments::Text(Value::Object(edit::write(call)).to_string()),
    }
}

/// The id of a call and what is needed to decode its result; `None` if the content is not a call.
pub(crate) fn call_info(content: &Content) -> Option<(Option<&str>, CallInfo)> {
    if let Content::ComputerCall(call) = content {
        let actions = call.actions.iter().map(|action| action.name().to_owned());
        let known = CallInfo::Computer(call.group.clone(), actions.collect());
        return Some((Some(call.call_id.as_str()), known));
    }
    if let Content::ShellCall(call) = content {
        return Some((Some(call.call_id.as_str()), CallInfo::Shell));
    }
    if let Content::EditCall(call) = content {
        return Some((Some(call.call_id.as_str()), CallInfo::Edit));
    }
    if let Content::FunctionCall(call) = content {
        let call_id = call.call_id.as_ref().map(|id| id.as_str());
        return Some((call_id, CallInfo::Function(call.name.clone())));
    }
    None
}
