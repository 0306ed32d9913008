//! Calls of one response that have the id of an earlier one. A service that accepts one result per
//! id rejects the next request, so in a conversation of ours each gets an id of its own.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use telechir_protocol::{CallId, Content, ModelTurn, ToolCall};

use crate::history::turns::{call_id, set_pair_id};
use crate::{DecodeError, Report};

/// Longest id that every service accepts, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Fields of a provider's JSON that hold the id of a call.
const ID_FIELDS: [&str; 3] = ["id", "call_id", "toolUseId"];

/// Gives each call of a turn that repeats an id a new one, in the turn and in the response, and
/// reports it. Such a call stays one that is answered with an error and never executed.
pub(crate) fn rename(
    turn: ModelTurn,
    response: &mut Value,
    report: &mut Report,
) -> Result<ModelTurn, DecodeError> {
    let reasons = repeated(&turn);
    if reasons.is_empty() {
        return Ok(turn);
    }
    let mut contents = turn.contents().to_vec();
    let mut known: HashSet<CallId> = contents.iter().filter_map(call_id).cloned().collect();
    let mut seen = HashSet::new();
    for content in &mut contents {
        let id = call_id(content).filter(|id| !seen.insert((*id).clone()));
        let Some((id, reason)) = id.and_then(|id| reasons.get_key_value(id)) else {
            continue;
        };
        let new = new_id(id, &mut known);
        if !rename_in_response(content, id, &new, response) {
            continue;
        }
        set_pair_id(content, new.clone());
        set_exception(content, reason.clone());
        report.preserved(
            format!("the id {id} of a further call"),
            format!("call {id}"),
            "an earlier call of the response has the same id, and the service accepts one result per id",
            format!("as {new}; the call is not executed"),
        );
    }
    Ok(ModelTurn::new(contents)?)
}

/// The ids that several calls of the turn have, and why none but the first is executed.
fn repeated(turn: &ModelTurn) -> HashMap<CallId, Option<String>> {
    let mut seen = HashSet::new();
    let mut reasons = HashMap::new();
    for call in turn.calls() {
        if let Some(id) = call.call_id().cloned()
            && !seen.insert(id.clone())
        {
            reasons.insert(id, exception(call));
        }
    }
    reasons
}

fn exception(call: ToolCall) -> Option<String> {
    match call {
        ToolCall::Computer(call) => call.exception,
        ToolCall::Shell(call) => call.exception,
        ToolCall::Edit(call) => call.exception,
        ToolCall::Function(call) => call.exception,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a call that this program answers"
)]
fn set_exception(content: &mut Content, reason: Option<String>) {
    match content {
        Content::ComputerCall(call) => call.exception = reason,
        Content::ShellCall(call) => call.exception = reason,
        Content::EditCall(call) => call.exception = reason,
        Content::FunctionCall(call) => call.exception = reason,
        _ => {}
    }
}

/// An id that no call has.
fn new_id(id: &CallId, known: &mut HashSet<CallId>) -> CallId {
    let mut number = 2;
    loop {
        let suffix = format!("-{number}");
        let mut start = id.as_str();
        while start.len() + suffix.len() > MAX_ID_BYTES {
            start = match start.char_indices().next_back() {
                Some((last, _)) => &start[..last],
                None => break,
            };
        }
        let new = CallId::new(format!("{start}{suffix}"));
        if known.insert(new.clone()) {
            return new;
        }
        number += 1;
    }
}

/// Changes the id in the last object of the response that is the call's JSON, and in that JSON.
fn rename_in_response(
    content: &mut Content,
    id: &CallId,
    new: &CallId,
    response: &mut Value,
) -> bool {
    let Some(raw) = content
        .meta_mut()
        .and_then(|meta| meta.raw_representation.as_mut())
    else {
        return false;
    };
    let mut renamed = raw.json().clone();
    if !replace_id(&mut renamed, id, new) {
        return false;
    }
    let is_found = last_equal(response, raw.json()).map(|found| *found = renamed.clone());
    if is_found.is_some() {
        *raw.json_mut() = renamed;
    }
    is_found.is_some()
}

/// Replaces the id of a call's JSON.
fn replace_id(json: &mut Value, id: &CallId, new: &CallId) -> bool {
    let Some(members) = json.as_object_mut() else {
        return false;
    };
    for name in ID_FIELDS {
        if let Some(Value::String(text)) = members.get_mut(name)
            && text == id.as_str()
        {
            *text = new.as_str().to_owned();
            return true;
        }
    }
    let mut inner = members.values_mut().filter(|value| value.is_object());
    inner.any(|value| replace_id(value, id, new))
}

/// The last value in a document that equals another. Calls that equal each other are renamed one
/// after the other, from the end: only the first keeps its id.
fn last_equal<'a>(document: &'a mut Value, sought: &Value) -> Option<&'a mut Value> {
    if document == sought {
        return Some(document);
    }
    match document {
        Value::Array(entries) => entries
            .iter_mut()
            .rev()
            .find_map(|entry| last_equal(entry, sought)),
        Value::Object(members) => members
            .values_mut()
            .rev()
            .find_map(|value| last_equal(value, sought)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
