//! Reports the values of a content's original JSON that a translation did not write and that no
//! entry of its report names.
//!
//! Encoders report what they know to be lost. Here stands what nobody expected, so that a new field
//! of a provider is not lost in silence. Whether a value was written is decided by the written
//! document alone. Values that a decoder converts, such as coordinates and keys, are left to the
//! encoders.

mod media;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Raw};

use crate::history::turns::{call_id, result_id};
use crate::json::arguments;
use crate::leaves::{self, Leaf, Step};
use crate::survival::naming::Names;
use crate::written_values::{LazyWrittenValues, MIN_DISTINCT_CHARS, WrittenValues};
use crate::{Report, media_types};

/// Fields that a decoder converts: another dialect expresses them in other words.
const CONVERTED: [&str; 9] = [
    "environment",
    "finish_reason",
    "is_error",
    "language",
    "outcome",
    "return_code",
    "stop_reason",
    "success",
    "timed_out",
];

/// Members through which decoders come to a converted field or to the input of a call. The same
/// field in any other object is one that no decoder knows.
const PATH_NAMES: [&str; 40] = [
    "IMAGES",
    "action",
    "apiInvocationInput",
    "apiResult",
    "arguments",
    "audio",
    "call",
    "choices",
    "codeExecutionResult",
    "completion",
    "content",
    "contents",
    "custom",
    "document",
    "executableCode",
    "function",
    "functionCall",
    "functionInvocationInput",
    "functionResponse",
    "functionResult",
    "function_call",
    "image",
    "images",
    "input",
    "inputs",
    "invocationInputs",
    "items",
    "message",
    "output",
    "outputs",
    "parts",
    "response",
    "responseBody",
    "result",
    "results",
    "returnControl",
    "screenshot",
    "tool_calls",
    "toolResult",
    "toolUse",
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

/// Fields of inputs that the decoders of actions and commands read.
const INPUT_FIELDS: [&str; 95] = [
    "action",
    "actions",
    "app_name",
    "button",
    "clear_before_typing",
    "clear_first",
    "command",
    "commands",
    "cookies",
    "coordinate",
    "depth",
    "destination_x",
    "destination_y",
    "diff",
    "dir_path",
    "direction",
    "document_ids",
    "documents",
    "duration",
    "dx",
    "dy",
    "end",
    "end_x",
    "end_y",
    "env",
    "file_text",
    "filter",
    "frame",
    "from",
    "gone",
    "id",
    "idle",
    "insert_line",
    "insert_text",
    "intent",
    "is_background",
    "key",
    "keys",
    "label",
    "magnitude",
    "magnitude_in_pixels",
    "magnitude_in_wheel_clicks",
    "max_output_length",
    "mode",
    "modifiers",
    "monitor",
    "name",
    "new_path",
    "new_str",
    "old_path",
    "old_str",
    "path",
    "paths",
    "point",
    "press_enter",
    "query",
    "ref",
    "region",
    "repeat",
    "restart",
    "role",
    "safety_decision",
    "script",
    "scroll_amount",
    "scroll_direction",
    "scroll_x",
    "scroll_y",
    "seconds",
    "settings",
    "source_x",
    "source_y",
    "space",
    "start",
    "start_coordinate",
    "start_x",
    "start_y",
    "submit",
    "tab",
    "tab_id",
    "target",
    "target_x",
    "target_y",
    "text",
    "timeout",
    "timeout_ms",
    "to",
    "unit",
    "url",
    "user",
    "value",
    "view_range",
    "window",
    "working_directory",
    "x",
    "y",
];

/// Fields of inputs whose words decoders replace by those of neutral actions: directions and the names
/// of actions. A command may be joined from its arguments.
const INPUT_WORDS: [&str; 10] = [
    "action",
    "actions",
    "button",
    "command",
    "commands",
    "direction",
    "filter",
    "mode",
    "scroll_direction",
    "unit",
];

/// Fields of inputs with keys, if the action presses any.
const KEYS: [&str; 4] = ["key", "keys", "modifiers", "text"];

/// Fields with the name of the tool of a call or result.
const TOOL_NAMES: [&str; 2] = ["name", "function"];

/// Fields that hold what a tool returned.
const OUTPUTS: [&str; 4] = ["output", "response", "responseBody", "result"];

/// A content or message with the JSON of another dialect.
struct ForeignJson<'a> {
    json: Cow<'a, Value>,
    location: String,
    /// The content, or those of the message.
    contents: &'a [Content],
    /// What decoders read of the inputs of its calls.
    inputs: OnceCell<DecodedInputs>,
    /// Whether it has calls whose inputs a decoder converted.
    has_actions: bool,
    /// Whether it has calls or results with a neutral outcome.
    has_outcome: bool,
    /// Whether it has calls or results of tools that each dialect names in its own way.
    has_own_tools: bool,
}

/// Reports what the document with the `written` values, of the dialect `own`, lacks of the
/// contents' original JSON, and then of the messages'.
pub(crate) fn report(
    messages: &[Message],
    own: &str,
    written: &LazyWrittenValues<'_>,
    report: &mut Report,
) {
    let media = media::foreign(messages, own);
    let contents = foreign_contents(messages, own);
    let messages = foreign_messages(messages, own);
    if contents.is_empty() && messages.is_empty() && media.is_empty() {
        return;
    }
    let written: &WrittenValues<'_> = written;
    media::report_types(&media, written, report);
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
    missed.retain(|leaf| {
        !written.has_image_level(leaf)
            && json_of(foreign, leaf).is_some_and(|foreign| {
                !is_converted(foreign, leaf) && !has_media_type(foreign, leaf, written)
            })
    });
    let is_within = written.have_within(&missed);
    let mut is_within = is_within.into_iter();
    // A short value occurs in a text by chance.
    let mut doubtful: HashMap<String, Vec<String>> = HashMap::new();
    missed.retain(|leaf| match is_within.next() {
        Some(true) => {
            let is_short = leaf.text().chars().count() < MIN_DISTINCT_CHARS;
            let is_chance = leaf.names().any(|name| NEVER_IN_TEXTS.contains(&name));
            if is_short && is_chance && !written.has_field(leaf.name()) {
                return true;
            }
            // So does a media type.
            let is_common = is_short || media_types::is_known(&leaf.text());
            if is_common && leaf.is_member() && !written.has_field(leaf.name()) {
                let beside = doubtful.entry(pointer_around(leaf)).or_default();
                beside.push(field_of(leaf));
            }
            false
        }
        Some(false) | None => true,
    });
    if missed.is_empty() {
        return;
    }
    let ids = leaves::select(jsons(), &|name, value| {
        value.is_string() && leaves::is_id(name)
    });
    let location = |leaf: &Leaf| json_of(foreign, leaf).map(|foreign| foreign.location.as_str());
    let named = Names::of(report, &ids).name_at(&missed.iter().collect::<Vec<_>>(), location);
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); foreign.len()];
    for (leaf, _) in missed.iter().zip(named).filter(|(_, named)| !named) {
        let Some(Step::Index(at)) = leaf.steps.first() else {
            continue;
        };
        fields[*at].push(field_of(leaf));
        // What is beside a missing value in an object without a counterpart is missing, too.
        fields[*at].extend(doubtful.remove(&pointer_around(leaf)).unwrap_or_default());
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

/// Fields that no encoder writes into a text, so that a text has their values only by chance.
const NEVER_IN_TEXTS: [&str; 4] = ["contentType", "info", "memoryId", "sessionId"];

/// The pointer of the object that holds a value.
fn pointer_around(leaf: &Leaf) -> String {
    let pointer = leaf.pointer();
    let around = pointer.rsplit_once('/');
    around.map_or("", |(around, _)| around).to_owned()
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
                // Other providers' usage is around the messages.
                (Some(raw), Content::Usage(_)) if raw.dialect != FRAMEWORK => None,
                (None, Content::Usage(_)) => None,
                (_, Content::Other(other)) => {
                    let is_foreign = other.dialect.as_deref().is_none_or(|other| other != own);
                    is_foreign.then(|| Cow::Owned(Value::Object(other.json.clone())))
                }
                (Some(raw), _) => (raw.dialect != own).then(|| Cow::Borrowed(raw.json())),
                (None, _) if is_neutral => neutral_texts(content).map(Cow::Owned),
                (None, _) => None,
            };
            foreign.extend(json.map(|json| ForeignJson {
                json,
                location: format!("messages[{at}].contents[{index}]"),
                contents: std::slice::from_ref(content),
                inputs: OnceCell::new(),
                has_actions: has_actions(content),
                has_outcome: has_outcome(content),
                has_own_tools: is_of_own_tool(content),
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
            contents: &message.contents,
            inputs: OnceCell::new(),
            has_actions: message.contents.iter().any(has_actions),
            has_outcome: message.contents.iter().any(has_outcome),
            has_own_tools: message.contents.iter().any(is_of_own_tool),
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

/// Whether the content is a call or result of a screen, a shell or an editor.
fn is_of_own_tool(content: &Content) -> bool {
    has_actions(content)
        || matches!(
            content,
            Content::ComputerResult(_) | Content::ShellResult(_) | Content::EditResult(_)
        )
}

/// Whether the content is a call or result whose status a decoder converts.
fn has_outcome(content: &Content) -> bool {
    let is_call = call_id(content).is_some() || matches!(content, Content::FunctionCall(_));
    is_call || result_id(content).is_some()
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
    match id.filter(|_| leaf.is_id()) {
        Some(id) => format!("`{name}` {id}"),
        None => format!("`{name}`"),
    }
}

/// Whether a decoder converts the value, so that its absence shows nothing.
fn is_converted(foreign: &ForeignJson<'_>, leaf: &Leaf) -> bool {
    let is_unfinished = leaf.text() == "incomplete";
    let is_status = leaf.name() == "status"
        && leaf.is_member()
        && leaf.value.is_string()
        && foreign.has_outcome
        && !is_unfinished
        && leaf.names().skip(1).all(is_path_name);
    is_converted_field(leaf)
        || is_status
        || (foreign.has_own_tools && is_tool_name(foreign, leaf))
        || (foreign.has_actions && is_input(leaf) && foreign.has_decoded(leaf))
        // Settings of providers have entries of their own.
        || leaf.names().skip(2).any(|name| name == "additional_properties")
}

/// Whether every dialect has its own words for the values of the field.
fn is_converted_field(leaf: &Leaf) -> bool {
    match leaf.name() {
        "format" => media_types::is_known(&leaf.text()),
        name => {
            CONVERTED.contains(&name)
                && leaf.is_member()
                && is_value_of(name, &leaf.value)
                && leaf.names().skip(1).all(is_path_name)
        }
    }
}

fn is_path_name(name: &str) -> bool {
    PATH_NAMES.contains(&name)
}

/// Whether a value is one that decoders read in a converted field.
fn is_value_of(name: &str, value: &Value) -> bool {
    match name {
        "is_error" | "success" | "timed_out" => value.is_boolean(),
        "return_code" => value.is_number(),
        // No other is executed.
        "language" => value
            .as_str()
            .is_some_and(|name| name.eq_ignore_ascii_case("python")),
        _ => value.is_string(),
    }
}

/// Whether the leaf is a part of a call's input that a decoder may read.
fn is_input(leaf: &Leaf) -> bool {
    let mut around = leaf.names().skip_while(|name| !INPUTS.contains(name));
    let inside = leaf.names().take_while(|name| !INPUTS.contains(name));
    let is_inside = around.next().is_some();
    is_inside
        && inside.into_iter().all(|name| INPUT_FIELDS.contains(&name))
        && around.all(|name| is_path_name(name) || INPUTS.contains(&name))
}

impl ForeignJson<'_> {
    /// Whether the neutral calls have the value of an input: a decoder read it, and what an encoder
    /// does not write is the encoder's to report.
    fn has_decoded(&self, leaf: &Leaf) -> bool {
        let is_parameter = matches!(leaf.name(), "name" | "value")
            && leaf.value.is_string()
            && leaf.names().skip(1).any(|name| name == "parameters");
        is_parameter
            || INPUT_WORDS.contains(&leaf.name())
            || self
                .inputs
                .get_or_init(|| DecodedInputs::of(self.contents))
                .have(leaf)
    }
}

/// The values of neutral calls.
#[derive(Debug, Default)]
struct DecodedInputs {
    /// All texts, separated by a character that texts lack.
    texts: String,
    numbers: Vec<f64>,
    /// Whether they press keys, which decoders give neutral names.
    have_keys: bool,
}

impl DecodedInputs {
    fn of(contents: &[Content]) -> Self {
        let mut inputs = Self::default();
        for content in contents.iter().filter(|content| has_actions(content)) {
            let call = serde_json::to_value(content);
            call.iter().for_each(|call| inputs.add(call));
        }
        inputs
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.numbers.extend(number.as_f64()),
            Value::String(text) => {
                self.texts.push('\0');
                self.texts.push_str(text);
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => {
                for (name, value) in members {
                    if name != "raw_representation" {
                        self.have_keys |= matches!(name.as_str(), "key" | "keys" | "modifiers");
                        self.add(value);
                    }
                }
            }
        }
    }

    fn have(&self, leaf: &Leaf) -> bool {
        let text = leaf.text();
        if leaf.value.is_string() {
            let is_known = self.texts.contains(&text)
                || (self.have_keys && KEYS.contains(&leaf.name()))
                // Where a browser goes in its history.
                || matches!(text.as_str(), "back" | "forward" | "reload");
            if is_known {
                return true;
            }
        }
        match arguments::number(&leaf.value) {
            Some(number) => self.have_number(number),
            None => leaf.value.is_boolean(),
        }
    }

    /// Whether they have a number, also in the other direction or in thousandths.
    fn have_number(&self, number: f64) -> bool {
        // Small models fill in what they do not need.
        if number == 0.0 {
            return true;
        }
        let forms = [1.0, 1000.0, 0.001].map(|factor| (number * factor).abs());
        let is_equal = |one: f64, other: f64| (one - other).abs() <= 1e-6 * one.max(1.0);
        let mut numbers = self.numbers.iter().map(|number| number.abs());
        numbers.any(|found| forms.iter().any(|form| is_equal(*form, found)))
    }
}

/// Whether the value is the name of a tool, beside what it was given or returned.
fn is_tool_name(foreign: &ForeignJson<'_>, leaf: &Leaf) -> bool {
    let is_beside =
        |name: &String| INPUTS.contains(&name.as_str()) || OUTPUTS.contains(&name.as_str());
    TOOL_NAMES.contains(&leaf.name())
        && leaf.is_member()
        && leaf.value.is_string()
        && object_of(foreign, leaf).is_some_and(|object| object.keys().any(is_beside))
}

/// Whether the leaf is a media type that was written under another name, or that the data beside it
/// shows.
fn has_media_type(foreign: &ForeignJson<'_>, leaf: &Leaf, written: &WrittenValues<'_>) -> bool {
    if !media_types::FIELDS.contains(&leaf.name()) {
        return false;
    }
    let media_type = leaf.text();
    // A text is a text under any type.
    let is_text = media_type.starts_with("text/");
    is_text
        || written.has_media_type(&media_type)
        || siblings(foreign, leaf).any(|text| media_types::is_shown(text, &media_type))
}

/// The texts in the object that holds a leaf.
fn siblings<'a>(foreign: &'a ForeignJson<'_>, leaf: &Leaf) -> impl Iterator<Item = &'a str> {
    let members = object_of(foreign, leaf);
    members
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str())
}

/// The object that holds a leaf.
fn object_of<'a>(foreign: &'a ForeignJson<'_>, leaf: &Leaf) -> Option<&'a Map<String, Value>> {
    let mut object = Some(foreign.json.as_ref());
    // The first step is the position of the JSON, the last one the leaf's own field.
    let steps = leaf.steps.get(1..).and_then(<[Step]>::split_last);
    for step in steps.map_or(&[][..], |(_, around)| around) {
        object = object.and_then(|value| match step {
            Step::Member(name) => value.get(name),
            Step::Index(at) => value.get(at),
            Step::Json => None,
        });
    }
    object.and_then(Value::as_object)
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
