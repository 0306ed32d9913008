//! What a message or content has beyond its neutral values: settings of a provider, fields that
//! nobody knows, ids of items, names of files. What an encoded document lacks of it is reported by
//! name, so that no codec has to.

mod fields;
mod written;

use serde_json::Value;
use telechir_protocol::{Content, Message, Meta, Role, ToolResult};

use self::fields::Field;
use self::written::WrittenValues;
use crate::{Loss, Report};

/// Stores the fields of a message or call that its dialect does not know.
pub(crate) const MEMBERS: &str = "members";
/// Stores the fields of an entry of Mistral's conversations that have no neutral equivalent.
pub(crate) const ENTRY_MEMBERS: &str = "entry_members";

/// Stores the type of an entry of Mistral's conversations; no message of its chat has it.
pub(crate) const ENTRY: &str = "entry";

/// Reports the fields of messages and contents that `document`, their encoding, lacks.
pub(crate) fn report_history(
    messages: &[Message],
    dialect: &str,
    document: &Value,
    report: &mut Report,
) {
    let mut reporter = Reporter::new(dialect, document, report);
    for (at, message) in messages.iter().enumerate() {
        let location = format!("messages[{at}]");
        reporter.message(message, &location);
        reporter.contents(&message.contents, &format!("{location}.contents"));
    }
}

/// Reports the fields of results that `items`, their encoding, lack.
pub(crate) fn report_results(
    results: &[ToolResult],
    dialect: &str,
    items: &Value,
    report: &mut Report,
) {
    let mut reporter = Reporter::new(dialect, items, report);
    for result in results {
        let id = result.call_id().map_or("", |id| id.as_str());
        reporter.content(&result.clone().into_content(), &format!("call {id}"));
    }
}

struct Reporter<'a> {
    dialect: &'a str,
    document: &'a Value,
    /// Absent until the first field is looked for.
    written: Option<WrittenValues<'a>>,
    report: &'a mut Report,
    /// How many losses the codec reported.
    of_codec: usize,
    /// The names of the current message's own fields that were reported.
    of_message: Vec<String>,
}

impl<'a> Reporter<'a> {
    fn new(dialect: &'a str, document: &'a Value, report: &'a mut Report) -> Self {
        let of_codec = report.losses.len();
        Self {
            dialect,
            document,
            written: None,
            report,
            of_codec,
            of_message: Vec::new(),
        }
    }

    /// Reports the fields of the message itself.
    fn message(&mut self, message: &Message, location: &str) {
        let mut all = fields::of_framework_message(message);
        all.extend(fields::of_settings(&message.meta, self.dialect));
        // A result repeats the name of its function.
        let is_result = message.role == Role::Tool;
        all.retain(|field| !is_result || !matches!(field.name.as_str(), "name" | "tool_name"));
        let (ids, names): (Vec<_>, Vec<_>) = self
            .lost(all, location, "")
            .into_iter()
            .partition(|(owner, _)| owner == fields::ITEM_ID);
        self.item_ids(ids.into_iter().flat_map(|(_, ids)| ids), location);
        self.of_message = names.into_iter().flat_map(|(_, names)| names).collect();
        if !self.of_message.is_empty() {
            let names = self.of_message.iter().map(|name| format!("`{name}`"));
            let names = names.collect::<Vec<_>>().join(", ");
            let what = format!("fields of the message: {names}");
            let why = "a message of this dialect has no such fields";
            self.report.lost(what, location, why);
        }
    }

    fn item_ids(&mut self, ids: impl IntoIterator<Item = String>, location: &str) {
        for id in ids {
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
        for (name, inner) in parts(content) {
            self.contents(inner, &format!("{location}.{name}"));
        }
    }

    /// Whether a content was read from this dialect, so that its own JSON has its fields.
    fn is_own(&self, meta: &Meta) -> bool {
        let raw = meta.raw_representation.as_ref();
        raw.is_some_and(|raw| raw.dialect == self.dialect)
    }

    fn fields_of(&mut self, content: &Content, meta: &Meta, location: &str) {
        let mut all = fields::of_settings(meta, self.dialect);
        all.extend(fields::neutral(content, self.dialect));
        all.retain(|field| !self.of_message.contains(&field.name));
        if matches!(content, Content::Reasoning(_)) && self.has_reported_thinking(location) {
            all.retain(|field| field.owner == fields::ITEM_ID);
        }
        let id = fields::call_id(content).unwrap_or_default();
        for (owner, names) in self.lost(all, location, id) {
            if owner == fields::ITEM_ID {
                self.item_ids(names, location);
            } else if owner.is_empty() {
                let kind = content.type_name().unwrap_or("the content");
                let what = format!("fields of {kind}: {}", names.join(", "));
                let why = "the API has no fields for them";
                self.report.lost(what, location, why);
            } else {
                let what = format!("settings of {owner}: {}", names.join(", "));
                self.report
                    .lost(what, location, "they belong to another provider");
            }
        }
    }

    /// Whether the codec reported the whole of the reasoning at a location.
    fn has_reported_thinking(&self, location: &str) -> bool {
        let mut losses = self.report.losses[..self.of_codec].iter();
        losses.any(|loss| {
            let words = ["thinking", "reasoning"];
            loss.location.starts_with(location) && words.iter().any(|word| loss.what.contains(word))
        })
    }

    /// The names of the fields that the document lacks and that the codec has not reported, by
    /// owner.
    fn lost(
        &mut self,
        all: Vec<Field<'_>>,
        location: &str,
        id: &str,
    ) -> Vec<(String, Vec<String>)> {
        let mut lost: Vec<(String, Vec<String>)> = Vec::new();
        for field in all {
            let document = self.document;
            let written = self
                .written
                .get_or_insert_with(|| WrittenValues::of(document));
            let by_codec = &self.report.losses[..self.of_codec];
            if written.has(&field)
                || by_codec
                    .iter()
                    .any(|loss| names(loss, &field, location, id))
            {
                continue;
            }
            let name = match field.owner {
                fields::ITEM_ID => field.value.as_str().unwrap_or_default().to_owned(),
                _ => field.name,
            };
            match lost.iter_mut().find(|(owner, _)| owner == field.owner) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => lost.push((field.owner.to_owned(), vec![name])),
            }
        }
        lost
    }
}

/// Whether a loss of the codec names a field of the content at `location` with the call id `id`.
fn names(loss: &Loss, field: &Field<'_>, location: &str, id: &str) -> bool {
    let has_word = |text: &str, word: &str| {
        let is_part = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
        text.split(|c: char| !is_part(c)).any(|part| part == word)
    };
    let value = field.value.as_str().filter(|text| text.len() > 1);
    let is_here = loss.location.starts_with(location)
        || location.starts_with(&loss.location)
        || (!id.is_empty() && (has_word(&loss.location, id) || has_word(&loss.what, id)));
    let last = field.name.rsplit('.').next().unwrap_or(&field.name);
    let is_named = field.owner != fields::ITEM_ID && is_here && has_word(&loss.what, last);
    is_named || value.is_some_and(|value| loss.what.contains(value))
}

/// The contents inside a content, with the names of their lists.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content contains contents"
)]
fn parts(content: &Content) -> Vec<(&'static str, &[Content])> {
    match content {
        Content::FunctionResult(result) => vec![("items", &result.items)],
        Content::CommandCall(call)
        | Content::CommandResult(call)
        | Content::ImageGenerationCall(call)
        | Content::ImageGenerationResult(call) => {
            vec![("inputs", &call.inputs), ("results", &call.results)]
        }
        Content::ApprovalRequest(request) => {
            vec![("call", std::slice::from_ref(request.call.as_ref()))]
        }
        Content::ApprovalResponse(response) => response
            .call
            .as_deref()
            .map(|call| ("call", std::slice::from_ref(call)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}
