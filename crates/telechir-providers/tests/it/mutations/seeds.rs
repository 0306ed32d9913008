//! Seeds for damage: the vectors, as documents and as bytes of streams.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_providers::Dialect;

/// The contents of the files in a folder and its subfolders, ordered by name.
pub(crate) fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![std::fs::read(path).unwrap()]
        }
    };
    paths.into_iter().flat_map(read).collect()
}

/// The documents that a dialect decodes.
pub(crate) fn documents(files: &[Vec<u8>], dialect: Dialect) -> Vec<Vec<u8>> {
    let is_read = |bytes: &Vec<u8>| {
        dialect.decode_history(bytes).is_ok() || dialect.decode_response(bytes).is_ok()
    };
    let values = files
        .iter()
        .filter_map(|file| serde_json::from_slice::<Value>(file).ok());
    let bodies = values.map(|value| value.get("body").cloned().unwrap_or(value));
    let bytes = bodies.map(|value| value.to_string().into_bytes());
    bytes.filter(is_read).collect()
}

/// The streams that are a complete response of a dialect.
pub(crate) fn streams(files: &[Vec<u8>], dialect: Dialect) -> Vec<Vec<u8>> {
    let is_taken = |bytes: &Vec<u8>| {
        let received = dialect.stream().map(|mut stream| {
            let pushed = stream.push(bytes);
            pushed.is_ok() && stream.finish().is_ok()
        });
        received.unwrap_or(false)
    };
    let bytes = files.iter().filter_map(|file| stream(file));
    bytes.filter(is_taken).collect()
}

/// The bytes of a stream vector.
fn stream(file: &[u8]) -> Option<Vec<u8>> {
    let Ok(value) = serde_json::from_slice::<Value>(file) else {
        return Some(file.to_vec());
    };
    let decoded = |value: &Value| STANDARD.decode(value.as_str()?).ok();
    if let Some(frames) = value.get("frames").and_then(Value::as_array) {
        return frames
            .iter()
            .map(decoded)
            .collect::<Option<Vec<_>>>()
            .map(|frames| frames.concat());
    }
    if let Some(raw) = value.get("raw").and_then(Value::as_str) {
        return Some(raw.as_bytes().to_vec());
    }
    if let Some(bytes) = value.get("bytes_base64") {
        return decoded(bytes);
    }
    let events = value
        .as_array()
        .or_else(|| value.get("events")?.as_array())?;
    Some(events.iter().flat_map(event).collect())
}

fn event(event: &Value) -> Vec<u8> {
    let (name, data) = match (event.get("event"), event.get("data")) {
        (Some(name), Some(data)) => (name.as_str(), data),
        _ => (event["type"].as_str(), event),
    };
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    format!("{name}data: {data}\n\n").into_bytes()
}
