//! Assembles content: a single text, or parts of which the last can be extended.

use serde_json::Value;

use crate::json::{Fields, kind, text};
use crate::stream::Delta;

/// Appends to a text field.
pub(super) fn append(message: &mut Fields, name: &str, text: &str) {
    if let Some(Value::String(existing)) = message.get_mut(name) {
        existing.push_str(text);
    } else {
        message.insert(name.to_owned(), text.into());
    }
}

/// Appends the `content` of a delta: text or parts.
pub(super) fn append_content(message: &mut Fields, content: Value) -> Vec<Delta> {
    let mut deltas = Vec::new();
    match content {
        Value::String(text) => {
            if !text.is_empty() {
                deltas.push(text_delta(&text));
            }
            match message.get_mut("content") {
                Some(Value::Array(parts)) => {
                    if !text.is_empty() {
                        let part = serde_json::json!({"type": "text", "text": text});
                        join(parts, part);
                    }
                }
                _ => append(message, "content", &text),
            }
        }
        Value::Array(parts) => {
            let Some(into) = content_list(message) else {
                return deltas;
            };
            for part in parts {
                deltas.extend(part.as_object().and_then(delta_of));
                join(into, part);
            }
        }
        Value::Object(part) => {
            deltas.extend(delta_of(&part));
            if let Some(into) = content_list(message) {
                join(into, Value::Object(part));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    deltas
}

/// The content as a list; an existing text becomes its first part.
fn content_list(message: &mut Fields) -> Option<&mut Vec<Value>> {
    let content = message
        .entry("content")
        .or_insert_with(|| Value::Array(Vec::new()));
    if !content.is_array() {
        let text = content.as_str().filter(|text| !text.is_empty());
        let part = text.map(|text| serde_json::json!({"type": "text", "text": text}));
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

fn delta_of(part: &Fields) -> Option<Delta> {
    match kind(part) {
        "text" => text(part, "text").map(text_delta),
        "thinking" => {
            let chunks = part.get("thinking").and_then(Value::as_array)?;
            let texts = chunks
                .iter()
                .filter_map(|chunk| chunk.get("text")?.as_str());
            Some(Delta::Reasoning {
                index: 0,
                text: texts.collect(),
            })
        }
        _ => None,
    }
}

/// Adds a part, merging text with text and thinking with thinking.
pub(crate) fn join(parts: &mut Vec<Value>, part: Value) {
    let continues = |last: &Value, part: &Value| {
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
    let Some(last) = parts.last_mut().filter(|last| continues(last, &part)) else {
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
