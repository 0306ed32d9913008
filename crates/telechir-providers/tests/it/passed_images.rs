//! Images and other long texts pass through a dialect unchanged.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use telechir_providers::{Dialect, EncodeError};

/// The vector files of all dialects.
fn vectors() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut folders = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The paths of all strings in a document.
fn strings(value: &Value, path: String, all: &mut Vec<String>) {
    match value {
        Value::String(_) => all.push(path),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                strings(item, format!("{path}/{at}"), all);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                strings(value, format!("{path}/{name}"), all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The last names of a path, which classify a string.
fn kind_of(path: &str) -> String {
    let names = path.split('/').rev();
    let names = names.filter(|name| name.parse::<usize>().is_err());
    names.take(3).collect::<Vec<_>>().join(" of ")
}

/// Strings for the test to insert, one with a media type.
fn long_strings() -> [String; 2] {
    // The header of a 1280x800 PNG, then data.
    let long = format!(
        "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAIAAABhYmNk{}",
        "QUJD".repeat(1250)
    );
    [format!("data:image/png;base64,{long}"), long]
}

#[test]
fn a_long_string_is_returned_unchanged_at_every_path() {
    let (mut seen, mut returned) = (HashSet::new(), 0);
    for file in vectors() {
        let vector: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let vector = vector.get("body").cloned().unwrap_or(vector);
        let document = vector.to_string();
        let reads = |dialect: &&Dialect| dialect.decode_history(&document).is_ok();
        let Some(dialect) = Dialect::ALL.iter().find(reads) else {
            continue;
        };
        let mut paths = Vec::new();
        strings(&vector, String::new(), &mut paths);
        for (at, path) in paths.iter().enumerate() {
            if !seen.insert((dialect.name(), kind_of(path))) {
                continue;
            }
            let inserted = &long_strings()[at % 2];
            let mut long = vector.clone();
            *long.pointer_mut(path).unwrap() = inserted.as_str().into();
            let Ok((history, _)) = dialect.decode_history(long.to_string()) else {
                continue;
            };
            let Ok((written, losses)) = dialect.encode_history(&history) else {
                continue;
            };
            let is_returned = written.to_string().contains(inserted.as_str());
            returned += usize::from(is_returned);
            assert!(
                is_returned || !losses.is_lossless(),
                "{dialect}: {path} of {}",
                file.display()
            );
        }
    }
    assert!(seen.len() > 300, "{} kinds of strings", seen.len());
    assert!(returned > 300, "{returned} strings returned");
}

/// No dialect drops an image or shortens it in silence.
#[test]
fn a_large_image_is_encoded_rejected_or_reported() {
    let (mut encoded, mut rejected) = (0, 0);
    let data = long_strings()[1].clone() + &"QUJD".repeat(6 << 18);
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "screenshot", "toolset_name": "computer", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "toolset_name": "computer", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]}]},
    ]);
    let own = Dialect::AnthropicMessages;
    let (history, _) = own.decode_history(history.to_string()).unwrap();
    for dialect in Dialect::ALL {
        match dialect.encode_history(&history) {
            Ok((written, report)) => {
                let is_complete = written.to_string().contains(&data);
                assert!(is_complete || !report.is_lossless(), "{dialect}");
                encoded += usize::from(is_complete);
            }
            Err(error) => {
                assert!(
                    matches!(error, EncodeError::Missing { .. }),
                    "{dialect}: {error}"
                );
                rejected += 1;
            }
        }
    }
    assert!(
        encoded > 0 && rejected > 0,
        "{encoded} encoded, {rejected} rejected"
    );
}
