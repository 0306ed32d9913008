//! The values of an encoded document, to look up fields.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use telechir_protocol::json_limits;

use super::fields::Field;

/// Bytes of a text that tell it apart, together with its length.
const MAX_KEY_BYTES: usize = 256;
/// Shorter texts occur by chance.
const MIN_DISTINCT_BYTES: usize = 8;
/// Fields of texts for the model, in which a short value occurs by chance.
const TEXTS: [&str; 4] = ["text", "content", "type", "role"];

/// The texts, and the other values by their field.
pub(super) struct WrittenValues<'a> {
    texts: HashSet<(usize, Cow<'a, str>)>,
    members: HashSet<(Cow<'a, str>, String)>,
}

impl<'a> WrittenValues<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        let mut written = Self {
            texts: HashSet::new(),
            members: HashSet::new(),
        };
        written.add("", document);
        written
    }

    fn add(&mut self, name: &'a str, value: &'a Value) {
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                self.members.insert((name.into(), value.to_string()));
            }
            Value::String(text) => self.add_text(name, text),
            Value::Array(items) => items.iter().for_each(|item| self.add(name, item)),
            Value::Object(members) => {
                members
                    .iter()
                    .for_each(|(name, value)| self.add(name, value));
            }
        }
    }

    fn add_text(&mut self, name: &str, text: &'a str) {
        if text.len() < MIN_DISTINCT_BYTES && TEXTS.contains(&name) {
            return;
        }
        self.texts.insert((text.len(), start(text).into()));
        if text.starts_with(['{', '['])
            && let Ok(inner) = json_limits::parse(text.as_bytes())
        {
            self.add_inner("", inner);
        }
    }

    /// Adds the values of JSON inside a text.
    fn add_inner(&mut self, name: &str, value: Value) {
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                self.members
                    .insert((name.to_owned().into(), value.to_string()));
            }
            Value::String(text) => {
                self.texts
                    .insert((text.len(), start(&text).to_owned().into()));
            }
            Value::Array(items) => items
                .into_iter()
                .for_each(|item| self.add_inner(name, item)),
            Value::Object(members) => members
                .into_iter()
                .for_each(|(name, value)| self.add_inner(&name, value)),
        }
    }

    /// Whether the document has the field's value: a text anywhere, a number or flag under the
    /// same name.
    pub(super) fn has(&self, field: &Field<'_>) -> bool {
        match field.value.as_ref() {
            Value::String(text) => self.texts.contains(&(text.len(), start(text).into())),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => {
                let name = field.name.rsplit('.').next().unwrap_or(&field.name);
                self.members.contains(&(name.into(), other.to_string()))
            }
        }
    }
}

fn start(text: &str) -> &str {
    let mut end = text.len().min(MAX_KEY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
