//! An operation in JSON: its name, its path, and the other arguments beside them.
//!
//! Arguments that stand where those two do are kept apart, in a member of their own.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::EditOperation;

/// The member that holds what would not stand beside the name and the path.
const WRAPPED: &str = "args";

/// Whether the arguments, written beside name and path, would be read as something else.
fn hides(args: &Map<String, Value>) -> bool {
    args.contains_key("name") || args.contains_key("path") || unwrapped(args).is_some()
}

fn unwrapped(args: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let within = args.get(WRAPPED)?.as_object()?;
    (args.len() == 1 && hides(within)).then_some(within)
}

impl Serialize for EditOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(path) = &self.path {
            map.serialize_entry("path", path)?;
        }
        if hides(&self.args) {
            map.serialize_entry(WRAPPED, &self.args)?;
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
        let args = unwrapped(&args).cloned().unwrap_or(args);
        Ok(Self { name, path, args })
    }
}
