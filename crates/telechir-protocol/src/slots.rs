//! Slots: placeholders in JSON for the long strings of a document, which are stored only once.
//!
//! An image in a history is base64, a hundred times as long as the rest. It is neither copied nor
//! scanned: while JSON is decoded and encoded, a short slot replaces it. Only dialects see slots,
//! in a [`Raw`](crate::Raw)'s template; serialized, compared and printed values contain the
//! strings.

mod expanded;
mod holders;
mod scan;

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

pub use expanded::{Expanded, TextPart, TextParts, parts};
pub(crate) use expanded::{is_equal, text_parts};

/// U+A66E, chosen because it practically never occurs in real text. It is printed unchanged by
/// every formatter and has no other case, so that a slot survives in derived text; a document that
/// contains the letter itself is decoded without slots.
const SLOT_OPEN: char = '\u{A66E}';
/// The last character of a slot.
const SLOT_CLOSE: char = ';';

/// The strings that the slots of one document stand for. Cheap to clone; the document lives as long
/// as its last clone.
#[derive(Clone, Default)]
pub struct Slots(Option<Arc<DocumentStrings>>);

struct DocumentStrings {
    /// 128 random bits, so that slots cannot be forged.
    key: String,
    document: Vec<u8>,
    /// Byte ranges of the strings. They are plain ASCII, as `scan` checked; the JSON decoder checks
    /// the rest of the document.
    strings: Vec<Range<usize>>,
}

/// One string of a document, which keeps the document alive.
#[derive(Clone)]
pub struct SlotString {
    table: Arc<DocumentStrings>,
    index: usize,
}

/// A document whose long strings are known.
#[derive(Debug)]
pub struct SlottedDocument {
    slots: Slots,
    /// Per string, whether it is decoded without a slot after all.
    is_excluded: Vec<bool>,
}

impl SlottedDocument {
    /// Finds the strings of a JSON document that may be replaced by slots; returns the document if
    /// there are none.
    ///
    /// These strings are long, look like base64 and have no escapes; their beginning stays in the
    /// text, like the head of a `data:` URI.
    ///
    /// # Errors
    /// The document, if it has no such string.
    pub fn new(document: Cow<'_, [u8]>) -> Result<Self, Cow<'_, [u8]>> {
        let strings = scan::long_strings(&document);
        if strings.is_empty() {
            return Err(document);
        }
        let is_excluded = vec![false; strings.len()];
        let table = DocumentStrings {
            key: new_key(),
            document: document.into_owned(),
            strings,
        };
        let slots = Slots(Some(Arc::new(table)));
        Ok(Self { slots, is_excluded })
    }

    /// The document with slots. It is valid JSON if the complete document is.
    pub fn text(&self) -> Vec<u8> {
        let Some(table) = &self.slots.0 else {
            return Vec::new();
        };
        let mut text = Vec::new();
        let mut from = 0;
        for (index, string) in table.strings.iter().enumerate() {
            if !self.is_excluded[index] {
                text.extend_from_slice(&table.document[from..string.start]);
                text.extend_from_slice(slot(&table.key, index, string.len()).as_bytes());
                from = string.end;
            }
        }
        text.extend_from_slice(&table.document[from..]);
        text
    }

    /// Excludes a string from being replaced, because it was found where slots are not supported.
    pub fn exclude(&mut self, index: usize) {
        if let Some(is_excluded) = self.is_excluded.get_mut(index) {
            *is_excluded = true;
        }
    }

    /// Number of strings found.
    pub fn count(&self) -> usize {
        self.is_excluded.len()
    }

    /// The complete document, verbatim.
    pub fn document(&self) -> &[u8] {
        let table = self.slots.0.as_ref();
        table.map_or(&[], |table| &table.document)
    }

    /// The strings that the slots in a text stand for.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }
}

impl Slots {
    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both belong to the same document.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Counts the slots in a text by their index; none if the text has damaged slots.
    pub fn count(&self, text: &str, seen: &mut [usize]) -> Option<()> {
        let key = self.0.as_ref().map(|table| table.key.as_str());
        let mut complete = 0;
        for found in expanded::slots_of(text).filter(|found| Some(found.key) == key) {
            *seen.get_mut(found.index)? += 1;
            complete += 1;
        }
        (text.matches(SLOT_OPEN).count() == complete).then_some(())
    }

    /// The string of a slot, by its document's key and its index. It never needs escaping.
    fn string(&self, key: &str, index: usize) -> Option<&[u8]> {
        let table = self.0.as_ref().filter(|table| table.key == key)?;
        table.string(index)
    }

    /// The string with this index, as a shared reference.
    fn stored(&self, index: usize) -> Option<SlotString> {
        let table = Arc::clone(self.0.as_ref()?);
        table.string(index)?;
        Some(SlotString { table, index })
    }

    /// The index and the start of the slot that ends a text; none if the text has other slots.
    pub(crate) fn trailing_slot(&self, text: &str) -> Option<(usize, usize)> {
        let key = &self.0.as_ref()?.key;
        let mut found = expanded::slots_of(text);
        let (only, none) = (found.next()?, found.next());
        let fits = none.is_none() && only.key == key && only.range.end == text.len();
        fits.then_some((only.index, only.range.start))
    }

    /// The string of a slot together with the text before it, if the document has the same text
    /// there.
    pub(crate) fn string_after(&self, before: &str, index: usize) -> Option<&[u8]> {
        let table = self.0.as_ref()?;
        let slot = table.strings.get(index)?;
        let start = slot.start.checked_sub(before.len())?;
        let string = table.document.get(start..slot.end)?;
        string.starts_with(before.as_bytes()).then_some(string)
    }
}

impl DocumentStrings {
    fn string(&self, index: usize) -> Option<&[u8]> {
        self.document.get(self.strings.get(index)?.clone())
    }
}

impl AsRef<[u8]> for SlotString {
    fn as_ref(&self) -> &[u8] {
        self.table.string(self.index).unwrap_or_default()
    }
}

fn slot(key: &str, index: usize, length: usize) -> String {
    format!("{SLOT_OPEN}{key}.{index}.{length}{SLOT_CLOSE}")
}

/// Length of a text in bytes with its slots expanded.
pub fn length_of(text: &str) -> usize {
    let found = expanded::slots_of(text);
    found.fold(text.len(), |length, slot| {
        (length - slot.range.len()).saturating_add(slot.length)
    })
}

fn new_key() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Replaces the slots in a value by their strings.
pub fn expand(value: &mut Value, slots: &[Slots]) {
    match value {
        Value::String(text) => {
            if expanded::slots_of(text).next().is_some() {
                *text = text_parts(text, slots).collect();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, slots)),
        Value::Object(members) => members.values_mut().for_each(|value| expand(value, slots)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text has a slot, or a part of one.
pub fn is_touched(text: &str) -> bool {
    text.contains(SLOT_OPEN)
}

/// Whether a value has damaged slots, or slots of another document.
pub fn is_damaged(value: &Value, slots: &[Slots]) -> bool {
    match value {
        Value::String(text) => {
            let is_known = |found: &expanded::FoundSlot<'_>| {
                let mut strings = slots.iter();
                strings.any(|slots| slots.string(found.key, found.index).is_some())
            };
            text.matches(SLOT_OPEN).count() != expanded::slots_of(text).filter(is_known).count()
        }
        Value::Array(items) => items.iter().any(|item| is_damaged(item, slots)),
        Value::Object(members) => members.values().any(|value| is_damaged(value, slots)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_ref().map_or(0, |table| table.strings.len());
        f.debug_tuple("Slots").field(&count).finish()
    }
}

impl fmt::Debug for SlotString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.as_ref().len();
        f.debug_struct("Kept").field("length", &length).finish()
    }
}
