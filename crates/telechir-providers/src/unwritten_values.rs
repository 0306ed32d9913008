//! Reports the values of a content's original JSON that a translation did not write and that no
//! entry of its report names.
//!
//! Encoders report what they know to be lost. Here stands what nobody expected, so that a new field
//! of a provider is not lost in silence. Whether a value was written is decided by the written
//! document alone. Values that a decoder converts, such as coordinates and keys, are left to the
//! encoders.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_protocol::{Content, Message, Raw};

use crate::Report;
use crate::survival::leaves::{self, Leaf, Step};
use crate::survival::naming::Names;

/// Texts from this length on do not occur by chance, and their lines are searched one by one.
const MIN_DISTINCT_CHARS: usize = 8;

/// Longer texts of base64's characters are binary data.
const MIN_BINARY_BYTES: usize = 256;
const SAMPLE_BYTES: usize = 128;

/// Fields that a decoder converts: another dialect expresses them in other words.
const CONVERTED: [&str; 21] = [
    "code",
    "detail",
    "environment",
    "finish_reason",
    "format",
    "index",
    "is_error",
    "language",
    "level",
    "resolution",
    "media_type",
    "mimeType",
    "mime_type",
    "outcome",
    "return_code",
    "state",
    "status",
    "stop_reason",
    "success",
    "timed_out",
    "transformations",
];

/// The dialect whose contents are neutral ones.
const FRAMEWORK: &str = "agent-framework";

/// Fields that hold what a call does.
const INPUTS: [&str; 9] = [
    "action",
    "actions",
    "args",
    "arguments",
    "commands",
    "input",
    "operation",
    "parameters",
    "requestBody",
];

/// A content or message with the JSON of another dialect.
struct ForeignJson<'a> {
    json: Cow<'a, Value>,
    location: String,
    /// Whether it has calls whose inputs a decoder converted.
    has_actions: bool,
}

/// Reports what `document`, which the dialect `own` wrote, lacks of the contents' original JSON, and
/// then of the messages'.
pub(crate) fn report(messages: &[Message], own: &str, document: &Value, report: &mut Report) {
    let contents = foreign_contents(messages, own);
    let messages = foreign_messages(messages, own);
    if contents.is_empty() && messages.is_empty() {
        return;
    }
    let written = WrittenValues::of(document);
    // Only the document shows whether another field took an item's id.
    report.losses.retain(|loss| {
        let id = loss.what.strip_prefix("item id ");
        loss.preserved_as.is_some() || id.is_none_or(|id| !written.texts.contains(id))
    });
    report_missed(&contents, &written, report);
    report_missed(&messages, &written, report);
}

fn report_missed(foreign: &[ForeignJson<'_>], written: &WrittenValues<'_>, report: &mut Report) {
    let jsons = || foreign.iter().map(|foreign| foreign.json.as_ref());
    let missed = leaves::select(jsons(), &|name, value| !written.has(name, value));
    if missed.is_empty() {
        return;
    }
    let ids = leaves::select(jsons(), &|name, value| {
        value.is_string() && name.to_lowercase().ends_with("id")
    });
    let names = Names::of(report, &ids);
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); foreign.len()];
    for leaf in &missed {
        let Some(Step::Index(at)) = leaf.steps.first() else {
            continue;
        };
        if is_converted(&foreign[*at], leaf) || names.name(leaf) {
            continue;
        }
        let field = field_of(leaf);
        if !fields[*at].contains(&field) {
            fields[*at].push(field);
        }
    }
    for (foreign, fields) in foreign.iter().zip(fields) {
        if !fields.is_empty() {
            let what = format!("fields {}", fields.join(", "));
            let why = "the translated document lacks them";
            report.lost(what, &foreign.location, why);
        }
    }
}

fn foreign_contents<'a>(messages: &'a [Message], own: &str) -> Vec<ForeignJson<'a>> {
    let mut foreign = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let around = message.meta.raw_representation.as_ref();
        // Contents of other dialects have JSON of their own, or are in that of their message.
        let is_neutral = around.is_none_or(|raw| raw.dialect == FRAMEWORK);
        for (index, content) in message.contents.iter().enumerate() {
            let json = match (raw_of(content), content) {
                // Usage is not part of a conversation.
                (_, Content::Usage(_)) => None,
                (_, Content::Other(other)) => {
                    let is_foreign = other.dialect.as_deref().is_some_and(|other| other != own);
                    is_foreign.then(|| Cow::Owned(Value::Object(other.json.clone())))
                }
                (Some(raw), _) => (raw.dialect != own).then(|| Cow::Borrowed(raw.json())),
                (None, _) if is_neutral => neutral_texts(content).map(Cow::Owned),
                (None, _) => None,
            };
            foreign.extend(json.map(|json| ForeignJson {
                json,
                location: format!("messages[{at}].contents[{index}]"),
                has_actions: has_actions(content),
            }));
        }
    }
    foreign
}

/// The fields of a neutral content that hold texts of the conversation.
fn neutral_texts(content: &Content) -> Option<Value> {
    const TEXTS: [&str; 10] = [
        "type", "text", "name", "result", "items", "uri", "file_id", "image_id", "call_id",
        "message",
    ];
    let mut json = serde_json::to_value(content).ok()?;
    let fields = json.as_object_mut()?;
    fields.retain(|name, _| TEXTS.contains(&name.as_str()));
    if matches!(content, Content::Reasoning(_))
        && let Some(text) = fields.shift_remove("text")
    {
        fields.insert("thinking".to_owned(), text);
    }
    Some(json)
}

fn foreign_messages<'a>(messages: &'a [Message], own: &str) -> Vec<ForeignJson<'a>> {
    let foreign = messages.iter().enumerate().filter_map(|(at, message)| {
        let raw = message.meta.raw_representation.as_ref()?;
        (raw.dialect != own).then(|| ForeignJson {
            json: Cow::Borrowed(raw.json()),
            location: format!("messages[{at}]"),
            has_actions: message.contents.iter().any(has_actions),
        })
    });
    foreign.collect()
}

fn has_actions(content: &Content) -> bool {
    if let Content::ComputerCall(call) = content {
        call.exception.is_none()
    } else if let Content::ShellCall(call) = content {
        call.exception.is_none()
    } else if let Content::EditCall(call) = content {
        call.exception.is_none()
    } else {
        false
    }
}

fn raw_of(content: &Content) -> Option<&Raw> {
    content.meta()?.raw_representation.as_ref()
}

/// The field with the id that it holds, if it holds one.
fn field_of(leaf: &Leaf) -> String {
    let name = match leaf.name() {
        "" => "text",
        name => name,
    };
    let id = leaf.value.as_str();
    match id.filter(|_| name.to_lowercase().ends_with("id")) {
        Some(id) => format!("`{name}` {id}"),
        None => format!("`{name}`"),
    }
}

/// Whether a decoder converts the value, so that its absence shows nothing.
fn is_converted(foreign: &ForeignJson<'_>, leaf: &Leaf) -> bool {
    let is_unfinished = leaf.name() == "status" && leaf.text() == "incomplete";
    (CONVERTED.contains(&leaf.name()) && !is_unfinished)
        || (foreign.has_actions && leaf.names().any(|name| INPUTS.contains(&name)))
        // Settings of providers have entries of their own.
        || leaf.names().skip(2).any(|name| name == "additional_properties")
}

/// The values and fields of a document.
struct WrittenValues<'a> {
    texts: HashSet<&'a str>,
    binary: HashSet<String>,
    fields: HashSet<&'a str>,
    /// All texts and numbers, separated by a character that texts lack.
    all: String,
}

impl<'a> WrittenValues<'a> {
    fn of(document: &'a Value) -> Self {
        let mut written = Self {
            texts: HashSet::new(),
            binary: HashSet::new(),
            fields: HashSet::new(),
            all: String::new(),
        };
        written.add(document);
        written
    }

    fn add(&mut self, value: &'a Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.push(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.fields.insert(name);
                    self.add(value);
                    if let Some(text) = encoded_text(name, value) {
                        self.push(&text);
                    }
                }
            }
            Value::String(text) => match binary_key(text) {
                Some(key) => {
                    self.binary.insert(key);
                    let short = text
                        .split_once(',')
                        .map_or(text.as_str(), |(_, short)| short);
                    if short.len() < MIN_BINARY_BYTES {
                        self.push(short);
                    }
                }
                None => {
                    self.texts.insert(text);
                    self.push(text);
                }
            },
        }
    }

    fn push(&mut self, text: &str) {
        self.all.push('\0');
        self.all.push_str(text);
    }

    /// Whether the document has the value of a field, also as a part of a text.
    fn has(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let encoded = encoded_text(name, value);
                self.has_text(text) || encoded.is_some_and(|text| self.has_text(&text))
            }
            Value::Number(number) => contains_token(&self.all, &number.to_string()),
            Value::Bool(_) => self.fields.contains(name) || contains_token(&self.all, name),
            Value::Null | Value::Array(_) | Value::Object(_) => true,
        }
    }

    fn has_text(&self, text: &str) -> bool {
        if let Some(key) = binary_key(text) {
            let is_short = payload(text).len() < MIN_BINARY_BYTES;
            return self.binary.contains(&key) || (is_short && self.all.contains(payload(text)));
        }
        // Calls of an agent share one id.
        let base = text
            .rsplit_once('_')
            .filter(|(_, at)| at.parse::<u32>().is_ok());
        if self.texts.contains(text) || base.is_some_and(|(base, _)| self.texts.contains(base)) {
            return true;
        }
        let text = text.trim();
        // Such as an empty object.
        if !text.contains(char::is_alphanumeric) {
            return true;
        }
        if text.chars().count() < MIN_DISTINCT_CHARS {
            return contains_token(&self.all, text) || self.has_split_id(text);
        }
        let escaped = Value::from(text).to_string();
        let mut lines = text.lines().map(str::trim);
        self.all.contains(text)
            || self.all.contains(&escaped[1..escaped.len() - 1])
            || lines.any(|line| line.len() >= MIN_DISTINCT_CHARS && self.all.contains(line))
    }

    /// Whether a call has this id that other dialects hold as several calls: `call_1-2of3`.
    fn has_split_id(&self, id: &str) -> bool {
        self.all.contains(&format!("\0{id}-1of"))
    }
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

/// Whether a text contains another one that is neither a part of a word nor of a path.
fn contains_token(text: &str, token: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    text.match_indices(token).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(|c| continues(c) || c == '.') && !after.is_some_and(continues)
    })
}

/// The text that a file or a part of an agent's answer has as bytes.
fn encoded_text(name: &str, value: &Value) -> Option<String> {
    let bytes = value
        .as_str()
        .filter(|_| matches!(name, "bytes" | "data"))?;
    String::from_utf8(STANDARD.decode(bytes).ok()?).ok()
}
