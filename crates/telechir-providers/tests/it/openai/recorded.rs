//! Recorded traffic of the Responses API.

use serde_json::Value;
use telechir_providers::{DecodeError, StreamError};

use super::{DIALECT, history, written};
use crate::differences::describe;
use crate::recordings::{Sent, recordings};
use crate::streams::receive;

#[test]
fn every_recording_round_trips() {
    for recording in recordings("openai") {
        let name = recording.name;
        let document = match recording.sent {
            Sent::Document(document) => document,
            Sent::Stream(bytes) => match receive(DIALECT, &bytes) {
                Ok(received) => received.response,
                Err(StreamError::Provider { .. }) if name.contains("error") => continue,
                Err(error) => panic!("{name}: {error}"),
            },
        };
        // The folder also contains notes about the traffic.
        if document.get("actions").is_some() && document.get("type").is_none()
            || document.get("model_xy").is_some()
        {
            continue;
        }
        check(&document, &name);
    }
}

fn check(document: &Value, name: &str) {
    let is_request = document.get("model").is_some() && document.get("object").is_none();
    let read = DIALECT.decode_response(document.to_string().as_bytes());
    match read {
        Ok((turn, _)) => {
            let output = document.get("output").and_then(Value::as_array);
            let contents = turn.contents().len();
            assert!(output.is_none_or(|items| contents >= items.len()), "{name}");
        }
        Err(DecodeError::ProviderError { .. }) if document["error"].is_object() => return,
        Err(error) => assert!(is_request, "{name}: {error}"),
    }
    let (again, report) = written(&history(document));
    let difference = describe(document, &again);
    assert!(difference.is_empty(), "{name}:\n{difference}");
    assert!(report.is_lossless(), "{name}: {report:?}");
}
