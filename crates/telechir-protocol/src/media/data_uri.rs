//! The text of a `data:` URI, whose data may be a slot of its document.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::slots::{Slots, text_parts};

/// A `data:` URI: `data:<media type>;base64,<data>`, or other text in its position.
#[derive(Clone)]
pub struct DataUri(UriText);

#[derive(Clone)]
enum UriText {
    /// The complete text.
    Text(String),
    /// Text that ends with a slot.
    Slotted {
        /// The text before the slot, and the slot.
        text: String,
        /// Byte offsets of the comma and of the slot.
        comma: usize,
        start: usize,
        index: usize,
        slots: Slots,
    },
}

impl DataUri {
    /// The text before and after the comma; none without a comma.
    pub fn split(&self) -> Option<(&str, &str)> {
        match &self.0 {
            UriText::Text(text) => text.split_once(','),
            UriText::Slotted {
                text,
                comma,
                start,
                index,
                slots,
            } => {
                let data = slots.string_after(&text[comma + 1..*start], *index)?;
                Some((&text[..*comma], str::from_utf8(data).ok()?))
            }
        }
    }

    /// Like [`Self::split`], with the slot instead of the data: only for parts of a document.
    pub fn split_with_slot(&self) -> Option<(&str, Cow<'_, str>)> {
        let (head, data) = self.text_with_slot().split_once(',')?;
        Some((head, Cow::Borrowed(data)))
    }

    /// The text with the slot instead of the data: only for parts of a document.
    pub fn text_with_slot(&self) -> &str {
        match &self.0 {
            UriText::Text(text) | UriText::Slotted { text, .. } => text,
        }
    }

    pub(crate) fn slots(&self) -> Option<&Slots> {
        match &self.0 {
            UriText::Text(_) => None,
            UriText::Slotted { slots, .. } => Some(slots),
        }
    }

    /// Takes the strings of its document; returns the index of its slot.
    pub(crate) fn adopt(&mut self, slots: &Slots) -> Option<usize> {
        let UriText::Text(text) = &mut self.0 else {
            return None;
        };
        let (index, start) = slots.trailing_slot(text)?;
        let comma = text.find(',')?;
        // The data must be one string of the document.
        slots.string_after(text.get(comma + 1..start)?, index)?;
        self.0 = UriText::Slotted {
            text: std::mem::take(text),
            comma,
            start,
            index,
            slots: slots.clone(),
        };
        Some(index)
    }

    pub(crate) fn fill(&mut self) {
        self.0 = UriText::Text(self.to_string());
    }

    fn pieces(&self) -> impl Iterator<Item = &str> {
        match &self.0 {
            UriText::Text(text) => text_parts(text, &[]),
            UriText::Slotted { text, slots, .. } => text_parts(text, std::slice::from_ref(slots)),
        }
    }
}

impl From<String> for DataUri {
    fn from(text: String) -> Self {
        Self(UriText::Text(text))
    }
}

impl From<&str> for DataUri {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// Writes the URI with its complete data.
impl fmt::Display for DataUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece))
    }
}

impl fmt::Debug for DataUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl PartialEq for DataUri {
    fn eq(&self, other: &Self) -> bool {
        // A slot stands for the same string everywhere.
        self.text_with_slot() == other.text_with_slot()
            || ((self.slots().is_some() || other.slots().is_some())
                && self.to_string() == other.to_string())
    }
}

impl PartialEq<str> for DataUri {
    fn eq(&self, other: &str) -> bool {
        let mut rest = Some(other);
        for piece in self.pieces() {
            rest = rest.and_then(|rest| rest.strip_prefix(piece));
        }
        rest == Some("")
    }
}

impl PartialEq<&str> for DataUri {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Serialize for DataUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            UriText::Text(text) => serializer.serialize_str(text),
            UriText::Slotted { .. } => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for DataUri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DataUri {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}
