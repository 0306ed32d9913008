//! Decides which values the entries of a report name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::output::OutputIndex;
use crate::Report;
use crate::chat::result_images;
use crate::leaves::Leaf;
use crate::phrases::{Phrases, occurring, words};

/// Fields that hold most of a document: an entry that has only such a name names nothing.
const GENERIC: [&str; 28] = [
    "content", "contents", "data", "entries", "function", "id", "index", "input", "inputs", "item",
    "items", "json", "list", "member", "members", "message", "messages", "name", "object",
    "output", "outputs", "part", "parts", "result", "results", "steps", "text", "value",
];

/// Terms of the neutral vocabulary for the providers' fields.
const TERMS: [(&[&str], &[&str]); 18] = [
    (&["mime type", "file type", "format"], &["media type"]),
    (&["cwd"], &["working directory"]),
    (&["level"], &["resolution"]),
    (
        &["url", "uri"],
        &["current url", "address", "image", "file", "document"],
    ),
    (
        &[
            "pending safety check",
            "acknowledged safety check",
            "safety decision",
            "safety acknowledgement",
        ],
        &["safety check"],
    ),
    (
        &[
            "thinking",
            "signature",
            "thought",
            "thought signature",
            "encrypted content",
            "reasoning",
            "summary",
            "reasoning content",
            "redacted content",
            "reasoning text",
            "text reasoning",
            "protected data",
        ],
        &["reasoning", "thinking", "thought"],
    ),
    (
        &[
            "citation",
            "annotation",
            "citation metadata",
            "grounding metadata",
            "citations content",
        ],
        &["annotation", "citation"],
    ),
    (&["timeout", "timeout ms", "max time"], &["timeout", "time"]),
    (&["max output length", "max output"], &["output limit"]),
    (&["exit code", "return code"], &["exit code", "outcome"]),
    (
        &["is error", "error", "success", "status"],
        &["failure", "error", "outcome", "status"],
    ),
    (
        &[
            "data",
            "image url",
            "source",
            "inline data",
            "byte",
            "media type",
            "mime type",
            "format",
            "display name",
        ],
        &["image", "screenshot", "file", "document", "audio", "video"],
    ),
    (&["key", "modifier"], &["modifier", "key"]),
    (
        &["scroll x", "scroll y", "scroll amount", "magnitude"],
        &["scroll"],
    ),
    (&["duration", "second"], &["duration", "wait"]),
    (
        &["path", "coordinate", "start coordinate"],
        &["path", "coordinate", "drag"],
    ),
    (
        &["code", "command", "language"],
        &["command", "code", "hosted code"],
    ),
    (
        &["finish reason", "stop reason", "stop sequence"],
        &["finish reason", "stop reason"],
    ),
];

/// The entries of a report, ready to match.
pub(crate) struct Names<'a> {
    entries: Vec<Entry<'a>>,
    /// The words of the entries whose location identifies no list element.
    anywhere: Phrases,
    /// What is named about the list elements that hold an id.
    by_id: HashMap<&'a str, Named>,
    /// The ids of `by_id` in each list element, by its pointer.
    ids_in: HashMap<String, Vec<&'a str>>,
    /// The texts of all entries, separated by a character that texts lack.
    all: String,
}

/// Contents that an entry with their id names completely.
const CONTENTS: [&str; 14] = [
    "call",
    "computer call",
    "shell call",
    "edit call",
    "function call",
    "command call",
    "result",
    "computer result",
    "shell result",
    "function result",
    "command result",
    "approval request",
    "approval response",
    "item",
];

#[derive(Debug, Default)]
struct Named {
    is_complete: bool,
    phrases: Phrases,
}

struct Entry<'a> {
    what: &'a str,
    location: &'a str,
    is_preserved: bool,
}

impl<'a> Names<'a> {
    /// `ids` are the leaves whose text may be the id of a location; further leaves are ignored.
    pub(crate) fn of(report: &'a Report, ids: &'a [Leaf]) -> Self {
        let mut elements: HashMap<&str, Vec<String>> = HashMap::new();
        for leaf in ids {
            if let Some(id) = leaf.value.as_str()
                && leaf.name().to_lowercase().ends_with("id")
            {
                elements.entry(id).or_default().push(leaf.element());
            }
            // The image after such a text is a part of the result.
            if let Some(id) = leaf.value.as_str().and_then(result_images::captioned_id) {
                let image = leaf.next_element();
                elements.entry(id).or_default().extend(image);
            }
        }
        let mut names = Self {
            entries: Vec::new(),
            anywhere: Phrases::default(),
            by_id: HashMap::new(),
            ids_in: HashMap::new(),
            all: String::new(),
        };
        for loss in &report.losses {
            names.all.push('\0');
            names.all.push_str(&loss.what);
            names.entries.push(Entry {
                what: &loss.what,
                location: &loss.location,
                is_preserved: loss.preserved_as.is_some(),
            });
            let mut is_anywhere = true;
            for id in ids_of(&loss.location).filter(|id| elements.contains_key(id)) {
                is_anywhere = false;
                names.by_id.entry(id).or_default().phrases.add(&loss.what);
            }
            if is_anywhere {
                names.anywhere.add(&loss.what);
            }
            if let Some((kind, rest)) = loss.what.rsplit_once(' ')
                && CONTENTS.contains(&words(kind).as_str())
            {
                for id in ids_of(rest).filter(|id| elements.contains_key(id)) {
                    names.by_id.entry(id).or_default().is_complete = true;
                }
            }
        }
        for id in names.by_id.keys() {
            for element in elements.remove(id).into_iter().flatten() {
                let ids = names.ids_in.entry(element).or_default();
                if ids.last() != Some(id) {
                    ids.push(id);
                }
            }
        }
        names
    }

    /// Whether an entry names each value: by itself, its field or the type of its object.
    pub(crate) fn name(&self, leaves: &[&Leaf]) -> Vec<bool> {
        let texts: Vec<String> = leaves.iter().map(|leaf| leaf.text()).collect();
        let patterns = leaves.iter().zip(&texts);
        let patterns: Vec<&str> = patterns
            .map(|(leaf, text)| match can_be_named(leaf, text) {
                true => text.as_str(),
                false => "",
            })
            .collect();
        let mut named = occurring(&patterns, &self.all, |_, range| is_word(&self.all, range));
        for (leaf, named) in leaves.iter().zip(&mut named) {
            *named = *named || self.name_field(leaf);
        }
        named
    }

    /// Whether an entry names the field of a value, or all of the content around it.
    fn name_field(&self, leaf: &Leaf) -> bool {
        let own = leaf.name();
        let fields = leaf
            .names()
            .filter(|name| *name == own || !is_generic(name));
        let kinds = leaf.kinds.iter().map(String::as_str);
        let names: Vec<&str> = fields
            .chain(kinds.filter(|kind| !is_generic(kind)))
            .collect();
        let is_named = |phrases: &Phrases| names.iter().any(|name| has_words(phrases, name));
        if is_named(&self.anywhere) {
            return true;
        }
        if self.by_id.is_empty() {
            return false;
        }
        leaf.elements().any(|element| {
            let mut ids = self.ids_in.get(&element).into_iter().flatten();
            ids.any(|id| {
                let named = self.by_id.get(id);
                named.is_some_and(|named| named.is_complete || is_named(&named.phrases))
            })
        })
    }

    /// Entries for values that arrived, or for a field that has no value anywhere.
    pub(super) fn false_losses<'b>(
        &self,
        leaves: &'b [Leaf],
        index: &OutputIndex,
        counts: &HashMap<String, usize>,
    ) -> Vec<(String, &'b Leaf)> {
        let mut found = Vec::new();
        let fields: HashSet<&str> = leaves.iter().map(Leaf::name).collect();
        for entry in self.entries.iter().filter(|entry| !entry.is_preserved) {
            // A text that is the name of a field names that field.
            let is_value = |leaf: &Leaf| !fields.contains(leaf.text().as_str());
            let mut by_value = leaves
                .iter()
                .filter(|leaf| entry.has_value(leaf) && is_value(leaf));
            let arrived = |leaf: &&Leaf| {
                let count = counts.get(&leaf.text()).copied().unwrap_or(1);
                index.has(leaf, count)
            };
            if let Some(leaf) = by_value.find(arrived) {
                found.push((entry.to_string(), leaf));
            }
        }
        found
    }
}

impl Entry<'_> {
    /// Whether the entry contains the value itself.
    fn has_value(&self, leaf: &Leaf) -> bool {
        let text = leaf.text();
        let mut found_at = self.what.match_indices(&text);
        can_be_named(leaf, &text)
            && found_at.any(|(at, found)| is_word(self.what, at..at + found.len()))
    }
}

impl std::fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.what, self.location)
    }
}

/// Whether an entry can name a value by its text.
fn can_be_named(leaf: &Leaf, text: &str) -> bool {
    match &leaf.value {
        Value::String(_) => text.chars().nth(1).is_some(),
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether the phrases have the words of a field's name, or the neutral term for it.
fn has_words(phrases: &Phrases, name: &str) -> bool {
    let words = words(name);
    phrases.has(name)
        || TERMS
            .iter()
            .filter(|(fields, _)| fields.contains(&words.as_str()))
            .flat_map(|(_, terms)| *terms)
            .any(|term| phrases.has(term))
}

fn is_generic(name: &str) -> bool {
    GENERIC.contains(&name)
}

/// The parts of a location that may be ids.
fn ids_of(location: &str) -> impl Iterator<Item = &str> {
    let parts = location.split([' ', ',', '`', '"']);
    parts.filter(|part| !part.is_empty())
}

/// Whether a range in a text is not a part of a word.
fn is_word(text: &str, range: Range<usize>) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let word = &text[range.clone()];
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let starts = !word.starts_with(is_part) || !before.is_some_and(is_part);
    let ends = !word.ends_with(is_part) || !after.is_some_and(is_part);
    starts && ends
}
