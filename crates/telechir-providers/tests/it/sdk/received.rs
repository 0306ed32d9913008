//! What services send, from the vectors: each SDK decodes what we decode.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::{Expect, Manifest};

use super::python::Document;

/// Kinds of vectors, and their names for an SDK.
const KINDS: [(&str, &str); 15] = [
    ("response", "response"),
    ("message", "response"),
    ("beta_message", "response"),
    ("gc_response", "response"),
    ("ix_response", "response"),
    ("chat_response", "response"),
    ("output_item", "output_items"),
    ("stream", "stream"),
    ("sse", "stream"),
    ("event", "stream"),
    ("beta_stream", "stream"),
    ("gc_stream", "stream"),
    ("ix_stream", "stream"),
    ("eventstream", "stream"),
    ("wire_response", "wire_response"),
];

/// The responses in the vectors.
pub(crate) fn responses(dialect: Dialect) -> Vec<Document> {
    let mut all = documents(dialect);
    all.retain(|document| document.kind == "response");
    all
}

/// The responses, items and streams in the vectors, without errors of the service.
pub(crate) fn documents(dialect: Dialect) -> Vec<Document> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut all = Vec::new();
    for folder in fs::read_dir(vectors).unwrap() {
        let folder = folder.unwrap().path();
        let manifest = ["manifest.json", "index.json"]
            .iter()
            .find_map(|name| fs::read(folder.join(name)).ok());
        for vector in Manifest::read(&manifest.unwrap(), None).unwrap().vectors {
            if vector.dialect != Ok(dialect) || vector.expect == Expect::Invalid {
                continue;
            }
            let bytes = fs::read(folder.join(&vector.file)).unwrap();
            let name = format!("{dialect}: {}", vector.file);
            all.extend(of_kind(&name, &vector.kind, &bytes));
        }
    }
    all
}

fn of_kind(name: &str, kind: &str, bytes: &[u8]) -> Vec<Document> {
    let (one, is_list) = match kind.strip_suffix("[]") {
        Some(one) => (one, true),
        None => (kind, false),
    };
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == one) else {
        return Vec::new();
    };
    let document = |json: Value| Document {
        name: name.to_owned(),
        kind: (*kind).to_owned(),
        json,
    };
    let Ok(json) = serde_json::from_slice::<Value>(bytes) else {
        let raw = String::from_utf8(bytes.to_vec()).unwrap();
        return vec![document(json!({"raw": raw}))];
    };
    match (*kind, json) {
        ("response", Value::Array(all)) if is_list => all.into_iter().map(document).collect(),
        ("stream", json) if one == "event" && !is_list => vec![document(json!([json]))],
        ("wire_response", mut json) => {
            let is_error = json["http"]["status"].as_u64() >= Some(300);
            let body = json["http"]["body"].take();
            let response = Document {
                kind: "response".to_owned(),
                ..document(body)
            };
            if is_error { Vec::new() } else { vec![response] }
        }
        (_, json) => vec![document(json)],
    }
}
