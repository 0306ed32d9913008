//! Assembles a response from stream chunks.
//!
//! A call is continued by the chunk with the same index, the same id, or neither: servers differ in
//! which they send, and some repeat the name or send an empty one.

mod calls;
mod content;
mod ollama;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::calls::CallsBuilder;
pub(crate) use self::content::join as join_parts;
use self::ollama::OllamaBuilder;
use crate::StreamError;
use crate::json::{Fields, list, object, present, some_text};
use crate::precision::ParsingLosses;
use crate::provider_error::ProviderError;
use crate::stream::{CallDelta, Delta, EventAssembler};

/// Maximum number of choices in one response.
const MAX_CHOICES: u64 = 128;

/// The state of a partially received response.
#[derive(Debug, Default)]
pub(super) struct CompletionBuilder {
    number: usize,
    /// Fields of the response, including usage.
    response: Fields,
    choices: BTreeMap<u64, ChoiceBuilder>,
    /// Set by the first line of Ollama's own format.
    ollama: Option<OllamaBuilder>,
    /// Whether the service has sent its last event.
    is_done: bool,
    /// How many events had token counts, and the number of the last of them.
    usage: UsageEvents,
}

/// Some services send token counts with every event, others once at the end.
#[derive(Debug, Default)]
struct UsageEvents {
    count: usize,
    last: usize,
}

/// The state of a partially received choice.
#[derive(Debug, Default)]
struct ChoiceBuilder {
    members: Fields,
    message: Fields,
    calls: CallsBuilder,
    /// Earlier messages of the choice; connectors of the service produce several.
    earlier: Vec<Value>,
    finish: Option<String>,
}

impl EventAssembler for CompletionBuilder {
    fn event(&mut self, _name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        if let Some(error) = ProviderError::from_value(&event) {
            return Err(StreamError::Provider {
                message: error.message,
            });
        }
        let Value::Object(mut chunk) = event else {
            return Err(self.bad("expected an object"));
        };
        if ollama::is_line(&chunk) {
            return Ok(self.ollama.get_or_insert_default().push(chunk));
        }
        let choices = match chunk.shift_remove("choices") {
            Some(Value::Array(choices)) => choices,
            None | Some(Value::Null) => Vec::new(),
            Some(_) => return Err(self.bad("`choices` is not a list")),
        };
        chunk.retain(|_, value| !value.is_null());
        if object(&chunk, "usage").is_some_and(|usage| !usage.is_empty()) {
            self.usage.count += 1;
            self.usage.last = self.number;
        }
        self.response.extend(chunk);
        let mut deltas = Vec::new();
        for choice in choices {
            deltas.extend(self.choice(choice)?);
        }
        Ok(deltas)
    }

    fn done(&mut self) {
        self.is_done = true;
    }

    fn finish(self, _: &mut ParsingLosses) -> Result<Value, StreamError> {
        if let Some(ollama) = self.ollama {
            return ollama.finish();
        }
        let has_ended = self.is_done || self.usage.count == 1 && self.usage.last == self.number;
        if self.choices.is_empty() {
            return Err(StreamError::truncated("no choice received"));
        }
        let mut choices = Vec::new();
        for (index, choice) in self.choices {
            // Some services give no reason.
            let finish = choice.finish.clone();
            if finish.is_none() && !has_ended {
                return Err(StreamError::truncated(format!(
                    "choice {index} has no `finish_reason`"
                )));
            }
            choices.push(choice.into_value(index, finish)?);
        }
        let mut response = self.response;
        response.insert("object".to_owned(), "chat.completion".into());
        response.insert("choices".to_owned(), choices.into());
        Ok(Value::Object(response))
    }
}

impl CompletionBuilder {
    fn bad(&self, problem: &str) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    fn choice(&mut self, value: Value) -> Result<Vec<Delta>, StreamError> {
        let Value::Object(mut value) = value else {
            return Err(self.bad("a choice is not an object"));
        };
        let index = present(&value, "index")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        if index >= MAX_CHOICES {
            let problem = format!("choice index {index} exceeds the limit of {MAX_CHOICES}");
            return Err(self.bad(&problem));
        }
        let delta = match value.shift_remove("delta") {
            Some(Value::Object(delta)) => delta,
            None | Some(Value::Null) => Fields::new(),
            Some(_) => return Err(self.bad("a delta is not an object")),
        };
        if let Some(error) = object(&value, "error") {
            let message = some_text(error, "message").unwrap_or("no error message");
            return Err(StreamError::Provider {
                message: message.to_owned(),
            });
        }
        let choice = self.choices.entry(index).or_default();
        let mut deltas = choice.grow(delta)?;
        let finish = some_text(&value, "finish_reason").map(str::to_owned);
        value.retain(|name, value| !value.is_null() && name != "index" && name != "finish_reason");
        choice.members.extend(value);
        if let Some(finish) = finish {
            if choice.finish.is_none() {
                deltas.extend(choice.calls.end_deltas());
            }
            choice.finish = Some(finish);
        }
        // The turn consists of the first choice only.
        Ok(if index == 0 { deltas } else { Vec::new() })
    }
}

/// Delta fields that are appended as text.
const TEXT_FIELDS: [&str; 4] = ["refusal", "reasoning_content", "reasoning", "thinking"];

impl ChoiceBuilder {
    fn grow(&mut self, mut delta: Fields) -> Result<Vec<Delta>, StreamError> {
        let mut deltas = Vec::new();
        self.start_message_if_new(&delta)?;
        for name in TEXT_FIELDS {
            let Some(Value::String(text)) = delta.shift_remove(name) else {
                continue;
            };
            content::append(&mut self.message, name, &text);
            if !text.is_empty() {
                deltas.push(delta_of(name, text));
            }
        }
        if let Some(content) = delta
            .shift_remove("content")
            .filter(|content| !content.is_null())
        {
            deltas.extend(content::append_content(&mut self.message, content));
        }
        for call_delta in list(&delta, "tool_calls") {
            let call_delta = self.calls.push(call_delta)?;
            deltas.push(Delta::Call(call_delta));
        }
        delta.shift_remove("tool_calls");
        if let Some(Value::Object(call)) = delta.shift_remove("function_call") {
            let call = Value::Object(call);
            let call_delta = self.calls.push_legacy(&call)?;
            deltas.push(Delta::Call(call_delta));
        }
        self.keep(delta);
        Ok(deltas)
    }

    /// Starts a new message if the delta has another role.
    fn start_message_if_new(&mut self, delta: &Fields) -> Result<(), StreamError> {
        let role = some_text(delta, "role");
        let current = some_text(&self.message, "role");
        let other =
            |one: Option<&str>, two: Option<&str>| one.is_some() && two.is_some() && one != two;
        if other(role, current) {
            let message = std::mem::take(&mut self.message);
            let calls = std::mem::take(&mut self.calls);
            self.earlier
                .push(Value::Object(finish_message(message, calls)?));
        }
        Ok(())
    }

    /// Merges all other fields: lists are extended, other values are replaced.
    fn keep(&mut self, delta: Fields) {
        for (name, value) in delta {
            if value.is_null() || (name == "index") {
                continue;
            }
            match (self.message.get_mut(&name), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => {
                    self.message.insert(name, value);
                }
            }
        }
    }

    fn into_value(self, index: u64, finish: Option<String>) -> Result<Value, StreamError> {
        let mut choice = self.members;
        choice.insert("index".to_owned(), index.into());
        choice.insert("finish_reason".to_owned(), finish.into());
        let last = finish_message(self.message, self.calls)?;
        if self.earlier.is_empty() {
            choice.insert("message".to_owned(), Value::Object(last));
        } else {
            let mut all = self.earlier;
            all.push(Value::Object(last));
            choice.insert("messages".to_owned(), all.into());
        }
        Ok(Value::Object(choice))
    }
}

fn finish_message(
    mut message: Map<String, Value>,
    calls: CallsBuilder,
) -> Result<Fields, StreamError> {
    message.entry("role").or_insert_with(|| "assistant".into());
    message.entry("content").or_insert(Value::Null);
    calls.finish(&mut message)?;
    Ok(message)
}

fn delta_of(name: &str, text: String) -> Delta {
    if name == "refusal" {
        Delta::Text { index: 0, text }
    } else {
        Delta::Reasoning { index: 0, text }
    }
}

/// The delta to emit for a part of a call.
fn call_delta(
    index: usize,
    call_id: Option<&str>,
    name: Option<&str>,
    arguments: &str,
) -> CallDelta {
    CallDelta {
        index: u64::try_from(index).unwrap_or(u64::MAX),
        call_id: call_id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    }
}
