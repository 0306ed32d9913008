//! The names and forms of other vocabularies, changed to the canonical ones before a value is
//! deserialized.
//!
//! The types of this crate read and write one canonical form. All that is accepted beside it is
//! here: other names of actions and contents, of their members, and other forms of values.

pub(crate) mod action;
pub(crate) mod action_names;
pub(crate) mod call;
pub(crate) mod content;
pub(crate) mod tool;

use serde_json::{Map, Value};

/// Renames a member, unless the canonical name is present; then the other one stays as unknown.
pub(crate) fn rename(members: &mut Map<String, Value>, foreign: &str, canonical: &str) {
    if members.get(canonical).is_some_and(|value| !value.is_null()) {
        return;
    }
    members.shift_remove(canonical);
    if let Some(value) = members.shift_remove(foreign) {
        members.insert(canonical.to_owned(), value);
    }
}
