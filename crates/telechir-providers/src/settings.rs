//! What a message or content has beyond its neutral values: settings of a provider, fields that
//! nobody knows, ids of items, names of files. What an encoded document lacks of it is reported by
//! name, so that no codec has to.

mod fields;

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, Message, Meta, Raw, Role, ToolCall, ToolResult};

use self::fields::Field;
use crate::leaves;
use crate::nested_contents::nested;
use crate::phrases::Phrases;
use crate::written_values::{self, LazyWrittenValues};
use crate::{Loss, Report};

/// Stores the fields of a message or call that its dialect does not know.
pub(crate) const MEMBERS: &str = "members";
/// Stores the fields of an entry of Mistral's conversations that have no neutral equivalent.
pub(crate) const ENTRY_MEMBERS: &str = "entry_members";

/// Stores the fields of a message's choice, with null in the position of the message.
pub(crate) const CHOICE: &str = "choice";

/// Stores the type of an entry of Mistral's conversations; no message of its chat has it.
pub(crate) const ENTRY: &str = "entry";

/// Reports the fields of messages and contents that the document with the `written` values lacks.
/// Contents with raw JSON of the dialect `own` have all of theirs.
pub(crate) fn report_history(
    messages: &[Message],
    (dialect, own): (&str, &str),
    written: &LazyWrittenValues<'_>,
    report: &mut Report,
) {
    let mut reporter = Reporter::new(dialect, written, report);
    reporter.own = own;
    reporter.called = called_names(messages);
    for (at, message) in messages.iter().enumerate() {
        let location = format!("messages[{at}]");
        reporter.message(message, &location);
        reporter.around = message.meta.raw_representation.as_ref();
        reporter.contents(&message.contents, &format!("{location}.contents"));
    }
}

/// Reports the fields of messages with neutral contents, without those contents.
pub(crate) fn report_neutral_messages(
    messages: &[Message],
    dialect: &str,
    written: &LazyWrittenValues<'_>,
    report: &mut Report,
) {
    let mut reporter = Reporter::new(dialect, written, report);
    for (at, message) in messages.iter().enumerate() {
        let raw = message.meta.raw_representation.as_ref();
        if raw.is_none_or(|raw| raw.dialect == "agent-framework") {
            reporter.message(message, &format!("messages[{at}]"));
        }
    }
}

/// Reports counts among the contents of a message: those of a response are around its messages.
pub(crate) fn report_usage(messages: &[Message], report: &mut Report) {
    for (at, message) in messages.iter().enumerate() {
        for (index, content) in message.contents.iter().enumerate() {
            let raw = content
                .meta()
                .and_then(|meta| meta.raw_representation.as_ref());
            let raw = raw.filter(|raw| raw.dialect == "agent-framework");
            if let (Content::Usage(_), Some(raw)) = (content, raw) {
                let counts = leaves::of(raw.json());
                let counts: Vec<&str> = counts.iter().map(leaves::Leaf::name).collect();
                let location = format!("messages[{at}].contents[{index}]");
                let why = "messages hold no counts";
                report.lost(format!("usage: {}", counts.join(", ")), location, why);
            }
        }
    }
}

/// Reports the fields of a turn's results that `items`, their encoding, lack.
pub(crate) fn report_results(
    turn: &AnsweredTurn,
    dialect: &str,
    items: &Value,
    report: &mut Report,
) {
    let written = written_values::lazily(items);
    let mut reporter = Reporter::new(dialect, &written, report);
    for (call, result) in turn.pairs() {
        let mut result = result.clone();
        // Whoever has the call knows the name.
        if let (ToolCall::Function(call), ToolResult::Function(result)) = (&call, &mut result)
            && result.name.as_ref() == Some(&call.name)
        {
            result.name = None;
        }
        let id = result.call_id().map_or("", |id| id.as_str()).to_owned();
        reporter.content(&result.into_content(), &format!("call {id}"));
    }
}

fn called_names(messages: &[Message]) -> HashSet<&str> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    let mut names = HashSet::new();
    for content in contents {
        if let Content::FunctionCall(call) = content {
            names.insert(call.name.as_str());
        }
    }
    names
}

/// Whether the content is a result of a screen, a shell or an editor.
fn is_result_of_own_tool(content: &Content) -> bool {
    matches!(
        content,
        Content::ComputerResult(_) | Content::ShellResult(_) | Content::EditResult(_)
    )
}

struct Reporter<'a, 'w> {
    dialect: &'a str,
    /// The dialect of the raw JSON that is written unchanged.
    own: &'a str,
    /// The raw JSON of the current message.
    around: Option<&'a Raw>,
    written: &'a LazyWrittenValues<'w>,
    report: &'a mut Report,
    of_codec: NamedFields,
    /// The names of the called functions.
    called: HashSet<&'a str>,
    /// The current message's own fields that were reported.
    of_message: Vec<LostField>,
}

impl<'a, 'w> Reporter<'a, 'w> {
    fn new(dialect: &'a str, written: &'a LazyWrittenValues<'w>, report: &'a mut Report) -> Self {
        let of_codec = NamedFields::of(&report.losses);
        Self {
            dialect,
            own: dialect,
            around: None,
            written,
            report,
            of_codec,
            called: HashSet::new(),
            of_message: Vec::new(),
        }
    }

    /// Reports the fields of the message itself.
    fn message(&mut self, message: &Message, location: &str) {
        let mut all = fields::of_framework_message(message);
        all.extend(fields::of_settings(&message.meta, self.dialect));
        // A result repeats the name of its function; our tools have other names elsewhere.
        let is_result = message.role == Role::Tool;
        let is_of_own_tool = message.contents.iter().any(is_result_of_own_tool);
        let is_called = |value: &Value| {
            value
                .as_str()
                .is_some_and(|name| self.called.contains(name))
        };
        all.retain(|field| {
            let is_name = is_result && matches!(field.name.as_str(), "name" | "tool_name");
            !is_name || !(is_of_own_tool || is_called(&field.value))
        });
        let (ids, names): (Vec<_>, Vec<_>) = self
            .lost(all, location, "")
            .into_iter()
            .partition(|(owner, _)| owner == fields::ITEM_ID);
        self.item_ids(ids.into_iter().flat_map(|(_, ids)| ids), location);
        let names: Vec<LostField> = names.into_iter().flat_map(|(_, names)| names).collect();
        if !names.is_empty() {
            let shown = names.iter().map(|field| match &field.id {
                Some(id) => format!("`{}` {id}", field.name),
                None => format!("`{}`", field.name),
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            let what = format!("fields of the message: {shown}");
            let why = "a message of this dialect has no such fields";
            self.report.lost(what, location, why);
        }
        self.of_message = names;
    }

    fn item_ids(&mut self, ids: impl IntoIterator<Item = LostField>, location: &str) {
        for id in ids.into_iter().filter_map(|field| field.id) {
            let why = "no field of the encoded content holds it";
            self.report.lost(format!("item id {id}"), location, why);
        }
    }

    fn contents(&mut self, contents: &[Content], list: &str) {
        for (at, content) in contents.iter().enumerate() {
            self.content(content, &format!("{list}[{at}]"));
        }
    }

    fn content(&mut self, content: &Content, location: &str) {
        if let Some(meta) = content.meta().filter(|meta| !self.is_own(meta)) {
            self.fields_of(content, meta, location);
        }
        for (name, inner) in nested(content) {
            self.contents(inner, &format!("{location}.{name}"));
        }
        if let Content::ComputerResult(result) = content
            && !self.is_own(&result.meta)
        {
            let steps = result.steps.iter().map(|step| &step.screenshot);
            for screenshot in steps.chain([&result.screenshot]).flatten() {
                self.screenshot(&Content::from(screenshot.clone()), location);
            }
        }
    }

    /// Reports the fields of a screenshot that no provider has. The codecs know the others.
    fn screenshot(&mut self, screenshot: &Content, location: &str) {
        let settings = screenshot
            .meta()
            .map(|meta| fields::of_settings(meta, self.dialect));
        let unknown = settings.into_iter().flatten();
        let unknown = unknown.filter(|field| field.owner.is_empty()).collect();
        for (_, names) in self.lost(unknown, location, "") {
            let what = format!("fields of the screenshot: {}", shown(&names));
            let why = "the API has no fields for them";
            self.report.lost(what, location, why);
        }
    }

    /// Whether a content was read from this dialect, so that its own JSON has its fields.
    fn is_own(&self, meta: &Meta) -> bool {
        let raw = meta.raw_representation.as_ref();
        raw.is_some_and(|raw| raw.dialect == self.own)
    }

    fn fields_of(&mut self, content: &Content, meta: &Meta, location: &str) {
        let mut all = fields::of_settings(meta, self.dialect);
        all.extend(fields::neutral(content, self.own, self.around));
        let is_reported = |field: &Field<'_>| {
            let mut of_message = self.of_message.iter();
            of_message.any(|lost| lost.name == field.name && lost.value == *field.value)
        };
        all.retain(|field| !is_reported(field));
        if matches!(content, Content::Reasoning(_)) && self.of_codec.has_thinking(location) {
            all.retain(|field| field.owner == fields::ITEM_ID);
        }
        let id = fields::call_id(content).unwrap_or_default();
        for (owner, names) in self.lost(all, location, id) {
            if owner == fields::ITEM_ID {
                self.item_ids(names, location);
            } else if owner.is_empty() {
                let kind = content.type_name().unwrap_or("the content");
                let what = format!("fields of {kind}: {}", shown(&names));
                let why = "the API has no fields for them";
                self.report.lost(what, location, why);
            } else {
                let what = format!("settings of {owner}: {}", shown(&names));
                self.report
                    .lost(what, location, "they belong to another provider");
            }
        }
    }

    /// The names of the fields that the document lacks and that the codec has not reported, by
    /// owner.
    fn lost(
        &mut self,
        all: Vec<Field<'_>>,
        location: &str,
        id: &str,
    ) -> Vec<(String, Vec<LostField>)> {
        let mut lost: Vec<(String, Vec<LostField>)> = Vec::new();
        for field in all {
            let name = field.name.rsplit('.').next().unwrap_or(&field.name);
            if self.written.has_setting(name, &field.value)
                || self.of_codec.name(&field, location, id)
            {
                continue;
            }
            // Each provider has a name of its own for the name of a file.
            let is_name = field.owner.is_empty() && name == "name";
            let id = field.value.as_str();
            let id = id.filter(|_| is_name || leaves::is_id(name));
            let one = LostField {
                id: id.map(str::to_owned),
                name: field.name,
                value: field.value.into_owned(),
            };
            match lost.iter_mut().find(|(owner, _)| owner == field.owner) {
                Some((_, fields)) if fields.iter().any(|field| field.is_shown_as(&one)) => {}
                Some((_, fields)) => fields.push(one),
                None => lost.push((field.owner.to_owned(), vec![one])),
            }
        }
        lost
    }
}

/// A field that the document lacks.
struct LostField {
    name: String,
    value: Value,
    /// The value, if it is an id or a name: the field alone does not show which one was lost.
    id: Option<String>,
}

impl LostField {
    fn is_shown_as(&self, other: &Self) -> bool {
        self.name == other.name && self.id == other.id
    }
}

/// The names of fields with their ids.
fn shown(fields: &[LostField]) -> String {
    let shown = fields.iter().map(|field| match &field.id {
        Some(id) => format!("{} `{id}`", field.name),
        None => field.name.clone(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Bytes of a value that occurs in an entry only if the entry names it.
const MIN_VALUE: usize = 8;

/// Words of a loss that are looked up as the id of its call.
const MAX_IDS: usize = 8;

/// The fields and values that the losses of a codec name, to look up.
#[derive(Default)]
struct NamedFields {
    /// The words of all losses.
    all: Phrases,
    /// The words of the losses at a location.
    at: HashMap<String, Phrases>,
    /// The words of the losses at a location or inside of it.
    within: HashMap<String, Phrases>,
    /// The words of the losses about a call, by its id.
    about: HashMap<String, Phrases>,
}

impl NamedFields {
    fn of(losses: &[Loss]) -> Self {
        let mut named = Self::default();
        for Loss { what, location, .. } in losses {
            named.all.add(what);
            named.at.entry(location.clone()).or_default().add(what);
            let ends = location.match_indices(']').map(|(at, _)| at + 1);
            for end in ends
                .filter(|end| *end < location.len())
                .chain([location.len()])
            {
                let outer = location[..end].to_owned();
                named.within.entry(outer).or_default().add(what);
            }
            let is_part = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
            let is_id = |part: &&str| part.contains(|c: char| c.is_ascii_digit() || c == '_');
            let of_what = what.split(|c| !is_part(c)).filter(is_id).take(MAX_IDS);
            let of_location = location.split(|c| !is_part(c)).filter(is_id);
            for id in of_location.chain(of_what) {
                named.about.entry(id.to_owned()).or_default().add(what);
            }
        }
        named
    }

    /// Whether a loss names a field of the content at `location` with the call id `id`, or its
    /// value.
    fn name(&self, field: &Field<'_>, location: &str, id: &str) -> bool {
        let name = field.name.rsplit('.').next().unwrap_or(&field.name);
        // A short value is also a word of entries about something else.
        let min_length = if leaves::is_id(name) { 2 } else { MIN_VALUE };
        let value = field.value.as_str();
        let value = value.filter(|text| text.len() >= min_length);
        if value.is_some_and(|value| self.all.has(value)) {
            return true;
        }
        if field.owner == fields::ITEM_ID {
            return false;
        }
        let has = |words: Option<&Phrases>| words.is_some_and(|words| words.has(name));
        let mut outer = (0..=location.len()).filter_map(|end| location.get(..end));
        has(self.within.get(location))
            || has(self.about.get(id))
            || outer.any(|outer| has(self.at.get(outer)))
    }

    /// Whether the whole of the reasoning at a location is named.
    fn has_thinking(&self, location: &str) -> bool {
        let words = self.within.get(location);
        words.is_some_and(|words| words.has("thinking") || words.has("reasoning"))
    }
}
