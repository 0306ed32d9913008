//! A provider's own JSON beside the neutral values that were decoded from it.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::slots::{self, Expanded, Slots};

/// A provider's own JSON, retained so that the same provider gets back exactly what it sent.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Raw {
    /// The dialect of the JSON, such as `anthropic-messages`.
    pub dialect: String,
    /// The item, block or part, unchanged.
    json: Value,
    /// The strings of the slots in it.
    #[serde(skip)]
    slots: Slots,
}

impl Raw {
    /// Wraps the JSON of an item, block or part.
    pub fn new(dialect: impl Into<String>, json: Value) -> Self {
        Self {
            dialect: dialect.into(),
            json,
            slots: Slots::default(),
        }
    }

    /// The item, block or part, unchanged.
    pub fn json(&self) -> Cow<'_, Value> {
        if self.slots.is_empty() {
            return Cow::Borrowed(&self.json);
        }
        let mut json = self.json.clone();
        slots::expand(&mut json, std::slice::from_ref(&self.slots));
        Cow::Owned(json)
    }

    /// The JSON with slots for its long strings, for dialects: values derived from it may only
    /// become another raw representation, a [`DataUri`](crate::DataUri) or a document. For anything
    /// else use [`Raw::json`].
    pub fn template(&self) -> &Value {
        &self.json
    }

    /// The template for changes, under the conditions of [`Raw::template`].
    pub fn template_mut(&mut self) -> &mut Value {
        &mut self.json
    }

    /// The strings of the template's slots.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn adopt(&mut self, slots: &Slots) {
        self.slots = slots.clone();
    }

    pub(crate) fn fill(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        slots::expand(&mut self.json, std::slice::from_ref(&slots));
    }

    fn expanded(&self) -> Expanded<'_> {
        Expanded {
            value: &self.json,
            slots: std::slice::from_ref(&self.slots),
        }
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.dialect == other.dialect
            && (self.json == other.json || slots::is_equal(self.expanded(), other.expanded()))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct("Raw", 2)?;
        raw.serialize_field("dialect", &self.dialect)?;
        raw.serialize_field("json", &self.expanded())?;
        raw.end()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw")
            .field("dialect", &self.dialect)
            .field("json", &self.json())
            .finish()
    }
}
