//! Recorded traffic of Converse and InvokeModel.

use serde_json::Value;
use telechir_providers::Dialect;

use crate::differences::told;
use crate::recordings::{Sent, recordings};
use crate::streams::receive;

/// Whose document it is; none for what is no dialect's, such as a count of tokens.
fn dialect_of(document: &Value) -> Option<Dialect> {
    if document.get("anthropic_version").is_some() || document["type"] == "message" {
        return Some(Dialect::BedrockInvoke);
    }
    let is_converse = document.get("output").is_some() || document.get("messages").is_some();
    is_converse.then_some(Dialect::BedrockConverse)
}

fn identical(dialect: Dialect, document: &Value, name: &str) {
    let bytes = document.to_string();
    let read = dialect.decode_history(bytes.as_bytes());
    let (history, _) = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    let written = dialect.encode_history(&history);
    let (again, report) = written.unwrap_or_else(|error| panic!("{name}: {error}"));
    let told = told(document, &again);
    assert!(told.is_empty(), "{name}:\n{told}");
    assert!(report.is_lossless(), "{name}: {report:?}");
    if document.get("messages").is_none() {
        let turn = dialect.decode_response(bytes.as_bytes());
        turn.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// A stream is of the dialect whose events it has.
fn streamed(bytes: &[u8], name: &str) -> (Dialect, Value) {
    let dialects = [Dialect::BedrockInvoke, Dialect::BedrockConverse];
    let received = dialects
        .into_iter()
        .find_map(|dialect| Some((dialect, receive(dialect, bytes).ok()?.response)));
    received.unwrap_or_else(|| panic!("{name} is no stream of either dialect"))
}

#[test]
fn every_recording_is_read_and_goes_back_as_it_came() {
    for recording in recordings("bedrock") {
        let name = recording.name;
        match recording.sent {
            Sent::Document(mut document) => {
                if let Some(counted) = document.pointer_mut("/input/converse") {
                    document = counted.take();
                }
                if let Some(dialect) = dialect_of(&document) {
                    identical(dialect, &document, &name);
                }
            }
            // Events that somebody has taken out of their frames already.
            Sent::Stream(_) if name.contains(".chunks.txt") => {}
            Sent::Stream(bytes) => {
                let (dialect, response) = streamed(&bytes, &name);
                identical(dialect, &response, &name);
            }
        }
    }
}
