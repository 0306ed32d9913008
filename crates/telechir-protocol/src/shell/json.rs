//! Shell calls and results in JSON. The unknown members of an output are retained beside it.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{CommandOutput, ShellAction, ShellCall, ShellResult};
use crate::alias;
use crate::content::restored;
use crate::json::{Fields, InvalidMember, KnownFields, Members};

/// The property for unknown members of outputs, by the output's index.
const OUTPUT_MEMBERS: &str = "output_members";

impl ShellAction {
    /// The name of the action, without its argument.
    pub fn name(&self) -> &str {
        match self {
            Self::Execute => "execute",
            Self::Restart => "restart",
            Self::SendText(_) => "send_text",
            Self::SendKey(_) => "send_key",
            Self::CloseInput => "close_input",
            Self::Interrupt => "interrupt",
            Self::Start => "start",
            Self::List => "list",
            Self::Read(_) => "read",
            Self::Stop(_) => "stop",
            Self::Other(name) => name,
        }
    }

    /// The member of a call that contains the action's argument, and the argument.
    fn carried(&self) -> Option<(&'static str, &String)> {
        match self {
            Self::SendText(text) => Some(("text", text)),
            Self::SendKey(key) => Some(("key", key)),
            Self::Read(job) | Self::Stop(job) => Some(("job", job)),
            Self::Execute
            | Self::Restart
            | Self::CloseInput
            | Self::Interrupt
            | Self::Start
            | Self::List
            | Self::Other(_) => None,
        }
    }

    /// The action's argument: a text, key or job.
    pub fn text(&self) -> Option<&str> {
        self.carried().map(|(_, text)| text.as_str())
    }

    /// Whether it sends input to a running command.
    pub fn is_input(&self) -> bool {
        match self {
            Self::SendText(_) | Self::SendKey(_) | Self::CloseInput | Self::Interrupt => true,
            Self::Execute
            | Self::Restart
            | Self::Start
            | Self::List
            | Self::Read(_)
            | Self::Stop(_)
            | Self::Other(_) => false,
        }
    }

    fn read(m: &mut Members) -> Result<Self, InvalidMember> {
        let Some(name) = m.text("action")? else {
            return Ok(Self::Execute);
        };
        let mut carried = |member| {
            m.name(member)?
                .ok_or_else(|| InvalidMember::missing(member))
        };
        Ok(match name.as_str() {
            "execute" => Self::Execute,
            "restart" => Self::Restart,
            "send_text" => Self::SendText(carried("text")?),
            "send_key" => Self::SendKey(carried("key")?),
            "close_input" => Self::CloseInput,
            "interrupt" => Self::Interrupt,
            "start" => Self::Start,
            "list" => Self::List,
            "read" => Self::Read(carried("job")?),
            "stop" => Self::Stop(carried("job")?),
            _ => Self::Other(name),
        })
    }
}

/// An action alone is its name, or an object with `action` and its argument.
impl Serialize for ShellAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((member, value)) = self.carried() else {
            return serializer.serialize_str(self.name());
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("action", self.name())?;
        map.serialize_entry(member, value)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ShellAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let members = match value.as_str() {
            Some(name) => Map::from_iter([("action".to_owned(), name.into())]),
            None => Map::deserialize(value).map_err(D::Error::custom)?,
        };
        Self::read(&mut Members::new(members)).map_err(D::Error::custom)
    }
}

/// The action of a call as members of the call itself.
pub(super) mod action_members {
    use super::{Deserializer, SerializeMap, Serializer, ShellAction};

    pub(in crate::shell) fn serialize<S: Serializer>(
        action: &ShellAction,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("action", action.name())?;
        if let Some((member, value)) = action.carried() {
            map.serialize_entry(member, value)?;
        }
        map.end()
    }

    /// The action is read before the other members, since it determines which ones are its own.
    pub(in crate::shell) fn deserialize<'de, D: Deserializer<'de>>(
        _deserializer: D,
    ) -> Result<ShellAction, D::Error> {
        Ok(ShellAction::default())
    }
}

impl Serialize for ShellCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ShellCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_call(Map::deserialize(deserializer)?)
            .map_err(|problem| D::Error::custom(format_args!("read the shell call: {problem}")))
    }
}

fn read_call(mut members: Map<String, Value>) -> Result<ShellCall, InvalidMember> {
    alias::call::shell_call(&mut members);
    let mut members = Members::new(members);
    let action = ShellAction::read(&mut members)?;
    let mut call = ShellCall::deserialize(Fields::from(members.into_rest()))?;
    if action.is_input() {
        // In other calls, `job` is unknown.
        let mut unknown = Members::new(std::mem::take(&mut call.meta.extra));
        call.job = unknown.text("job")?;
        call.meta.extra = unknown.into_rest();
    }
    Ok(ShellCall { action, ..call })
}

impl Serialize for ShellResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.meta.additional_properties.contains_key(OUTPUT_MEMBERS) {
            return Self::serialize(self, serializer);
        }
        let json = Self::serialize(self, serde_json::value::Serializer);
        let json = json.map_err(serde::ser::Error::custom)?;
        restored(json, "outputs", OUTPUT_MEMBERS).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ShellResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_result(Map::deserialize(deserializer)?)
            .map_err(|problem| D::Error::custom(format_args!("read the shell result: {problem}")))
    }
}

fn read_result(mut members: Map<String, Value>) -> Result<ShellResult, InvalidMember> {
    alias::call::shell_result(&mut members);
    let mut members = Members::new(members);
    let outputs = members.list("outputs")?.unwrap_or_default();
    let mut result = ShellResult::deserialize(Fields::from(members.into_rest()))?;
    let mut unknown = Map::new();
    for (index, output) in outputs.into_iter().enumerate() {
        let Value::Object(members) = output else {
            let expected = "a list of objects";
            return Err(InvalidMember::wrong("outputs", &output, expected));
        };
        let mut members = Members::new(members);
        alias::call::command_output(&mut members)?;
        result
            .outputs
            .push(CommandOutput::deserialize(KnownFields(&mut members))?);
        if !members.is_empty() {
            unknown.insert(index.to_string(), members.into_rest().into());
        }
    }
    result.meta.retain_unknown(OUTPUT_MEMBERS, unknown);
    Ok(result)
}
