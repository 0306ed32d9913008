//! Reads the streams of a manifest and checks that every split decodes identically.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{Dialect, StreamError};

/// Maximum length of a stream that is split in two at every byte. A longer stream is split into
/// pieces of [`PIECE`] bytes, once from each of the first offsets, so that a piece starts at every
/// byte.
const SHORT: usize = 1_000;
const PIECE: usize = 61;

/// A stream's bytes and the response they should decode to.
pub(super) struct Bytes {
    bytes: Vec<u8>,
    /// The expected response, if the document has one.
    expect: Option<Value>,
    /// The events may end before the response is complete.
    is_part: bool,
}

impl Bytes {
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            expect: None,
            is_part: false,
        }
    }

    /// Permits that the stream ends before the response is complete.
    pub(super) fn cut_off(self) -> Self {
        Self {
            is_part: true,
            ..self
        }
    }
}

/// The bytes of a stream document.
pub(super) fn bytes_of(document: Value) -> Result<Bytes, String> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let list = |name: &str| document.get(name).and_then(Value::as_array);
    let bytes = if let Some(base64) = text("bytes_base64") {
        decoded(base64)?
    } else if let Some(raw) = text("raw") {
        raw.as_bytes().to_vec()
    } else if let Some(frames) = list("frames") {
        let frames = frames.iter().map(|frame| match frame.as_str() {
            Some(base64) => decoded(base64),
            None => Err("expected each frame to be a base64 text".to_owned()),
        });
        frames.collect::<Result<Vec<_>, _>>()?.concat()
    } else if let Some(events) = document.as_array().or_else(|| list("events")) {
        sse(events).into_bytes()
    } else {
        return Err(
            "expected a list of events or one of `events`, `raw`, `frames`, `bytes_base64`"
                .to_owned(),
        );
    };
    let expect = document.get("expect").or_else(|| document.get("response"));
    Ok(Bytes {
        expect: expect.filter(|expect| expect.is_object()).cloned(),
        ..Bytes::whole(bytes)
    })
}

fn decoded(base64: &str) -> Result<Vec<u8>, String> {
    let bytes = STANDARD.decode(base64);
    bytes.map_err(|error| format!("the stream is not base64: {error}"))
}

/// Builds server-sent events, named by their `event` or their `type`.
fn sse(events: &[Value]) -> String {
    let mut text = String::new();
    let mut is_chat = false;
    for event in events {
        is_chat |= event["object"] == "chat.completion.chunk";
        let (name, data) = match (
            event.get("event").and_then(Value::as_str),
            event.get("data"),
        ) {
            (Some(name), Some(data)) => (Some(name), data),
            _ => (event["type"].as_str(), event),
        };
        if let Some(name) = name {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {data}\n\n"));
    }
    if is_chat {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

/// The result of decoding a stream.
#[derive(Debug, PartialEq)]
enum End {
    Turn(Box<(Value, String)>),
    /// The provider's error, or (if true) a truncated stream.
    Said(String, bool),
    Refused(String),
}

/// The findings of the stream checks.
pub(super) struct Found {
    pub(super) cuts: usize,
    /// The provider's error, or a permitted truncation.
    pub(super) said: Option<String>,
    /// The error that rejected the stream.
    pub(super) refused: Option<String>,
    pub(super) problems: Vec<String>,
    /// The complete response, if there was one.
    pub(super) response: Option<Value>,
}

/// Decodes the stream in one piece, byte by byte, and split at every byte.
pub(super) fn check(dialect: Dialect, stream: &Bytes) -> Found {
    let mut found = Found {
        cuts: 0,
        said: None,
        refused: None,
        problems: Vec::new(),
        response: None,
    };
    let bytes = stream.bytes.as_slice();
    let Some(whole) = read(dialect, [bytes].into_iter()) else {
        let problem = format!("{dialect} does not support streams");
        found.problems.push(problem);
        return found;
    };
    if read(dialect, bytes.chunks(1)).as_ref() != Some(&whole) {
        let problem = "decodes differently byte by byte than in one piece".to_owned();
        found.problems.push(problem);
    }
    found.cuts = bytes.len().saturating_sub(1);
    let (firsts, rest) = if bytes.len() <= SHORT {
        (bytes.len(), bytes.len())
    } else {
        (PIECE + 1, PIECE)
    };
    for cut in 1..firsts {
        let (head, tail) = bytes.split_at(cut);
        let pieces = std::iter::once(head).chain(tail.chunks(rest.max(1)));
        if read(dialect, pieces).as_ref() != Some(&whole) {
            found
                .problems
                .push(format!("decodes differently when split at byte {cut}"));
            break;
        }
    }
    match whole {
        End::Turn(turn) => {
            let response = turn.0;
            if stream
                .expect
                .as_ref()
                .is_some_and(|expect| said(expect) != said(&response))
            {
                found
                    .problems
                    .push(format!("decodes to an unexpected response: {response}"));
            }
            found.response = Some(response);
        }
        End::Said(said, is_cut_off) if is_cut_off && !stream.is_part => found.refused = Some(said),
        End::Said(said, _) => found.said = Some(said),
        End::Refused(refused) => found.refused = Some(refused),
    }
    found
}

/// A document without null fields, because SDKs' accumulators write them differently.
fn said(document: &Value) -> Value {
    match document {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), said(value)))
            .collect(),
        Value::Array(items) => items.iter().map(said).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document.clone(),
    }
}

/// Decodes a stream; `None` if the dialect does not support streams.
fn read<'a>(dialect: Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> Option<End> {
    let mut stream = dialect.stream()?;
    for piece in pieces {
        if let Err(error) = stream.push(piece) {
            return Some(ended(&error));
        }
    }
    Some(match stream.finish() {
        Ok(received) => {
            let meaning = format!("{:?} {:?}", received.turn, received.report);
            End::Turn(Box::new((received.response, meaning)))
        }
        Err(error) => ended(&error),
    })
}

fn ended(error: &StreamError) -> End {
    let said = error.to_string();
    match error {
        StreamError::Provider { .. }
        | StreamError::Decode(crate::DecodeError::ProviderError { .. }) => End::Said(said, false),
        StreamError::Truncated { .. } => End::Said(said, true),
        StreamError::BadEvent { .. }
        | StreamError::TooLong { .. }
        | StreamError::Broken
        | StreamError::Pieces(_)
        | StreamError::Decode(_) => End::Refused(said),
    }
}
