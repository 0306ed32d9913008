//! Recorded traffic of the Messages API.

use serde_json::Value;
use telechir_providers::{DecodeError, Report, StreamError};

use super::{DIALECT, history, written};
use crate::differences::describe;
use crate::recordings::{Sent, recordings};
use crate::streams::receive;

fn identical(document: &Value, name: &str) {
    let (again, report) =
        written(&history(document)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let differences = describe(document, &again);
    assert!(differences.is_empty(), "{name}:\n{differences}");
    assert_eq!(report, Report::default(), "{name}");
}

#[test]
fn every_recording_round_trips() {
    for recording in recordings("anthropic") {
        let name = recording.name;
        let response = match recording.sent {
            Sent::Document(document) => document,
            Sent::Stream(bytes) => match receive(DIALECT, &bytes) {
                Ok(received) => received.response,
                // One recording is truncated; its calls must not be executed.
                Err(StreamError::Truncated { .. }) if name.contains("incomplete") => continue,
                Err(error) => panic!("{name}: {error}"),
            },
        };
        let is_request = response.get("messages").is_some();
        if response["type"] == "message" {
            let turn = DIALECT.decode_response(response.to_string().as_bytes());
            let turn = turn.unwrap_or_else(|error| panic!("{name}: {error}")).0;
            let calls = response["content"].as_array().unwrap().iter();
            let calls = calls.filter(|block| block["type"] == "tool_use").count();
            assert_eq!(turn.calls().len(), calls, "{name}");
        } else if response["type"] == "error" {
            let read = DIALECT.decode_response(response.to_string().as_bytes());
            assert!(
                matches!(read, Err(DecodeError::ProviderError { .. })),
                "{name}"
            );
            continue;
        } else {
            assert!(is_request, "{name} is neither a request nor a response");
        }
        identical(&response, &name);
    }
}
