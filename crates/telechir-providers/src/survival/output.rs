//! Searches a translated document for values.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::naming::is_separate;
use crate::leaves::{Leaf, json_in};
use crate::media_types;

/// Shorter texts occur by chance.
const MIN_DISTINCT_CHARS: usize = 8;
/// Shorter numbers occur by chance.
const MIN_DISTINCT_DIGITS: usize = 5;
/// Longer texts without spaces are treated as binary data in base64.
const MIN_BINARY_CHARS: usize = 256;

/// The values of a translated document.
pub(super) struct OutputIndex {
    /// All texts and numbers, separated by a character that texts lack.
    text: String,
    /// Binary data in its normal form, with the number of occurrences.
    binary: HashMap<String, usize>,
    /// The canonical names of all media types.
    media_types: HashSet<String>,
}

impl OutputIndex {
    pub(super) fn of(document: &Value) -> Self {
        let mut index = Self {
            text: String::new(),
            binary: HashMap::new(),
            media_types: HashSet::new(),
        };
        index.add("", document);
        index
    }

    fn add(&mut self, name: &str, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.add_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(name, item)),
            Value::Object(members) => members
                .iter()
                .for_each(|(name, value)| self.add(name, value)),
            Value::String(text) => {
                let named = media_types::FIELDS.contains(&name).then_some(text.as_str());
                let media_type = media_types::of_url(text).or(named);
                self.media_types
                    .extend(media_type.map(media_types::canonical));
                if is_binary(text) {
                    *self.binary.entry(normal_base64(text)).or_default() += 1;
                } else if let Some(json) = json_in(text) {
                    self.add(name, &json);
                } else {
                    self.add_text(text);
                }
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        self.text.push('\0');
        self.text.push_str(text);
    }

    /// Whether the document has this value `count` times, in a form that cannot be chance.
    pub(super) fn has(&self, leaf: &Leaf, count: usize) -> bool {
        let text = leaf.text();
        let is_distinct = match &leaf.value {
            Value::String(_) => text.chars().count() >= MIN_DISTINCT_CHARS,
            Value::Number(_) => text.len() >= MIN_DISTINCT_DIGITS,
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        is_distinct && self.has_text(&text, count)
    }

    /// The same for a value that is no part of a longer word or id.
    pub(super) fn has_separate(&self, leaf: &Leaf, count: usize) -> bool {
        let text = leaf.text();
        let is_word = leaf.value.is_number() || !text.contains(char::is_whitespace);
        if !is_word || is_binary(&text) {
            return self.has(leaf, count);
        }
        let found = self.text.match_indices(&text);
        let separate = found.filter(|(at, found)| is_separate(&self.text, *at..at + found.len()));
        self.has(leaf, count) && separate.count() >= count
    }

    /// Whether the document has data of this media type, under any of its names.
    pub(super) fn has_media_type(&self, media_type: &str) -> bool {
        let canonical = media_types::canonical(media_type);
        canonical.is_empty() || self.media_types.contains(&canonical)
    }

    /// Whether the document has this text at all, also a short one.
    pub(super) fn has_anywhere(&self, leaf: &Leaf) -> bool {
        leaf.value.is_string() && self.has_text(&leaf.text(), 1)
    }

    fn has_text(&self, text: &str, count: usize) -> bool {
        if is_binary(text) {
            return self.binary.get(&normal_base64(text)).copied() >= Some(count);
        }
        if self.count(text) >= count {
            return true;
        }
        // Inside of JSON that is part of a text.
        let escaped = Value::from(text).to_string();
        if self.count(&escaped[1..escaped.len() - 1]) >= count {
            return true;
        }
        // Split into lines.
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        text.contains('\n') && lines.all(|line| self.count(line) >= count)
    }

    fn count(&self, text: &str) -> usize {
        self.text.matches(text).count()
    }
}

/// Whether a text is binary data in base64, also as a `data:` URL.
pub(super) fn is_binary(text: &str) -> bool {
    let payload = payload(text);
    let is_base64 =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    (payload.len() < text.len() || payload.len() >= MIN_BINARY_CHARS)
        && payload.bytes().all(is_base64)
}

fn payload(text: &str) -> &str {
    match text
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','))
    {
        Some((_, payload)) => payload,
        None => text,
    }
}

/// The payload in the standard alphabet without padding.
fn normal_base64(text: &str) -> String {
    let payload = payload(text).trim_end_matches('=');
    payload.replace('-', "+").replace('_', "/")
}
