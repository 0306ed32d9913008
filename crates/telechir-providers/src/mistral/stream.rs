//! Assembles a response from stream events; events are matched to entries by id and index.

use serde_json::{Map, Value, json};

use crate::StreamError;
use crate::chat::join_parts;
use crate::json::{Fields, kind, present, some_text, text};
use crate::precision::ParsingLosses;
use crate::stream::{CallDelta, Delta, EventAssembler};

/// Maximum number of entries in one response.
const MAX_ENTRIES: usize = 4096;

/// The state of a partially received response.
#[derive(Debug, Default)]
pub(super) struct ConversationBuilder {
    number: usize,
    conversation: Option<Fields>,
    entries: Vec<EntryBuilder>,
    done: Option<Fields>,
}

/// A partially received entry.
#[derive(Debug)]
struct EntryBuilder {
    output_index: Option<u64>,
    kind: &'static str,
    entry: Fields,
    /// The arguments received so far.
    arguments: Option<Value>,
    /// Message parts by content index.
    content: Vec<(u64, Value)>,
    is_open: bool,
}

/// Event fields that are not fields of the entry.
const EVENT_FIELDS: [&str; 6] = [
    "type",
    "output_index",
    "content_index",
    "content",
    "arguments",
    "info",
];

impl EventAssembler for ConversationBuilder {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let Value::Object(event) = event else {
            return Err(self.bad("expected an object"));
        };
        let own_kind = Some(kind(&event)).filter(|kind| !kind.is_empty());
        let kind = own_kind.or(name).unwrap_or_default().to_owned();
        if kind == "conversation.response.error" {
            let code = present(&event, "code").map(|code| format!("{code}: "));
            let message = text(&event, "message").unwrap_or("no error message");
            return Err(StreamError::Provider {
                message: format!("{}{message}", code.unwrap_or_default()),
            });
        }
        // Ignore events after the end of the response.
        if self.done.is_some() {
            return Ok(Vec::new());
        }
        match kind.as_str() {
            "conversation.response.started" => {
                self.conversation = Some(event);
                Ok(Vec::new())
            }
            "conversation.response.done" => {
                self.done = Some(event);
                Ok(self.end_deltas())
            }
            "message.output.delta" => self.message(event),
            "function.call.delta" => self.call(event),
            "tool.execution.started" => self.execution(event, true),
            "tool.execution.delta" => self.execution(event, true),
            "tool.execution.done" => self.execution(event, false),
            "agent.handoff.started" => self.handoff(event, true),
            "agent.handoff.done" => self.handoff(event, false),
            _ => Ok(vec![Delta::Other {
                event: kind,
                json: Value::Object(event),
            }]),
        }
    }

    fn finish(self, _: &mut ParsingLosses) -> Result<Value, StreamError> {
        let Some(done) = self.done else {
            return Err(StreamError::truncated(
                "the final event of the response is missing",
            ));
        };
        let mut entries = self.entries;
        if let Some(open) = entries.iter().find(|entry| entry.is_open) {
            let problem = format!("an entry `{}` is incomplete", open.kind);
            return Err(StreamError::truncated(&problem));
        }
        // Without indexes, entries stay in order of arrival.
        if entries.iter().all(|entry| entry.output_index.is_some()) {
            entries.sort_by_key(|entry| entry.output_index);
        }
        let outputs: Vec<Value> = entries.into_iter().map(EntryBuilder::into_value).collect();
        let mut response = Map::new();
        response.insert("object".to_owned(), "conversation.response".into());
        let id = self.conversation.as_ref();
        let id = id.and_then(|started| present(started, "conversation_id"));
        response.insert(
            "conversation_id".to_owned(),
            id.cloned().unwrap_or_default(),
        );
        response.insert("outputs".to_owned(), outputs.into());
        let usage = done.get("usage").cloned().unwrap_or_else(|| json!({}));
        response.insert("usage".to_owned(), usage);
        Ok(Value::Object(response))
    }
}

impl ConversationBuilder {
    fn bad(&self, problem: &str) -> StreamError {
        StreamError::bad_event(self.number, problem)
    }

    /// The entry with the event's id and index, or a new one.
    fn entry(
        &mut self,
        event: &Fields,
        kind: &'static str,
    ) -> Result<(usize, &mut EntryBuilder), StreamError> {
        let id = some_text(event, "id").or_else(|| some_text(event, "tool_call_id"));
        let output_index = present(event, "output_index").and_then(Value::as_u64);
        let is_it = |builder: &EntryBuilder| {
            let own = some_text(&builder.entry, "id");
            let own = own.or_else(|| some_text(&builder.entry, "tool_call_id"));
            let same_index = match (builder.output_index, output_index) {
                (Some(own), Some(new)) => own == new,
                _ => true,
            };
            builder.kind == kind && own == id && same_index
        };
        let at = match self.entries.iter().rposition(is_it) {
            Some(at) => at,
            None => {
                if self.entries.len() >= MAX_ENTRIES {
                    return Err(StreamError::TooLong { limit: MAX_ENTRIES });
                }
                self.entries.push(EntryBuilder {
                    output_index,
                    kind,
                    entry: Fields::new(),
                    arguments: None,
                    content: Vec::new(),
                    is_open: false,
                });
                self.entries.len() - 1
            }
        };
        let builder = &mut self.entries[at];
        for (name, value) in event {
            if !EVENT_FIELDS.contains(&name.as_str()) && !value.is_null() {
                builder
                    .entry
                    .entry(name.clone())
                    .or_insert_with(|| value.clone());
            }
        }
        Ok((at, builder))
    }

    fn message(&mut self, mut event: Fields) -> Result<Vec<Delta>, StreamError> {
        let content = event.shift_remove("content").unwrap_or_default();
        let content_index = present(&event, "content_index").and_then(Value::as_u64);
        let (at, builder) = self.entry(&event, "message.output")?;
        let index = index_of(at);
        let content_index =
            content_index.unwrap_or_else(|| builder.content.last().map_or(0, |(last, _)| *last));
        let delta = delta_of(&content, index);
        builder.append_content(content_index, content);
        Ok(delta.into_iter().collect())
    }

    fn call(&mut self, mut event: Fields) -> Result<Vec<Delta>, StreamError> {
        let fragment = event.shift_remove("arguments").unwrap_or_default();
        let (at, builder) = self.entry(&event, "function.call")?;
        let is_first = builder.arguments.is_none();
        builder.append_arguments(&fragment);
        Ok(vec![Delta::Call(CallDelta {
            index: index_of(at),
            call_id: some_text(&event, "tool_call_id")
                .filter(|_| is_first)
                .map(str::to_owned),
            name: some_text(&event, "name")
                .filter(|_| is_first)
                .map(str::to_owned),
            arguments: fragment
                .as_str()
                .map_or_else(|| fragment.to_string(), str::to_owned),
        })])
    }

    fn execution(&mut self, event: Fields, is_open: bool) -> Result<Vec<Delta>, StreamError> {
        let (_, builder) = self.entry(&event, "tool.execution")?;
        builder.is_open = is_open;
        if let Some(fragment) = present(&event, "arguments") {
            builder.append_arguments(fragment);
        }
        if let Some(info) = present(&event, "info") {
            builder.entry.insert("info".to_owned(), info.clone());
        }
        Ok(vec![Delta::Other {
            event: kind(&event).to_owned(),
            json: Value::Object(event),
        }])
    }

    fn handoff(&mut self, event: Fields, is_open: bool) -> Result<Vec<Delta>, StreamError> {
        let (_, builder) = self.entry(&event, "agent.handoff")?;
        builder.is_open = is_open;
        Ok(vec![Delta::Other {
            event: kind(&event).to_owned(),
            json: Value::Object(event),
        }])
    }

    fn end_deltas(&self) -> Vec<Delta> {
        let calls = self.entries.iter().enumerate();
        let calls = calls.filter(|(_, entry)| entry.kind == "function.call");
        calls
            .map(|(at, _)| Delta::CallEnd {
                index: index_of(at),
            })
            .collect()
    }
}

/// The delta to show for a content fragment.
fn delta_of(content: &Value, index: u64) -> Option<Delta> {
    let Some(part) = content.as_object() else {
        let text = content.as_str().filter(|text| !text.is_empty())?.to_owned();
        return Some(Delta::Text { index, text });
    };
    match kind(part) {
        "text" => Some(Delta::Text {
            index,
            text: text(part, "text")?.to_owned(),
        }),
        "thinking" => {
            let chunks = part.get("thinking")?.as_array()?.iter();
            let text = chunks
                .filter_map(|chunk| chunk.get("text")?.as_str())
                .collect();
            Some(Delta::Reasoning { index, text })
        }
        _ => None,
    }
}

fn index_of(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}

impl EntryBuilder {
    /// Appends a fragment of the arguments; an object replaces them.
    fn append_arguments(&mut self, fragment: &Value) {
        match (&mut self.arguments, fragment) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (_, Value::Null) => {}
            (arguments, fragment) => *arguments = Some(fragment.clone()),
        }
    }

    fn append_content(&mut self, content_index: u64, piece: Value) {
        match (self.content.last_mut(), piece) {
            (_, Value::Null) => {}
            (Some((last, Value::String(text))), Value::String(more)) if *last == content_index => {
                text.push_str(&more);
            }
            (_, piece) => self.content.push((content_index, piece)),
        }
    }

    fn into_value(self) -> Value {
        let mut entry = Fields::new();
        entry.insert("object".to_owned(), "entry".into());
        entry.insert("type".to_owned(), self.kind.into());
        entry.extend(self.entry);
        if self.kind == "message.output" {
            entry.entry("role").or_insert_with(|| "assistant".into());
            entry.insert("content".to_owned(), content_of(self.content));
        }
        if let Some(arguments) = self.arguments {
            entry.insert("arguments".to_owned(), arguments);
        } else if self.kind == "function.call" {
            entry.insert("arguments".to_owned(), "".into());
        }
        Value::Object(entry)
    }
}

/// A single text, or parts ordered by index.
fn content_of(mut content: Vec<(u64, Value)>) -> Value {
    content.sort_by_key(|(index, _)| *index);
    let all_texts = |content: &[(u64, Value)]| content.iter().all(|(_, piece)| piece.is_string());
    if all_texts(&content) {
        let texts = content.iter().filter_map(|(_, piece)| piece.as_str());
        return texts.collect::<String>().into();
    }
    let mut parts = Vec::new();
    let mut last = None;
    for (index, piece) in content {
        let part = match piece.as_str() {
            Some("") => continue,
            Some(text) => json!({"type": "text", "text": text}),
            None => piece,
        };
        // Fragments with the same index form one part.
        if last == Some(index) {
            join_parts(&mut parts, part);
        } else {
            parts.push(part);
        }
        last = Some(index);
    }
    Value::Array(parts)
}
