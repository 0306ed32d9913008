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
            "redacted thinking",
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

/// Kinds of media. An entry without an id that has only such a word names one list element, at its
/// location if that is known: other images of the document are not it.
const MEDIA: [&str; 10] = [
    "image",
    "input image",
    "output image",
    "screenshot",
    "computer screenshot",
    "file",
    "document",
    "audio",
    "input audio",
    "video",
];

/// Shorter values are also words and counts of an entry: they count only between quotation marks.
const MIN_PLAIN_CHARS: usize = 4;

/// The entries of a report, ready to match.
pub(crate) struct Names<'a> {
    entries: Vec<Entry<'a>>,
    /// The words of the entries whose location identifies no list element.
    anywhere: Phrases,
    /// What is named about the list elements that hold an id.
    by_id: HashMap<&'a str, Named>,
    /// The ids of `by_id` in each list element, by its pointer.
    ids_in: HashMap<String, Vec<&'a str>>,
    /// The entries in `anywhere` with a word for media.
    media: MediaEntries,
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

/// How many entries with a word for media there are.
#[derive(Debug, Default)]
struct MediaEntries {
    all: usize,
    at: HashMap<String, usize>,
    /// Those at a location or inside of it.
    within: HashMap<String, usize>,
    /// The positions of a message and of the content in it: `messages[0].contents[2]` is 0, 2.
    positions: HashSet<Vec<usize>>,
}

impl MediaEntries {
    fn add(&mut self, location: &str) {
        self.all += 1;
        let numbers = location.split(['[', ']']);
        let positions: Vec<usize> = numbers.filter_map(|part| part.parse().ok()).collect();
        if positions.len() > 1 {
            self.positions.insert(positions);
        }
        *self.at.entry(location.to_owned()).or_default() += 1;
        for outer in outer_locations(location).chain([location]) {
            *self.within.entry(outer.to_owned()).or_default() += 1;
        }
    }

    /// Whether one of them is about the content that holds the value.
    fn has_positions(&self, leaf: &Leaf) -> bool {
        let positions: Vec<usize> = leaf.positions().collect();
        let contents = (2..=positions.len()).map(|end| &positions[..end]);
        contents
            .into_iter()
            .any(|content| self.positions.contains(content))
    }

    /// Those at a location, inside of it or around it; all without a location.
    fn count(&self, location: Option<&str>) -> usize {
        let Some(location) = location else {
            return self.all;
        };
        let number = |entries: &HashMap<String, usize>, at: &str| {
            entries.get(at).copied().unwrap_or_default()
        };
        let around = outer_locations(location).map(|outer| number(&self.at, outer));
        number(&self.within, location) + around.sum::<usize>()
    }
}

/// The locations around one: `messages[0]` is around `messages[0].contents[1]`.
fn outer_locations(location: &str) -> impl Iterator<Item = &str> {
    let ends = location.match_indices("].").map(|(at, _)| at + 1);
    ends.map(|end| &location[..end])
}

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
            if let Some(id) = leaf.value.as_str().filter(|_| leaf.is_id()) {
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
            media: MediaEntries::default(),
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
                if has_media_word(&loss.what) {
                    names.media.add(&loss.location);
                }
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
        self.name_at(leaves, |_| None)
    }

    /// The same for values whose locations in the report are known.
    pub(crate) fn name_at<'b>(
        &self,
        leaves: &[&Leaf],
        location: impl Fn(&Leaf) -> Option<&'b str>,
    ) -> Vec<bool> {
        let texts: Vec<String> = leaves.iter().map(|leaf| leaf.text()).collect();
        let patterns = leaves.iter().zip(&texts);
        let patterns: Vec<&str> = patterns
            .map(|(leaf, text)| match can_be_named(leaf, text) {
                true => text.as_str(),
                false => "",
            })
            .collect();
        let mut named = occurring(&patterns, &self.all, |_, range| {
            is_named_value(&self.all, range)
        });
        let mut media: HashMap<Option<&str>, HashSet<String>> = HashMap::new();
        for (leaf, named) in leaves.iter().zip(&mut named).filter(|(_, named)| !**named) {
            *named = match self.name_field(leaf) {
                FieldMatch::Named => true,
                FieldMatch::Missing => false,
                FieldMatch::Media if self.media.has_positions(leaf) => true,
                FieldMatch::Media => {
                    let (element, location) = (leaf.element(), location(leaf));
                    let named = media.entry(location).or_default();
                    named.contains(&element)
                        || (named.len() < self.media.count(location) && named.insert(element))
                }
            };
        }
        named
    }

    /// Whether an entry names the field of a value, or all of the content around it.
    fn name_field(&self, leaf: &Leaf) -> FieldMatch {
        let own = leaf.name();
        // Another id of the same field is not it.
        let is_id = leaf.is_id() && can_be_named(leaf, &leaf.text());
        let fields = leaf.names().filter(|name| match *name == own {
            true => !is_id,
            false => !is_generic(name),
        });
        let kinds = leaf.kinds.iter().map(String::as_str);
        let names: Vec<&str> = fields
            .chain(kinds.filter(|kind| !is_generic(kind)))
            .collect();
        let best = |phrases: &Phrases| {
            let matches = names.iter().map(|name| field_match(phrases, name));
            matches.max().unwrap_or(FieldMatch::Missing)
        };
        let anywhere = best(&self.anywhere);
        if anywhere == FieldMatch::Named || self.by_id.is_empty() {
            return anywhere;
        }
        let is_named_by_id = leaf.elements().any(|element| {
            let mut ids = self.ids_in.get(&element).into_iter().flatten();
            ids.any(|id| {
                let named = self.by_id.get(id);
                named.is_some_and(|named| {
                    named.is_complete || best(&named.phrases) != FieldMatch::Missing
                })
            })
        });
        match is_named_by_id {
            true => FieldMatch::Named,
            false => anywhere,
        }
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
            // A text that is the name of a field names that field, and a type only says what was
            // lost.
            let is_value =
                |leaf: &Leaf| leaf.name() != "type" && !fields.contains(leaf.text().as_str());
            let mut by_value = leaves
                .iter()
                .filter(|leaf| entry.loses_value(leaf) && is_value(leaf));
            let arrived = |leaf: &&Leaf| {
                let count = counts.get(&leaf.text()).copied().unwrap_or(1);
                index.has_separate(leaf, count)
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
            && found_at.any(|(at, found)| is_named_value(self.what, at..at + found.len()))
    }

    /// Whether the entry says that the value itself is lost: it is no part of a longer one, and not
    /// the id that tells which call or result is meant.
    fn loses_value(&self, leaf: &Leaf) -> bool {
        let text = leaf.text();
        let mut found_at = self.what.match_indices(&text);
        self.has_value(leaf)
            && found_at.any(|(at, found)| {
                let before = self.what[..at].trim_end_matches(['`', '"', '\'', ' ']);
                let is_of = |kind: &&str| before.ends_with(*kind);
                is_separate(self.what, at..at + found.len())
                    && !(leaf.is_id() && CONTENTS.iter().any(is_of))
            })
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

/// How the entries of a report name a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FieldMatch {
    Missing,
    /// Only by the kind of media that it is part of.
    Media,
    Named,
}

/// Whether the phrases have the words of a field's name, or the neutral term for it.
fn field_match(phrases: &Phrases, name: &str) -> FieldMatch {
    let words = words(name);
    let of_term = |term: &str| match phrases.has(term) {
        true if MEDIA.contains(&term) => FieldMatch::Media,
        true => FieldMatch::Named,
        false => FieldMatch::Missing,
    };
    let own = match phrases.has(name) {
        true if MEDIA.contains(&words.as_str()) => FieldMatch::Media,
        true => FieldMatch::Named,
        false => FieldMatch::Missing,
    };
    let rows = TERMS
        .iter()
        .filter(|(fields, _)| fields.contains(&words.as_str()));
    let terms = rows.flat_map(|(_, terms)| *terms).map(|term| of_term(term));
    terms.fold(own, FieldMatch::max)
}

fn has_media_word(text: &str) -> bool {
    words(text).split(' ').any(|word| MEDIA.contains(&word))
}

fn is_generic(name: &str) -> bool {
    GENERIC.contains(&name)
}

/// The parts of a location that may be ids.
fn ids_of(location: &str) -> impl Iterator<Item = &str> {
    let parts = location.split([' ', ',', '`', '"']);
    parts.filter(|part| !part.is_empty())
}

/// Whether a range in an entry names a value: not a part of a word, and a short value not one of
/// the entry's own words and counts.
fn is_named_value(text: &str, range: Range<usize>) -> bool {
    let value = &text[range.clone()];
    let is_short = value.chars().count() < MIN_PLAIN_CHARS;
    is_word(text, range.clone()) && (!is_short || is_marked(text, range))
}

/// What precedes the format of a file in a media type.
const TOP_TYPES: [&str; 5] = ["image/", "audio/", "video/", "text/", "application/"];

/// Whether a value stands between quotation marks or after the word `id`.
fn is_marked(text: &str, range: Range<usize>) -> bool {
    let is_mark = |c: char| matches!(c, '`' | '"' | '\'');
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let is_subtype = TOP_TYPES.iter().any(|kind| before.ends_with(kind));
    let is_after_name = ["id ", "Id ", "id` ", "Id` "]
        .iter()
        .any(|name| before.ends_with(name));
    is_after_name || is_subtype || (before.ends_with(is_mark) && after.starts_with(is_mark))
}

/// Whether a range in a text is neither a part of a word nor of an id or path, such as the name in
/// `functions.name:0`.
pub(super) fn is_separate(text: &str, range: Range<usize>) -> bool {
    let joins = |c: char| matches!(c, '.' | ':' | '-' | '/' | '_');
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = text[..range.start].chars().rev();
    let mut after = text[range.end..].chars();
    let continues = |next: Option<char>, further: Option<char>| {
        next.is_some_and(is_part)
            || (next.is_some_and(joins) && further.is_some_and(char::is_alphanumeric))
    };
    let word = &text[range];
    let starts = !word.starts_with(is_part) || !continues(before.next(), before.next());
    let ends = !word.ends_with(is_part) || !continues(after.next(), after.next());
    starts && ends
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Names;
    use crate::Report;
    use crate::leaves::{self, Leaf};

    #[test]
    fn an_entry_about_an_image_names_one_image() {
        let image = |data: &str| json!({"type": "image", "source": {"media_type": "image/png", "data": data}});
        let document = json!([
            {"role": "user", "content": [image("Zmlyc3QgaW1hZ2U="), image("c2Vjb25kIGltYWdl")]},
        ]);
        let leaves = leaves::of(&document);
        let data: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.name() == "data").collect();
        let mut report = Report::default();
        report.lost("an image", "messages[0]", "a test");
        assert_eq!(Names::of(&report, &leaves).name(&data), [true, false]);
        report.lost("an image", "messages[0]", "a test");
        assert_eq!(Names::of(&report, &leaves).name(&data), [true, true]);
    }

    #[test]
    fn an_entry_with_an_id_names_no_other_id() {
        let document = json!([{"id": "msg_1", "content": "Hi"}, {"id": "fc_1"}, {"id": "rs"}]);
        let leaves = leaves::of(&document);
        let ids: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.name() == "id").collect();
        let mut report = Report::default();
        report.lost("item id fc_1", "messages[0]", "a test");
        report.lost("fields `id` rs, `status`", "messages[1]", "a test");
        assert_eq!(Names::of(&report, &leaves).name(&ids), [false, true, true]);
    }

    #[test]
    fn an_entry_with_the_id_of_a_call_names_the_images_of_its_result() {
        let document = json!([
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                {"type": "image", "source": {"data": "Zmlyc3QgaW1hZ2U="}},
                {"type": "image", "source": {"data": "c2Vjb25kIGltYWdl"}}]},
        ]);
        let leaves = leaves::of(&document);
        let data: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.name() == "data").collect();
        let mut report = Report::default();
        report.lost("images", "call toolu_1", "a test");
        assert_eq!(Names::of(&report, &leaves).name(&data), [true, true]);
    }
}
