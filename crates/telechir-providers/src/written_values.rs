//! The values of an encoded document, to look up what arrived.
//!
//! A document is indexed once, and all values that the index does not have are searched inside its
//! texts in one pass, so that the cost is proportional to the two documents.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_protocol::json_limits;

use crate::leaves::{Leaf, is_id};
use crate::media_types;
use crate::phrases::occurring;

/// Texts from this length on do not occur by chance, and their lines are searched one by one.
pub(crate) const MIN_DISTINCT_CHARS: usize = 8;
/// Lines of a text that are searched.
const MAX_LINES: usize = 8;
/// Bytes at the start and at the end of a line that are searched.
const MAX_SEARCHED_BYTES: usize = 48;

/// Objects between a media type and the address that it is about.
const MAX_TYPE_DEPTH: usize = 2;

/// Longer texts of base64's characters are binary data.
const MIN_BINARY_BYTES: usize = 256;
const SAMPLE_BYTES: usize = 128;

/// Fields of texts for the model, in which a short value occurs by chance.
const TEXTS: [&str; 4] = ["text", "content", "type", "role"];

/// The values and fields of a document, also of JSON inside of its texts.
pub(crate) struct WrittenValues<'a> {
    /// The texts; whether a field has the text that is not for the model.
    texts: HashMap<Cow<'a, str>, bool>,
    binary: HashSet<String>,
    fields: HashSet<Cow<'a, str>>,
    /// The resolutions at which the model sees images, without a provider's prefix.
    image_levels: HashSet<String>,
    /// The canonical names of all media types.
    media_types: HashSet<String>,
    /// Addresses and ids of files with the canonical media type beside them.
    typed_addresses: HashSet<(Cow<'a, str>, String)>,
    /// Numbers and flags with their field.
    scalars: HashSet<(Cow<'a, str>, String)>,
    /// All texts and numbers, separated by a character that texts lack.
    all: String,
}

/// Fields with the resolution at which the model sees an image.
const IMAGE_LEVELS: [&str; 3] = ["detail", "level", "resolution"];

fn image_level(text: &str) -> String {
    let level = text.strip_prefix("MEDIA_RESOLUTION_").unwrap_or(text);
    level.to_lowercase()
}

/// Values that are indexed when the first one is looked for.
pub(crate) type LazyWrittenValues<'a> =
    LazyCell<WrittenValues<'a>, Box<dyn FnOnce() -> WrittenValues<'a> + 'a>>;

/// The values of a document.
pub(crate) fn lazily(document: &Value) -> LazyWrittenValues<'_> {
    LazyCell::new(Box::new(|| WrittenValues::of(document)))
}

impl<'a> WrittenValues<'a> {
    fn of(document: &'a Value) -> Self {
        let mut written = Self {
            texts: HashMap::new(),
            binary: HashSet::new(),
            fields: HashSet::new(),
            image_levels: HashSet::new(),
            media_types: HashSet::new(),
            typed_addresses: HashSet::new(),
            scalars: HashSet::new(),
            all: String::new(),
        };
        written.add("", document);
        written
    }

    fn add(&mut self, name: &'a str, value: &'a Value) {
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => self.add_scalar(name.into(), value),
            Value::Array(items) => items.iter().for_each(|item| self.add(name, item)),
            Value::Object(members) => {
                let mut types = media_types::FIELDS.iter();
                if let Some(media_type) = types.find_map(|name| members.get(*name)?.as_str()) {
                    let media_type = media_types::canonical(media_type);
                    self.add_addresses(value, &media_type, MAX_TYPE_DEPTH);
                }
                for (name, value) in members {
                    self.fields.insert(name.into());
                    self.add(name, value);
                    if let Some(text) = encoded_text(name, value) {
                        self.push(&text);
                    }
                }
            }
            Value::String(text) => {
                self.add_text(name, Cow::Borrowed(text));
                if text.starts_with(['{', '['])
                    && let Ok(inner) = json_limits::parse(text.as_bytes())
                {
                    self.add_inner("", inner);
                }
            }
        }
    }

    /// Adds the addresses and ids in an object with this media type, and in the objects inside of it.
    fn add_addresses(&mut self, object: &'a Value, media_type: &str, depth: usize) {
        for (name, value) in object.as_object().into_iter().flatten() {
            if let Some(text) = value.as_str() {
                if text.contains(':') || is_id(name) {
                    let typed = (Cow::Borrowed(text), media_type.to_owned());
                    self.typed_addresses.insert(typed);
                }
            } else if depth > 0 {
                self.add_addresses(value, media_type, depth - 1);
            }
        }
    }

    fn add_scalar(&mut self, name: Cow<'a, str>, value: &Value) {
        let text = value.to_string();
        if value.is_number() {
            self.push(&text);
        }
        self.scalars.insert((name, text));
    }

    fn add_text(&mut self, name: &str, text: Cow<'a, str>) {
        self.add_media_type(name, &text);
        if IMAGE_LEVELS.contains(&name) {
            self.image_levels.insert(image_level(&text));
        }
        if let Some(key) = binary_key(&text) {
            self.binary.insert(key);
            // With its padding, as other dialects write it without the URL.
            let short = text.split_once(',').map_or(&*text, |(_, short)| short);
            if short.len() < MIN_BINARY_BYTES {
                self.push(short);
            }
            return;
        }
        self.push(&text);
        let is_beside = !TEXTS.contains(&name);
        *self.texts.entry(text).or_default() |= is_beside;
    }

    fn add_media_type(&mut self, name: &str, text: &str) {
        let named = media_types::FIELDS.contains(&name).then_some(text);
        let media_type = media_types::of_url(text).or(named);
        self.media_types
            .extend(media_type.map(media_types::canonical));
    }

    /// Adds the values of JSON inside a text. The text itself is searched already.
    fn add_inner(&mut self, name: &str, value: Value) {
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                self.scalars
                    .insert((name.to_owned().into(), value.to_string()));
            }
            Value::String(text) => {
                self.add_media_type(name, &text);
                if let Some(key) = binary_key(&text) {
                    self.binary.insert(key);
                } else {
                    self.texts.insert(text.into(), true);
                }
            }
            Value::Array(items) => items
                .into_iter()
                .for_each(|item| self.add_inner(name, item)),
            Value::Object(members) => members.into_iter().for_each(|(name, value)| {
                self.add_inner(&name, value);
                self.fields.insert(name.into());
            }),
        }
    }

    fn push(&mut self, text: &str) {
        self.all.push('\0');
        self.all.push_str(text);
    }

    /// Whether the document has this text as a value.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        match binary_key(text) {
            Some(key) => self.binary.contains(&key),
            None => self.texts.contains_key(text),
        }
    }

    /// Whether the document has a field of this name, with any value.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        self.fields.contains(name)
    }

    /// Whether the leaf is the resolution of an image and the document has one that is equal.
    pub(crate) fn has_image_level(&self, leaf: &Leaf) -> bool {
        IMAGE_LEVELS.contains(&leaf.name())
            && self.image_levels.contains(&image_level(&leaf.text()))
    }

    /// Whether the document has data of this media type, under any of its names.
    pub(crate) fn has_media_type(&self, media_type: &str) -> bool {
        let canonical = media_types::canonical(media_type);
        canonical.is_empty() || self.media_types.contains(&canonical)
    }

    /// Whether the document has this media type beside this address or id of a file.
    pub(crate) fn has_type_of_address(&self, address: &str, media_type: &str) -> bool {
        let canonical = media_types::canonical(media_type);
        canonical.is_empty()
            || self
                .typed_addresses
                .contains(&(Cow::Borrowed(address), canonical))
    }

    /// Whether the document has the data of a `data:` URL, with or without the URL.
    pub(crate) fn has_data(&self, url: &str) -> bool {
        binary_key(url).is_some_and(|key| self.binary.contains(&key))
            || self.texts.contains_key(payload(url))
            || url
                .split_once(',')
                .is_some_and(|(_, data)| self.texts.contains_key(data))
    }

    /// Whether the document has a setting: a text in any field, if it is short not in one of the
    /// conversation's texts; a number or flag in the field `name`.
    pub(crate) fn has_setting(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::String(text) if text.chars().count() < MIN_DISTINCT_CHARS => {
                self.texts.get(text.as_str()) == Some(&true)
            }
            Value::String(text) => self.has_text(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => self.scalars.contains(&(name.into(), value.to_string())),
        }
    }

    /// Whether the document has the value of a field, as far as the index alone shows it.
    pub(crate) fn has(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                // Calls of an agent share one id.
                let base = text
                    .rsplit_once('_')
                    .filter(|(_, at)| at.parse::<u32>().is_ok());
                self.has_text(text)
                    || base.is_some_and(|(base, _)| self.texts.contains_key(base))
                    // Such as an empty object.
                    || !text.contains(char::is_alphanumeric)
            }
            Value::Number(_) => self.scalars.contains(&(name.into(), value.to_string())),
            Value::Bool(_) => self.fields.contains(name),
            Value::Null | Value::Array(_) | Value::Object(_) => true,
        }
    }

    /// Which of the values the texts of the document have as a part.
    pub(crate) fn have_within(&self, leaves: &[Leaf]) -> Vec<bool> {
        let mut searched: Vec<Searched> = Vec::new();
        for (at, leaf) in leaves.iter().enumerate() {
            search_for(leaf, &mut |alternative, text, is_token| {
                searched.push(Searched {
                    leaf: at,
                    alternative,
                    text: text.to_owned(),
                    is_token,
                });
            });
        }
        // Equal patterns would each be looked at wherever they occur.
        let mut numbers: HashMap<(&str, bool), usize> = HashMap::new();
        let mut patterns: Vec<(&str, bool)> = Vec::new();
        let pattern_of: Vec<usize> = searched
            .iter()
            .map(|searched| {
                let pattern = (searched.text.as_str(), searched.is_token);
                *numbers.entry(pattern).or_insert_with(|| {
                    patterns.push(pattern);
                    patterns.len() - 1
                })
            })
            .collect();
        let texts: Vec<&str> = patterns.iter().map(|(text, _)| *text).collect();
        let found = occurring(&texts, &self.all, |at, range| {
            !patterns[at].1 || is_token(&self.all, range)
        });
        // A value is within if all patterns of one alternative are.
        let mut is_within = vec![false; leaves.len()];
        let with_pattern: Vec<(&Searched, usize)> = searched.iter().zip(pattern_of).collect();
        let alternatives = with_pattern.chunk_by(|(one, _), (other, _)| {
            (one.leaf, one.alternative) == (other.leaf, other.alternative)
        });
        for alternative in alternatives {
            if alternative.iter().all(|(_, pattern)| found[*pattern]) {
                is_within[alternative[0].0.leaf] = true;
            }
        }
        is_within
    }
}

/// One pattern of a value. A value has arrived if the document has all patterns of an alternative.
struct Searched {
    leaf: usize,
    alternative: usize,
    text: String,
    /// Whether the pattern must not be a part of a word or of a path.
    is_token: bool,
}

/// Passes on the patterns of a value: the alternative, the text, and whether it is a token.
fn search_for(leaf: &Leaf, add: &mut dyn FnMut(usize, &str, bool)) {
    let mut alternative = 0;
    let mut next = || {
        alternative += 1;
        alternative
    };
    match &leaf.value {
        Value::String(text) => {
            search_for_text(text, &mut next, add);
            if let Some(text) = encoded_text(leaf.name(), &leaf.value) {
                search_for_text(&text, &mut next, add);
            }
        }
        Value::Number(number) => add(next(), &number.to_string(), true),
        Value::Bool(_) => add(next(), leaf.name(), true),
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
}

fn search_for_text(
    text: &str,
    next: &mut dyn FnMut() -> usize,
    add: &mut dyn FnMut(usize, &str, bool),
) {
    if binary_key(text).is_some() {
        let payload = payload(text);
        if payload.len() < MIN_BINARY_BYTES {
            add(next(), payload, false);
        }
        return;
    }
    let text = text.trim();
    if text.chars().count() < MIN_DISTINCT_CHARS {
        add(next(), text, true);
        // A call that other dialects hold as several calls: `call_1-2of3`.
        return add(next(), &format!("\0{text}-1of"), false);
    }
    let mut lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= MIN_DISTINCT_CHARS)
        .take(MAX_LINES)
        .collect();
    if lines.is_empty() {
        lines.push(text);
    }
    for line in lines {
        let escaped = Value::from(line).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        for form in [line, escaped] {
            let alternative = next();
            let (start, end) = ends(form);
            add(alternative, start, false);
            add(alternative, end, false);
            if escaped.len() == line.len() {
                break;
            }
        }
    }
}

/// The start and the end of a line; all of a short one.
fn ends(line: &str) -> (&str, &str) {
    if line.len() <= 2 * MAX_SEARCHED_BYTES {
        return (line, line);
    }
    let (mut start, mut end) = (MAX_SEARCHED_BYTES, line.len() - MAX_SEARCHED_BYTES);
    while !line.is_char_boundary(start) {
        start -= 1;
    }
    while !line.is_char_boundary(end) {
        end += 1;
    }
    (&line[..start], &line[end..])
}

/// What identifies binary data, in base64 or as a `data:` URL: its length and three samples.
fn binary_key(text: &str) -> Option<String> {
    let url = text.strip_prefix("data:");
    let payload = url.and_then(|url| url.split_once(','));
    let payload = payload
        .map_or(text, |(_, payload)| payload)
        .trim_end_matches('=');
    if url.is_none() && payload.len() < MIN_BINARY_BYTES {
        return None;
    }
    let bytes = payload.as_bytes();
    let middle = bytes.len() / 2;
    let samples = [0, middle, bytes.len().saturating_sub(SAMPLE_BYTES)];
    let samples = samples.map(|at| &bytes[at..bytes.len().min(at + SAMPLE_BYTES)]);
    let mut key = payload.len().to_string();
    for byte in samples.into_iter().flatten() {
        key.push(match byte {
            b'-' => '+',
            b'_' => '/',
            b'+' | b'/' => char::from(*byte),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte),
            _ => return None,
        });
    }
    Some(key)
}

/// Base64 without its URL and padding.
fn payload(text: &str) -> &str {
    let url = text
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','));
    url.map_or(text, |(_, payload)| payload)
        .trim_end_matches('=')
}

/// Whether a range in a text is neither a part of a word nor of a path.
fn is_token(text: &str, range: std::ops::Range<usize>) -> bool {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    !before.is_some_and(|c| continues(c) || c == '.') && !after.is_some_and(continues)
}

/// The text that a file or a part of an agent's answer has as bytes.
pub(crate) fn encoded_text(name: &str, value: &Value) -> Option<String> {
    let bytes = value
        .as_str()
        .filter(|_| matches!(name, "bytes" | "data"))?;
    String::from_utf8(STANDARD.decode(bytes).ok()?).ok()
}
