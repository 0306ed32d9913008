//! A BLAKE3 digest of an exact value, which binds an approval to it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The BLAKE3 digest of a value's canonical JSON: members sorted by name, no spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(blake3::Hash);

impl Digest {
    /// The digest of a JSON value; the order of members is irrelevant.
    pub fn of_json(value: &Value) -> Self {
        let mut text = String::new();
        write_canonical(value, &mut text);
        Self(blake3::hash(text.as_bytes()))
    }

    /// Parses a hexadecimal digest; none if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(Self)
    }
}

/// Writes members in sorted order, depth first. Values come from parsed JSON, whose depth is
/// bounded.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a BLAKE3 digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_does_not_matter() {
        let one = serde_json::json!({"a": [1, {"x": 1, "y": "é"}], "b": null});
        let other = serde_json::json!({"b": null, "a": [1, {"y": "é", "x": 1}]});
        assert_eq!(Digest::of_json(&one), Digest::of_json(&other));
    }

    /// An approval may be kept for longer than a program, so the form must not change.
    #[test]
    fn the_canonical_form_is_sorted_and_without_spaces() {
        let value = serde_json::json!({"b": [1, {"d": true, "c": null}, "é\n"], "a": {}, "e": []});
        let text = r#"{"a":{},"b":[1,{"c":null,"d":true},"é\n"],"e":[]}"#;
        let digest = Digest::of_json(&value);
        assert_eq!(digest.0, blake3::hash(text.as_bytes()));
        let shown = digest.to_string();
        assert_eq!(shown, digest.0.to_hex().as_str());
        assert_eq!(format!("{digest:?}"), format!("Digest({shown})"));
        assert_eq!(Digest::parse(&shown), Some(digest));
        assert_eq!(Digest::parse("abc"), None);
        let json = serde_json::json!(digest);
        assert_eq!(json, serde_json::json!(shown));
        assert_eq!(serde_json::from_value::<Digest>(json).ok(), Some(digest));
        assert!(serde_json::from_value::<Digest>(serde_json::json!("abc")).is_err());
    }

    #[test]
    fn any_change_changes_the_digest() {
        let digest = |value| Digest::of_json(&value);
        assert_ne!(
            digest(serde_json::json!(["ab", "c"])),
            digest(serde_json::json!(["a", "bc"]))
        );
        assert_ne!(
            digest(serde_json::json!({"a": "1"})),
            digest(serde_json::json!({"a": 1}))
        );
    }
}
