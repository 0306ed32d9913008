//! Recorded traffic of both APIs.

use serde_json::Value;
use telechir_providers::{DecodeError, Dialect, Report};

use super::{PARTS, STEPS, history, written};
use crate::differences::describe;
use crate::recordings::{Sent, recordings};
use crate::streams::receive;

fn identical(dialect: Dialect, document: &Value, name: &str) {
    let (again, report) = written(dialect, &history(dialect, document));
    let differences = describe(document, &again);
    assert!(differences.is_empty(), "{name}:\n{differences}");
    assert_eq!(report, Report::default(), "{name}");
}

fn calls(document: &Value) -> usize {
    let parts = document["candidates"][0]["content"]["parts"].as_array();
    let of_parts = parts.into_iter().flatten();
    let of_parts = of_parts.filter(|part| part.get("functionCall").is_some());
    let steps = document["steps"].as_array().into_iter().flatten();
    let steps = steps.filter(|step| step["type"] == "function_call");
    of_parts.count() + steps.count()
}

#[test]
fn every_recording_survives_a_round_trip() {
    let all = recordings("google");
    for recording in &all {
        let name = &recording.name;
        let (dialect, document) = match &recording.sent {
            Sent::Document(document) => {
                let is_steps = document.get("steps").is_some() || document.get("input").is_some();
                (if is_steps { STEPS } else { PARTS }, document.clone())
            }
            Sent::Stream(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let dialect = if text.contains("event_type") {
                    STEPS
                } else {
                    PARTS
                };
                let received = receive(dialect, bytes);
                let received = received.unwrap_or_else(|error| panic!("{name}: {error}"));
                (dialect, received.response)
            }
        };
        let is_request = document.get("contents").is_some() || document.get("input").is_some();
        let read = dialect.decode_response(document.to_string().as_bytes());
        if document.get("error").is_some() {
            let is_named = matches!(read, Err(DecodeError::ProviderError { .. }));
            assert!(is_named, "{name}");
            continue;
        }
        if document.get("file").is_some() || document.as_object().is_some_and(|d| d.is_empty()) {
            // A file upload is not a conversation.
            continue;
        }
        if !is_request {
            let turn = read.unwrap_or_else(|error| panic!("{name}: {error}")).0;
            assert_eq!(turn.calls().len(), calls(&document), "{name}");
        }
        identical(dialect, &document, name);
    }
}
