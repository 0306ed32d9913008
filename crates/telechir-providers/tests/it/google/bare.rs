//! What neutral values alone say of these dialects' documents.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::{PARTS, STEPS};
use crate::bare::{Losses, check, note};

/// Where the interface has two ways to say the same, one of them is written.
const ALLOWED: [(&str, &str); 36] = [
    (
        "[].content.parts[].functionCall.args",
        "arguments that were left out are none",
    ),
    (
        "[].content.parts[].functionCall.args.clear_before_typing",
        "a default that was left out is said",
    ),
    (
        "[].content.parts[].functionCall.args.press_enter",
        "a default that was left out is said",
    ),
    (
        "[model].parts[].functionCall.args.clear_before_typing",
        "a default that was left out is said",
    ),
    (
        "[model].parts[].functionCall.args.press_enter",
        "a default that was left out is said",
    ),
    (
        "[model].parts[].functionCall.args.magnitude",
        "a default that was left out is said",
    ),
    (
        "[model].parts[].functionCall.args.magnitude_in_pixels",
        "a default that was left out is said",
    ),
    (
        "[model].parts[].functionCall.args.is_background",
        "a default that was said is left out",
    ),
    (
        "[function_call].arguments.press_enter",
        "a default that was left out is said",
    ),
    (
        "[].content.parts[].thoughtSignature",
        "nothing says any more that the provider made the call: it gets the signature that stands for none",
    ),
    (
        "[model].parts[].thoughtSignature",
        "nothing says any more that the provider made the call: it gets the signature that stands for none",
    ),
    ("[].role", "a content without a role is the user's"),
    ("[function].role", "an older name of the user's role"),
    (
        "[function_result].result[text].text",
        "JSON in a text is written without spaces",
    ),
    (
        "[model_output].error",
        "why an output ended is no part of what is sent again",
    ),
    (
        "[user].parts[].inlineData.data",
        "base64 has two alphabets, the common one is written",
    ),
    (
        "[model].parts[].functionCall.args.coordinate",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.point",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.duration",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.end_x",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.end_y",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.keys",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.seconds",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.source_x",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.source_y",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.start_x",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.start_y",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.target_x",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.target_y",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.text",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.x",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall.args.y",
        "one of several names for the same, the documented one is written",
    ),
    (
        "[model].parts[].functionCall",
        "members have two spellings, the documented one is written",
    ),
    (
        "[model].parts[].function_call",
        "members have two spellings, the documented one is written",
    ),
    (
        "[user].parts[].functionResponse",
        "members have two spellings, the documented one is written",
    ),
    (
        "[user].parts[].function_response",
        "members have two spellings, the documented one is written",
    ),
];

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
