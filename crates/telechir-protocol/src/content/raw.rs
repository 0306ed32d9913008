//! A provider's own JSON beside the neutral values that were decoded from it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A provider's own JSON, retained so that the same provider gets back exactly what it sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Raw {
    /// The dialect of the JSON, such as `anthropic-messages`.
    pub dialect: String,
    /// The item, block or part, unchanged.
    // Shared, because clones of a history would otherwise copy its images.
    #[serde(serialize_with = "serialize", deserialize_with = "deserialize")]
    json: Arc<Value>,
}

impl Raw {
    /// Wraps the JSON of an item, block or part.
    pub fn new(dialect: impl Into<String>, json: Value) -> Self {
        Self {
            dialect: dialect.into(),
            json: Arc::new(json),
        }
    }

    /// The item, block or part, unchanged.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The JSON for changes, which clones do not share.
    pub fn json_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.json)
    }
}

fn serialize<S: Serializer>(json: &Arc<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    json.as_ref().serialize(serializer)
}

fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Value>, D::Error> {
    Value::deserialize(deserializer).map(Arc::new)
}
