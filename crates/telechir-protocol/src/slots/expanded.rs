//! Text and JSON with slots, viewed with their strings.

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{SLOT_CLOSE, SLOT_OPEN, SlotString, Slots};

/// A slot that was found in a text.
pub(super) struct FoundSlot<'a> {
    pub(super) range: Range<usize>,
    pub(super) key: &'a str,
    pub(super) index: usize,
    /// Length of its string in bytes.
    pub(super) length: usize,
}

/// The slots of a text.
pub(super) fn slots_of(text: &str) -> impl Iterator<Item = FoundSlot<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find(SLOT_OPEN)?;
            at = start + SLOT_OPEN.len_utf8();
            if let Some(found) = slot_at(text, start) {
                at = found.range.end;
                return Some(found);
            }
        }
    })
}

fn slot_at(text: &str, start: usize) -> Option<FoundSlot<'_>> {
    const MAX_SLOT_CHARS: usize = 80;
    let inner = start + SLOT_OPEN.len_utf8();
    let length = text[inner..]
        .char_indices()
        .take(MAX_SLOT_CHARS)
        .find(|(_, character)| *character == SLOT_CLOSE)?
        .0;
    let (key, numbers) = text[inner..inner + length].split_once('.')?;
    // Otherwise it may contain the beginning of another slot.
    let is_key = key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (index, stands_for) = numbers.split_once('.').filter(|_| is_key)?;
    Some(FoundSlot {
        range: start..inner + length + SLOT_CLOSE.len_utf8(),
        key,
        index: index.parse().ok()?,
        length: stands_for.parse().ok()?,
    })
}

/// A part of a text.
#[derive(Clone, Debug)]
pub enum TextPart<'a> {
    /// Literal text between slots.
    Text(&'a str),
    /// The string of a slot, by its index.
    Slot(&'a Slots, usize),
}

impl<'a> TextPart<'a> {
    /// The bytes of the part.
    pub fn as_bytes(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Slot(slots, index) => {
                let table = slots.0.as_ref();
                let string = table.and_then(|table| table.string(*index));
                string.unwrap_or_default()
            }
        }
    }

    /// The string of the slot, as a shared reference; none for literal text.
    pub fn slot_string(&self) -> Option<SlotString> {
        match self {
            Self::Text(_) => None,
            Self::Slot(slots, index) => slots.stored(*index),
        }
    }
}

/// The parts of a text: literal text and the strings of its slots.
pub fn parts<'a>(text: &'a str, slots: &'a [Slots]) -> TextParts<'a> {
    TextParts {
        text,
        slots,
        next: None,
    }
}

/// The parts of a text as strings.
pub(crate) fn text_parts<'a>(text: &'a str, slots: &'a [Slots]) -> impl Iterator<Item = &'a str> {
    let as_text = |piece| match piece {
        TextPart::Text(text) => text,
        // Slots stand for ASCII only.
        TextPart::Slot(..) => str::from_utf8(piece.as_bytes()).unwrap_or_default(),
    };
    parts(text, slots).map(as_text)
}

/// Iterates over the parts of a text, in order.
#[derive(Debug)]
pub struct TextParts<'a> {
    text: &'a str,
    slots: &'a [Slots],
    next: Option<TextPart<'a>>,
}

impl<'a> Iterator for TextParts<'a> {
    type Item = TextPart<'a>;

    fn next(&mut self) -> Option<TextPart<'a>> {
        if let Some(string) = self.next.take() {
            return Some(string);
        }
        if self.text.is_empty() {
            return None;
        }
        let known = |found: FoundSlot<'_>| {
            let mut slots = self.slots.iter();
            let slots = slots.find(|slots| slots.string(found.key, found.index).is_some())?;
            Some((found.range, TextPart::Slot(slots, found.index)))
        };
        let Some((range, string)) = slots_of(self.text).find_map(known) else {
            return Some(TextPart::Text(std::mem::take(&mut self.text)));
        };
        let before = &self.text[..range.start];
        self.text = &self.text[range.end..];
        if before.is_empty() {
            return Some(string);
        }
        self.next = Some(string);
        Some(TextPart::Text(before))
    }
}

/// A value that serializes with its slots expanded.
#[derive(Clone, Copy, Debug)]
pub struct Expanded<'a> {
    /// The value with slots.
    pub value: &'a Value,
    /// The documents of its slots.
    pub slots: &'a [Slots],
}

impl<'a> Expanded<'a> {
    fn part(&self, value: &'a Value) -> Self {
        Self {
            value,
            slots: self.slots,
        }
    }
}

/// A text that is written part by part.
struct ExpandedText<'a>(&'a str, &'a [Slots]);

impl std::fmt::Display for ExpandedText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text_parts(self.0, self.1).try_for_each(|piece| f.write_str(piece))
    }
}

impl Serialize for Expanded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::String(text) => {
                let mut parts = text_parts(text, self.slots);
                match (parts.next(), parts.next()) {
                    (None, _) => serializer.serialize_str(""),
                    (Some(only), None) => serializer.serialize_str(only),
                    (Some(_), Some(_)) => serializer.collect_str(&ExpandedText(text, self.slots)),
                }
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&self.part(item))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    object.serialize_entry(name, &self.part(value))?;
                }
                object.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.value.serialize(serializer),
        }
    }
}

/// Whether two values are equal with their slots expanded.
pub(crate) fn is_equal(one: Expanded<'_>, other: Expanded<'_>) -> bool {
    let (a, b) = (one.slots, other.slots);
    match (one.value, other.value) {
        (Value::String(x), Value::String(y)) => x == y || text(x, a) == text(y, b),
        (Value::Array(x), Value::Array(y)) => {
            let mut pairs = x.iter().zip(y);
            x.len() == y.len() && pairs.all(|(x, y)| is_equal(one.part(x), other.part(y)))
        }
        (Value::Object(x), Value::Object(y)) => {
            let is_same = |(name, x): (&String, &Value)| {
                y.get(name)
                    .is_some_and(|y| is_equal(one.part(x), other.part(y)))
            };
            x.len() == y.len() && x.iter().all(is_same)
        }
        (x, y) => x == y,
    }
}

fn text<'a>(text: &'a str, slots: &'a [Slots]) -> Cow<'a, str> {
    let mut parts = text_parts(text, slots);
    match (parts.next(), parts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(only),
        (Some(_), Some(_)) => Cow::Owned(text_parts(text, slots).collect()),
    }
}
