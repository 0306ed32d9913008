//! Decodes a streamed response: chunks that each are a response with the next parts, as server-sent
//! events or as elements of a JSON list.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::envelope::CANDIDATES;
use super::partial_args;
use crate::StreamError;
use crate::google::json_stream::JsonStream;
use crate::google::{member, text};
use crate::precision::ParsingLosses;
use crate::stream::{CallDelta, Delta, EventAssembler, SseDecoder, StreamDecoder};

/// Decodes chunks in either framing.
#[derive(Default)]
pub(super) enum ChunkDecoder {
    /// Only white space was received.
    #[default]
    Unknown,
    Events(Box<dyn StreamDecoder>),
    Json(JsonStream, Box<ChunkMerger>),
}

impl StreamDecoder for ChunkDecoder {
    fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        if matches!(self, Self::Unknown) {
            bytes = bytes.trim_ascii_start();
            *self = match bytes.first() {
                None => return Ok(Vec::new()),
                Some(b'[' | b'{') => Self::Json(JsonStream::default(), Box::default()),
                Some(_) => Self::Events(SseDecoder::<ChunkMerger>::boxed()),
            };
        }
        match self {
            Self::Unknown => Ok(Vec::new()),
            Self::Events(events) => events.push(bytes),
            Self::Json(pieces, merged) => {
                let mut deltas = Vec::new();
                for piece in pieces.push(bytes)? {
                    deltas.extend(merged.event(None, piece)?);
                }
                Ok(deltas)
            }
        }
    }

    fn finish(self: Box<Self>, rounded: &mut ParsingLosses) -> Result<Value, StreamError> {
        match *self {
            Self::Unknown => Err(StreamError::truncated("no data was received")),
            Self::Events(events) => events.finish(rounded),
            Self::Json(pieces, merged) => {
                pieces.finish(rounded)?;
                merged.finish(rounded)
            }
        }
    }
}

/// Merges chunks into one response.
pub(super) fn merged(chunks: Vec<Value>) -> Result<Value, StreamError> {
    let mut merged = ChunkMerger::default();
    for chunk in chunks {
        merged.event(None, chunk)?;
    }
    // The caller reports rounded numbers for the document that contains the chunks.
    merged.finish(&mut ParsingLosses::default())
}

/// Merges chunks into a response.
#[derive(Default)]
pub(super) struct ChunkMerger {
    members: Map<String, Value>,
    candidates: BTreeMap<u64, Candidate>,
    chunks: usize,
}

/// Maximum number of candidates of a response.
const MAX_CANDIDATES: usize = 64;

#[derive(Default)]
struct Candidate {
    members: Map<String, Value>,
    content: Map<String, Value>,
    has_content: bool,
    parts: Vec<Value>,
    /// The call whose arguments are being received.
    open: Option<OpenCall>,
}

struct OpenCall {
    at: usize,
    args: Map<String, Value>,
    /// Paths whose value continues in the next piece.
    unfinished: Vec<String>,
    /// Pieces with an impossible path.
    odd: Vec<Value>,
}

impl EventAssembler for ChunkMerger {
    fn event(&mut self, _name: Option<&str>, chunk: Value) -> Result<Vec<Delta>, StreamError> {
        self.chunks += 1;
        let Value::Object(chunk) = chunk else {
            return Err(self.bad("it is not an object"));
        };
        if let Some(error) = chunk.get("error").and_then(Value::as_object) {
            let status = text(error, "status").unwrap_or("error");
            let message = text(error, "message").unwrap_or("no message");
            let message = format!("{status}: {message}");
            return Err(StreamError::Provider { message });
        }
        let mut deltas = Vec::new();
        for (name, value) in chunk {
            match (name.as_str(), value) {
                (CANDIDATES, Value::Array(candidates)) => {
                    for candidate in candidates {
                        deltas.extend(self.candidate(candidate)?);
                    }
                }
                (CANDIDATES, Value::Null) => {}
                (CANDIDATES, _) => return Err(self.bad("`candidates` is not a list")),
                // The newest value replaces earlier ones.
                (_, value) => {
                    self.members.insert(name, value);
                }
            }
        }
        Ok(deltas)
    }

    fn finish(self, _: &mut ParsingLosses) -> Result<Value, StreamError> {
        let Self {
            mut members,
            candidates,
            ..
        } = self;
        let is_blocked = member(&members, "promptFeedback")
            .and_then(|feedback| text(feedback.as_object()?, "blockReason"))
            .is_some();
        let ended = |candidate: &Candidate| text(&candidate.members, "finishReason").is_some();
        let is_ended = !candidates.is_empty() && candidates.values().all(ended);
        if !is_blocked && !is_ended {
            return Err(StreamError::truncated("the chunk with the finish reason"));
        }
        if !candidates.is_empty() {
            let values = candidates
                .into_values()
                .map(Candidate::into_value)
                .collect();
            members.insert(CANDIDATES.to_owned(), Value::Array(values));
        }
        Ok(members.into())
    }
}

impl ChunkMerger {
    fn bad(&self, problem: &str) -> StreamError {
        StreamError::bad_event(self.chunks, problem)
    }

    fn candidate(&mut self, candidate: Value) -> Result<Vec<Delta>, StreamError> {
        let Value::Object(mut candidate) = candidate else {
            return Err(self.bad("a candidate is not an object"));
        };
        let index = candidate.get("index").and_then(Value::as_u64).unwrap_or(0);
        let number = self.chunks;
        let bad = |problem: &str| StreamError::bad_event(number, problem);
        if self.candidates.len() == MAX_CANDIDATES && !self.candidates.contains_key(&index) {
            return Err(bad("it has too many candidates"));
        }
        let content = candidate.shift_remove("content");
        let into = self.candidates.entry(index).or_default();
        // Some models end each of several pieces; the response has ended if the last piece has.
        if has_parts(content.as_ref()) {
            into.members.shift_remove("finishReason");
        }
        let mut deltas = Vec::new();
        if let Some(Value::Object(mut content)) = content {
            into.has_content = true;
            match content.shift_remove("parts") {
                None | Some(Value::Null) => {}
                Some(Value::Array(parts)) => {
                    for part in parts {
                        let Value::Object(part) = part else {
                            return Err(bad("a part is not an object"));
                        };
                        into.part(part, &mut deltas);
                    }
                }
                Some(_) => return Err(bad("`parts` is not a list")),
            }
            into.content.extend(content);
        }
        into.members.extend(candidate);
        if text(&into.members, "finishReason").is_some() {
            into.close(&mut deltas);
        }
        // Only the first candidate is the response; deltas of others are dropped.
        Ok(if index == 0 { deltas } else { Vec::new() })
    }
}

/// Whether a chunk has a part other than an empty text.
fn has_parts(content: Option<&Value>) -> bool {
    let empty = serde_json::json!({"text": ""});
    let parts = content.and_then(|content| content.get("parts")?.as_array());
    parts.is_some_and(|parts| parts.iter().any(|part| *part != empty))
}

impl Candidate {
    fn into_value(mut self) -> Value {
        if self.has_content {
            if !self.parts.is_empty() {
                self.content.insert("parts".to_owned(), self.parts.into());
            }
            self.members
                .insert("content".to_owned(), self.content.into());
        }
        self.members.into()
    }

    fn part(&mut self, part: Map<String, Value>, deltas: &mut Vec<Delta>) {
        if member(&part, "functionCall").is_some_and(Value::is_object) {
            return self.call(part, deltas);
        }
        let index = self.parts.len() as u64;
        if let Some(content_text) = text(&part, "text") {
            let is_thought = part.get("thought") == Some(&Value::Bool(true));
            let content_text = content_text.to_owned();
            let joins = self
                .parts
                .last()
                .is_some_and(|last| is_same_text(last, &part));
            let index = if joins { index - 1 } else { index };
            if joins && let Some(last) = self.parts.last_mut() {
                let before = last["text"].as_str().unwrap_or_default();
                last["text"] = format!("{before}{content_text}").into();
            } else {
                self.parts.push(part.into());
            }
            if !content_text.is_empty() {
                deltas.push(if is_thought {
                    Delta::Reasoning {
                        index,
                        text: content_text,
                    }
                } else {
                    Delta::Text {
                        index,
                        text: content_text,
                    }
                });
            }
            return;
        }
        let json = Value::Object(part);
        deltas.push(Delta::Other {
            event: "part".to_owned(),
            json: json.clone(),
        });
        self.parts.push(json);
    }

    fn call(&mut self, mut part: Map<String, Value>, deltas: &mut Vec<Delta>) {
        let name = if part.contains_key("functionCall") {
            "functionCall"
        } else {
            "function_call"
        };
        let Some(Value::Object(mut call)) = part.shift_remove(name) else {
            return;
        };
        let continues = member(&call, "willContinue") == Some(&Value::Bool(true));
        let partial: Vec<Value> = ["partialArgs", "partial_args"]
            .into_iter()
            .filter_map(|name| call.shift_remove(name))
            .filter_map(|list| list.as_array().cloned())
            .flatten()
            .collect();
        let starts = text(&call, "name").is_some() || self.open.is_none();
        if starts {
            self.close(deltas);
            if call.is_empty() && partial.is_empty() {
                // It closes a call that is already closed.
                return;
            }
            let at = self.parts.len();
            for name in ["willContinue", "will_continue"] {
                call.shift_remove(name);
            }
            let args = match call.get("args") {
                Some(Value::Object(args)) => args.clone(),
                _ => Map::new(),
            };
            deltas.push(Delta::Call(CallDelta {
                index: at as u64,
                call_id: text(&call, "id").map(str::to_owned),
                name: text(&call, "name").map(str::to_owned),
                arguments: String::new(),
            }));
            part.insert("functionCall".to_owned(), call.into());
            self.parts.push(part.into());
            self.open = Some(OpenCall {
                at,
                args,
                unfinished: Vec::new(),
                odd: Vec::new(),
            });
        } else if let Some(open) = &self.open {
            let into = &mut self.parts[open.at];
            for (name, value) in part {
                if into.get(&name).is_none() {
                    into[name] = value;
                }
            }
            if let Some(id) = call
                .get("id")
                .filter(|_| into["functionCall"].get("id").is_none())
            {
                into["functionCall"]["id"] = id.clone();
            }
        }
        if let Some(open) = &mut self.open {
            open.take(partial);
        }
        if !continues {
            self.close(deltas);
        }
    }

    /// Ends the current call. A truncated call stays marked, so that it never runs.
    fn close(&mut self, deltas: &mut Vec<Delta>) {
        let Some(open) = self.open.take() else { return };
        let index = open.at as u64;
        let is_complete = open.unfinished.is_empty() && open.odd.is_empty();
        let arguments = Value::Object(open.args.clone()).to_string();
        let call = &mut self.parts[open.at]["functionCall"];
        if !open.args.is_empty() || call.get("args").is_some() {
            call["args"] = open.args.into();
        }
        if !open.unfinished.is_empty() {
            call["willContinue"] = true.into();
        }
        if !open.odd.is_empty() {
            call["partialArgs"] = open.odd.into();
        }
        deltas.push(Delta::Call(CallDelta {
            index,
            arguments,
            ..CallDelta::default()
        }));
        if is_complete {
            deltas.push(Delta::CallEnd { index });
        }
    }
}

impl OpenCall {
    fn take(&mut self, pieces: Vec<Value>) {
        for piece in pieces {
            match partial_args::put(&mut self.args, &piece) {
                Ok((path, continues)) => {
                    self.unfinished.retain(|open| *open != path);
                    if continues {
                        self.unfinished.push(path);
                    }
                }
                Err(_) => self.odd.push(piece),
            }
        }
    }
}

/// Whether two text parts are one text: neither has a signature or other fields.
fn is_same_text(last: &Value, next: &Map<String, Value>) -> bool {
    let plain = |part: &Map<String, Value>| {
        part.keys().all(|name| name == "text" || name == "thought") && part.contains_key("text")
    };
    let Some(last) = last.as_object() else {
        return false;
    };
    plain(last) && plain(next) && last.get("thought") == next.get("thought")
}
