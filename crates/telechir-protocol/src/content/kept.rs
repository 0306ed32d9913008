//! Unknown members of the small parts of a content, kept beside it and written back in place.

use serde_json::{Map, Value};

/// The additional property that holds them: by part, then by place in its list.
const UNKNOWN_FIELDS: &str = "unknown_fields";

/// Its name in recordings of format 1.
const UNKNOWN_FIELDS_V1: &str = "part_members";

const CHECK: &[&str] = &["id", "code", "message", "source"];

/// Parts that are read into types of ours, with the members those have.
const PARTS: &[(&str, &[&str])] = &[
    ("pending_safety_checks", CHECK),
    ("acknowledged_safety_checks", CHECK),
    ("safety_checks", CHECK),
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

/// Moves the unknown members of a content's parts into its additional properties.
pub(super) fn keep(members: &mut Map<String, Value>) {
    let mut kept = Map::new();
    for (part, known) in PARTS {
        let Some(value) = members.get_mut(*part) else {
            continue;
        };
        let unknown = taken(value, known);
        if !unknown.is_empty() {
            kept.insert((*part).to_owned(), Value::Object(unknown));
        }
    }
    if kept.is_empty() {
        return;
    }
    let properties = members
        .entry("additional_properties")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        properties.insert(UNKNOWN_FIELDS.to_owned(), Value::Object(kept));
    }
}

/// The unknown members of a part by place; a part that is no list has one place.
fn taken(part: &mut Value, known: &[&str]) -> Map<String, Value> {
    let mut all = Map::new();
    for (place, object) in objects(part).enumerate() {
        let Value::Object(members) = object else {
            continue;
        };
        let (ours, unknown): (Map<_, _>, Map<_, _>) = std::mem::take(members)
            .into_iter()
            .partition(|(name, _)| known.contains(&&**name));
        *members = ours;
        if !unknown.is_empty() {
            all.insert(place.to_string(), Value::Object(unknown));
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

/// Whether there is something to put back.
pub(super) fn is_kept_in(properties: &Map<String, Value>) -> bool {
    [UNKNOWN_FIELDS, UNKNOWN_FIELDS_V1]
        .iter()
        .any(|name| properties.get(*name).is_some_and(Value::is_object))
}

/// Puts the members back into the parts of a content that is about to be written.
pub(super) fn put_back(content: &mut Value) {
    let Some(properties) = content
        .get_mut("additional_properties")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let kept = properties
        .shift_remove(UNKNOWN_FIELDS)
        .or_else(|| properties.shift_remove(UNKNOWN_FIELDS_V1))
        .unwrap_or_default();
    let none_left = properties.is_empty();
    let Value::Object(members) = content else {
        return;
    };
    if none_left {
        members.shift_remove("additional_properties");
    }
    let Value::Object(kept) = kept else { return };
    for (part, places) in kept {
        let (Some(part), Value::Object(mut places)) = (members.get_mut(&part), places) else {
            continue;
        };
        for (place, object) in objects(part).enumerate() {
            let unknown = places.shift_remove(&place.to_string());
            if let (Value::Object(members), Some(Value::Object(unknown))) = (object, unknown) {
                members.extend(unknown);
            }
        }
    }
}
