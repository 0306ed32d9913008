//! What an item leaves in the contents that it becomes: its JSON and OpenAI's own settings.

use serde_json::Value;
use telechir_protocol::{Content, Meta, UnknownContent};

use super::{DIALECT, PROVIDER};
use crate::json::{self, Fields};

pub(crate) type Item = Fields;

/// The type of a content of an older version that wraps an item.
const WRAPPED: &str = "openai_item";

/// A positive integer; other values impose no limit.
pub(super) fn limit(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_u64().filter(|number| *number > 0)
}

/// Metadata holding the raw item.
pub(super) fn raw(item: &Item) -> Meta {
    json::raw(DIALECT, Value::Object(item.clone()))
}

/// Copies the named fields into the metadata under the provider's name.
pub(super) fn keep(meta: &mut Meta, item: &Item, names: &[&str]) {
    json::keep(meta, PROVIDER, item, names);
}

/// Writes back the fields that [`keep`] stored.
pub(super) fn restore(item: &mut Item, meta: &Meta, names: &[&str]) {
    json::restore(item, meta, PROVIDER, names);
}

/// A provider-specific property with a string value.
pub(super) fn property<'a>(meta: &'a Meta, name: &str) -> Option<&'a str> {
    meta.property(PROVIDER, name)?.as_str()
}

/// The raw JSON of a content, if it came from this dialect.
pub(super) fn raw_of(meta: &Meta) -> Option<&Value> {
    json::raw_of(meta, DIALECT)
}

/// An item as opaque content that is passed through unchanged.
pub(super) fn verbatim(item: &Item) -> Content {
    json::verbatim(item, DIALECT)
}

/// The item inside content made by [`verbatim`].
pub(super) fn passed_on(other: &UnknownContent) -> &Item {
    json::passed_on(other, WRAPPED)
}
