//! Recorded traffic of other projects, from a folder beside this one. We may not redistribute it;
//! without the folder these tests have no input.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::streams::sse;
use crate::survival::known::collect;

/// A recorded request, response or stream.
pub(crate) struct Recording {
    /// The file and the index inside it.
    pub(crate) name: String,
    pub(crate) sent: Sent,
}

pub(crate) enum Sent {
    Document(Value),
    Stream(Vec<u8>),
}

/// All recordings of a provider; empty without the folder.
pub(crate) fn recordings(provider: &str) -> Vec<Recording> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = |folder: &Path| folder.join("shared/fixtures").join(provider);
    let folder = project
        .ancestors()
        .map(beside)
        .find(|folder| folder.is_dir());
    let mut files = Vec::new();
    folder.iter().for_each(|folder| collect(folder, &mut files));
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

fn read(file: &Path) -> Vec<Recording> {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let bytes = fs::read(file).unwrap();
    let sent = if name.ends_with(".json") {
        vec![Sent::Document(serde_json::from_slice(&bytes).unwrap())]
    } else if name.ends_with(".sse.txt") {
        vec![Sent::Stream(bytes)]
    } else if name.ends_with(".chunks.txt") {
        let lines = String::from_utf8(bytes).unwrap();
        let events: Vec<Value> = lines
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        vec![Sent::Stream(sse(&events))]
    } else if name.ends_with(".yaml") {
        cassette(&String::from_utf8(bytes).unwrap())
    } else {
        Vec::new()
    };
    let recording = |(at, sent)| Recording {
        name: format!("{name}#{at}"),
        sent,
    };
    sent.into_iter().enumerate().map(recording).collect()
}

/// The requests and responses of a cassette.
fn cassette(text: &str) -> Vec<Sent> {
    // Binary data stays in base64.
    let options = serde_saphyr::options! { ignore_binary_tag_for_string: true };
    let cassette: Value = serde_saphyr::from_str_with_options(text, options).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let sides = list(&cassette["interactions"])
        .into_iter()
        .flat_map(|mut both| {
            let response = both["response"].take();
            [both["request"].take(), response]
        });
    // Some cassettes list requests and responses separately.
    let apart = ["requests", "responses"]
        .into_iter()
        .flat_map(|name| list(&cassette[name]));
    let mut sent = Vec::new();
    for message in sides.chain(apart) {
        if message["parsed_body"].is_object() {
            sent.push(Sent::Document(message["parsed_body"].clone()));
        }
        let body = message["body"]["string"]
            .as_str()
            .or_else(|| message["body"].as_str());
        sent.extend(body.map(body_of));
    }
    sent
}

/// A body as text, or as base64 if it is binary.
fn body_of(body: &str) -> Sent {
    if let Ok(document) = serde_json::from_str(body) {
        return Sent::Document(document);
    }
    let packed: String = body.split_whitespace().collect();
    match STANDARD.decode(packed) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(document) => Sent::Document(document),
            Err(_) => Sent::Stream(bytes),
        },
        Err(_) => Sent::Stream(body.as_bytes().to_vec()),
    }
}
