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
use crate::survival::naming::{Names, contains_word};
use crate::survival::output::{is_binary, normal_base64};

/// Texts from this length on do not occur by chance, and their lines are searched one by one.
const MIN_DISTINCT_CHARS: usize = 8;

/// Fields that a decoder converts: another dialect expresses them in other words.
const CONVERTED: [&str; 21] = [
    "bytes",
    "code",
    "data",
    "detail",
    "environment",
    "finish_reason",
    "format",
    "index",
    "is_error",
    "language",
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
    is_reasoning: bool,
}

/// Reports what `document`, which a codec with raw representations of the dialect `own` wrote, lacks
/// of the contents' original JSON, and then of the messages'.
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
        // Its contents are the neutral ones, and keep no JSON of their own.
        let is_neutral = around.is_some_and(|raw| raw.dialect == FRAMEWORK);
        for (index, content) in message.contents.iter().enumerate() {
            // Usage and unknown contents are reported as a whole.
            if matches!(content, Content::Usage(_) | Content::Other(_)) {
                continue;
            }
            let json = match raw_of(content) {
                Some(raw) => (raw.dialect != own).then(|| Cow::Borrowed(raw.json())),
                None if is_neutral => serde_json::to_value(content).ok().map(Cow::Owned),
                None => None,
            };
            foreign.extend(json.map(|json| ForeignJson {
                json,
                location: format!("messages[{at}].contents[{index}]"),
                has_actions: has_actions(content),
                is_reasoning: matches!(content, Content::Reasoning(_)),
            }));
        }
    }
    foreign
}

fn foreign_messages<'a>(messages: &'a [Message], own: &str) -> Vec<ForeignJson<'a>> {
    let foreign = messages.iter().enumerate().filter_map(|(at, message)| {
        let raw = message.meta.raw_representation.as_ref()?;
        (raw.dialect != own).then(|| ForeignJson {
            json: Cow::Borrowed(raw.json()),
            location: format!("messages[{at}]"),
            has_actions: message.contents.iter().any(has_actions),
            is_reasoning: false,
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
    match &leaf.value {
        Value::String(id) if name.to_lowercase().ends_with("id") => format!("`{name}` {id}"),
        _ => format!("`{name}`"),
    }
}

/// Whether a decoder converts the value, so that its absence shows nothing.
fn is_converted(foreign: &ForeignJson<'_>, leaf: &Leaf) -> bool {
    let is_listed = CONVERTED.contains(&leaf.name());
    (is_listed && !(foreign.is_reasoning && leaf.name() == "data"))
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
            Value::String(text) => {
                self.texts.insert(text);
                match is_binary(text) {
                    true => {
                        self.binary.insert(normal_base64(text));
                    }
                    false => self.push(text),
                }
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.all.push('\0');
        self.all.push_str(text);
    }

    /// Whether the document has the value of a field, also as a part of a text.
    fn has(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => self.has_text(text),
            Value::Number(number) => contains_word(&self.all, &number.to_string()),
            Value::Bool(_) => self.fields.contains(name) || contains_word(&self.all, name),
            Value::Null | Value::Array(_) | Value::Object(_) => true,
        }
    }

    fn has_text(&self, text: &str) -> bool {
        // Calls of an agent share one id.
        let base = text
            .rsplit_once('_')
            .filter(|(_, at)| at.parse::<u32>().is_ok());
        if base.is_some_and(|(base, _)| self.texts.contains(base)) {
            return true;
        }
        if self.texts.contains(text) || self.binary.contains(&normal_base64(text)) {
            return true;
        }
        if is_binary(text) {
            return self.all.contains(&normal_base64(text));
        }
        let text = text.trim();
        // Such as an empty object.
        if !text.contains(char::is_alphanumeric) {
            return true;
        }
        if text.chars().count() < MIN_DISTINCT_CHARS {
            return contains_word(&self.all, text);
        }
        let escaped = Value::from(text).to_string();
        let mut lines = text.lines().map(str::trim);
        self.all.contains(text)
            || self.all.contains(&escaped[1..escaped.len() - 1])
            || lines.any(|line| line.len() >= MIN_DISTINCT_CHARS && self.all.contains(line))
    }
}

/// The text that Bedrock's agents carry as bytes.
fn encoded_text(name: &str, value: &Value) -> Option<String> {
    let bytes = value.as_str().filter(|_| name == "bytes")?;
    String::from_utf8(STANDARD.decode(bytes).ok()?).ok()
}
