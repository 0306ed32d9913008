//! The envelope of entries: a list, a request, an append request, a response, a stored history, or
//! a single entry.

use serde_json::Value;
use telechir_protocol::{Content, Message, ModelTurn, Role};

use super::decode::{EntryReader, confirmation};
use super::{DIALECT, FLAVOUR, PROVIDER};
use crate::chat;
use crate::json::{Fields, kind, list, names_of, object, some_text, text};
use crate::provider_error::ProviderError;
use crate::{DecodeError, Envelope, History, Report};

/// The member name used for a single entry without a list.
const ALONE: &str = "";
const INPUTS: &str = "inputs";
const CONFIRMATIONS: &str = "tool_confirmations";

/// Members that hold a list of entries.
const ENVELOPES: [&str; 4] = ["outputs", INPUTS, "entries", "messages"];

/// Marks the message that came from the request's `instructions`.
const INSTRUCTIONS: &str = "instructions";

/// Decodes one response: an object with `outputs`, the list alone, or one entry of it.
pub(super) fn read_response(value: Value) -> Result<(ModelTurn, Report), DecodeError> {
    refuse_error(&value)?;
    let found = find_entries(value)?;
    let rest = match found.member {
        Some("outputs") => found.rest,
        Some(ALONE) | None => Fields::new(),
        Some(member) => {
            let problem = format!(
                "expected a response with `outputs`, found a request or history with `{member}`"
            );
            return Err(wrong_shape(problem, None));
        }
    };
    for (index, entry) in found.entries.iter().enumerate() {
        refuse_unanswerable(index, entry)?;
    }
    let mut reader = EntryReader::default();
    let messages = reader.entries(&found.entries);
    let mut contents: Vec<Content> = messages
        .into_iter()
        .flat_map(|message| message.contents)
        .collect();
    contents.extend(object(&rest, "usage").map(|usage| chat::usage(FLAVOUR, usage)));
    Ok((ModelTurn::new(contents)?, reader.report))
}

/// Results are matched to calls by id, so a call without an id cannot be answered.
fn refuse_unanswerable(index: usize, entry: &Fields) -> Result<(), DecodeError> {
    if kind(entry) == "function.call" && some_text(entry, "tool_call_id").is_none() {
        let name = text(entry, "name").unwrap_or_default();
        let problem = format!(
            "entry {index}: the call of {name} has no `tool_call_id` and cannot be answered"
        );
        return Err(wrong_shape(problem, None));
    }
    Ok(())
}

/// Decodes a history: a request, an append request, a response, a stored history, its list, or one
/// entry.
pub(super) fn read_history(value: Value) -> Result<(History, Report), DecodeError> {
    refuse_error(&value)?;
    let found = find_entries(value)?;
    let mut messages = Vec::new();
    let is_request = found.member == Some(INPUTS);
    if is_request {
        messages.extend(text(&found.rest, INSTRUCTIONS).map(instructions));
        messages.extend(found.text.as_deref().map(text_input));
    }
    let mut reader = EntryReader::default();
    messages.extend(reader.entries(&found.entries));
    if is_request {
        let answers = list(&found.rest, CONFIRMATIONS);
        messages.extend(
            answers
                .iter()
                .filter_map(Value::as_object)
                .map(confirmation),
        );
    }
    let envelope = Envelope::of(DIALECT, found.member, found.rest);
    Ok((History { messages, envelope }, reader.report))
}

/// The request's `instructions` as the first message.
fn instructions(text: &str) -> Message {
    let mut message = Message::new(Role::System, vec![Content::text(text)]);
    message
        .meta
        .set_property(PROVIDER, "member", INSTRUCTIONS.into());
    message
}

pub(super) fn is_instructions(message: &Message) -> bool {
    let member = message.meta.property(PROVIDER, "member");
    member.is_some_and(|member| member == INSTRUCTIONS)
}

/// `inputs` as a single string: a user message.
fn text_input(text: &str) -> Message {
    let mut message = Message::new(Role::User, vec![Content::text(text)]);
    message.meta.set_property(PROVIDER, "member", INPUTS.into());
    message
}

/// Whether the message came from `inputs` as a single string.
pub(super) fn is_text_input(message: &Message) -> bool {
    let member = message.meta.property(PROVIDER, "member");
    member.is_some_and(|member| member == INPUTS)
        && matches!(message.contents.as_slice(), [Content::Text(_)])
}

/// The parts of a written history.
pub(super) struct WrittenEntries {
    pub(super) entries: Vec<Value>,
    pub(super) confirmations: Vec<Value>,
    pub(super) instructions: Option<String>,
    /// Whether the single entry is written as a string in `inputs`.
    pub(super) is_text_input: bool,
}

/// Writes entries back into their original envelope.
pub(super) fn enclose(written: WrittenEntries, envelope: &Envelope) -> Value {
    let Some((member, rest)) = envelope.own(DIALECT) else {
        return Value::Array(written.entries);
    };
    let mut entries = written.entries;
    if member == ALONE {
        return if entries.len() == 1 {
            entries.pop().unwrap_or_default()
        } else {
            Value::Array(entries)
        };
    }
    let mut body = rest.clone();
    if !entries.is_empty() || rest.get(member).is_some_and(Value::is_array) {
        let list = match entries.as_slice() {
            [only] if written.is_text_input => only["content"].clone(),
            _ => Value::Array(entries),
        };
        body.insert(member.to_owned(), list);
    }
    if text(rest, INSTRUCTIONS).is_some() && member == INPUTS {
        let instructions = written.instructions.map_or(Value::Null, Value::String);
        body.insert(INSTRUCTIONS.to_owned(), instructions);
    }
    if rest.contains_key(CONFIRMATIONS) || !written.confirmations.is_empty() {
        let was_null = rest.get(CONFIRMATIONS).is_some_and(Value::is_null);
        if !(was_null && written.confirmations.is_empty()) {
            body.insert(CONFIRMATIONS.to_owned(), written.confirmations.into());
        }
    }
    Value::Object(body)
}

struct EntryEnvelope {
    entries: Vec<Fields>,
    /// `inputs`, if it is a single string.
    text: Option<String>,
    /// `None` for a plain list.
    member: Option<&'static str>,
    rest: Fields,
}

fn find_entries(value: Value) -> Result<EntryEnvelope, DecodeError> {
    let mut rest = match value {
        Value::Array(values) => {
            return Ok(EntryEnvelope {
                entries: entries(values)?,
                text: None,
                member: None,
                rest: Fields::new(),
            });
        }
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let problem = "expected an object or a list of entries".to_owned();
            return Err(wrong_shape(problem, None));
        }
    };
    if is_event(kind(&rest)) {
        let problem = format!(
            "expected a complete document, found the stream event `{}`",
            kind(&rest)
        );
        return Err(wrong_shape(problem, None));
    }
    if !kind(&rest).is_empty() {
        return Ok(EntryEnvelope {
            entries: entries(vec![Value::Object(rest)])?,
            text: None,
            member: Some(ALONE),
            rest: Fields::new(),
        });
    }
    let is_addition = ["tool_confirmations", "from_entry_id"]
        .iter()
        .any(|name| rest.contains_key(*name));
    let member = ENVELOPES
        .into_iter()
        .find(|name| rest.contains_key(*name))
        .or_else(|| is_addition.then_some(INPUTS));
    let Some(member) = member else {
        let problem = format!(
            "expected `outputs`, `inputs`, `entries` or `type`, found {}",
            names_of(&rest)
        );
        return Err(wrong_shape(problem, looks_like(&rest)));
    };
    let list = rest.get_mut(member).map(Value::take);
    let (entries, text) = match list {
        None | Some(Value::Null) => (Vec::new(), None),
        Some(Value::Array(values)) => {
            rest.insert(member.to_owned(), Value::Array(Vec::new()));
            (entries(values)?, None)
        }
        Some(Value::String(text)) if member == INPUTS => (Vec::new(), Some(text)),
        Some(_) => {
            return Err(wrong_shape(
                format!("`{member}` is not a list of entries"),
                None,
            ));
        }
    };
    Ok(EntryEnvelope {
        entries,
        text,
        member: Some(member),
        rest,
    })
}

fn entries(values: Vec<Value>) -> Result<Vec<Fields>, DecodeError> {
    let entry = |(index, value): (usize, Value)| {
        let Value::Object(entry) = value else {
            return Err(wrong_shape(format!("entry {index} is not an object"), None));
        };
        let kind = kind(&entry);
        if is_event(kind) {
            let problem = format!("entry {index} is the stream event `{kind}`");
            return Err(wrong_shape(problem, None));
        }
        let is_message = kind.is_empty() && entry.contains_key("role");
        if !kind.contains('.') && !is_message || entry.contains_key("tool_calls") {
            let problem = format!("entry {index} has the unknown type `{kind}`");
            return Err(wrong_shape(problem, looks_like(&entry)));
        }
        Ok(entry)
    };
    values.into_iter().enumerate().map(entry).collect()
}

fn is_event(kind: &str) -> bool {
    kind.starts_with("conversation.response")
        || kind.ends_with(".delta")
        || kind.ends_with(".started")
        || kind.ends_with(".done")
}

fn looks_like(fields: &Fields) -> Option<&'static str> {
    if fields.contains_key("choices") || fields.contains_key("tool_calls") {
        return Some("mistral-chat");
    }
    if fields.contains_key("output") || fields.contains_key("input") {
        return Some("openai-responses");
    }
    matches!(kind(fields), "function_call" | "computer_call" | "message")
        .then_some("openai-responses")
}

fn wrong_shape(problem: String, looks_like: Option<&'static str>) -> DecodeError {
    DecodeError::WrongShape {
        dialect: DIALECT,
        problem,
        looks_like,
    }
}

fn refuse_error(value: &Value) -> Result<(), DecodeError> {
    let event = value
        .as_object()
        .filter(|event| kind(event) == "conversation.response.error");
    let of_event = event.and_then(|event| some_text(event, "message"));
    let message = of_event.map(str::to_owned).or_else(|| {
        ProviderError::from_value(value).map(|error| {
            if error.kind.is_empty() {
                error.message
            } else {
                format!("{}: {}", error.kind, error.message)
            }
        })
    });
    message.map_or(Ok(()), |message| {
        Err(DecodeError::ProviderError { message })
    })
}
