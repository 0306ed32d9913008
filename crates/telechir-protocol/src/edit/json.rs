//! An operation in JSON: its name, its path and its other arguments.
//!
//! Arguments that conflict with those two are nested in a separate member.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::EditOperation;
use crate::json::{NESTED_ARGS, from_nested, must_be_nested};

/// Members beside the arguments.
const RESERVED_MEMBERS: [&str; 2] = ["name", "path"];

impl Serialize for EditOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(path) = &self.path {
            map.serialize_entry("path", path)?;
        }
        if must_be_nested(&self.args, &RESERVED_MEMBERS) {
            map.serialize_entry(NESTED_ARGS, &self.args)?;
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
            // Not a path, but an argument with its name.
            Some(odd) => {
                args.insert("path".to_owned(), odd);
                None
            }
        };
        let args = from_nested(&args, &RESERVED_MEMBERS)
            .cloned()
            .unwrap_or(args);
        Ok(Self { name, path, args })
    }
}
