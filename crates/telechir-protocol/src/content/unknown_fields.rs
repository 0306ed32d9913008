//! Unknown fields of a content's parts, retained beside it and restored when it is written.

use serde_json::{Map, Value};

use super::meta::Meta;

/// The additional property with the unknown fields: by part, then by index in its list.
const PROPERTY: &str = "unknown_fields";

/// Its name in recordings of format 1.
const PROPERTY_V1: &str = "part_members";

const SAFETY_CHECK_FIELDS: &[&str] = &["id", "code", "message", "source"];

/// Parts that are decoded into types, with the fields of those.
const KNOWN_FIELDS: &[(&str, &[&str])] = &[
    ("pending_safety_checks", SAFETY_CHECK_FIELDS),
    ("acknowledged_safety_checks", SAFETY_CHECK_FIELDS),
    ("safety_checks", SAFETY_CHECK_FIELDS),
    (
        "steps",
        &[
            "action",
            "state",
            "failure",
            "text",
            "screenshot",
            // The name in recordings of format 1.
            "picture",
            "duration_ms",
        ],
    ),
    ("tabs", &["tab_id", "title", "url", "active"]),
    ("error", &["kind", "message"]),
    ("display", &["width", "height"]),
];

/// Moves the unknown fields of a content's parts into its additional properties.
pub(super) fn extract(members: &mut Map<String, Value>) {
    let mut all_unknown = Map::new();
    for (part, known) in KNOWN_FIELDS {
        let Some(value) = members.get_mut(*part) else {
            continue;
        };
        let unknown = take_unknown(value, known);
        if !unknown.is_empty() {
            all_unknown.insert((*part).to_owned(), Value::Object(unknown));
        }
    }
    if all_unknown.is_empty() {
        return;
    }
    let properties = members
        .entry("additional_properties")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        properties.insert(PROPERTY.to_owned(), Value::Object(all_unknown));
    }
}

/// Removes the unknown fields of a part, by index; a part that is not a list has index 0.
fn take_unknown(part: &mut Value, known: &[&str]) -> Map<String, Value> {
    let mut all = Map::new();
    for (index, object) in objects(part).enumerate() {
        let Value::Object(members) = object else {
            continue;
        };
        let (known_members, unknown): (Map<_, _>, Map<_, _>) = std::mem::take(members)
            .into_iter()
            .partition(|(name, _)| known.contains(&&**name));
        *members = known_members;
        if !unknown.is_empty() {
            all.insert(index.to_string(), Value::Object(unknown));
        }
    }
    all
}

fn objects(part: &mut Value) -> impl Iterator<Item = &mut Value> {
    if part.is_array() {
        part.as_array_mut()
            .map(Vec::as_mut_slice)
            .unwrap_or_default()
            .iter_mut()
    } else {
        std::slice::from_mut(part).iter_mut()
    }
}

/// Whether there are unknown fields to restore.
pub(super) fn has_unknown_fields(properties: &Map<String, Value>) -> bool {
    [PROPERTY, PROPERTY_V1]
        .iter()
        .any(|name| properties.get(*name).is_some_and(Value::is_object))
}

/// Restores the unknown fields in the parts of a content that is about to be written.
pub(super) fn restore(content: &mut Value) {
    let all_unknown = take_property(content, &[PROPERTY, PROPERTY_V1]);
    if let (Value::Object(members), Some(Value::Object(all_unknown))) = (content, all_unknown) {
        for (part, indexed) in all_unknown {
            restore_part(members, &part, indexed);
        }
    }
}

impl Meta {
    /// Retains the unknown fields of the parts of a content, by the part's index.
    pub(crate) fn retain_unknown(&mut self, property: &str, unknown: Map<String, Value>) {
        if !unknown.is_empty() {
            self.additional_properties
                .insert(property.to_owned(), unknown.into());
        }
    }
}

/// The content with the unknown fields of `part` that were retained in `property`.
pub(crate) fn restored(mut content: Value, part: &str, property: &str) -> Value {
    if let Some(unknown) = take_property(&mut content, &[property])
        && let Value::Object(members) = &mut content
    {
        restore_part(members, part, unknown);
    }
    content
}

/// Removes and returns the first of these additional properties.
fn take_property(content: &mut Value, names: &[&str]) -> Option<Value> {
    let members = content.as_object_mut()?;
    let properties = members
        .get_mut("additional_properties")
        .and_then(Value::as_object_mut)?;
    let found = names.iter().find_map(|name| properties.shift_remove(*name));
    if properties.is_empty() {
        members.shift_remove("additional_properties");
    }
    found
}

fn restore_part(members: &mut Map<String, Value>, part: &str, indexed: Value) {
    let (Some(part), Value::Object(mut indexed)) = (members.get_mut(part), indexed) else {
        return;
    };
    for (index, object) in objects(part).enumerate() {
        let unknown = indexed.shift_remove(&index.to_string());
        if let (Value::Object(members), Some(Value::Object(unknown))) = (object, unknown) {
            members.extend(unknown);
        }
    }
}
