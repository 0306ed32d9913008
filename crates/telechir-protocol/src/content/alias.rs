//! The `type` names and members of other vocabularies, put into ours when a content is read.

use serde_json::{Map, Value};

use super::Content;

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
pub(super) fn canonical(name: &str) -> Option<&'static str> {
    let known = Content::TYPE_NAMES.iter().find(|known| **known == name);
    known.copied().or_else(|| {
        ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|(_, canonical)| *canonical)
    })
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
        }
        "usage" => lift(members, "usage_details"),
        _ => {}
    }
}

/// Renames a member, unless ours is there already; then theirs is kept as an unknown one.
fn rename(members: &mut Map<String, Value>, theirs: &str, ours: &str) {
    if members.contains_key(ours) {
        return;
    }
    if let Some(value) = members.shift_remove(theirs) {
        members.insert(ours.to_owned(), value);
    }
}

/// Puts the members of a member beside it.
fn lift(members: &mut Map<String, Value>, name: &str) {
    match members.shift_remove(name) {
        Some(Value::Object(inner)) => members.extend(inner),
        Some(other) => {
            members.insert(name.to_owned(), other);
        }
        None => {}
    }
}
