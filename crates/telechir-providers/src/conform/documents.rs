//! Finds the provider documents in a file of unknown origin: JSON, JSON lines, server-sent events,
//! binary event streams, and any of these inside of other JSON, such as a recorded HTTP exchange.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::recognize::{DocumentKind, event_dialect, recognize};
use super::streams::sse;
use super::wild::assemble;
use crate::Dialect;

/// Documents read from one file at most.
const MAX_DOCUMENTS: usize = 20_000;
/// Levels of JSON that are searched.
const MAX_DEPTH: usize = 24;
/// A shorter text cannot hold a document.
const MIN_TEXT_BYTES: usize = 24;

/// A document of a known dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDocument {
    /// The JSON pointer in the file, or the line; empty for the complete file.
    pub at: String,
    /// The dialect, by the structure of the document; its model tells equal dialects apart.
    pub dialect: Dialect,
    /// What the document is; a stream is the response that it assembles.
    pub kind: DocumentKind,
    /// The document without what surrounds it in the file.
    pub json: Value,
}

/// The documents of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundDocuments {
    /// The documents, in the order of the file.
    pub documents: Vec<FoundDocument>,
    /// Streams that do not become a response, with their position and the reason.
    pub broken_streams: Vec<String>,
}

impl FoundDocuments {
    /// Searches the bytes of a file.
    pub fn in_bytes(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        match std::str::from_utf8(bytes) {
            Ok(text) => found.text("", text, 0),
            Err(_) => found.event_stream("", bytes),
        }
        found
    }

    /// Searches JSON, for example a recorded exchange that was YAML.
    pub fn in_value(value: &Value) -> Self {
        let mut found = Self::default();
        found.value("", value, 0);
        found
    }

    /// Whether the file has nothing of a provider.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.broken_streams.is_empty()
    }

    fn text(&mut self, at: &str, text: &str, depth: usize) {
        let text = text.trim_start_matches('\u{feff}').trim();
        if depth > MAX_DEPTH || text.len() < MIN_TEXT_BYTES {
            return;
        }
        if text.starts_with(['{', '[']) {
            if let Ok(value) = serde_json::from_str(text) {
                return self.value(at, &value, depth + 1);
            }
            return self.lines(at, text, depth);
        }
        if is_event_text(text) {
            return self.events_text(at, text);
        }
        self.base64(at, text);
    }

    fn value(&mut self, at: &str, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.documents.len() >= MAX_DOCUMENTS {
            return;
        }
        if let Some((dialect, kind)) = recognize(value) {
            if let (Value::Array(events), DocumentKind::Stream) = (value, kind) {
                return self.events(at, dialect, events, depth);
            }
            return self.documents.push(FoundDocument {
                at: at.to_owned(),
                dialect,
                kind,
                json: value.clone(),
            });
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.value(&format!("{at}/{name}"), value, depth + 1);
                }
            }
            Value::Array(items) => match frames(items) {
                Some(bytes) => self.event_stream(at, &bytes),
                None => self.items(at, items, depth),
            },
            Value::String(text) => self.text(at, text, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The events of a stream. Google's events are responses, so a list of them may be just that.
    fn events(&mut self, at: &str, dialect: Dialect, events: &[Value], depth: usize) {
        match assemble(dialect, sse(events).as_bytes()) {
            Err(_) if dialect == Dialect::GoogleGenerateContent => self.items(at, events, depth),
            _ => self.stream(at, dialect, sse(events).as_bytes()),
        }
    }

    fn items(&mut self, at: &str, items: &[Value], depth: usize) {
        for (index, value) in items.iter().enumerate() {
            self.value(&format!("{at}/{index}"), value, depth + 1);
        }
    }

    /// One JSON document a line, or the events of one stream.
    fn lines(&mut self, at: &str, text: &str, depth: usize) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let values: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
        let Ok(values) = values else {
            return;
        };
        let dialects: Option<Vec<Dialect>> = values.iter().map(event_dialect).collect();
        match dialects.and_then(|dialects| dialects.first().copied()) {
            Some(dialect) => self.stream(at, dialect, sse(&values).as_bytes()),
            None => {
                for (number, value) in values.iter().enumerate() {
                    self.value(&format!("{at}line {}", number + 1), value, depth + 1);
                }
            }
        }
    }

    fn events_text(&mut self, at: &str, text: &str) {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let events = data.filter_map(|data| serde_json::from_str(data.trim()).ok());
        let dialect = events
            .into_iter()
            .find_map(|event: Value| event_dialect(&event));
        if let Some(dialect) = dialect {
            // The last event may lack its empty line.
            self.stream(at, dialect, format!("{text}\n\n").as_bytes());
        }
    }

    fn base64(&mut self, at: &str, text: &str) {
        let packed: String = text.split_ascii_whitespace().collect();
        let Ok(bytes) = STANDARD.decode(packed) else {
            return;
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) if is_event_text(text.trim()) => self.events_text(at, text.trim()),
            Ok(text) => {
                if let Ok(value) = serde_json::from_str(text) {
                    self.value(at, &value, MAX_DEPTH / 2);
                }
            }
            Err(_) => self.event_stream(at, &bytes),
        }
    }

    /// Binary frames of Bedrock: the first dialect that reads them completely.
    fn event_stream(&mut self, at: &str, bytes: &[u8]) {
        if !starts_with_frame(bytes) {
            return;
        }
        let is_converse = bytes.windows(12).any(|name| name == b"messageStart");
        let dialects: &[Dialect] = match is_converse {
            true => &[Dialect::BedrockConverse],
            false => &[Dialect::BedrockInvoke, Dialect::BedrockAgents],
        };
        let tried: Vec<_> = dialects
            .iter()
            .map(|dialect| (*dialect, assemble(*dialect, bytes)))
            .collect();
        let read = tried
            .iter()
            .find_map(|(dialect, read)| Some((*dialect, read.as_ref().ok()?)));
        match (read, &tried[..]) {
            (Some((dialect, json)), _) => self.documents.push(FoundDocument {
                at: at.to_owned(),
                dialect,
                kind: DocumentKind::Stream,
                json: json.clone(),
            }),
            (None, [(dialect, Err(error)), ..]) => {
                self.broken_streams.push(format!("{at} {dialect}: {error}"));
            }
            (None, _) => {}
        }
    }

    fn stream(&mut self, at: &str, dialect: Dialect, bytes: &[u8]) {
        match assemble(dialect, bytes) {
            Ok(json) => self.documents.push(FoundDocument {
                at: at.to_owned(),
                dialect,
                kind: DocumentKind::Stream,
                json,
            }),
            Err(error) => self.broken_streams.push(format!("{at} {dialect}: {error}")),
        }
    }
}

/// The bytes of a list of binary frames in base64.
fn frames(items: &[Value]) -> Option<Vec<u8>> {
    let frame = |item: &Value| STANDARD.decode(item.as_str()?).ok();
    let first = frame(items.first()?)?;
    if !starts_with_frame(&first) {
        return None;
    }
    let frames: Option<Vec<Vec<u8>>> = items.iter().map(frame).collect();
    frames.map(|frames| frames.concat())
}

fn is_event_text(text: &str) -> bool {
    ["data:", "event:", ": "]
        .iter()
        .any(|start| text.starts_with(start))
        && text.contains("data:")
}

/// Whether the bytes start with a frame: its length fits, and its headers fit into it.
fn starts_with_frame(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let (Some(total), Some(headers)) = (number(0), number(4)) else {
        return false;
    };
    total >= 16 && total <= bytes.len() && headers + 16 <= total
}
