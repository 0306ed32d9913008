//! Lenient readers of JSON: null and a value of another type count as absent.

pub(crate) mod arguments;
mod contents;

use serde_json::{Map, Value};

pub(crate) use contents::{
    hosted_failure, hosted_output, image_detail, into_media, joined_texts, keep, media, passed_on,
    raw, raw_of, restore, text_of_content, verbatim,
};

pub(crate) type Fields = Map<String, Value>;

/// The field's value, if it is present and not null.
pub(crate) fn present<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// The text of a field of any JSON; empty if there is none.
pub(crate) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The field's text, if it is not empty.
pub(crate) fn some_text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    text(fields, name).filter(|text| !text.is_empty())
}

pub(crate) fn owned(fields: &Fields, name: &str) -> Option<String> {
    text(fields, name).map(str::to_owned)
}

pub(crate) fn object<'a>(fields: &'a Fields, name: &str) -> Option<&'a Fields> {
    fields.get(name)?.as_object()
}

pub(crate) fn list<'a>(fields: &'a Fields, name: &str) -> &'a [Value] {
    fields
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The list in a field of any JSON; empty if there is none.
pub(crate) fn list_of<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.as_object().map_or(&[], |fields| list(fields, name))
}

/// Whether a value is null, or a text, a list or an object with nothing in it.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a field holds a text, or nothing.
pub(crate) fn is_text_or_absent(fields: &Fields, name: &str) -> bool {
    present(fields, name).is_none_or(Value::is_string)
}

/// The `type` field, or an empty text.
pub(crate) fn kind(fields: &Fields) -> &str {
    text(fields, "type").unwrap_or_default()
}

/// The names of the first fields, for an error about an object of an unknown form.
pub(crate) fn names_of(fields: &Fields) -> String {
    const MAX_NAMES: usize = 6;
    if fields.is_empty() {
        return "no fields".to_owned();
    }
    let names = fields.keys().take(MAX_NAMES);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Builds an object without the fields that are null.
pub(crate) fn object_of<const N: usize>(members: [(&str, Value); N]) -> Fields {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
