//! Calls of one response that have the id of an earlier one. A service that accepts one result per
//! id rejects the next request, so in a conversation of ours each gets an id of its own.

use std::collections::{HashMap, HashSet, VecDeque};

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
    let hosted_source = turn.hosted_source();
    let mut contents = turn.contents().to_vec();
    let mut renames = Vec::new();
    let mut ids = NewIds::of(&contents);
    let mut seen = HashSet::new();
    for (at, content) in contents.iter().enumerate() {
        let id = call_id(content).filter(|id| !seen.insert((*id).clone()));
        if let Some((id, reason)) = id.and_then(|id| reasons.get_key_value(id)) {
            renames.extend(Rename::of(at, content, id, reason.as_ref(), &mut ids));
        }
    }
    rename_in_response(&mut renames, response);
    for rename in renames.into_iter().filter(|rename| rename.is_done) {
        let Rename { id, new, .. } = rename;
        let content = &mut contents[rename.at];
        if let Some(raw) = content
            .meta_mut()
            .and_then(|meta| meta.raw_representation.as_mut())
        {
            *raw.json_mut() = rename.json;
        }
        set_pair_id(content, new.clone());
        set_exception(content, rename.reason);
        report.preserved(
            format!("the id {id} of a further call"),
            format!("call {id}"),
            "an earlier call of the response has the same id, and the service accepts one result per id",
            format!("as {new}; the call is not executed"),
        );
    }
    let mut turn = ModelTurn::new(contents)?;
    turn.note_hosted_source(hosted_source);
    Ok(turn)
}

/// A new id for a call.
struct Rename {
    /// The position of the content.
    at: usize,
    id: CallId,
    new: CallId,
    /// Why the call is not executed.
    reason: Option<String>,
    /// The call's JSON text with the old id.
    old_json: String,
    /// The call's JSON with the new id.
    json: Value,
    /// Whether the response has the new id.
    is_done: bool,
}

impl Rename {
    /// None if the content does not know its JSON, or if that has no id.
    fn of(
        at: usize,
        content: &Content,
        id: &CallId,
        reason: Option<&String>,
        ids: &mut NewIds,
    ) -> Option<Self> {
        let raw = content.meta()?.raw_representation.as_ref()?;
        let mut json = raw.json().clone();
        let old_json = json.to_string();
        let position = id_of(&mut json, &|text| text == id.as_str())?;
        let new = ids.new_id(id);
        *position = new.as_str().to_owned();
        Some(Self {
            at,
            id: id.clone(),
            new,
            reason: reason.cloned(),
            old_json,
            json,
            is_done: false,
        })
    }
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

/// Finds ids that no call has.
struct NewIds {
    known: HashSet<CallId>,
    /// The number that each id gets next.
    next: HashMap<CallId, usize>,
}

impl NewIds {
    fn of(contents: &[Content]) -> Self {
        Self {
            known: contents.iter().filter_map(call_id).cloned().collect(),
            next: HashMap::new(),
        }
    }

    fn new_id(&mut self, id: &CallId) -> CallId {
        let next = self.next.entry(id.clone()).or_insert(2);
        loop {
            let new = numbered(id, *next);
            *next += 1;
            if self.known.insert(new.clone()) {
                return new;
            }
        }
    }
}

/// The id with a number at its end, shortened if a service would reject its length.
fn numbered(id: &CallId, number: usize) -> CallId {
    let suffix = format!("-{number}");
    let mut length = id.as_str().len().min(MAX_ID_BYTES - suffix.len());
    while !id.as_str().is_char_boundary(length) {
        length -= 1;
    }
    CallId::new(format!("{}{suffix}", &id.as_str()[..length]))
}

/// Changes the ids in the last objects of the response that are the calls' JSON, in one walk from
/// the end. Of calls that equal each other, the first keeps its id.
fn rename_in_response(renames: &mut [Rename], response: &mut Value) {
    let mut pending: HashMap<String, VecDeque<&mut Rename>> = HashMap::new();
    let mut ids = HashSet::new();
    for rename in renames {
        ids.insert(rename.id.as_str().to_owned());
        let same = pending.entry(rename.old_json.clone()).or_default();
        same.push_back(rename);
    }
    walk(response, &ids, &mut pending);
}

fn walk(
    value: &mut Value,
    ids: &HashSet<String>,
    pending: &mut HashMap<String, VecDeque<&mut Rename>>,
) {
    if id_of(value, &|text| ids.contains(text)).is_some()
        && let Some(rename) = pending
            .get_mut(&value.to_string())
            .and_then(VecDeque::pop_front)
    {
        *value = rename.json.clone();
        rename.is_done = true;
        return;
    }
    match value {
        Value::Array(entries) => {
            for entry in entries.iter_mut().rev() {
                walk(entry, ids, pending);
            }
        }
        Value::Object(members) => {
            for (_, member) in members.iter_mut().rev() {
                walk(member, ids, pending);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The place of an id in a call's JSON.
fn id_of<'a>(json: &'a mut Value, is_sought: &dyn Fn(&str) -> bool) -> Option<&'a mut String> {
    let members = json.as_object_mut()?;
    let has_id = |name: &&str| {
        let text = members.get(*name).and_then(Value::as_str);
        text.is_some_and(is_sought)
    };
    if let Some(name) = ID_FIELDS.into_iter().find(has_id) {
        return match members.get_mut(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
    }
    let mut inner = members.values_mut().filter(|value| value.is_object());
    inner.find_map(|value| id_of(value, is_sought))
}
