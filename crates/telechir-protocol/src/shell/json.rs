//! Shell calls and results in JSON; decoding also accepts the decision record's flat result.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    Command, CommandOutput, ShellAction, ShellCall, ShellEnvironment, ShellOutcome, ShellResult,
};
use crate::computer::entry;
use crate::json::{InvalidMember, Members, excerpt};
use crate::{CallId, Meta};

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
        let mut carried = |member| m.name(member)?.ok_or(InvalidMember::Missing { member });
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

impl Serialize for ShellCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("call_id", &self.call_id)?;
        entry(&mut map, "item_id", self.item_id.as_ref())?;
        map.serialize_entry("action", self.action.name())?;
        if let Some((member, value)) = self.action.carried() {
            map.serialize_entry(member, value)?;
        }
        if !self.commands.is_empty() {
            map.serialize_entry("commands", &self.commands)?;
        }
        if self.action.is_input() {
            entry(&mut map, "job", self.job.as_ref())?;
        }
        entry(&mut map, "timeout_ms", self.timeout_ms.as_ref())?;
        entry(&mut map, "max_output", self.max_output.as_ref())?;
        entry(&mut map, "cwd", self.cwd.as_ref())?;
        if !self.env.is_empty() {
            map.serialize_entry("env", &self.env)?;
        }
        entry(&mut map, "user", self.user.as_ref())?;
        if self.environment != ShellEnvironment::Local {
            map.serialize_entry("environment", &self.environment)?;
        }
        entry(&mut map, "status", self.status.as_ref())?;
        entry(&mut map, "exception", self.exception.as_ref())?;
        self.meta.serialize_entries(&mut map, None)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ShellCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::new(Map::deserialize(deserializer)?);
        read_call(members)
            .map_err(|problem| D::Error::custom(format_args!("read the shell call: {problem}")))
    }
}

fn read_call(mut m: Members) -> Result<ShellCall, InvalidMember> {
    let mut call = ShellCall::execute(call_id(&mut m)?, Vec::new());
    call.item_id = item_id(&mut m)?;
    call.action = ShellAction::read(&mut m)?;
    call.commands = m.typed("commands")?.unwrap_or_default();
    if call.commands.is_empty() {
        call.commands.extend(m.typed::<Command>("command")?);
    }
    if call.action.is_input() {
        call.job = m.text("job")?;
    }
    call.timeout_ms = m.typed("timeout_ms")?;
    call.max_output = max_output(&mut m)?;
    call.cwd = m.text("cwd")?;
    call.env = m.object("env")?;
    call.user = m.text("user")?;
    call.environment = m.typed("environment")?.unwrap_or_default();
    call.status = m.text("status")?;
    call.exception = m.text("exception")?;
    call.meta = Meta::read(m)?;
    Ok(call)
}

fn call_id(m: &mut Members) -> Result<CallId, InvalidMember> {
    let call_id = m
        .text("call_id")?
        .ok_or(InvalidMember::Missing { member: "call_id" })?;
    Ok(CallId::from(call_id))
}

fn item_id(m: &mut Members) -> Result<Option<String>, InvalidMember> {
    match m.text("item_id")? {
        Some(item_id) => Ok(Some(item_id)),
        None => m.text("id"),
    }
}

fn max_output(m: &mut Members) -> Result<Option<u64>, InvalidMember> {
    match m.typed("max_output")? {
        Some(limit) => Ok(Some(limit)),
        None => m.typed("max_output_length"),
    }
}

impl Serialize for ShellResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("call_id", &self.call_id)?;
        entry(&mut map, "item_id", self.item_id.as_ref())?;
        map.serialize_entry("outputs", &outputs_json(&self.outputs, &self.meta))?;
        if self.combined {
            map.serialize_entry("combined", &true)?;
        }
        entry(&mut map, "cwd", self.cwd.as_ref())?;
        entry(&mut map, "max_output", self.max_output.as_ref())?;
        entry(&mut map, "error", self.error.as_ref())?;
        self.meta
            .serialize_entries(&mut map, Some(OUTPUT_MEMBERS))?;
        map.end()
    }
}

/// The outputs with the unknown members that `meta` retained for them.
fn outputs_json(outputs: &[CommandOutput], meta: &Meta) -> Vec<Value> {
    let written = |(index, output): (usize, &CommandOutput)| {
        let mut json = serde_json::to_value(output).unwrap_or_default();
        let unknown = meta
            .unknown_fields_of(OUTPUT_MEMBERS, index)
            .cloned()
            .unwrap_or_default();
        if let Value::Object(members) = &mut json {
            members.extend(unknown);
        }
        json
    };
    outputs.iter().enumerate().map(written).collect()
}

impl<'de> Deserialize<'de> for ShellResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::new(Map::deserialize(deserializer)?);
        read_result(members)
            .map_err(|problem| D::Error::custom(format_args!("read the shell result: {problem}")))
    }
}

fn read_result(mut m: Members) -> Result<ShellResult, InvalidMember> {
    let mut result = ShellResult::new(call_id(&mut m)?, Vec::new());
    result.item_id = item_id(&mut m)?;
    let outputs = match m.list("outputs")? {
        Some(outputs) => outputs,
        None => flat_output(&mut m).into_iter().collect(),
    };
    let mut unknown = Map::new();
    for (index, output) in outputs.into_iter().enumerate() {
        let Value::Object(members) = output else {
            return Err(InvalidMember::wrong(
                "outputs",
                &output,
                "a list of objects",
            ));
        };
        let mut members = Members::new(members);
        result.outputs.push(read_output(&mut members)?);
        if !members.is_empty() {
            unknown.insert(index.to_string(), Value::Object(members.into_rest()));
        }
    }
    result.combined = m.flag("combined")?.unwrap_or(false);
    result.cwd = m.text("cwd")?;
    result.max_output = max_output(&mut m)?;
    result.error = m.typed("error")?;
    result.meta = Meta::read(m)?;
    if !unknown.is_empty() {
        result
            .meta
            .additional_properties
            .insert(OUTPUT_MEMBERS.to_owned(), Value::Object(unknown));
    }
    Ok(result)
}

/// The decision record's form: one result of all commands in the members of the result itself.
fn flat_output(m: &mut Members) -> Option<Value> {
    let flat = m.split_off(|name| matches!(name, "stdout" | "stderr" | "exit_code" | "outcome"));
    (!flat.is_empty()).then_some(Value::Object(flat))
}

fn read_output(m: &mut Members) -> Result<CommandOutput, InvalidMember> {
    if m.peek("type").and_then(Value::as_str) == Some("shell_command_output") {
        m.take("type");
    }
    let stdout = stream(m, "stdout")?;
    let stderr = stream(m, "stderr")?;
    let outcome = m.take("outcome");
    // OpenAI puts the exit code inside the outcome.
    let inner = outcome
        .as_ref()
        .and_then(|outcome| outcome.get("exit_code"))
        .cloned();
    let exit_code: Option<i32> = match (m.typed("exit_code")?, inner) {
        (Some(code), _) => Some(code),
        (None, Some(code)) => Some(
            i32::deserialize(&code)
                .map_err(|_| InvalidMember::wrong("exit_code", &code, "an exit code"))?,
        ),
        (None, None) => None,
    };
    let timed_out = m.flag("timed_out")?.unwrap_or(false);
    Ok(CommandOutput {
        stdout,
        stderr,
        exit_code,
        signal: m.typed("signal")?,
        outcome: read_outcome(outcome, exit_code, timed_out)?,
        truncated_bytes: m.typed("truncated_bytes")?.unwrap_or_default(),
        duration_ms: m.typed("duration_ms")?,
        awaiting: m.typed("awaiting")?,
    })
}

/// Text, or a text content.
fn stream(m: &mut Members, name: &'static str) -> Result<String, InvalidMember> {
    match m.take(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => match other.get("text").and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(InvalidMember::wrong(
                name,
                &other,
                "a string or a text content",
            )),
        },
    }
}

/// The outcome in the input, else the one that follows from the exit code.
fn read_outcome(
    output_text: Option<Value>,
    exit_code: Option<i32>,
    timed_out: bool,
) -> Result<ShellOutcome, InvalidMember> {
    let name = match &output_text {
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
    Ok(match name {
        Some(name) => ShellOutcome::parse(name),
        None if timed_out => ShellOutcome::Timeout,
        None if exit_code.is_some_and(|code| code != 0) => ShellOutcome::Error,
        None => ShellOutcome::Success,
    })
}

impl ShellOutcome {
    /// Parses an outcome; a name of another vocabulary is retained.
    pub fn parse(name: &str) -> Self {
        match name {
            "success" => Self::Success,
            "error" => Self::Error,
            "timeout" => Self::Timeout,
            "cancelled" => Self::Cancelled,
            "not_started" => Self::NotStarted,
            "awaiting_input" => Self::AwaitingInput,
            "running" => Self::Running,
            other => Self::Other(other.to_owned()),
        }
    }
}
