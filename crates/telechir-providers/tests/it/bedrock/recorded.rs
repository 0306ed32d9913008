//! Recorded traffic of Converse and InvokeModel.

use serde_json::Value;
use telechir_providers::Dialect;

use crate::differences::describe;
use crate::recordings::{Sent, recordings};
use crate::streams::receive;

/// The dialect of a document; none for other documents, such as a token count.
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
    let differences = describe(document, &again);
    assert!(differences.is_empty(), "{name}:\n{differences}");
    assert!(report.is_lossless(), "{name}: {report:?}");
    if document.get("messages").is_none() {
        let turn = dialect.decode_response(bytes.as_bytes());
        turn.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// The dialect and response of a stream; the dialect is the one that can decode it.
fn streamed(bytes: &[u8], name: &str) -> (Dialect, Value) {
    let dialects = [Dialect::BedrockInvoke, Dialect::BedrockConverse];
    let received = dialects
        .into_iter()
        .find_map(|dialect| Some((dialect, receive(dialect, bytes).ok()?.response)));
    received.unwrap_or_else(|| panic!("{name} is not a stream of either dialect"))
}

#[test]
fn every_recording_round_trips() {
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
            // Events without their frames.
            Sent::Stream(_) if name.contains(".chunks.txt") => {}
            Sent::Stream(bytes) => {
                let (dialect, response) = streamed(&bytes, &name);
                identical(dialect, &response, &name);
            }
        }
    }
}
