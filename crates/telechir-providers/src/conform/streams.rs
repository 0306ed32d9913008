//! Reads the streams of a manifest and checks that every split decodes identically.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{Dialect, StreamError};

/// Maximum length of a stream that is split in two at every byte. A longer stream is split into
/// pieces of [`PIECE_BYTES`] bytes, once from each of the first offsets, so that a piece starts
/// at every byte.
const MAX_FULLY_SPLIT_BYTES: usize = 1_000;
const PIECE_BYTES: usize = 61;

/// A stream's bytes and the response they should decode to.
pub(super) struct StreamVector {
    bytes: Vec<u8>,
    /// The expected response, if the document has one.
    expect: Option<Value>,
    /// The events may end before the response is complete.
    is_part: bool,
}

impl StreamVector {
    pub(super) fn complete(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            expect: None,
            is_part: false,
        }
    }

    /// Permits that the stream ends before the response is complete.
    pub(super) fn allow_truncated(self) -> Self {
        Self {
            is_part: true,
            ..self
        }
    }
}

/// The bytes of a stream document.
pub(super) fn bytes_of(document: Value) -> Result<StreamVector, String> {
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
    Ok(StreamVector {
        expect: expect.filter(|expect| expect.is_object()).cloned(),
        ..StreamVector::complete(bytes)
    })
}

fn decoded(base64: &str) -> Result<Vec<u8>, String> {
    let bytes = STANDARD.decode(base64);
    bytes.map_err(|error| format!("the stream is not base64: {error}"))
}

/// Builds server-sent events, named by their `event` or their `type`.
pub(super) fn sse(events: &[Value]) -> String {
    let mut text = String::new();
    // Chat completions end with `[DONE]`, unless the stream was truncated.
    let mut is_finished_chat = false;
    for event in events {
        is_finished_chat |= event["object"] == "chat.completion.chunk"
            && event["choices"][0]["finish_reason"].is_string();
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
    if is_finished_chat {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

/// The result of decoding a stream.
#[derive(Debug, PartialEq)]
enum StreamOutcome {
    Turn(Box<(Value, String)>),
    /// The provider's error, or (if true) a truncated stream.
    Error(String, bool),
    Rejected(String),
}

/// The findings of the stream checks.
pub(super) struct StreamFindings {
    pub(super) cuts: usize,
    /// The provider's error, or a permitted truncation.
    pub(super) provider_error: Option<String>,
    /// The error that rejected the stream.
    pub(super) refused: Option<String>,
    pub(super) problems: Vec<String>,
    /// The complete response, if there was one.
    pub(super) response: Option<Value>,
}

/// Decodes the stream in one piece, byte by byte, and split at every byte.
pub(super) fn check(dialect: Dialect, stream: &StreamVector) -> StreamFindings {
    let mut findings = StreamFindings {
        cuts: 0,
        provider_error: None,
        refused: None,
        problems: Vec::new(),
        response: None,
    };
    let bytes = stream.bytes.as_slice();
    let Some(complete) = read(dialect, [bytes].into_iter()) else {
        let problem = format!("{dialect} does not support streams");
        findings.problems.push(problem);
        return findings;
    };
    if read(dialect, bytes.chunks(1)).as_ref() != Some(&complete) {
        let problem = "decodes differently byte by byte than in one piece".to_owned();
        findings.problems.push(problem);
    }
    findings.cuts = bytes.len().saturating_sub(1);
    let (firsts, rest) = if bytes.len() <= MAX_FULLY_SPLIT_BYTES {
        (bytes.len(), bytes.len())
    } else {
        (PIECE_BYTES + 1, PIECE_BYTES)
    };
    for cut in 1..firsts {
        let (head, tail) = bytes.split_at(cut);
        let pieces = std::iter::once(head).chain(tail.chunks(rest.max(1)));
        if read(dialect, pieces).as_ref() != Some(&complete) {
            findings
                .problems
                .push(format!("decodes differently when split at byte {cut}"));
            break;
        }
    }
    match complete {
        StreamOutcome::Turn(turn) => {
            let response = turn.0;
            if stream
                .expect
                .as_ref()
                .is_some_and(|expect| without_nulls(expect) != without_nulls(&response))
            {
                findings
                    .problems
                    .push(format!("decodes to an unexpected response: {response}"));
            }
            findings.response = Some(response);
        }
        StreamOutcome::Error(message, is_cut_off) if is_cut_off && !stream.is_part => {
            findings.refused = Some(message)
        }
        StreamOutcome::Error(message, _) => findings.provider_error = Some(message),
        StreamOutcome::Rejected(refused) => findings.refused = Some(refused),
    }
    findings
}

/// A document without null fields, because SDKs' accumulators write them differently.
fn without_nulls(document: &Value) -> Value {
    match document {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document.clone(),
    }
}

/// Decodes a stream; `None` if the dialect does not support streams.
fn read<'a>(dialect: Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> Option<StreamOutcome> {
    let mut stream = dialect.stream()?;
    for piece in pieces {
        if let Err(error) = stream.push(piece) {
            return Some(outcome_of(&error));
        }
    }
    Some(match stream.finish() {
        Ok(received) => {
            let meaning = format!("{:?} {:?}", received.turn, received.report);
            StreamOutcome::Turn(Box::new((received.response, meaning)))
        }
        Err(error) => outcome_of(&error),
    })
}

fn outcome_of(error: &StreamError) -> StreamOutcome {
    let message = error.to_string();
    match error {
        StreamError::Provider { .. }
        | StreamError::Decode(crate::DecodeError::ProviderError { .. }) => {
            StreamOutcome::Error(message, false)
        }
        StreamError::Truncated { .. } => StreamOutcome::Error(message, true),
        StreamError::BadEvent { .. }
        | StreamError::TooLong { .. }
        | StreamError::Broken
        | StreamError::InconsistentCall(_)
        | StreamError::Decode(_) => StreamOutcome::Rejected(message),
    }
}
