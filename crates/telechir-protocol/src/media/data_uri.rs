//! The text of a `data:` address, which may lie in the document it came in.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::slots::{Slots, texts};

/// A `data:` address: `data:<media type>;base64,<data>`, or whatever text came as one.
#[derive(Clone)]
pub struct DataUri(Form);

#[derive(Clone)]
enum Form {
    /// All of it, here.
    Text(String),
    /// It ends in a slot.
    Slotted {
        /// What comes before, and the slot.
        text: String,
        /// Where the comma is and where the slot begins.
        comma: usize,
        start: usize,
        index: usize,
        slots: Slots,
    },
}

impl DataUri {
    /// What is before and behind its comma; none when it has none.
    pub fn split(&self) -> Option<(&str, &str)> {
        match &self.0 {
            Form::Text(text) => text.split_once(','),
            Form::Slotted {
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

    /// The same, with the slot that stands for the data when there is one: only for what becomes
    /// a part of a document.
    pub fn split_with_slot(&self) -> Option<(&str, Cow<'_, str>)> {
        let (head, data) = self.text_with_slot().split_once(',')?;
        Some((head, Cow::Borrowed(data)))
    }

    /// All of it, with the slot that stands for its data when there is one: only for what becomes
    /// a part of a document.
    pub fn text_with_slot(&self) -> &str {
        match &self.0 {
            Form::Text(text) | Form::Slotted { text, .. } => text,
        }
    }

    pub(crate) fn slots(&self) -> Option<&Slots> {
        match &self.0 {
            Form::Text(_) => None,
            Form::Slotted { slots, .. } => Some(slots),
        }
    }

    /// Takes the strings of the document it was read from; gives the place of its slot.
    pub(crate) fn adopt(&mut self, slots: &Slots) -> Option<usize> {
        let Form::Text(text) = &mut self.0 else {
            return None;
        };
        let (index, start) = slots.at_the_end_of(text)?;
        let comma = text.find(',')?;
        // The data must be one string of the document.
        slots.string_after(text.get(comma + 1..start)?, index)?;
        self.0 = Form::Slotted {
            text: std::mem::take(text),
            comma,
            start,
            index,
            slots: slots.clone(),
        };
        Some(index)
    }

    pub(crate) fn fill(&mut self) {
        self.0 = Form::Text(self.to_string());
    }

    fn pieces(&self) -> impl Iterator<Item = &str> {
        match &self.0 {
            Form::Text(text) => texts(text, &[]),
            Form::Slotted { text, slots, .. } => texts(text, std::slice::from_ref(slots)),
        }
    }
}

impl From<String> for DataUri {
    fn from(text: String) -> Self {
        Self(Form::Text(text))
    }
}

impl From<&str> for DataUri {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// The address, its data in full.
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
        // A slot is the same string wherever it is.
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
            Form::Text(text) => serializer.serialize_str(text),
            Form::Slotted { .. } => serializer.collect_str(self),
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
