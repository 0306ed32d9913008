//! Maps the `type` names and members of other vocabularies to the neutral ones.

use serde_json::{Map, Value};

use super::rename;
use crate::{ActionKind, Content};

/// Other vocabularies' names of the known contents.
const ALIASES: &[(&str, &str)] = &[
    ("function", "function_call"),
    ("computer_tool_call", "computer_call"),
    ("computer_tool_result", "computer_result"),
    ("shell_tool_call", "shell_call"),
    ("shell_tool_result", "shell_result"),
    ("code_interpreter_tool_call", "command_call"),
    ("code_interpreter_tool_result", "command_result"),
    ("image_generation_tool_call", "image_generation_call"),
    ("image_generation_tool_result", "image_generation_result"),
    ("function_approval_request", "approval_request"),
    ("function_approval_response", "approval_response"),
];

/// The neutral name of a `type`; none if it is unknown.
pub(crate) fn canonical(name: &str, members: &Map<String, Value>) -> Option<&'static str> {
    known(name).or_else(|| is_action_call(name, members).then_some("computer_call"))
}

fn known(name: &str) -> Option<&'static str> {
    let canonical = Content::TYPE_NAMES
        .iter()
        .find(|canonical| **canonical == name)
        .copied();
    canonical.or_else(|| {
        ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|(_, canonical)| *canonical)
    })
}

/// Whether this is an action that is a call by itself: its class is its `type`, and it has a
/// `call_id`.
fn is_action_call(name: &str, members: &Map<String, Value>) -> bool {
    members.get("call_id").is_some_and(Value::is_string) && name.parse::<ActionKind>().is_ok()
}

/// Renames the members of a content with the `type` `name` to the neutral names.
pub(crate) fn translate(name: &str, members: &mut Map<String, Value>) {
    match name {
        "function" | "function_call" => {
            rename(members, "id", "item_id");
            for foreign in ["informational_only", "hosted"] {
                if members.get(foreign) == Some(&Value::Bool(true)) {
                    members.shift_remove(foreign);
                    members.insert("requires_local_execution".to_owned(), false.into());
                }
            }
        }
        "function_result" => rename(members, "exception", "error"),
        "text_reasoning" | "computer_tool_result" => rename(members, "id", "item_id"),
        "function_approval_request" => rename(members, "function_call", "call"),
        "approval_response" | "function_approval_response" => {
            rename(members, "function_call", "call");
            if !members.get("approved").is_some_and(Value::is_boolean) {
                members.insert("approved".to_owned(), false.into());
            }
        }
        "image_generation_tool_call" | "image_generation_tool_result" => {
            rename(members, "image_id", "call_id");
            if let Some(outputs) = members.get_mut("outputs").filter(|value| value.is_object()) {
                *outputs = Value::Array(vec![outputs.take()]);
            }
        }
        "usage" => lift(members, "usage_details"),
        _ if known(name).is_none() => wrap_action(name, members),
        _ => {}
    }
}

/// Wraps an action that is a call by itself into a call.
fn wrap_action(name: &str, members: &mut Map<String, Value>) {
    let mut action = std::mem::take(members);
    if let Some(call_id) = action.shift_remove("call_id") {
        members.insert("call_id".to_owned(), call_id);
    }
    action.insert("type".to_owned(), name.into());
    members.insert(
        "actions".to_owned(),
        Value::Array(vec![Value::Object(action)]),
    );
}

/// Moves the members of a nested object up.
fn lift(members: &mut Map<String, Value>, name: &str) {
    match members.shift_remove(name) {
        Some(Value::Object(inner)) => {
            for (name, value) in inner {
                members.entry(name).or_insert(value);
            }
        }
        Some(other) => {
            members.insert(name.to_owned(), other);
        }
        None => {}
    }
}
