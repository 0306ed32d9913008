//! A computer call in JSON. The unknown members of its actions are retained beside them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::ComputerCall;
use crate::content::restored;
use crate::json::{Fields, InvalidMember, Members, excerpt};
use crate::{Action, CallId, InvalidAction, alias};

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
        if !self.meta.additional_properties.contains_key(ACTION_MEMBERS) {
            return Self::serialize(self, serializer);
        }
        let json = Self::serialize(self, serde_json::value::Serializer);
        let json = json.map_err(serde::ser::Error::custom)?;
        restored(json, "actions", ACTION_MEMBERS).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ComputerCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn read(mut members: Map<String, Value>) -> Result<ComputerCall, InvalidCall> {
    alias::call::computer_call(&mut members);
    let mut members = Members::new(members);
    let steps = members.list("actions")?.unwrap_or_default();
    let mut call = ComputerCall::deserialize(Fields::from(members.into_rest()))?;
    let mut unknown = Map::new();
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
    call.meta.retain_unknown(ACTION_MEMBERS, unknown);
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
    let name = ["action", "type"].into_iter().find_map(|member| {
        let name = args.get(member)?.as_str()?.to_owned();
        args.shift_remove(member);
        Some(name)
    })?;
    Some((Action::unknown(name, args), Map::new()))
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
