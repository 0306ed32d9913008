//! Encodes neutral contents as the framework's, with a sidecar for what it has no field for.

use serde_json::{Map, Value, json};
use telechir_protocol::{AnsweredTurn, Content, Message, Role, ToolResult};

use super::function_mapping::FunctionCalls;
use super::sidecar::SIDECAR;
use super::{DIALECT, decode, encode_native, sidecar};
use crate::history::turns::is_result;
use crate::{EncodedReply, Report};

/// Encodes the results of a turn as a message. Nothing is lost: the sidecar keeps the rest.
pub(super) fn answers(turn: &AnsweredTurn) -> EncodedReply {
    if turn.results().is_empty() {
        return EncodedReply::default();
    }
    let results = turn.results().iter().cloned();
    let contents = results.map(ToolResult::into_content).collect();
    let mut calls = FunctionCalls::of(turn.turn().contents());
    let message = message(&Message::new(Role::Tool, contents), &mut calls);
    EncodedReply {
        items: vec![message],
        report: Report::default(),
    }
}

/// Encodes one message with its contents.
pub(super) fn message(message: &Message, calls: &mut FunctionCalls) -> Value {
    let contents = contents(&message.contents, calls);
    let mut members = around(message);
    // A message of the framework may have no contents.
    if !contents.is_empty() || members.get("contents").is_some_and(Value::is_array) {
        members.insert("contents".to_owned(), contents.into());
    }
    Value::Object(members)
}

/// The fields of a message, with an empty list in place of its contents.
pub(super) fn around(message: &Message) -> Map<String, Value> {
    let raw = message.meta.raw_representation.as_ref();
    let own = raw.filter(|raw| raw.dialect == DIALECT);
    if let Some(Value::Object(members)) = own.map(|raw| raw.json()) {
        let mut members = members.clone();
        // A message without a role is a user message, and stays without one.
        let has_no_role = members.get("role").is_none_or(Value::is_null);
        if !has_no_role || message.role != Role::User {
            let role = serde_json::to_value(&message.role).unwrap_or_default();
            members.insert("role".to_owned(), role);
        }
        return members;
    }
    let properties = message.meta.additional_properties.clone();
    let mut members = Map::from_iter([
        ("type".to_owned(), "message".into()),
        ("role".to_owned(), role(message)),
        ("contents".to_owned(), Value::Array(Vec::new())),
        ("additional_properties".to_owned(), properties.into()),
    ]);
    if let Some(sidecar_json) = of_message(message) {
        sidecar::insert(&mut members, sidecar_json);
    }
    members
}

/// The framework keeps tool results in messages with a role of their own.
fn role(message: &Message) -> Value {
    let is_of_tools = message.role == Role::User
        && !message.contents.is_empty()
        && message.contents.iter().all(is_result);
    let role = if is_of_tools {
        &Role::Tool
    } else {
        &message.role
    };
    serde_json::to_value(role).unwrap_or_default()
}

/// The sidecar of a message; `None` if the framework's fields represent all of it.
fn of_message(message: &Message) -> Option<Value> {
    let meta = &message.meta;
    let mut sidecar_json = Map::new();
    let own_role = serde_json::to_value(&message.role).unwrap_or_default();
    if role(message) != own_role {
        sidecar_json.insert("role".to_owned(), own_role);
    }
    if let Some(raw) = &meta.raw_representation {
        let raw = serde_json::to_value(raw).unwrap_or_default();
        sidecar_json.insert("raw_representation".to_owned(), raw);
    }
    if !meta.annotations.is_empty() {
        let annotations = meta.annotations.clone();
        sidecar_json.insert("annotations".to_owned(), annotations.into());
    }
    if !meta.extra.is_empty() {
        sidecar_json.insert("extra".to_owned(), meta.extra.clone().into());
    }
    (!sidecar_json.is_empty()).then_some(Value::Object(sidecar_json))
}

/// Encodes contents, each as one or two of the framework's.
pub(super) fn contents(contents: &[Content], calls: &mut FunctionCalls) -> Vec<Value> {
    let mut written = Vec::with_capacity(contents.len());
    for content in contents {
        written.extend(self::content(content, calls));
        calls.note(content);
    }
    written
}

fn content(content: &Content, calls: &FunctionCalls) -> Vec<Value> {
    if let Some(raw) = own_raw(content, calls) {
        return vec![raw];
    }
    let plain = encode_native::encoded(content, calls);
    let Value::Object(mut members) = plain.clone() else {
        return vec![plain];
    };
    let back = decode::plain(members.clone(), calls);
    if back == *content {
        return vec![plain];
    }
    let neutral = serde_json::to_value(content).unwrap_or_default();
    sidecar::insert(&mut members, sidecar::compact(neutral, &plain));
    let mut written = vec![Value::Object(members)];
    if !calls.is_result_of_function(content) {
        written.extend(repeated_text(content));
    }
    written
}

/// The original JSON of a content, unless it was changed.
fn own_raw(content: &Content, calls: &FunctionCalls) -> Option<Value> {
    let Some(meta) = content.meta() else {
        let Content::Other(other) = content else {
            return None;
        };
        // A document of the framework keeps also what the framework does not know.
        let is_own = other.dialect.as_deref() == Some(DIALECT) || encode_native::is_own(other);
        return is_own.then(|| Value::Object(other.json.clone()));
    };
    let raw = meta.raw_representation.as_ref()?;
    let Value::Object(members) = raw.json().clone() else {
        return None;
    };
    if raw.dialect != DIALECT {
        return None;
    }
    let mut now = content.clone();
    now.meta_mut()?.raw_representation = None;
    let mut again = decode::plain(members, calls);
    // The original does not tell who answers such a call.
    if let (Content::FunctionCall(again), Content::FunctionCall(now)) = (&mut again, &now)
        && decode::is_unknown_call(again)
    {
        again.requires_local_execution = now.requires_local_execution;
    }
    (again == now).then(|| raw.json().clone())
}

/// A text for the model that repeats what only the sidecar has.
fn repeated_text(content: &Content) -> Option<Value> {
    let Content::ComputerResult(result) = content else {
        return None;
    };
    let text = encode_native::text_of_result(result)?;
    let properties = json!({SIDECAR: {encode_native::REPEATED_CALL: result.call_id}});
    Some(json!({"type": "text", "text": text, "additional_properties": properties}))
}
