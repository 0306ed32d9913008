//! An operation in JSON: its name, its path, and the other arguments beside them.
//!
//! Arguments that stand where those two do are kept apart, in a member of their own.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::EditOperation;
use crate::json::{APART, from_apart, stands_apart};

/// What arguments stand beside.
const OURS: [&str; 2] = ["name", "path"];

impl Serialize for EditOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(path) = &self.path {
            map.serialize_entry("path", path)?;
        }
        if stands_apart(&self.args, &OURS) {
            map.serialize_entry(APART, &self.args)?;
        } else {
            for (name, value) in &self.args {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for EditOperation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut args: Map<String, Value> = Map::deserialize(deserializer)?;
        let name = match args.shift_remove("name") {
            Some(Value::String(name)) => name,
            Some(odd) => return Err(D::Error::custom(format!("`name` is {odd}, not a string"))),
            None => return Err(D::Error::missing_field("name")),
        };
        let path = match args.shift_remove("path") {
            Some(Value::String(path)) => Some(path),
            None | Some(Value::Null) => None,
            // No path, and an argument all the same.
            Some(odd) => {
                args.insert("path".to_owned(), odd);
                None
            }
        };
        let args = from_apart(&args, &OURS).cloned().unwrap_or(args);
        Ok(Self { name, path, args })
    }
}
