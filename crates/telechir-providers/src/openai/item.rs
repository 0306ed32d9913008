//! Lenient access to the fields of an item: null counts as absent.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Media, Meta, Raw, UnknownContent};

use super::{DIALECT, PROVIDER};

pub(crate) type Item = Map<String, Value>;

/// The field, unless it is absent or null.
pub(super) fn present<'a>(item: &'a Item, name: &str) -> Option<&'a Value> {
    item.get(name).filter(|value| !value.is_null())
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_str()
}

pub(crate) fn owned(item: &Item, name: &str) -> Option<String> {
    text(item, name).map(str::to_owned)
}

/// A positive integer; other values impose no limit.
pub(super) fn limit(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_u64().filter(|number| *number > 0)
}

pub(super) fn object<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    item.get(name)?.as_object()
}

pub(crate) fn list<'a>(item: &'a Item, name: &str) -> &'a [Value] {
    item.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The `type`, or an empty string.
pub(super) fn kind(item: &Item) -> &str {
    text(item, "type").unwrap_or_default()
}

/// Metadata holding the raw item.
pub(super) fn raw(item: &Item) -> Meta {
    let json = Value::Object(item.clone());
    let raw = Raw::new(DIALECT, json);
    Meta {
        raw_representation: Some(raw),
        ..Meta::default()
    }
}

/// Copies the named fields into the metadata under the provider's name.
pub(super) fn keep(meta: &mut Meta, item: &Item, names: &[&str]) {
    for name in names {
        if let Some(value) = present(item, name) {
            meta.set_property(PROVIDER, name, value.clone());
        }
    }
}

/// Writes back the fields that [`keep`] stored.
pub(super) fn restore(item: &mut Item, meta: &Meta, names: &[&str]) {
    for name in names {
        if let Some(value) = meta.property(PROVIDER, name) {
            item.insert((*name).to_owned(), value.clone());
        }
    }
}

/// A provider-specific property with a string value.
pub(super) fn property<'a>(meta: &'a Meta, name: &str) -> Option<&'a str> {
    meta.property(PROVIDER, name)?.as_str()
}

/// The raw JSON of a content, if it came from this dialect.
pub(super) fn raw_of(meta: &Meta) -> Option<&Value> {
    let raw = meta.raw_representation.as_ref()?;
    (raw.dialect == DIALECT).then_some(raw.json())
}

/// Builds an object, omitting null values.
pub(super) fn object_of<const N: usize>(members: [(&str, Value); N]) -> Item {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The text of a text content.
pub(super) fn text_of(content: &Content) -> Option<&str> {
    if let Content::Text(text) = content {
        Some(text.text.as_str())
    } else {
        None
    }
}

/// The text of all text contents, joined by `between`.
pub(super) fn joined_text(contents: &[Content], between: &str) -> String {
    contents
        .iter()
        .filter_map(text_of)
        .collect::<Vec<_>>()
        .join(between)
}

/// The content as an image or file.
pub(super) fn media(content: Content) -> Option<Media> {
    if let Content::Data(data) = content {
        Some(Media::Data(data))
    } else if let Content::Uri(uri) = content {
        Some(Media::Uri(uri))
    } else if let Content::HostedFile(file) = content {
        Some(Media::HostedFile(file))
    } else {
        None
    }
}

/// The type of a content of an older version that wraps an item.
const WRAPPED: &str = "openai_item";

/// An item as opaque content that is passed through unchanged.
pub(super) fn verbatim(item: &Item) -> Content {
    Content::Other(UnknownContent::new(DIALECT, item.clone()))
}

/// The item inside content made by [`verbatim`].
pub(super) fn passed_on(other: &UnknownContent) -> &Item {
    let wrapped = other.kind.as_deref() == Some(WRAPPED);
    object(&other.json, "item")
        .filter(|_| wrapped)
        .unwrap_or(&other.json)
}
