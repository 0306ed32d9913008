//! The envelope of items: a list, a request, a response, a conversation's list, or a single item.

use std::collections::HashSet;

use serde_json::{Map, Value};
use telechir_protocol::{
    Content, ErrorContent, InvalidTurn, Message, Meta, ModelTurn, UsageContent,
};

use super::decode::{CallContext, ItemReader, instructions, text_input};
use super::item::{Item, raw};
use super::item_kinds::LOCAL_CALLS;
use super::{DIALECT, PROVIDER};
use crate::json::{kind, list, names_of, object, owned, present, text};
use crate::provider_error::ProviderError;
use crate::{DecodeError, Envelope, History, Report};

/// The member name used for a single item without a list.
pub(super) const ALONE: &str = "";

/// Members that hold a list of items: in a response, a request, a page and a new conversation.
const ENVELOPES: [&str; 4] = ["output", "input", "data", "items"];

/// Decodes one response: an object with `output`, the list alone, or one item of it.
pub(super) fn read_response(value: Value) -> Result<(ModelTurn, Report), DecodeError> {
    let value = unwrapped(value);
    refuse_error(&value)?;
    let found = find_items(value)?;
    let rest = match found.member {
        Some("output") => found.rest,
        Some(ALONE) | None => Map::new(),
        Some(member) => {
            return Err(wrong_shape(format!(
                "expected a response with `output`, found a request or list with `{member}`"
            )));
        }
    };
    refuse_unfinished(&rest)?;
    let mut reader = ItemReader {
        call_contexts: answered_by_provider(&found.items),
        ..ItemReader::default()
    };
    let mut contents = Vec::new();
    for (index, item) in found.items.iter().enumerate() {
        refuse_unanswerable(item)?;
        contents.extend(reader.item(item, &format!("output[{index}]")).contents);
    }
    contents.extend(incomplete_error(&rest));
    contents.extend(object(&rest, "usage").map(usage));
    Ok((ModelTurn::new(contents)?, reader.report))
}

/// Decodes a history: a request, its list, a response, a conversation's list, or one item.
pub(super) fn read_history(value: Value) -> Result<(History, Report), DecodeError> {
    refuse_error(&value)?;
    let found = find_items(value)?;
    let mut messages = Vec::new();
    if found.member == Some("input") {
        messages.extend(text(&found.rest, "instructions").map(instructions));
        messages.extend(found.string_input.as_ref().and_then(text_input));
    }
    let call_contexts = if found.member == Some("output") {
        answered_by_provider(&found.items)
    } else {
        Default::default()
    };
    let mut reader = ItemReader {
        call_contexts,
        ..ItemReader::default()
    };
    for (index, item) in found.items.iter().enumerate() {
        let path = format!("{}[{index}]", found.member.unwrap_or("items"));
        messages.push(reader.item(item, &path));
    }
    let envelope = Envelope::of(DIALECT, found.member, found.rest);
    Ok((History { messages, envelope }, reader.report))
}

/// Writes items back into their original envelope.
pub(super) fn enclose(items: Vec<Value>, envelope: &Envelope, first: Option<&Message>) -> Value {
    let Some((member, rest)) = envelope.own(DIALECT) else {
        return Value::Array(items);
    };
    if member == ALONE && items.len() == 1 {
        return items.into_iter().next().unwrap_or_default();
    }
    if member == ALONE {
        return Value::Array(items);
    }
    let mut body = rest.clone();
    let list = match items.as_slice() {
        [] if rest.get(member).is_none_or(Value::is_null) => Value::Null,
        [only @ Value::String(_)] => only.clone(),
        _ => Value::Array(items),
    };
    if !list.is_null() {
        body.insert(member.to_owned(), list);
    }
    // In a response, `instructions` only echoes the request.
    if member == "input" && text(rest, "instructions").is_some() {
        let instructions = first.map_or(Value::Null, |message| {
            Value::String(super::encode::message_text(message))
        });
        body.insert("instructions".to_owned(), instructions);
    }
    Value::Object(body)
}

struct ItemEnvelope {
    items: Vec<Item>,
    /// `input`, if it is a single string.
    string_input: Option<Value>,
    /// `None` for a plain list.
    member: Option<&'static str>,
    rest: Item,
}

fn find_items(value: Value) -> Result<ItemEnvelope, DecodeError> {
    if let Some(dialect) = other_dialect(&value) {
        let problem = "expected items, found `content` blocks".to_owned();
        return Err(DecodeError::WrongShape {
            dialect: DIALECT,
            problem,
            looks_like: Some(dialect),
        });
    }
    let mut rest = match value {
        Value::Array(values) => {
            return Ok(ItemEnvelope {
                items: items(values)?,
                string_input: None,
                member: None,
                rest: Map::new(),
            });
        }
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(wrong_shape(
                "expected an object or a list of items".to_owned(),
            ));
        }
    };
    // Items can have members with these names, too, but envelopes have no `type`.
    let envelope = kind(&rest).is_empty() && !rest.contains_key("role");
    let member = ENVELOPES
        .into_iter()
        .find(|name| envelope && rest.contains_key(*name));
    // A request may consist of a stored prompt alone.
    let has_prompt = envelope && rest.get("prompt").is_some_and(Value::is_object);
    if has_prompt && member.is_none() {
        return Ok(ItemEnvelope {
            items: Vec::new(),
            string_input: None,
            member: Some("input"),
            rest,
        });
    }
    if kind(&rest).starts_with("response.") {
        let problem = format!(
            "expected a complete document, found the stream event `{}`",
            kind(&rest)
        );
        return Err(wrong_shape(problem));
    }
    let Some(member) = member else {
        if envelope {
            return Err(wrong_shape(format!(
                "expected `output`, `input`, `data` or `type`, found {}",
                names_of(&rest)
            )));
        }
        return Ok(ItemEnvelope {
            items: vec![rest],
            string_input: None,
            member: Some(ALONE),
            rest: Map::new(),
        });
    };
    let (items, string_input) = match rest.insert(member.to_owned(), Value::Null) {
        Some(Value::Array(values)) => {
            rest.insert(member.to_owned(), Value::Array(Vec::new()));
            (items(values)?, None)
        }
        Some(string @ Value::String(_)) if member == "input" => (Vec::new(), Some(string)),
        Some(Value::Null) if matches!(member, "input" | "output") => (Vec::new(), None),
        _ => return Err(wrong_shape(format!("`{member}` is not a list of items"))),
    };
    Ok(ItemEnvelope {
        items,
        string_input,
        member: Some(member),
        rest,
    })
}

fn items(values: Vec<Value>) -> Result<Vec<Item>, DecodeError> {
    let item = |(index, value): (usize, Value)| {
        let Value::Object(item) = value else {
            return Err(wrong_shape(format!(
                "item {index} is not an object: {}",
                shortened(&value)
            )));
        };
        if kind(&item).starts_with("response.") {
            let problem = format!("item {index} is the stream event `{}`", kind(&item));
            return Err(wrong_shape(problem));
        }
        Ok(item)
    };
    values.into_iter().enumerate().map(item).collect()
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

fn wrong_shape(problem: String) -> DecodeError {
    DecodeError::wrong_shape(DIALECT, problem)
}

/// Unwraps the response from a stream's last event.
fn unwrapped(mut value: Value) -> Value {
    let event = value
        .as_object_mut()
        .filter(|event| kind(event).starts_with("response."));
    event
        .and_then(|event| event.shift_remove("response"))
        .unwrap_or(value)
}

/// Rejects an error document: an HTTP error body or either form of a stream's error event.
fn refuse_error(value: &Value) -> Result<(), DecodeError> {
    let Some(body) = value.as_object() else {
        return Ok(());
    };
    let nested = object(body, "error");
    let is_envelope = ENVELOPES.iter().any(|name| body.contains_key(*name));
    let error = match kind(body) {
        "error" => nested.or(Some(body)),
        "" if !is_envelope => nested,
        _ => None,
    };
    if let Some(error) = error {
        return Err(provider_error(error));
    }
    // xAI and others write the message as a text.
    let is_text =
        kind(body).is_empty() && !is_envelope && body.get("error").is_some_and(Value::is_string);
    match ProviderError::from_value(value).filter(|_| is_text) {
        Some(error) => Err(error.as_decode_error()),
        None => Ok(()),
    }
}

fn provider_error(error: &Item) -> DecodeError {
    let message = text(error, "message").unwrap_or("no error message");
    let code = text(error, "code").or_else(|| text(error, "type"));
    let message = code.map_or_else(|| message.to_owned(), |code| format!("{code}: {message}"));
    DecodeError::ProviderError { message }
}

/// Rejects failed and unfinished responses; an incomplete response is accepted.
fn refuse_unfinished(response: &Item) -> Result<(), DecodeError> {
    match text(response, "status") {
        Some("failed" | "cancelled") => Err(object(response, "error").map_or_else(
            || DecodeError::ProviderError {
                message: "the response failed without an error message".to_owned(),
            },
            provider_error,
        )),
        Some(status @ ("queued" | "in_progress")) => Err(wrong_shape(format!(
            "the response is unfinished: its status is `{status}`"
        ))),
        _ => Ok(()),
    }
}

/// Results are matched to calls by id, so a call without an id cannot be answered.
fn refuse_unanswerable(item: &Item) -> Result<(), DecodeError> {
    let kind = kind(item);
    if LOCAL_CALLS.contains(&kind) && text(item, "call_id").is_none() {
        let name = owned(item, "name").unwrap_or_else(|| kind.to_owned());
        return Err(InvalidTurn::MissingCallId { name }.into());
    }
    Ok(())
}

/// Calls whose output is part of the same response.
fn answered_by_provider(items: &[Item]) -> std::collections::HashMap<String, CallContext> {
    let outputs = items.iter().filter(|item| kind(item).ends_with("_output"));
    let answered: HashSet<&str> = outputs.filter_map(|item| text(item, "call_id")).collect();
    answered
        .into_iter()
        .map(|call_id| (call_id.to_owned(), CallContext::AnsweredByProvider))
        .collect()
}

/// The reason the response is incomplete, as error content.
fn incomplete_error(response: &Item) -> Option<Content> {
    if text(response, "status") != Some("incomplete") {
        return None;
    }
    let details = present(response, "incomplete_details");
    let reason = details.and_then(|details| text(details.as_object()?, "reason"));
    let message = format!(
        "the response is incomplete: {}",
        reason.unwrap_or("no reason given")
    );
    Some(Content::Error(ErrorContent {
        message,
        error_code: Some("incomplete".to_owned()),
        error_details: details.cloned(),
        meta: Meta::default(),
    }))
}

fn usage(usage: &Item) -> Content {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let mut meta = raw(usage);
    for name in ["input_tokens_details", "output_tokens_details"] {
        if let Some(details) = present(usage, name) {
            meta.set_property(PROVIDER, name, details.clone());
        }
    }
    Content::Usage(UsageContent {
        input_token_count: count("input_tokens"),
        output_token_count: count("output_tokens"),
        total_token_count: count("total_tokens"),
        meta,
    })
}

/// Detects Anthropic messages by content blocks that no item has.
fn other_dialect(value: &Value) -> Option<&'static str> {
    const BLOCKS: [&str; 6] = [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "image",
    ];
    let is_message = |value: &Value| {
        let Some(message) = value
            .as_object()
            .filter(|message| message.contains_key("role"))
        else {
            return false;
        };
        let blocks = || {
            list(message, "content")
                .iter()
                .filter_map(Value::as_object)
                .map(kind)
        };
        let only_text = || blocks().count() > 0 && blocks().all(|kind| kind == "text");
        blocks().any(|kind| BLOCKS.contains(&kind)) || only_text()
    };
    let is_block = |value: &Value| {
        value
            .as_object()
            .is_some_and(|block| BLOCKS.contains(&kind(block)) && !block.contains_key("role"))
    };
    let anthropic = match value {
        Value::Object(body) => {
            body.contains_key("messages")
                || body.contains_key("stop_reason")
                || is_message(value)
                || is_block(value)
        }
        Value::Array(values) => values
            .iter()
            .any(|value| is_message(value) || is_block(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    anthropic.then_some("anthropic-messages")
}
