//! Detects requests that the provider would reject, before they are sent.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::DIALECT;
use super::item::Item;
use super::item_kinds::{LOCAL_CALLS, is_other_call};
use crate::EncodeError;
use crate::json::{kind, list, present, text};

/// Checks a request; `rest` holds its fields other than the items.
pub(super) fn request(rest: &Item, items: &[Value]) -> Result<(), EncodeError> {
    for (at, tool) in list(rest, "tools").iter().enumerate() {
        let problem = tool.as_object().and_then(refused_tool);
        problem.map_or(Ok(()), |problem| refused(&format!("tools[{at}]"), &problem))?;
    }
    // If the provider stores the conversation, outputs may refer to calls in the stored part.
    let is_stored = ["previous_response_id", "conversation"]
        .iter()
        .any(|name| present(rest, name).is_some());
    let items: Vec<&Item> = items.iter().filter_map(Value::as_object).collect();
    let is_stored = is_stored || items.iter().any(|item| is_reference(item));
    pairs(&items, is_stored)?;
    for (at, item) in items.iter().enumerate() {
        let next = items.get(at + 1);
        if kind(item) == "reasoning" && next.is_none_or(|next| is_of_a_client(next)) {
            let problem = "reasoning must directly precede the item it belongs to";
            return refused(&path(at), problem);
        }
    }
    Ok(())
}

/// The reason a tool declaration would be rejected.
pub(super) fn refused_tool(tool: &Item) -> Option<String> {
    let odd = || tool.keys().find(|name| *name != "type");
    let odd = (kind(tool) == "computer").then(odd).flatten()?;
    Some(format!("the computer tool does not accept `{odd}`"))
}

fn refused(path: &str, problem: &str) -> Result<(), EncodeError> {
    Err(EncodeError::missing(DIALECT, format!("{path}: {problem}")))
}

fn path(at: usize) -> String {
    format!("input[{at}]")
}

fn is_reference(item: &Item) -> bool {
    kind(item) == "item_reference" || (item.len() == 1 && item.contains_key("id"))
}

/// Whether the item was sent by the client; reasoning never precedes such an item.
fn is_of_a_client(item: &Item) -> bool {
    let role = text(item, "role").is_some_and(|role| role != "assistant");
    role || kind(item).ends_with("_output") && LOCAL_CALLS.contains(&call_of(kind(item)))
}

fn call_of(output: &str) -> &str {
    output.strip_suffix("_output").unwrap_or_default()
}

/// Whether the provider executes the shell call itself.
fn is_hosted(call: &Item) -> bool {
    let environment = call.get("environment").and_then(Value::as_object);
    environment.is_some_and(|environment| kind(environment) != "local")
}

/// Requires an output per call, after the call. Documents in use have several calls or outputs of one
/// id; they are written back as they are.
fn pairs(items: &[&Item], is_stored: bool) -> Result<(), EncodeError> {
    let mut open: HashMap<&str, (usize, &Item)> = HashMap::new();
    let mut called = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let call_id = text(item, "call_id").or_else(|| local_shell_call(item, &open));
        let Some(call_id) = call_id else {
            continue;
        };
        if LOCAL_CALLS.contains(&kind(item)) || is_other_call(item) {
            called.insert(call_id);
            open.insert(call_id, (at, item));
        } else if LOCAL_CALLS.contains(&call_of(kind(item))) || open.contains_key(call_id) {
            let call = open.remove(call_id);
            if call.is_none() && !called.contains(call_id) && !is_stored {
                return refused(&path(at), &format!("no preceding call {call_id}"));
            }
            let problem = refused_output(call.map(|(_, call)| call), item);
            problem.map_or(Ok(()), |problem| refused(&path(at), &problem))?;
        }
    }
    // Whether a call of another type requires an output is unknown.
    let requires_output = |call: &Item| LOCAL_CALLS.contains(&kind(call)) && !is_hosted(call);
    let unanswered = open.into_values().filter(|(_, call)| requires_output(call));
    match unanswered.min_by_key(|(at, _)| *at) {
        Some((at, call)) => {
            let call_id = text(call, "call_id").unwrap_or_default();
            refused(&path(at), &format!("call {call_id} has no output"))
        }
        None => Ok(()),
    }
}

/// The call of an output that has only `id`: the call's id, or that of its item.
fn local_shell_call<'a>(
    output: &'a Item,
    open: &HashMap<&str, (usize, &'a Item)>,
) -> Option<&'a str> {
    let id = text(output, "id").filter(|_| kind(output) == "local_shell_call_output")?;
    let mut calls = open.values().map(|(_, call)| *call);
    let call = calls.find(|call| kind(call) == "local_shell_call" && text(call, "id") == Some(id));
    call.map_or(Some(id), |call| text(call, "call_id"))
}

fn refused_output(call: Option<&Item>, output: &Item) -> Option<String> {
    match kind(output) {
        "shell_call_output" if text(output, "status") == Some("failed") => {
            Some("shell outputs do not accept the status `failed`; use the outcomes".to_owned())
        }
        "computer_call_output" => {
            let acknowledged = output.get("acknowledged_safety_checks");
            if acknowledged == Some(&Value::Null)
                && call.is_some_and(|call| call.contains_key("actions"))
            {
                return Some(
                    "`acknowledged_safety_checks` must be a list or absent, not null".to_owned(),
                );
            }
            let id = |check: &Value| check.get("id").cloned();
            let acknowledged_ids: Vec<Value> = list(output, "acknowledged_safety_checks")
                .iter()
                .filter_map(id)
                .collect();
            let pending = call.map_or(&[][..], |call| list(call, "pending_safety_checks"));
            let missing = pending
                .iter()
                .filter_map(id)
                .find(|check| !acknowledged_ids.contains(check))?;
            Some(format!(
                "safety check {missing} is not acknowledged; end the run or let the user approve it"
            ))
        }
        _ => None,
    }
}
