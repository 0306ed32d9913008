//! Text and JSON with slots, seen as what they say.

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{CLOSE, OPEN, Slots};

/// A slot that was found in a text.
pub(super) struct Found<'a> {
    pub(super) place: Range<usize>,
    pub(super) key: &'a str,
    pub(super) index: usize,
    /// How many bytes it stands for.
    pub(super) length: usize,
}

/// The slots of a text.
pub(super) fn slots_of(text: &str) -> impl Iterator<Item = Found<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find(OPEN)?;
            at = start + OPEN.len_utf8();
            if let Some(found) = slot_at(text, start) {
                at = found.place.end;
                return Some(found);
            }
        }
    })
}

fn slot_at(text: &str, start: usize) -> Option<Found<'_>> {
    const LONGEST: usize = 80;
    let inner = start + OPEN.len_utf8();
    let length = text[inner..]
        .char_indices()
        .take(LONGEST)
        .find(|(_, character)| *character == CLOSE)?
        .0;
    let (key, numbers) = text[inner..inner + length].split_once('.')?;
    let (index, stands_for) = numbers.split_once('.')?;
    Some(Found {
        place: start..inner + length + CLOSE.len_utf8(),
        key,
        index: index.parse().ok()?,
        length: stands_for.parse().ok()?,
    })
}

/// The parts of a text: what it says itself, and what its slots stand for.
pub fn pieces<'a>(text: &'a str, slots: &'a [Slots]) -> Pieces<'a> {
    Pieces {
        text,
        slots,
        next: None,
    }
}

/// The parts of a text, in order.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    slots: &'a [Slots],
    next: Option<&'a str>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if let Some(string) = self.next.take() {
            return Some(string);
        }
        if self.text.is_empty() {
            return None;
        }
        let known = |found: Found<'_>| {
            let mut strings = self.slots.iter();
            let string = strings.find_map(|slots| slots.string(found.key, found.index))?;
            Some((found.place, string))
        };
        let Some((place, string)) = slots_of(self.text).find_map(known) else {
            return Some(std::mem::take(&mut self.text));
        };
        let before = &self.text[..place.start];
        self.text = &self.text[place.end..];
        if before.is_empty() {
            return Some(string);
        }
        self.next = Some(string);
        Some(before)
    }
}

/// A value that is written with the strings its slots stand for.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// The value.
    pub value: &'a Value,
    /// The strings.
    pub slots: &'a [Slots],
}

impl<'a> Whole<'a> {
    fn part(&self, value: &'a Value) -> Self {
        Self {
            value,
            slots: self.slots,
        }
    }
}

/// A text that is written piece by piece.
struct Text<'a>(&'a str, &'a [Slots]);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        pieces(self.0, self.1).try_for_each(|piece| f.write_str(piece))
    }
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::String(text) => {
                let mut parts = pieces(text, self.slots);
                match (parts.next(), parts.next()) {
                    (None, _) => serializer.serialize_str(""),
                    (Some(only), None) => serializer.serialize_str(only),
                    (Some(_), Some(_)) => serializer.collect_str(&Text(text, self.slots)),
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

/// Whether two values say the same, each with its slots.
pub(crate) fn same(one: Whole<'_>, other: Whole<'_>) -> bool {
    let (a, b) = (one.slots, other.slots);
    match (one.value, other.value) {
        (Value::String(x), Value::String(y)) => x == y || text(x, a) == text(y, b),
        (Value::Array(x), Value::Array(y)) => {
            let mut pairs = x.iter().zip(y);
            x.len() == y.len() && pairs.all(|(x, y)| same(one.part(x), other.part(y)))
        }
        (Value::Object(x), Value::Object(y)) => {
            let is_same = |(name, x): (&String, &Value)| {
                y.get(name)
                    .is_some_and(|y| same(one.part(x), other.part(y)))
            };
            x.len() == y.len() && x.iter().all(is_same)
        }
        (x, y) => x == y,
    }
}

fn text<'a>(text: &'a str, slots: &'a [Slots]) -> Cow<'a, str> {
    let mut parts = pieces(text, slots);
    match (parts.next(), parts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(only),
        (Some(_), Some(_)) => Cow::Owned(pieces(text, slots).collect()),
    }
}
