//! The documents of these dialects, decoded and encoded without raw representations.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::{PARTS, STEPS};
use crate::without_raw::{Losses, check, note};

/// Where the API has several forms, the neutral values encode to one of them.
const ALLOWED: [(&str, &str); 36] = [
    (
        "[].content.parts[].functionCall.args",
        "absent arguments are empty",
    ),
    (
        "[].content.parts[].functionCall.args.clear_before_typing",
        "an omitted default is encoded",
    ),
    (
        "[].content.parts[].functionCall.args.press_enter",
        "an omitted default is encoded",
    ),
    (
        "[model].parts[].functionCall.args.clear_before_typing",
        "an omitted default is encoded",
    ),
    (
        "[model].parts[].functionCall.args.press_enter",
        "an omitted default is encoded",
    ),
    (
        "[model].parts[].functionCall.args.magnitude",
        "an omitted default is encoded",
    ),
    (
        "[model].parts[].functionCall.args.magnitude_in_pixels",
        "an omitted default is encoded",
    ),
    (
        "[model].parts[].functionCall.args.is_background",
        "an explicit default is omitted",
    ),
    (
        "[function_call].arguments.press_enter",
        "an omitted default is encoded",
    ),
    (
        "[].content.parts[].thoughtSignature",
        "without raw JSON the call's origin is unknown, so it gets the placeholder signature",
    ),
    (
        "[model].parts[].thoughtSignature",
        "without raw JSON the call's origin is unknown, so it gets the placeholder signature",
    ),
    ("[].role", "a content without a role is a user content"),
    ("[function].role", "an older name of the user's role"),
    (
        "[function_result].result[text].text",
        "JSON in a text is encoded without spaces",
    ),
    (
        "[model_output].error",
        "the end of an output is not sent back",
    ),
    (
        "[user].parts[].inlineData.data",
        "base64 is encoded in the standard alphabet",
    ),
    (
        "[model].parts[].functionCall.args.coordinate",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.point",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.duration",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.end_x",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.end_y",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.keys",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.seconds",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.source_x",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.source_y",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.start_x",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.start_y",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.target_x",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.target_y",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.text",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.x",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall.args.y",
        "an alias is encoded as the documented name",
    ),
    (
        "[model].parts[].functionCall",
        "fields are encoded in the documented spelling",
    ),
    (
        "[model].parts[].function_call",
        "fields are encoded in the documented spelling",
    ),
    (
        "[user].parts[].functionResponse",
        "fields are encoded in the documented spelling",
    ),
    (
        "[user].parts[].function_response",
        "fields are encoded in the documented spelling",
    ),
];

/// The valid documents of these kinds, each as a history.
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
fn without_raw_json_only_the_listed_values_are_lost() {
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
