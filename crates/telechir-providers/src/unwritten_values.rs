//! Reports the values of a content's original JSON that a translation did not write and that no
//! entry of its report names.
//!
//! Encoders report what they know to be lost. Here stands what nobody expected, so that a new field
//! of a provider is not lost in silence. Whether a value was written is decided by the written
//! document alone. Values that a decoder converts, such as coordinates and keys, are left to the
//! encoders.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use telechir_protocol::{Content, Message, Raw};

use crate::Report;
use crate::leaves::{self, Leaf, Step};
use crate::survival::naming::Names;
use crate::written_values::{LazyWrittenValues, WrittenValues};

/// Fields that a decoder converts: another dialect expresses them in other words.
const CONVERTED: [&str; 20] = [
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

/// Reports what the document with the `written` values, of the dialect `own`, lacks of the
/// contents' original JSON, and then of the messages'.
pub(crate) fn report(
    messages: &[Message],
    own: &str,
    written: &LazyWrittenValues<'_>,
    report: &mut Report,
) {
    let contents = foreign_contents(messages, own);
    let messages = foreign_messages(messages, own);
    if contents.is_empty() && messages.is_empty() {
        return;
    }
    let written: &WrittenValues<'_> = written;
    // Only the document shows whether another field took an item's id.
    report.losses.retain(|loss| {
        let id = loss.what.strip_prefix("item id ");
        loss.preserved_as.is_some() || id.is_none_or(|id| !written.has_text(id))
    });
    report_missed(&contents, written, report);
    report_missed(&messages, written, report);
}

fn report_missed(foreign: &[ForeignJson<'_>], written: &WrittenValues<'_>, report: &mut Report) {
    let jsons = || foreign.iter().map(|foreign| foreign.json.as_ref());
    let mut missed = leaves::select(jsons(), &|name, value| !written.has(name, value));
    let is_within = written.have_within(&missed);
    let mut is_within = is_within.into_iter();
    missed.retain(|leaf| {
        is_within.next() == Some(false)
            && json_of(foreign, leaf).is_some_and(|foreign| !is_converted(foreign, leaf))
    });
    if missed.is_empty() {
        return;
    }
    let ids = leaves::select(jsons(), &|name, value| {
        value.is_string() && name.to_lowercase().ends_with("id")
    });
    let named = Names::of(report, &ids).name(&missed.iter().collect::<Vec<_>>());
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); foreign.len()];
    for (leaf, _) in missed.iter().zip(named).filter(|(_, named)| !named) {
        let Some(Step::Index(at)) = leaf.steps.first() else {
            continue;
        };
        fields[*at].push(field_of(leaf));
    }
    for (foreign, fields) in foreign.iter().zip(fields) {
        let mut listed = HashSet::new();
        let fields = fields.iter().filter(|field| listed.insert(field.as_str()));
        let fields: Vec<&str> = fields.map(String::as_str).collect();
        if !fields.is_empty() {
            let what = format!("fields {}", fields.join(", "));
            let why = "the translated document lacks them";
            report.lost(what, &foreign.location, why);
        }
    }
}

/// The JSON that holds a value.
fn json_of<'a, 'b>(foreign: &'a [ForeignJson<'b>], leaf: &Leaf) -> Option<&'a ForeignJson<'b>> {
    match leaf.steps.first() {
        Some(Step::Index(at)) => foreign.get(*at),
        Some(Step::Member(_) | Step::Json) | None => None,
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::phrases::steps;
    use crate::{Dialect, History};

    /// Reasoning, calls and results whose ids and signatures no other dialect has.
    fn history(turns: usize) -> History {
        let items = (0..turns).flat_map(|turn| {
            [
                json!({"type": "reasoning", "id": format!("rs_{turn:08x}"),
                    "encrypted_content": format!("{}{turn}", "c2VhbGVk".repeat(40)),
                    "summary": [{"type": "summary_text", "text": format!("Step {turn} is next.")}]}),
                json!({"type": "function_call", "id": format!("fc_{turn:08x}"), "name": "read",
                    "call_id": format!("call_{turn:08x}"),
                    "arguments": json!({"page": turn}).to_string()}),
                json!({"type": "function_call_output", "call_id": format!("call_{turn:08x}"),
                    "output": format!("Line {turn} of the log.")}),
            ]
        });
        let items: Vec<Value> = items.collect();
        let document = Value::Array(items).to_string();
        Dialect::OpenaiResponses.decode_history(document).unwrap().0
    }

    #[test]
    fn twice_the_history_takes_twice_the_steps() {
        for to in Dialect::ALL {
            let steps = [64, 128].map(|turns| {
                let history = history(turns);
                steps::take();
                to.encode_history(&history).unwrap();
                steps::take()
            });
            assert!(steps[1] <= steps[0] * 9 / 4, "{to}: {steps:?}");
        }
    }
}
