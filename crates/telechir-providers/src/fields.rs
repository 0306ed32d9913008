//! Members of a JSON object, read leniently: null counts as absent.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Media, Meta, Raw, UnknownContent};

pub(crate) type Fields = Map<String, Value>;

/// The member, unless it is absent or null.
pub(crate) fn present<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// The text, unless it is empty.
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

/// The `type`, or nothing.
pub(crate) fn kind(fields: &Fields) -> &str {
    text(fields, "type").unwrap_or_default()
}

/// Builds an object; a null is left out.
pub(crate) fn object_of<const N: usize>(members: [(&str, Value); N]) -> Fields {
    let said = members.into_iter().filter(|(_, value)| !value.is_null());
    said.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A meta with the JSON as it came.
pub(crate) fn raw(dialect: &str, json: Value) -> Meta {
    let raw = Raw::new(dialect, json);
    Meta {
        raw_representation: Some(raw),
        ..Meta::default()
    }
}

/// The JSON a content came as, when this dialect wrote it.
pub(crate) fn raw_of<'a>(meta: &'a Meta, dialect: &str) -> Option<&'a Value> {
    let raw = meta.raw_representation.as_ref()?;
    (raw.dialect == dialect).then_some(raw.template())
}

/// Keeps these members under the provider's name.
pub(crate) fn keep(meta: &mut Meta, provider: &str, fields: &Fields, names: &[&str]) {
    for name in names {
        if let Some(value) = present(fields, name) {
            meta.set_property(provider, name, value.clone());
        }
    }
}

/// Writes back what [`keep`] kept.
pub(crate) fn restore(fields: &mut Fields, meta: &Meta, provider: &str, names: &[&str]) {
    for name in names {
        if let Some(value) = meta.property(provider, name) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
}

/// A picture or file among contents.
pub(crate) fn media(content: &Content) -> Option<Media> {
    if let Content::Data(data) = content {
        Some(Media::Data(data.clone()))
    } else if let Content::Uri(uri) = content {
        Some(Media::Uri(uri.clone()))
    } else if let Content::HostedFile(file) = content {
        Some(Media::HostedFile(file.clone()))
    } else {
        None
    }
}

/// The words of a text.
pub(crate) fn words(content: &Content) -> Option<&str> {
    if let Content::Text(text) = content {
        Some(text.text.as_str())
    } else {
        None
    }
}

/// The words of all texts among these.
pub(crate) fn all_words(contents: &[Content], between: &str) -> String {
    contents
        .iter()
        .filter_map(words)
        .collect::<Vec<_>>()
        .join(between)
}

/// A content that only passes an object on. Where its own type means something among ours, it is
/// wrapped in one of the type `wrapped`.
pub(crate) fn verbatim(fields: &Fields, wrapped: &str) -> Content {
    let whole = UnknownContent {
        kind: owned(fields, "type"),
        json: fields.clone(),
    };
    let content = Content::Other(whole);
    let read = serde_json::from_value::<Content>(Value::Object(fields.clone()));
    if read.is_ok_and(|read| read == content) {
        return content;
    }
    let json = object_of([
        ("type", wrapped.into()),
        ("item", Value::Object(fields.clone())),
    ]);
    Content::Other(UnknownContent {
        kind: Some(wrapped.to_owned()),
        json,
    })
}

/// The object that a content passes on.
pub(crate) fn passed_on<'a>(other: &'a UnknownContent, wrapped: &str) -> &'a Fields {
    let is_wrapped = other.kind.as_deref() == Some(wrapped);
    object(&other.json, "item")
        .filter(|_| is_wrapped)
        .unwrap_or(&other.json)
}
