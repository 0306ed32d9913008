//! Decides which values the entries of a report name.

use std::collections::HashMap;

use serde_json::Value;

use super::leaves::Leaf;
use super::output::OutputIndex;
use crate::Report;

/// Fields that hold most of a document: an entry that has only such a name names nothing.
const GENERIC: [&str; 28] = [
    "content", "contents", "data", "entries", "function", "id", "index", "input", "inputs", "item",
    "items", "json", "list", "member", "members", "message", "messages", "name", "object",
    "output", "outputs", "part", "parts", "result", "results", "steps", "text", "value",
];

/// Terms of the neutral vocabulary for the providers' fields.
const TERMS: [(&[&str], &[&str]); 15] = [
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

struct Entry<'a> {
    what: &'a str,
    /// The same as words between spaces.
    words: String,
    location: &'a str,
    is_preserved: bool,
    /// The list elements that the location identifies by an id; empty if by none.
    elements: Vec<String>,
    /// The list elements that the entry names completely, by their id.
    contents: Vec<String>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(report: &'a Report, leaves: &[Leaf]) -> Self {
        let entries = report.losses.iter().map(|loss| Entry {
            what: &loss.what,
            words: words(&loss.what),
            location: &loss.location,
            is_preserved: loss.preserved_as.is_some(),
            elements: elements(&loss.location, leaves),
            contents: contents(&loss.what, leaves),
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// Whether an entry names the value: by itself, its field or the type of its object.
    pub(crate) fn name(&self, leaf: &Leaf) -> bool {
        self.entries.iter().any(|entry| entry.names(leaf))
    }

    /// Entries for values that arrived, or for a field that has no value anywhere.
    pub(super) fn false_losses<'b>(
        &self,
        leaves: &'b [Leaf],
        index: &OutputIndex,
        counts: &HashMap<String, usize>,
    ) -> Vec<(String, &'b Leaf)> {
        let mut found = Vec::new();
        for entry in self.entries.iter().filter(|entry| !entry.is_preserved) {
            let mut by_value = leaves.iter().filter(|leaf| entry.has_value(leaf));
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
    fn names(&self, leaf: &Leaf) -> bool {
        if self.has_value(leaf) {
            return true;
        }
        let pointer = leaf.pointer();
        let is_inside = |element: &String| {
            let rest = pointer.strip_prefix(element.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']))
        };
        if self.contents.iter().any(is_inside) {
            return true;
        }
        if !self.elements.is_empty() && !self.elements.iter().any(is_inside) {
            return false;
        }
        let own = leaf.name();
        let fields = leaf
            .names()
            .filter(|name| *name == own || !is_generic(name));
        let kinds = leaf.kinds.iter().map(String::as_str);
        let mut names = fields.chain(kinds.filter(|kind| !is_generic(kind)));
        names.any(|name| self.has_words(name))
    }

    /// Whether the entry contains the value itself.
    fn has_value(&self, leaf: &Leaf) -> bool {
        let text = leaf.text();
        match &leaf.value {
            Value::String(_) => text.chars().count() > 1 && contains_word(self.what, &text),
            Value::Number(_) => contains_word(self.what, &text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        }
    }

    /// Whether the entry has the words of a field's name, or the neutral term for it.
    fn has_words(&self, name: &str) -> bool {
        let name = words(name);
        if name.trim().is_empty() {
            return false;
        }
        if self.words.contains(&name) {
            return true;
        }
        let terms = TERMS
            .iter()
            .filter(|(fields, _)| fields.contains(&name.trim()))
            .flat_map(|(_, terms)| *terms);
        terms
            .into_iter()
            .any(|term| self.words.contains(&format!(" {term} ")))
    }
}

impl std::fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.what, self.location)
    }
}

fn is_generic(name: &str) -> bool {
    GENERIC.contains(&name)
}

/// The list elements that hold an id of the location.
fn elements(location: &str, leaves: &[Leaf]) -> Vec<String> {
    let mut found = Vec::new();
    for token in location
        .split([' ', ',', '`', '"'])
        .filter(|token| !token.is_empty())
    {
        let holders = leaves.iter().filter(|leaf| {
            leaf.value.as_str() == Some(token) && leaf.name().to_lowercase().ends_with("id")
        });
        found.extend(holders.map(Leaf::element));
    }
    found
}

/// The list elements that an entry such as `result call_1` names completely.
fn contents(what: &str, leaves: &[Leaf]) -> Vec<String> {
    let Some((kind, id)) = what.rsplit_once(' ') else {
        return Vec::new();
    };
    if CONTENTS.contains(&words(kind).trim()) {
        return elements(id, leaves);
    }
    Vec::new()
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let starts = !word.starts_with(is_part) || !before.is_some_and(is_part);
        let ends = !word.ends_with(is_part) || !after.is_some_and(is_part);
        starts && ends
    })
}

/// Lower-case words in the singular, each between spaces.
fn words(text: &str) -> String {
    let mut words = String::from(" ");
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("us") {
            word.pop();
        }
        if !word.is_empty() {
            words.push_str(word);
            words.push(' ');
            word.clear();
        }
    };
    let mut was_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    end(&mut word);
    words
}
