//! The JSON around contents: a list of messages, a response or thread, one message, or contents
//! alone.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Meta, ModelTurn, Raw, Role};

use super::function_mapping::FunctionCalls;
use super::{DIALECT, PROVIDER, decode, encode, encode_native, sidecar};
use crate::history::turns::is_result;
use crate::json::names_of;
use crate::{DecodeError, Envelope, History, Report};

/// The property of a message that was a content without a message.
const WITHOUT_MESSAGE: &str = "contents_alone";

/// The members that messages of other dialects have in place of `contents`.
const CONTENTS_ELSEWHERE: [&str; 4] = ["content", "parts", "tool_calls", "function_call"];

/// Decodes a response: all contents of its messages.
pub(super) fn read_response(document: Value) -> Result<(ModelTurn, Report), DecodeError> {
    let (history, report) = read_history(document)?;
    let turn = history.into_turn(&["shell_tool_call", "function_call"])?;
    Ok((turn, report))
}

/// Decodes a history in any envelope.
pub(super) fn read_history(document: Value) -> Result<(History, Report), DecodeError> {
    let mut report = Report::default();
    let (messages, envelope) = match document {
        Value::Array(list) => (list, Envelope::List),
        Value::Object(members) => enveloped(members)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(wrong("expected a list or an object"));
        }
    };
    let mut messages = read_messages(messages, &mut report)?;
    decode::mark_answered(&mut messages);
    Ok((History { messages, envelope }, report))
}

/// Takes the list out of an object, which becomes the envelope.
fn enveloped(mut members: Map<String, Value>) -> Result<(Vec<Value>, Envelope), DecodeError> {
    for member in ["messages", "contents"] {
        let Some(Value::Array(list)) = members.get_mut(member) else {
            continue;
        };
        let list = std::mem::take(list);
        members.insert(member.to_owned(), Value::Null);
        let messages = if member == "contents" {
            // A single message keeps its own fields around its contents.
            let mut message = members.clone();
            message.insert(member.to_owned(), list.into());
            vec![Value::Object(message)]
        } else {
            list
        };
        let envelope = Envelope::Object {
            dialect: DIALECT,
            member,
            rest: members,
        };
        return Ok((messages, envelope));
    }
    if members.contains_key("role") && contents_elsewhere(&members).is_none() {
        let message = members.clone();
        let envelope = Envelope::Object {
            dialect: DIALECT,
            member: "contents",
            rest: members,
        };
        return Ok((vec![Value::Object(message)], envelope));
    }
    if encode_native::has_type(members.get("type").and_then(Value::as_str)) {
        let envelope = Envelope::Object {
            dialect: DIALECT,
            member: "content",
            rest: Map::new(),
        };
        return Ok((vec![Value::Object(members)], envelope));
    }
    Err(wrong(format!(
        "expected `messages` or `contents`, found {}",
        names_of(&members)
    )))
}

fn wrong(problem: impl Into<String>) -> DecodeError {
    DecodeError::wrong_shape(DIALECT, problem)
}

fn read_messages(list: Vec<Value>, report: &mut Report) -> Result<Vec<Message>, DecodeError> {
    let mut messages = Vec::with_capacity(list.len());
    let mut calls = FunctionCalls::default();
    for (at, item) in list.into_iter().enumerate() {
        let Value::Object(members) = item else {
            return Err(wrong(format!("messages[{at}] is not an object")));
        };
        let location = format!("messages[{at}]");
        let message = if members.contains_key("role") || members.contains_key("contents") {
            read_message(members, &location, &mut calls, report)?
        } else if members.get("type").is_some_and(Value::is_string) {
            alone(members, &location, &mut calls, report)
        } else {
            return Err(wrong(format!("{location} lacks both `role` and `type`")));
        };
        messages.extend(message);
    }
    Ok(messages)
}

/// The member with the contents of a message of another dialect. The framework's own messages may
/// have none.
fn contents_elsewhere(members: &Map<String, Value>) -> Option<&'static str> {
    let mut names = CONTENTS_ELSEWHERE.into_iter();
    names.find(|name| !members.contains_key("contents") && members.contains_key(*name))
}

fn read_message(
    mut members: Map<String, Value>,
    location: &str,
    calls: &mut FunctionCalls,
    report: &mut Report,
) -> Result<Option<Message>, DecodeError> {
    if let Some(name) = contents_elsewhere(&members) {
        return Err(wrong(format!(
            "{location} has `{name}`, expected `contents`"
        )));
    }
    let contents = match members.get_mut("contents") {
        Some(Value::Array(contents)) => std::mem::take(contents),
        None | Some(Value::Null) => Vec::new(),
        Some(_) => return Err(wrong(format!("{location}.contents is not a list"))),
    };
    let role = match members.get("role") {
        None | Some(Value::Null) => "user",
        Some(Value::String(role)) => role,
        Some(other) => {
            return Err(wrong(format!(
                "{location}.role is {other}, expected a text"
            )));
        }
    };
    let Ok(role) = serde_json::from_value::<Role>(role.into()) else {
        return Err(wrong(format!(
            "{location}.role is `{role}`, which is unknown"
        )));
    };
    let mut message = Message::new(role, Vec::with_capacity(contents.len()));
    for (at, json) in contents.into_iter().enumerate() {
        // A message of the framework may contain plain texts.
        let location = format!("{location}.contents[{at}]");
        let content = match json.as_str() {
            Some(text) => Some(Content::text(text)),
            None => decode::content(json, &location, calls, report),
        };
        message.contents.extend(content);
    }
    match sidecar::remove(&mut members) {
        Some(sidecar_json) => restore_message(&mut message, sidecar_json, &members),
        None => own_message(&mut message, members),
    }
    Ok(Some(message))
}

fn own_message(message: &mut Message, members: Map<String, Value>) {
    if let Some(Value::Object(properties)) = members.get("additional_properties") {
        message.meta.additional_properties = properties.clone();
    }
    if encode::around(message) == members {
        return;
    }
    message.meta.raw_representation = Some(Raw::new(DIALECT, Value::Object(members)));
}

/// Restores a message of another provider from its sidecar.
fn restore_message(message: &mut Message, mut sidecar_json: Value, members: &Map<String, Value>) {
    let mut take = |name: &str| sidecar_json.get_mut(name).map(Value::take);
    if let Some(Ok(role)) = take("role").map(serde_json::from_value) {
        message.role = role;
    }
    let properties = members.get("additional_properties");
    let properties = properties.and_then(Value::as_object);
    let raw = take("raw_representation");
    message.meta = Meta {
        annotations: match take("annotations") {
            Some(Value::Array(annotations)) => annotations,
            _ => Vec::new(),
        },
        additional_properties: properties.cloned().unwrap_or_default(),
        raw_representation: raw.and_then(|raw| serde_json::from_value(raw).ok()),
        extra: match take("extra") {
            Some(Value::Object(extra)) => extra,
            _ => Map::new(),
        },
    };
}

/// Decodes a content without a message around it.
fn alone(
    members: Map<String, Value>,
    location: &str,
    calls: &mut FunctionCalls,
    report: &mut Report,
) -> Option<Message> {
    let content = decode::content(Value::Object(members), location, calls, report)?;
    let role = if is_result(&content) {
        Role::Tool
    } else {
        Role::Assistant
    };
    let mut message = Message::new(role, vec![content]);
    message
        .meta
        .set_property(PROVIDER, WITHOUT_MESSAGE, true.into());
    Some(message)
}

/// Encodes a history in its envelope.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let mut list = Vec::with_capacity(history.messages.len());
    let mut calls = FunctionCalls::default();
    for message in &history.messages {
        if message.meta.property(PROVIDER, WITHOUT_MESSAGE).is_some() {
            list.extend(encode::contents(&message.contents, &mut calls));
        } else {
            list.push(encode::message(message, &mut calls));
        }
    }
    let mut report = Report::default();
    let value = match &history.envelope {
        Envelope::Object {
            dialect,
            member,
            rest,
        } if *dialect == DIALECT => put_back(member, rest, list),
        Envelope::Object { .. } => {
            history.envelope.report_foreign(DIALECT, &mut report);
            Value::Array(list)
        }
        Envelope::List => Value::Array(list),
    };
    (value, report)
}

fn put_back(member: &str, rest: &Map<String, Value>, mut list: Vec<Value>) -> Value {
    let is_one = member != "messages";
    match (is_one, list.len()) {
        (true, 1) => list.remove(0),
        // A single message that became several.
        (true, _) => Value::Array(list),
        (false, _) => {
            let mut members = rest.clone();
            members.insert(member.to_owned(), Value::Array(list));
            Value::Object(members)
        }
    }
}
