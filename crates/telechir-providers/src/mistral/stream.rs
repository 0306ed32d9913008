//! A response in events: entries that begin, grow and end, joined by their id and place.

use serde_json::{Map, Value, json};

use crate::StreamError;
use crate::chat::join_parts;
use crate::fields::{Fields, kind, present, some_text, text};
use crate::numbers::RoundedNumbers;
use crate::stream::{CallDelta, Delta, EventAssembler};

/// Most entries of one response.
const MOST_ENTRIES: usize = 4096;

/// What has come of a response.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    number: usize,
    conversation: Option<Fields>,
    entries: Vec<Growing>,
    done: Option<Fields>,
}

/// An entry that has begun.
#[derive(Debug)]
struct Growing {
    place: Option<u64>,
    kind: &'static str,
    entry: Fields,
    /// Arguments as far as they came.
    arguments: Option<Value>,
    /// Parts of a message by their place.
    content: Vec<(u64, Value)>,
    is_open: bool,
}

/// Members of an event that are no entry's.
const OF_EVENTS: [&str; 6] = [
    "type",
    "output_index",
    "content_index",
    "content",
    "arguments",
    "info",
];

impl EventAssembler for Arriving {
    fn event(&mut self, name: Option<&str>, event: Value) -> Result<Vec<Delta>, StreamError> {
        self.number += 1;
        let Value::Object(event) = event else {
            return Err(self.bad("it is no object"));
        };
        let said = Some(kind(&event)).filter(|kind| !kind.is_empty());
        let kind = said.or(name).unwrap_or_default().to_owned();
        if kind == "conversation.response.error" {
            let code = present(&event, "code").map(|code| format!("{code}: "));
            let message = text(&event, "message").unwrap_or("it says no more");
            return Err(StreamError::Provider {
                message: format!("{}{message}", code.unwrap_or_default()),
            });
        }
        // Nothing belongs to a response that has ended.
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
                Ok(self.ends())
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

    fn finish(self, _: &mut RoundedNumbers) -> Result<Value, StreamError> {
        let missing = |missing: &str| StreamError::Truncated {
            missing: missing.to_owned(),
        };
        let Some(done) = self.done else {
            return Err(missing("the event that ends the response did not come"));
        };
        let mut entries = self.entries;
        if let Some(open) = entries.iter().find(|entry| entry.is_open) {
            let problem = format!("an entry `{}` did not end", open.kind);
            return Err(missing(&problem));
        }
        // Without places the order is that of their beginnings.
        if entries.iter().all(|entry| entry.place.is_some()) {
            entries.sort_by_key(|entry| entry.place);
        }
        let outputs: Vec<Value> = entries.into_iter().map(Growing::into_whole).collect();
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

impl Arriving {
    fn bad(&self, problem: &str) -> StreamError {
        StreamError::BadEvent {
            number: self.number,
            problem: problem.to_owned(),
        }
    }

    /// The entry of an event: the one with its id and place, or a new one.
    fn entry(
        &mut self,
        event: &Fields,
        kind: &'static str,
    ) -> Result<(usize, &mut Growing), StreamError> {
        let id = some_text(event, "id").or_else(|| some_text(event, "tool_call_id"));
        let place = present(event, "output_index").and_then(Value::as_u64);
        let is_it = |growing: &Growing| {
            let own = some_text(&growing.entry, "id");
            let own = own.or_else(|| some_text(&growing.entry, "tool_call_id"));
            let same_place = match (growing.place, place) {
                (Some(own), Some(place)) => own == place,
                _ => true,
            };
            growing.kind == kind && own == id && same_place
        };
        let at = match self.entries.iter().rposition(is_it) {
            Some(at) => at,
            None => {
                if self.entries.len() >= MOST_ENTRIES {
                    return Err(StreamError::TooLong {
                        limit: MOST_ENTRIES,
                    });
                }
                self.entries.push(Growing {
                    place,
                    kind,
                    entry: Fields::new(),
                    arguments: None,
                    content: Vec::new(),
                    is_open: false,
                });
                self.entries.len() - 1
            }
        };
        let growing = &mut self.entries[at];
        for (name, value) in event {
            if !OF_EVENTS.contains(&name.as_str()) && !value.is_null() {
                growing
                    .entry
                    .entry(name.clone())
                    .or_insert_with(|| value.clone());
            }
        }
        Ok((at, growing))
    }

    fn message(&mut self, mut event: Fields) -> Result<Vec<Delta>, StreamError> {
        let content = event.shift_remove("content").unwrap_or_default();
        let place = present(&event, "content_index").and_then(Value::as_u64);
        let (at, growing) = self.entry(&event, "message.output")?;
        let index = number(at);
        let place = place.unwrap_or_else(|| growing.content.last().map_or(0, |(place, _)| *place));
        let shown = shown(&content, index);
        growing.grow(place, content);
        Ok(shown.into_iter().collect())
    }

    fn call(&mut self, mut event: Fields) -> Result<Vec<Delta>, StreamError> {
        let fragment = event.shift_remove("arguments").unwrap_or_default();
        let (at, growing) = self.entry(&event, "function.call")?;
        let is_first = growing.arguments.is_none();
        growing.argue(&fragment);
        Ok(vec![Delta::Call(CallDelta {
            index: number(at),
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
        let (_, growing) = self.entry(&event, "tool.execution")?;
        growing.is_open = is_open;
        if let Some(fragment) = present(&event, "arguments") {
            growing.argue(fragment);
        }
        if let Some(info) = present(&event, "info") {
            growing.entry.insert("info".to_owned(), info.clone());
        }
        Ok(vec![Delta::Other {
            event: kind(&event).to_owned(),
            json: Value::Object(event),
        }])
    }

    fn handoff(&mut self, event: Fields, is_open: bool) -> Result<Vec<Delta>, StreamError> {
        let (_, growing) = self.entry(&event, "agent.handoff")?;
        growing.is_open = is_open;
        Ok(vec![Delta::Other {
            event: kind(&event).to_owned(),
            json: Value::Object(event),
        }])
    }

    fn ends(&self) -> Vec<Delta> {
        let calls = self.entries.iter().enumerate();
        let calls = calls.filter(|(_, entry)| entry.kind == "function.call");
        calls
            .map(|(at, _)| Delta::CallEnd { index: number(at) })
            .collect()
    }
}

/// What a piece of a message has to show.
fn shown(content: &Value, index: u64) -> Option<Delta> {
    let Some(part) = content.as_object() else {
        let text = content.as_str().filter(|said| !said.is_empty())?.to_owned();
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

fn number(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}

impl Growing {
    /// Adds a fragment of the arguments; one that is an object is all of them.
    fn argue(&mut self, fragment: &Value) {
        match (&mut self.arguments, fragment) {
            (Some(Value::String(said)), Value::String(more)) => said.push_str(more),
            (_, Value::Null) => {}
            (arguments, fragment) => *arguments = Some(fragment.clone()),
        }
    }

    fn grow(&mut self, place: u64, said: Value) {
        match (self.content.last_mut(), said) {
            (_, Value::Null) => {}
            (Some((last, Value::String(text))), Value::String(more)) if *last == place => {
                text.push_str(&more);
            }
            (_, said) => self.content.push((place, said)),
        }
    }

    fn into_whole(self) -> Value {
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

/// One text alone, or parts in the order of their places.
fn content_of(mut content: Vec<(u64, Value)>) -> Value {
    content.sort_by_key(|(place, _)| *place);
    let texts = |content: &[(u64, Value)]| content.iter().all(|(_, said)| said.is_string());
    if texts(&content) {
        let said = content.iter().filter_map(|(_, said)| said.as_str());
        return said.collect::<String>().into();
    }
    let mut parts = Vec::new();
    let mut newest = None;
    for (place, said) in content {
        let part = match said.as_str() {
            Some("") => continue,
            Some(said) => json!({"type": "text", "text": said}),
            None => said,
        };
        // Only what stands at one place is one part.
        if newest == Some(place) {
            join_parts(&mut parts, part);
        } else {
            parts.push(part);
        }
        newest = Some(place);
    }
    Value::Array(parts)
}
