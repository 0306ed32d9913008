//! Long strings of a document that are kept once: its own bytes, and slots that stand for them
//! in its JSON.
//!
//! A picture in a history is base64, a hundred times as long as all around it. It is neither
//! copied nor looked at: while JSON is read and written a short slot stands in its place. Slots
//! are seen only by dialects, in a [`Raw`](crate::Raw)'s template; whatever is serialised,
//! compared or shown has the strings themselves.

mod holders;
mod scan;
mod whole;

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

pub use whole::{Piece, Pieces, Whole, pieces};
pub(crate) use whole::{same, texts};

/// A letter with one known use, in a psalter of 1429. It is shown as it is by every way to print
/// a text and has no other case, so that what was made of a slot still has it; a document with
/// the letter itself is read in full.
const OPEN: char = '\u{A66E}';
/// What ends a slot.
const CLOSE: char = ';';

/// The strings that the slots of one document stand for. Cheap to clone; they live as long as
/// the last of its clones.
#[derive(Clone, Default)]
pub struct Slots(Option<Arc<Table>>);

struct Table {
    /// 128 random bits: nobody can write a slot who was not given it.
    key: String,
    document: Vec<u8>,
    /// Where they are in it. They are plain ASCII, as `scan` found; whether all around them is
    /// text is found by whoever reads the JSON.
    strings: Vec<Range<usize>>,
}

/// One string of a document, kept with it.
#[derive(Clone)]
pub struct Kept {
    table: Arc<Table>,
    index: usize,
}

/// A document whose long strings were found.
#[derive(Debug)]
pub struct Slotted {
    slots: Slots,
    /// Strings that are read in full after all.
    in_full: Vec<bool>,
}

impl Slotted {
    /// Finds the strings of a JSON document that may have slots; gives it back when there are
    /// none.
    ///
    /// Those are long, look like base64, and are written without an escape; their beginning stays,
    /// and so does what stands before them in a `data:` address.
    ///
    /// # Errors
    /// The document, when it has no such string.
    pub fn new(document: Cow<'_, [u8]>) -> Result<Self, Cow<'_, [u8]>> {
        let strings = scan::long_strings(&document);
        if strings.is_empty() {
            return Err(document);
        }
        let in_full = vec![false; strings.len()];
        let table = Table {
            key: new_key(),
            document: document.into_owned(),
            strings,
        };
        let slots = Slots(Some(Arc::new(table)));
        Ok(Self { slots, in_full })
    }

    /// The document with slots. It is JSON when the whole document is, and says the same.
    pub fn text(&self) -> Vec<u8> {
        let Some(table) = &self.slots.0 else {
            return Vec::new();
        };
        let mut text = Vec::new();
        let mut from = 0;
        for (index, string) in table.strings.iter().enumerate() {
            if !self.in_full[index] {
                text.extend_from_slice(&table.document[from..string.start]);
                text.extend_from_slice(slot(&table.key, index, string.len()).as_bytes());
                from = string.end;
            }
        }
        text.extend_from_slice(&table.document[from..]);
        text
    }

    /// From now on this string has no slot: it was found where slots may not be.
    pub fn read_in_full(&mut self, index: usize) {
        if let Some(in_full) = self.in_full.get_mut(index) {
            *in_full = true;
        }
    }

    /// How many strings were found.
    pub fn count(&self) -> usize {
        self.in_full.len()
    }

    /// The whole document, as it came.
    pub fn document(&self) -> &[u8] {
        let table = self.slots.0.as_ref();
        table.map_or(&[], |table| &table.document)
    }

    /// The strings, for whoever has a text with slots.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }
}

impl Slots {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether these are the same document's.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Counts the slots in a text by their places; none when it has anything else that may have
    /// been one.
    pub fn count(&self, text: &str, seen: &mut [usize]) -> Option<()> {
        let key = self.0.as_ref().map(|table| table.key.as_str());
        let mut whole = 0;
        for found in whole::slots_of(text).filter(|found| Some(found.key) == key) {
            *seen.get_mut(found.index)? += 1;
            whole += 1;
        }
        (text.matches(OPEN).count() == whole).then_some(())
    }

    /// What a slot stands for, by its document's key and its place. It never needs escaping.
    fn string(&self, key: &str, index: usize) -> Option<&[u8]> {
        let table = self.0.as_ref().filter(|table| table.key == key)?;
        table.string(index)
    }

    /// The same, to be kept.
    fn kept(&self, index: usize) -> Option<Kept> {
        let table = Arc::clone(self.0.as_ref()?);
        table.string(index)?;
        Some(Kept { table, index })
    }

    /// The place of the slot in which a text ends, and where it begins there; none when the text
    /// has any other.
    pub(crate) fn at_the_end_of(&self, text: &str) -> Option<(usize, usize)> {
        let key = &self.0.as_ref()?.key;
        let mut found = whole::slots_of(text);
        let (only, none) = (found.next()?, found.next());
        let fits = none.is_none() && only.key == key && only.place.end == text.len();
        fits.then_some((only.index, only.place.start))
    }

    /// What a slot stands for, together with what is before it, when that is so in the document.
    pub(crate) fn string_after(&self, before: &str, index: usize) -> Option<&[u8]> {
        let table = self.0.as_ref()?;
        let slot = table.strings.get(index)?;
        let start = slot.start.checked_sub(before.len())?;
        let string = table.document.get(start..slot.end)?;
        string.starts_with(before.as_bytes()).then_some(string)
    }
}

impl Table {
    fn string(&self, index: usize) -> Option<&[u8]> {
        self.document.get(self.strings.get(index)?.clone())
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        self.table.string(self.index).unwrap_or_default()
    }
}

fn slot(key: &str, index: usize, length: usize) -> String {
    format!("{OPEN}{key}.{index}.{length}{CLOSE}")
}

/// How many bytes a text has with all that its slots stand for.
pub fn length_of(text: &str) -> usize {
    let found = whole::slots_of(text);
    found.fold(text.len(), |length, slot| {
        (length - slot.place.len()).saturating_add(slot.length)
    })
}

fn new_key() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Writes the strings of a value in the places of its slots.
pub fn fill(value: &mut Value, slots: &[Slots]) {
    match value {
        Value::String(text) => {
            if whole::slots_of(text).next().is_some() {
                *text = texts(text, slots).collect();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, slots)),
        Value::Object(members) => members.values_mut().for_each(|value| fill(value, slots)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text has a slot, or what is left of one.
pub fn is_touched(text: &str) -> bool {
    text.contains(OPEN)
}

/// Whether a value with slots has what is left of one, or a slot of another document.
pub fn is_damaged(value: &Value, slots: &[Slots]) -> bool {
    match value {
        Value::String(text) => {
            let is_known = |found: &whole::Found<'_>| {
                let mut strings = slots.iter();
                strings.any(|slots| slots.string(found.key, found.index).is_some())
            };
            text.matches(OPEN).count() != whole::slots_of(text).filter(is_known).count()
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

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.as_ref().len();
        f.debug_struct("Kept").field("length", &length).finish()
    }
}
