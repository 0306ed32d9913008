//! A provider's own JSON beside the neutral values that were read from it.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::slots::{self, Slots, Whole};

/// A provider's own JSON, kept so that the same provider gets back exactly what it said.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Raw {
    /// The dialect it is written in, such as `anthropic-messages`.
    pub dialect: String,
    /// The item, block or part, unchanged.
    json: Value,
    /// What the slots in it stand for.
    #[serde(skip)]
    slots: Slots,
}

impl Raw {
    /// The JSON of an item, block or part.
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
        slots::fill(&mut json, std::slice::from_ref(&self.slots));
        Cow::Owned(json)
    }

    /// The same with slots for its long strings, as a dialect reads and writes it: what is made
    /// of it may only become another raw representation, a [`DataUri`](crate::DataUri) or a
    /// document. For anything else there is [`Raw::json`].
    pub fn template(&self) -> &Value {
        &self.json
    }

    /// The template, to be changed.
    pub fn template_mut(&mut self) -> &mut Value {
        &mut self.json
    }

    /// What the slots stand for.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn adopt(&mut self, slots: &Slots) {
        self.slots = slots.clone();
    }

    pub(crate) fn fill(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        slots::fill(&mut self.json, std::slice::from_ref(&slots));
    }

    fn whole(&self) -> Whole<'_> {
        Whole {
            value: &self.json,
            slots: std::slice::from_ref(&self.slots),
        }
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.dialect == other.dialect
            && (self.json == other.json || slots::same(self.whole(), other.whole()))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct("Raw", 2)?;
        raw.serialize_field("dialect", &self.dialect)?;
        raw.serialize_field("json", &self.whole())?;
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
