//! Recorded traffic round-trips; its streams decode to turns.

use serde_json::Value;
use telechir_providers::Dialect;

use super::DIALECT;
use crate::recordings::{Sent, recordings};
use crate::streams;

/// The dialect of a document; `None` for an agent or a list of tools.
fn dialect_of(document: &Value) -> Option<Dialect> {
    if document.get("choices").is_some() {
        return Some(Dialect::MistralChat);
    }
    let has = |name| document.get(name).is_some_and(Value::is_array);
    (has("outputs") || has("entries")).then_some(DIALECT)
}

#[test]
fn every_recording_round_trips() {
    for recording in recordings("mistral") {
        let document = match recording.sent {
            Sent::Document(document) => document,
            Sent::Stream(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let chunks = text.contains("chat.completion.chunk");
                let dialect = if chunks {
                    Dialect::MistralChat
                } else {
                    DIALECT
                };
                let received = streams::receive(dialect, &bytes);
                let received = received.unwrap_or_else(|e| panic!("{}: {e}", recording.name));
                assert!(!received.turn.contents().is_empty(), "{}", recording.name);
                received.response
            }
        };
        let Some(dialect) = dialect_of(&document) else {
            continue;
        };
        let bytes = document.to_string();
        let (history, report) = dialect
            .decode_history(bytes.as_bytes())
            .unwrap_or_else(|e| panic!("{}: {e}", recording.name));
        assert!(report.is_lossless(), "{}", recording.name);
        let (again, report) = dialect.encode_history(&history).unwrap();
        assert_eq!(again, document, "{}", recording.name);
        assert!(report.is_lossless(), "{}: {report:?}", recording.name);
        if document.get("entries").is_none() {
            dialect.decode_response(bytes.as_bytes()).unwrap();
        }
    }
}
