//! Content that grows: one text, or parts of which the last goes on.

use serde_json::Value;

use crate::fields::{Fields, kind, text};
use crate::stream::Delta;

/// Adds to a member that is one text.
pub(super) fn append(message: &mut Fields, name: &str, text: &str) {
    if let Some(Value::String(said)) = message.get_mut(name) {
        said.push_str(text);
    } else {
        message.insert(name.to_owned(), text.into());
    }
}

/// Adds what a delta's `content` says: a text, or parts.
pub(super) fn grow(message: &mut Fields, said: Value) -> Vec<Delta> {
    let mut deltas = Vec::new();
    match said {
        Value::String(said) => {
            if !said.is_empty() {
                deltas.push(text_delta(&said));
            }
            match message.get_mut("content") {
                Some(Value::Array(parts)) => {
                    if !said.is_empty() {
                        let part = serde_json::json!({"type": "text", "text": said});
                        join(parts, part);
                    }
                }
                _ => append(message, "content", &said),
            }
        }
        Value::Array(parts) => {
            let Some(into) = listed(message) else {
                return deltas;
            };
            for part in parts {
                deltas.extend(part.as_object().and_then(shown));
                join(into, part);
            }
        }
        Value::Object(part) => {
            deltas.extend(shown(&part));
            if let Some(into) = listed(message) {
                join(into, Value::Object(part));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    deltas
}

/// The content as a list; what was one text becomes its first part.
fn listed(message: &mut Fields) -> Option<&mut Vec<Value>> {
    let content = message
        .entry("content")
        .or_insert_with(|| Value::Array(Vec::new()));
    if !content.is_array() {
        let said = content.as_str().filter(|said| !said.is_empty());
        let part = said.map(|said| serde_json::json!({"type": "text", "text": said}));
        *content = Value::Array(part.into_iter().collect());
    }
    content.as_array_mut()
}

fn text_delta(text: &str) -> Delta {
    Delta::Text {
        index: 0,
        text: text.to_owned(),
    }
}

fn shown(part: &Fields) -> Option<Delta> {
    match kind(part) {
        "text" => text(part, "text").map(text_delta),
        "thinking" => {
            let chunks = part.get("thinking").and_then(Value::as_array)?;
            let words = chunks
                .iter()
                .filter_map(|chunk| chunk.get("text")?.as_str());
            Some(Delta::Reasoning {
                index: 0,
                text: words.collect(),
            })
        }
        _ => None,
    }
}

/// Adds a part: text goes on with text, thinking with thinking.
pub(crate) fn join(parts: &mut Vec<Value>, part: Value) {
    let goes_on = |last: &Value, part: &Value| {
        let (Some(last), Some(part)) = (last.as_object(), part.as_object()) else {
            return false;
        };
        match (kind(last), kind(part)) {
            ("text", "text") => last.len() == 2 && part.len() == 2,
            ("thinking", "thinking") => {
                last.get("signature").is_none_or(Value::is_null)
                    && last.get("closed") != Some(&Value::Bool(true))
            }
            _ => false,
        }
    };
    let Some(last) = parts.last_mut().filter(|last| goes_on(last, &part)) else {
        parts.push(part);
        return;
    };
    let (Some(last), Value::Object(part)) = (last.as_object_mut(), part) else {
        return;
    };
    if kind(last) == "text" {
        append(last, "text", text(&part, "text").unwrap_or_default());
        return;
    }
    for (name, value) in part {
        match (last.get_mut(&name), value) {
            (Some(Value::Array(chunks)), Value::Array(more)) => {
                for chunk in more {
                    join(chunks, chunk);
                }
            }
            (_, Value::Null) => {}
            (_, value) => {
                last.insert(name, value);
            }
        }
    }
}
