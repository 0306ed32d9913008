//! The members of computer and shell calls and results in other vocabularies.

use serde_json::{Map, Value};

use super::action::is_field;
use super::action_names::find;
use super::rename;
use crate::json::{InvalidMember, Members, excerpt, flag_of};

/// Renames the members of a computer call, and moves a single action into the list of actions.
pub(crate) fn computer_call(members: &mut Map<String, Value>) {
    members.shift_remove("type");
    rename(members, "id", "item_id");
    // The name in recordings of format 1.
    rename(members, "family", "group");
    safety_checks(members);
    if members.get("actions").is_none_or(Value::is_null) {
        members.shift_remove("actions");
        if let Some(action) = single_action(members) {
            members.insert("actions".to_owned(), vec![action].into());
        }
    }
}

/// Members of a computer call, which are never arguments of its action.
const CALL_MEMBERS: [&str; 11] = [
    "call_id",
    "item_id",
    "pending_safety_checks",
    "intent",
    "target",
    "group",
    "status",
    "exception",
    "annotations",
    "additional_properties",
    "raw_representation",
];

/// The decision record's form: one action whose members are the call's own.
fn single_action(members: &mut Map<String, Value>) -> Option<Value> {
    let action = members.shift_remove("action")?;
    if action.is_object() || action.is_null() {
        return Some(action).filter(Value::is_object);
    }
    // Any member may be an argument of an action that nobody knows.
    let is_known = action.as_str().is_some_and(|name| find(name).is_some());
    let is_argument = |name: &str| match is_known {
        // The intent is the call's.
        true => is_field(name) && name != "intent",
        false => !CALL_MEMBERS.contains(&name),
    };
    let (mut fields, call): (Map<_, _>, Map<_, _>) = std::mem::take(members)
        .into_iter()
        .partition(|(name, _)| is_argument(name));
    *members = call;
    fields.insert("action".to_owned(), action);
    Some(Value::Object(fields))
}

/// The safety checks, also under the name in the decision record's rationale.
fn safety_checks(members: &mut Map<String, Value>) {
    const NAME: &str = "pending_safety_checks";
    const REVIEW: &str = "pending_safety_review";
    wrap(members, REVIEW, NAME);
    if let Some(Value::Array(checks)) = members.get_mut(NAME)
        && let [Value::Array(review)] = checks.as_mut_slice()
    {
        *checks = std::mem::take(review);
    }
}

/// Renames the members of a shell call, and moves a single command into the list of commands.
pub(crate) fn shell_call(members: &mut Map<String, Value>) {
    members.shift_remove("type");
    rename(members, "id", "item_id");
    rename(members, "max_output_length", "max_output");
    wrap(members, "command", "commands");
}

/// Moves a value into a list, unless the list has items.
fn wrap(members: &mut Map<String, Value>, single: &str, list: &str) {
    let is_empty = |list: &Value| list.is_null() || list.as_array().is_some_and(Vec::is_empty);
    if members.get(list).is_none_or(is_empty)
        && let Some(value) = members.shift_remove(single)
        && !value.is_null()
    {
        members.insert(list.to_owned(), vec![value].into());
    }
}

/// Renames the members of a shell result, and moves those of a single output into the list.
pub(crate) fn shell_result(members: &mut Map<String, Value>) {
    members.shift_remove("type");
    rename(members, "id", "item_id");
    rename(members, "max_output_length", "max_output");
    if let Some(combined) = members.get_mut("combined")
        && let Some(flag) = flag_of(combined)
    {
        *combined = flag.into();
    }
    if members.get("outputs").is_none_or(Value::is_null) {
        // The decision record's form: one result of all commands.
        let is_output = |name: &str| matches!(name, "stdout" | "stderr" | "exit_code" | "outcome");
        let (output, others): (Map<_, _>, Map<_, _>) = std::mem::take(members)
            .into_iter()
            .partition(|(name, _)| is_output(name));
        *members = others;
        if !output.is_empty() {
            members.insert("outputs".to_owned(), vec![Value::Object(output)].into());
        }
    }
}

/// Changes text contents to text, and other forms of an outcome to its name.
pub(crate) fn command_output(m: &mut Members) -> Result<(), InvalidMember> {
    if m.peek("type").and_then(Value::as_str) == Some("shell_command_output") {
        m.take("type");
    }
    for name in ["stdout", "stderr"] {
        let text = stream(m, name)?;
        m.put(name, text.into());
    }
    let outcome = m.take("outcome");
    // OpenAI puts the exit code inside the outcome.
    let inner = outcome
        .as_ref()
        .and_then(|outcome| outcome.get("exit_code"));
    if let Some(code) = inner
        && !m.has("exit_code")
    {
        m.put("exit_code", code.clone());
    }
    let timed_out = m.flag("timed_out")?.unwrap_or(false);
    let failed = m.has("exit_code") && m.peek("exit_code").and_then(Value::as_i64) != Some(0);
    let named = match &outcome {
        None => None,
        Some(Value::String(name)) => Some(name.as_str()),
        Some(object) => match object.get("type").and_then(Value::as_str) {
            Some("exit") => None,
            Some(name) => Some(name),
            None => {
                let problem = format!("`outcome` is {}, not a name", excerpt(object));
                return Err(InvalidMember::Contradiction(problem));
            }
        },
    };
    let follows = match (timed_out, failed) {
        (true, _) => "timeout",
        (false, true) => "error",
        (false, false) => "success",
    };
    m.put("outcome", named.unwrap_or(follows).into());
    Ok(())
}

/// Text, or a text content.
fn stream(m: &mut Members, name: &'static str) -> Result<String, InvalidMember> {
    match m.take(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => match other.get("text").and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => {
                let expected = "a string or a text content";
                Err(InvalidMember::wrong(name, &other, expected))
            }
        },
    }
}
