//! A computer call in JSON: a list of actions; decoding also accepts the single-action form.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ComputerCall, SafetyCheck};
use crate::action::is_action_field;
use crate::json::{InvalidMember, Members, excerpt};
use crate::{Action, CallId, InvalidAction, Meta, TargetId};

/// The property for unknown members of actions, by the action's index.
const ACTION_MEMBERS: &str = "action_members";

/// Why a call could not be decoded.
#[derive(Debug, thiserror::Error)]
enum InvalidCall {
    #[error("read the computer call {call_id}: {problem}")]
    Action {
        call_id: CallId,
        problem: InvalidAction,
    },
    #[error("read the computer call: {0}")]
    Member(#[from] InvalidMember),
    #[error("read the computer call {call_id}: it has no action")]
    NoAction { call_id: CallId },
}

impl Serialize for ComputerCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("call_id", &self.call_id)?;
        entry(&mut map, "item_id", self.item_id.as_ref())?;
        map.serialize_entry("actions", &actions_json(&self.actions, &self.meta))?;
        if !self.pending_safety_checks.is_empty() {
            map.serialize_entry("pending_safety_checks", &self.pending_safety_checks)?;
        }
        entry(&mut map, "intent", self.intent.as_ref())?;
        entry(&mut map, "target", self.target.as_ref())?;
        entry(&mut map, "group", self.group.as_ref())?;
        entry(&mut map, "status", self.status.as_ref())?;
        entry(&mut map, "exception", self.exception.as_ref())?;
        self.meta
            .serialize_entries(&mut map, Some(ACTION_MEMBERS))?;
        map.end()
    }
}

/// Writes a member that may be absent.
pub(crate) fn entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, value),
        None => Ok(()),
    }
}

/// The actions with the unknown members that `meta` retained for them.
fn actions_json(actions: &[Action], meta: &Meta) -> Vec<Value> {
    let written = |(index, action): (usize, &Action)| {
        let mut members = action.to_json();
        members.extend(
            meta.unknown_fields_of(ACTION_MEMBERS, index)
                .cloned()
                .unwrap_or_default(),
        );
        Value::Object(members)
    };
    actions.iter().enumerate().map(written).collect()
}

impl<'de> Deserialize<'de> for ComputerCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Members::new(Map::deserialize(deserializer)?)).map_err(D::Error::custom)
    }
}

fn read(mut m: Members) -> Result<ComputerCall, InvalidCall> {
    let call_id = m
        .text("call_id")?
        .ok_or(InvalidMember::Missing { member: "call_id" })?;
    let mut call = ComputerCall::new(call_id, Vec::new());
    call.item_id = match m.text("item_id")? {
        Some(item_id) => Some(item_id),
        None => m.text("id")?,
    };
    call.pending_safety_checks = safety_checks(&mut m)?;
    call.intent = m.text("intent")?;
    call.target = m.text("target")?.map(TargetId::from);
    call.group = match m.text("group")? {
        Some(group) => Some(group),
        // The name in recordings of format 1.
        None => m.text("family")?,
    };
    call.status = m.text("status")?;
    call.exception = m.text("exception")?;
    let mut unknown = Map::new();
    let steps = match m.list("actions")? {
        Some(actions) => actions,
        None => single_action(&mut m).into_iter().collect(),
    };
    for (index, step) in steps.into_iter().enumerate() {
        let unread = call.exception.as_ref().and_then(|_| unread(&step));
        let (action, rest) = match (action_of(step), unread) {
            (Ok(read), _) | (Err(_), Some(read)) => read,
            (Err(problem), None) => {
                let call_id = call.call_id;
                return Err(InvalidCall::Action { call_id, problem });
            }
        };
        call.actions.push(action);
        if !rest.is_empty() {
            unknown.insert(index.to_string(), Value::Object(rest));
        }
    }
    if call.actions.is_empty() && call.exception.is_none() {
        return Err(InvalidCall::NoAction {
            call_id: call.call_id,
        });
    }
    call.meta = Meta::read(m)?;
    if !unknown.is_empty() {
        call.meta
            .additional_properties
            .insert(ACTION_MEMBERS.to_owned(), Value::Object(unknown));
    }
    Ok(call)
}

fn action_of(step: Value) -> Result<(Action, Map<String, Value>), InvalidAction> {
    if let Value::Object(members) = step {
        return Action::from_json(members);
    }
    let problem = format!("it is {}, not an object", excerpt(&step));
    Err(InvalidAction {
        action: "without a name".to_owned(),
        problem,
    })
}

/// An action of a call that cannot be executed, by its name and verbatim.
fn unread(step: &Value) -> Option<(Action, Map<String, Value>)> {
    let mut args = step.as_object()?.clone();
    let name = args.shift_remove("action")?.as_str()?.to_owned();
    Some((Action::unknown(name, args), Map::new()))
}

/// The decision record's form: one action whose members are the call's own.
fn single_action(m: &mut Members) -> Option<Value> {
    let action = m.take("action")?;
    if action.is_object() {
        return Some(action);
    }
    let mut members = m.split_off(is_action_field);
    members.insert("action".to_owned(), action);
    Some(Value::Object(members))
}

/// The safety checks, also under the name in the decision record's rationale.
fn safety_checks(m: &mut Members) -> Result<Vec<SafetyCheck>, InvalidMember> {
    const REVIEW: &str = "pending_safety_review";
    let checks: Vec<SafetyCheck> = m.typed("pending_safety_checks")?.unwrap_or_default();
    if !checks.is_empty() || !m.has(REVIEW) {
        return Ok(checks);
    }
    if m.peek(REVIEW).is_some_and(Value::is_array) {
        return Ok(m.typed(REVIEW)?.unwrap_or_default());
    }
    Ok(m.typed(REVIEW)?.into_iter().collect())
}

/// Text, or a text content.
pub(super) fn text_output<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    let text = value
        .as_str()
        .or_else(|| value.get("text").and_then(Value::as_str));
    let text = text.ok_or_else(|| {
        let problem = InvalidMember::wrong("text_output", &value, "a string or a text content");
        D::Error::custom(problem)
    })?;
    Ok(Some(text.to_owned()))
}
