//! Converts messages of any dialect to chat messages in the required order: each call is answered
//! directly after its message.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use telechir_protocol::{CallId, Content, Media, Message, Role, ToolResult};

use super::call;
use super::decode::{AFTER, MessageReader, is_result};
use super::envelope::enclose;
use super::result_images;
use super::{Flavour, assistant_message, losses, parts};
use crate::fallback_tools::{self, RenderedResult};
use crate::history::turns;
use crate::history::turns::result_of;
use crate::json::{media, raw_of, text_of_content};
use crate::{History, Report, content_text};

/// Writes a history in its original envelope, or as a list of messages.
pub(super) fn write_history(flavour: Flavour, history: &History) -> (Value, Report) {
    let mut writer = MessageWriter::new(flavour);
    writer.answered = turns::answered_ids(&history.messages);
    let dialect = writer.flavour.dialect();
    history.envelope.report_foreign(dialect, &mut writer.report);
    for (index, message) in history.messages.iter().enumerate() {
        writer.message(message, &format!("messages[{index}]"));
    }
    let (items, report) = writer.finish();
    (enclose(flavour, items, history), report)
}

/// Writes messages in order.
#[derive(Debug)]
pub(super) struct MessageWriter {
    pub(super) flavour: Flavour,
    pub(super) items: Vec<Value>,
    pub(super) report: Report,
    /// Decodes the written messages again, to track their calls.
    reader: MessageReader,
    /// Original call ids and their replacements.
    ids: HashMap<String, String>,
    /// Unanswered calls of the last assistant message, by the id on the wire.
    unanswered: Vec<String>,
    unanswered_are_new: bool,
    /// Ids of the calls that have a result in the history.
    answered: HashSet<CallId>,
    /// Calls whose results carry no id.
    without_id: HashSet<String>,
    /// Images to show after the results.
    images: Vec<(String, Media)>,
    /// Messages of the user with images of the model, whose calls must be answered first.
    model_media: Vec<Value>,
    /// The last message is an assistant message that can be extended.
    is_assistant_open: bool,
}

impl MessageWriter {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            items: Vec::new(),
            report: Report::default(),
            reader: MessageReader::new(flavour),
            ids: HashMap::new(),
            unanswered: Vec::new(),
            unanswered_are_new: false,
            answered: HashSet::new(),
            without_id: HashSet::new(),
            images: Vec::new(),
            model_media: Vec::new(),
            is_assistant_open: false,
        }
    }

    pub(super) fn finish(mut self) -> (Vec<Value>, Report) {
        self.push_images();
        (self.items, self.report)
    }

    fn push_images(&mut self) {
        let images = std::mem::take(&mut self.images);
        for message in result_images::write(self.flavour, &images) {
            self.items.push(message);
        }
        for message in std::mem::take(&mut self.model_media) {
            self.push_bridge();
            self.items.push(message);
        }
    }

    /// Shows images of the model in a message of the user, after the results of its calls.
    pub(super) fn push_model_media(&mut self, media: Vec<Value>) {
        let item = json!({"role": "user", "content": media});
        match self.unanswered.is_empty() {
            true => self.push_user(item),
            false => self.model_media.push(item),
        }
    }

    /// Mistral rejects a message of the user directly after a tool message.
    fn push_bridge(&mut self) {
        let last = self.items.last().and_then(Value::as_object);
        if self.flavour == Flavour::Mistral && last.is_some_and(is_result) {
            self.items.push(result_images::bridge());
        }
    }

    /// Appends a message after the results and images that must precede it.
    pub(super) fn push(&mut self, item: Value) {
        let Some(fields) = item.as_object() else {
            return;
        };
        let answers = is_result(fields);
        self.is_assistant_open = false;
        if !answers {
            self.answer_open();
            self.push_images();
        }
        let mut calls = Vec::new();
        if !answers {
            let read = self.reader.message(fields, &[]);
            calls.extend(read.contents.iter().filter_map(call_id));
        }
        self.unanswered.extend(calls);
        self.items.push(item);
    }

    /// Appends an assistant message. One turn becomes one message, so that all calls precede their
    /// results even if the source dialect has one item per call.
    pub(super) fn push_assistant(&mut self, item: Value) {
        let last = self.items.last_mut().filter(|_| self.is_assistant_open);
        if let Some(last) = last.and_then(Value::as_object_mut)
            && let Some(next) = item.as_object()
        {
            let read = self.reader.message(next, &[]);
            self.unanswered
                .extend(read.contents.iter().filter_map(call_id));
            assistant_message::append(last, next);
        } else {
            self.push(item);
        }
        self.is_assistant_open = true;
    }

    /// Adds error results for unanswered calls, because the API rejects them.
    fn answer_open(&mut self) {
        let unanswered = std::mem::take(&mut self.unanswered);
        if !self.unanswered_are_new {
            return;
        }
        for id in unanswered {
            let text = losses::missing_result(&id, &mut self.report);
            let item = json!({"role": "tool", "tool_call_id": id, "content": text});
            self.items.push(item);
        }
    }

    pub(super) fn message(&mut self, message: &Message, path: &str) {
        if self.repeat(message) {
            return;
        }
        turns::for_each_run(message, path, |rest, path| {
            self.contents(message, rest, path)
        });
        if message.contents.is_empty() && raw_of(&message.meta, self.flavour.dialect()).is_none() {
            self.push_empty(message);
        }
    }

    /// An empty message; the API requires `content` for user messages.
    fn push_empty(&mut self, message: &Message) {
        match message.role {
            Role::Assistant => self.push(json!({"role": "assistant", "content": null})),
            Role::User => self.push(json!({"role": "user", "content": ""})),
            Role::System | Role::Developer | Role::Tool => {}
        }
    }

    /// Writes an unedited message of this dialect unchanged.
    fn repeat(&mut self, message: &Message) -> bool {
        let Some(Value::Object(json)) = raw_of(&message.meta, self.flavour.dialect()) else {
            return false;
        };
        let provider = self.flavour.provider();
        let result = message.contents.first().and_then(result_of);
        let rendered = result.as_ref().map(fallback_tools::render_result);
        let after = result
            .as_ref()
            .and_then(|_| message.contents.first()?.meta()?.property(provider, AFTER))
            .and_then(Value::as_u64)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0);
        let own = rendered.map(|rendered| rendered.images).unwrap_or_default();
        let own = own
            .get(own.len().saturating_sub(after)..)
            .unwrap_or_default()
            .to_vec();
        let shown: Vec<Content> = own.iter().cloned().map(Content::from).collect();
        let mut reader = self.reader.clone();
        let bridged = message
            .meta
            .property(provider, result_images::BRIDGED)
            .is_some();
        let mut again = reader.message(json, &shown);
        if bridged {
            again
                .meta
                .set_property(provider, result_images::BRIDGED, true.into());
        }
        if !same(&again, message) {
            return false;
        }
        if is_result(json) {
            self.reader = reader;
            let id = result
                .as_ref()
                .and_then(ToolResult::call_id)
                .map_or("", CallId::as_str);
            self.unanswered.retain(|unanswered| unanswered != id);
            self.images
                .extend(own.into_iter().map(|image| (id.to_owned(), image)));
            self.items.push(Value::Object(json.clone()));
            self.is_assistant_open = false;
            return true;
        }
        if bridged {
            self.push(result_images::bridge());
        }
        self.push(Value::Object(json.clone()));
        self.unanswered_are_new = false;
        true
    }

    /// Writes one message from the leading contents and returns the number of contents used.
    fn contents(&mut self, message: &Message, rest: &[Content], path: &str) -> usize {
        if let Some(result) = result_of(&rest[0]) {
            self.result(&result, message, path);
            return 1;
        }
        let count = rest
            .iter()
            .take_while(|content| result_of(content).is_none())
            .count();
        self.write_message(message, &rest[..count], path);
        self.unanswered_are_new = true;
        count
    }

    /// The call id to send: the original, or a replacement that the API accepts.
    pub(super) fn wire_id(&mut self, content: &Content, path: &str) -> String {
        let own = match fallback_tools::call_info(content) {
            Some((Some(id), _)) => id.to_owned(),
            _ => format!("call_{}", self.items.len()),
        };
        if let Some(meta) = content.meta()
            && call::has_no_id(self.flavour, meta)
        {
            self.without_id.insert(own.clone());
            return own;
        }
        let came = call::unedited(self.flavour, content, &own).is_some();
        if came || self.flavour.takes_id(&own) {
            return own;
        }
        if let Some(id) = self.ids.get(&own) {
            return id.clone();
        }
        losses::replaced_id(self.flavour, own, &mut self.ids, path, &mut self.report)
    }

    /// Writes the result of a call.
    pub(super) fn result(&mut self, result: &ToolResult, message: &Message, path: &str) {
        let own = result.call_id().map_or("", CallId::as_str).to_owned();
        let id = self.ids.get(&own).cloned().unwrap_or(own);
        let mut rendered = fallback_tools::render_result(result);
        let known = self.reader.calls_by_id.get(&id).cloned();
        let is_late = !self.reader.calls_by_id.is_empty() && !self.unanswered.contains(&id);
        if is_late {
            add_addresses(self.flavour, &mut rendered, result, path, &mut self.report);
            return self.write_late_result(&id, rendered, path);
        }
        // Two calls may have one id; each gets a result.
        if let Some(at) = self.unanswered.iter().position(|open| *open == id) {
            self.unanswered.remove(at);
        }
        add_addresses(self.flavour, &mut rendered, result, path, &mut self.report);
        losses::acknowledged(result, path, &mut self.report);
        let item = assistant_message::result(self, &id, &rendered, known.as_ref(), message);
        if self.flavour != Flavour::Inline {
            let shown = rendered
                .images
                .into_iter()
                .filter(|media| parts::write_media(self.flavour, media).is_some());
            self.images.extend(shown.map(|image| (id.clone(), image)));
        }
        self.is_assistant_open = false;
        // Decoding the result removes its call from the unanswered ones.
        if let Some(fields) = item.as_object() {
            self.reader.message(fields, &[]);
        }
        self.items.push(item);
    }

    /// Whether a provider executed the call and the history has no result of it.
    pub(super) fn is_hosted_without_result(&self, content: &Content) -> bool {
        fallback_tools::is_hosted_without_result(content, &self.answered)
    }

    pub(super) fn has_no_id_in_results(&self, id: &str) -> bool {
        self.without_id.contains(id)
    }

    /// Records a call without an id, so that its result has none either.
    pub(super) fn note_without_id(&mut self, id: &str) {
        self.without_id.insert(id.to_owned());
    }

    /// Records a call from a message that is not part of the output.
    pub(super) fn remember(&mut self, content: &Content, id: String) {
        if let Some((_, known)) = fallback_tools::call_info(content) {
            self.reader.calls_by_id.insert(id.clone(), known);
            self.unanswered.push(id);
        }
    }

    fn write_late_result(&mut self, id: &str, rendered: RenderedResult, path: &str) {
        self.report.preserved(
            format!("the result of call {id}"),
            path,
            "a result must directly follow its call",
            "as a user message",
        );
        let mut content = vec![json!({
            "type": "text", "text": format!("The result of call {id}: {}", rendered.text),
        })];
        let images = rendered.images.iter();
        content.extend(images.filter_map(|media| parts::write_media(self.flavour, media)));
        self.push_user(json!({"role": "user", "content": content}));
    }

    /// Appends a user or system message.
    pub(super) fn push_user(&mut self, item: Value) {
        self.answer_open();
        self.push_images();
        self.push_bridge();
        self.push(item);
    }
}

/// Adds the addresses of what a result cannot contain to its text, and reports the rest.
pub(crate) fn add_addresses(
    flavour: Flavour,
    rendered: &mut RenderedResult,
    result: &ToolResult,
    path: &str,
    report: &mut Report,
) {
    let images = rendered.images.iter().cloned().map(Content::from);
    let items = match result {
        ToolResult::Function(result) => result.items.as_slice(),
        ToolResult::Computer(_) | ToolResult::Shell(_) | ToolResult::Edit(_) => &[],
    };
    let others = items
        .iter()
        .filter(|part| media(part).is_none() && text_of_content(part).is_none());
    let parts: Vec<Content> = images.chain(others.cloned()).collect();
    let why = "a result holds only text and images";
    for part in parts {
        let written = media(&part).and_then(|media| parts::write_media(flavour, &media));
        if written.is_some() {
            continue;
        }
        let label = content_text::label(&part);
        let Some(text) = content_text::as_text(&part) else {
            report.lost(label, path, why);
            continue;
        };
        if !rendered.text.is_empty() {
            rendered.text.push('\n');
        }
        rendered.text.push_str(&text);
        report.preserved(label, path, why, "as text");
    }
}

fn call_id(content: &Content) -> Option<String> {
    let (id, _) = fallback_tools::call_info(content)?;
    Some(id?.to_owned())
}

/// Whether two messages are equal apart from their metadata.
fn same(one: &Message, other: &Message) -> bool {
    one.role == other.role && one.contents == other.contents
}
