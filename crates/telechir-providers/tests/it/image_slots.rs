//! Images stay in their document, without an observable effect.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use telechir_providers::Dialect;

/// The vector files of all dialects.
pub(crate) fn vectors() -> Vec<PathBuf> {
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

/// All results of decoding and encoding a document, in every form.
fn outcome(dialect: Dialect, other: Dialect, document: String) -> Value {
    let turn = match dialect.decode_response(document.clone()) {
        Ok((turn, report)) => json!({"contents": turn.contents(), "report": report}),
        Err(error) => error.to_string().into(),
    };
    let history = match dialect.decode_history(document) {
        Ok((history, report)) => {
            let written = [dialect, other].map(|to| match to.encode_document(&history) {
                Ok((document, report)) => {
                    let bytes = document.to_vec();
                    assert_eq!(bytes, serde_json::to_vec(&document).unwrap());
                    let parts = document.to_parts();
                    let parts: Vec<&[u8]> = parts.iter().map(AsRef::as_ref).collect();
                    assert_eq!(bytes, parts.concat());
                    let value: Value = serde_json::from_slice(&bytes).unwrap();
                    assert_eq!(value, document.into_value());
                    json!({"written": value, "report": report})
                }
                Err(error) => error.to_string().into(),
            });
            json!({"messages": history.messages, "report": report, "written": written})
        }
        Err(error) => error.to_string().into(),
    };
    json!({"turn": turn, "history": history})
}

/// The last names of a path, which classify a string.
fn kind_of(path: &str) -> String {
    let names = path.split('/').rev();
    let names = names.filter(|name| name.parse::<usize>().is_err());
    names.take(3).collect::<Vec<_>>().join(" of ")
}

/// The first path at which two values differ, with both values.
fn difference(one: &Value, other: &Value) -> String {
    let mut paths = Vec::new();
    strings(one, String::new(), &mut paths);
    let differs = |path: &&String| one.pointer(path) != other.pointer(path);
    let path = paths.iter().find(differs);
    let shown = |value: &Value| {
        let text = path.and_then(|path| value.pointer(path));
        text.map_or_else(String::new, ToString::to_string)
    };
    let (one, other) = (shown(one), shown(other));
    format!("{path:?} is {one:.300} and {other:.300}")
}

/// The same document without slots: an escape in a string prevents one.
fn without_slots(document: &str) -> String {
    document.replace("iVBOR", "\\u0069VBOR")
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
fn a_long_string_decodes_identically_at_every_path() {
    let mut seen = HashSet::new();
    for file in vectors() {
        let vector: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let vector = vector.get("body").cloned().unwrap_or(vector);
        let of = |dialect: &&Dialect| {
            let document = vector.to_string();
            dialect.decode_history(&document).is_ok()
        };
        let Some(dialect) = Dialect::ALL.iter().find(of) else {
            continue;
        };
        let mut paths = Vec::new();
        strings(&vector, String::new(), &mut paths);
        for (at, path) in paths.iter().enumerate() {
            if !seen.insert((dialect.name(), kind_of(path))) {
                continue;
            }
            let other = Dialect::ALL[at % Dialect::ALL.len()];
            let mut long = vector.clone();
            *long.pointer_mut(path).unwrap() = long_strings()[at % 2].as_str().into();
            let document = long.to_string();
            let plainly = without_slots(&document);
            assert!(plainly.len() > document.len());
            let (with, without) = (
                outcome(*dialect, other, document),
                outcome(*dialect, other, plainly),
            );
            assert!(
                with == without,
                "{dialect}: {path} of {}: {}",
                file.display(),
                difference(&with, &without)
            );
        }
    }
    assert!(seen.len() > 300, "{} kinds of strings", seen.len());
}

/// An encoder that rejects or reports an image for its length also does so with slots.
#[test]
fn an_oversized_image_is_rejected_with_slots_too() {
    let mut refused = 0;
    for megabytes in [6, 11, 34] {
        let long = long_strings()[1].clone() + &"QUJD".repeat(megabytes << 18);
        let history = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "screenshot", "toolset_name": "computer", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": long}}]}]},
        ]);
        let read = |document: String| {
            Dialect::AnthropicMessages
                .decode_history(document)
                .unwrap()
                .0
        };
        let document = history.to_string();
        let (without, with) = (read(without_slots(&document)), read(document));
        for dialect in Dialect::ALL {
            let (with, without) = (
                dialect.encode_document(&with),
                dialect.encode_document(&without),
            );
            refused += usize::from(without.is_err());
            match (with, without) {
                (Ok((one, with)), Ok((other, without))) => {
                    assert_eq!(with, without, "{dialect}, {megabytes} MB");
                    let is_same = one.into_value() == other.into_value();
                    assert!(is_same, "{dialect}, {megabytes} MB");
                }
                (Err(with), Err(without)) => {
                    assert_eq!(with.to_string(), without.to_string(), "{dialect}");
                }
                (with, _) => panic!("{dialect}, {megabytes} MB: {}", with.is_ok()),
            }
        }
    }
    assert!(refused > 0, "no dialect rejected an image");
}
