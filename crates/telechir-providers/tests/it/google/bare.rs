//! What neutral values alone say of these dialects' documents.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::{PARTS, STEPS};
use crate::bare::{Losses, check, note};

/// Where the interface has two ways to say the same, one of them is written.
const ALLOWED: [(&str, &str); 0] = [];

/// The valid documents of these kinds, each a history.
fn documents(start: &str, kinds: &[&str]) -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/google");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let manifest = read("manifest.json");
    let mut documents = Vec::new();
    for entry in manifest["files"].as_array().unwrap() {
        let kind = entry["kind"].as_str().unwrap();
        let file = entry["file"].as_str().unwrap();
        let is_wanted = kind.starts_with(start) || kinds.contains(&kind);
        if !is_wanted || entry["expect"] != "valid" || kind.contains("stream") {
            continue;
        }
        let document = read(file);
        if kind.ends_with("[]") {
            let each = document.as_array().unwrap().iter().cloned();
            documents.extend(each.map(|document| (file.to_owned(), document)));
        } else if kind == "cu_calls" {
            let calls = document["calls"].as_array().unwrap();
            let parts = calls
                .iter()
                .map(|call| serde_json::json!({"functionCall": call}));
            let content = serde_json::json!({"role": "model", "parts": parts.collect::<Vec<_>>()});
            documents.push((file.to_owned(), serde_json::json!([content])));
        } else if document.get("status") != Some(&"failed".into()) {
            documents.push((file.to_owned(), document));
        }
    }
    documents
}

#[test]
fn neutral_values_alone_lose_what_the_table_says() {
    let mut losses = Losses::new();
    let kinds = ["cu_calls", "content", "history", "answers", "part"];
    for (file, document) in documents("gc_", &kinds) {
        note(PARTS, &document, &file, &mut losses);
    }
    for (file, document) in documents("ix_", &[]) {
        note(STEPS, &document, &file, &mut losses);
    }
    check(&losses, &ALLOWED);
}
