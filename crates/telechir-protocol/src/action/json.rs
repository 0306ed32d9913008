//! An action as one JSON object: its name, and its fields beside it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Action, ActionKind, InvalidAction};
use crate::alias;
use crate::alias::action::ActionName;
use crate::json::{
    InvalidMember, Members, NESTED_ARGS, Variant, excerpt, from_nested, must_be_nested,
};

/// Members beside the arguments of an unknown action.
const RESERVED_MEMBERS: [&str; 1] = ["action"];

impl Action {
    /// The action's name in JSON: a click is named by its count, an unknown action verbatim.
    pub fn name(&self) -> &str {
        if let Self::Click { count, .. } = self {
            count.action_name()
        } else if let Self::Other { name, .. } = self {
            name
        } else {
            self.kind().name()
        }
    }

    /// Encodes the action as a JSON object.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("action".to_owned(), self.name().into());
        members.extend(self.fields());
        members
    }

    /// The members beside the name.
    fn fields(&self) -> Map<String, Value> {
        if let Self::Other { name: _, args } = self {
            return if must_be_nested(args, &RESERVED_MEMBERS) {
                Map::from_iter([(NESTED_ARGS.to_owned(), args.clone().into())])
            } else {
                args.clone()
            };
        }
        let Ok(Value::Object(mut named)) = Self::serialize(self, serde_json::value::Serializer)
        else {
            return Map::new();
        };
        let Some(Value::Object(mut fields)) = named.values_mut().next().map(Value::take) else {
            return Map::new();
        };
        // Only a value to set can be null; other fields are then absent.
        fields.retain(|field, value| !value.is_null() || field == "value");
        fields
    }

    /// Decodes an action; the unknown members are returned for the caller to retain.
    ///
    /// # Errors
    /// When a member is missing or invalid; the error names it.
    pub fn from_json(
        members: Map<String, Value>,
    ) -> Result<(Self, Map<String, Value>), InvalidAction> {
        let mut members = Members::new(members);
        let by_type = !members.has("action");
        let name = match members.take(if by_type { "type" } else { "action" }) {
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(nameless(&format!(
                    "`action` is {}, not a name",
                    excerpt(&other)
                )));
            }
            None => return Err(nameless("`action` is missing")),
        };
        let Some(alias) = alias::action_names::find(&name) else {
            return Ok((Self::unknown(name, members.into_rest()), Map::new()));
        };
        members.lift("coordinates");
        let invalid = |problem: InvalidMember| InvalidAction {
            action: name.clone(),
            problem: problem.to_string(),
        };
        let action = read(ActionName { alias, by_type }, &mut members).map_err(invalid)?;
        let rest = members.into_rest();
        match conflicting_member(&action, &rest) {
            None => Ok((action, rest)),
            Some(member) => Err(invalid(InvalidMember::conflict(member))),
        }
    }

    /// Creates an unknown action from its name and its other members.
    pub(crate) fn unknown(name: String, written: Map<String, Value>) -> Self {
        let args = from_nested(&written, &RESERVED_MEMBERS)
            .cloned()
            .unwrap_or(written);
        Self::Other { name, args }
    }
}

/// Decodes the action of this name from its members, and leaves the unknown ones.
fn read(named: ActionName, members: &mut Members) -> Result<Action, InvalidMember> {
    let kind = named.alias.kind;
    if kind == ActionKind::Other {
        return Err(InvalidMember::missing("action"));
    }
    Action::deserialize(Variant {
        name: kind.name(),
        fields: |fields| alias::action::canonical(named, fields, members),
    })
}

/// An unknown member that would change the action if it were written beside it.
fn conflicting_member<'a>(action: &Action, rest: &'a Map<String, Value>) -> Option<&'a String> {
    let suspect = rest.keys().find(|name| alias::action::is_field(name))?;
    let mut written = action.to_json();
    let twice = rest.keys().find(|name| written.contains_key(*name));
    if twice.is_some() {
        return twice;
    }
    written.extend(rest.clone());
    let mut again = Members::new(written);
    let name = again.take("action");
    let alias = name
        .as_ref()
        .and_then(Value::as_str)
        .and_then(alias::action_names::find)?;
    let by_type = false;
    let same = read(ActionName { alias, by_type }, &mut again).as_ref() == Ok(action);
    (!same || again.into_rest() != *rest).then_some(suspect)
}

fn nameless(problem: &str) -> InvalidAction {
    InvalidAction {
        action: "without a name".to_owned(),
        problem: problem.to_owned(),
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// An action alone cannot retain unknown members, so they are an error here; a computer call
/// retains them.
impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (action, rest) =
            Self::from_json(Map::deserialize(deserializer)?).map_err(D::Error::custom)?;
        match rest.keys().next() {
            None => Ok(action),
            Some(unknown) => Err(D::Error::custom(format_args!(
                "read the action {}: unknown member `{unknown}`",
                action.name()
            ))),
        }
    }
}
