//! The `type` names and members of other vocabularies, put into ours when a content is read.

use serde_json::{Map, Value};

use super::Content;
use crate::ActionKind;

/// Other vocabularies' names of the contents we know.
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

/// Our name for this `type`; none when nobody knows it.
pub(super) fn canonical(name: &str, members: &Map<String, Value>) -> Option<&'static str> {
    known(name).or_else(|| is_action_call(name, members).then_some("computer_call"))
}

fn known(name: &str) -> Option<&'static str> {
    let ours = Content::TYPE_NAMES
        .iter()
        .find(|ours| **ours == name)
        .copied();
    ours.or_else(|| {
        ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|(_, ours)| *ours)
    })
}

/// One action that is a call by itself: its class is its `type`, and it has a `call_id`.
fn is_action_call(name: &str, members: &Map<String, Value>) -> bool {
    members.get("call_id").is_some_and(Value::is_string) && name.parse::<ActionKind>().is_ok()
}

/// Puts the members of a content that came as `name` under our names.
pub(super) fn translate(name: &str, members: &mut Map<String, Value>) {
    match name {
        "function" | "function_call" => {
            rename(members, "id", "item_id");
            for theirs in ["informational_only", "hosted"] {
                if members.get(theirs) == Some(&Value::Bool(true)) {
                    members.shift_remove(theirs);
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

/// Makes an action that is a call by itself the one action of a call.
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

/// Renames a member, unless ours is there already; then theirs is kept as an unknown one.
fn rename(members: &mut Map<String, Value>, theirs: &str, ours: &str) {
    if members.get(ours).is_some_and(|value| !value.is_null()) {
        return;
    }
    members.shift_remove(ours);
    if let Some(value) = members.shift_remove(theirs) {
        members.insert(ours.to_owned(), value);
    }
}

/// Puts the members of a member beside it.
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
