//! Converts messages to entries. An entry of this dialect is written back unchanged; everything
//! else is encoded from its neutral value, and losses are reported.

mod message;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use telechir_protocol::{Arguments, CallId, Content, Media, Message, ToolResult};

use super::decode::{AFTER, CONFIRMATION, ENTRY, EntryReader, MEMBERS, WRAPPED};
use super::envelope::{WrittenEntries, enclose, is_instructions, is_text_input};
use super::{DIALECT, FLAVOUR, PROVIDER, execution, result_images};
use crate::chat::encode::add_addresses;
use crate::chat::{losses, parts};
use crate::fallback_tools::{self, FunctionInvocation};
use crate::history::turns;
use crate::history::turns::result_of;
use crate::json::{Fields, joined_texts, kind, object_of, passed_on, raw_of, text};
use crate::{History, Report};

/// Writes a history in its original envelope, or as a list of entries.
pub(super) fn write_history(history: &History) -> (Value, Report) {
    let mut writer = EntryWriter::default();
    let is_own_dialect = history.envelope.own(DIALECT).is_some();
    writer.answered = turns::answered_ids(&history.messages);
    history.envelope.report_foreign(DIALECT, &mut writer.report);
    let mut instructions = None;
    let mut text_inputs = Vec::new();
    for (index, message) in history.messages.iter().enumerate() {
        if is_own_dialect && index == 0 && is_instructions(message) {
            instructions = Some(joined_texts(&message.contents, "\n\n"));
            continue;
        }
        text_inputs.push(is_own_dialect && is_text_input(message));
        writer.is_enclosed = is_own_dialect;
        writer.message(message, &format!("messages[{index}]"));
    }
    let (entries, confirmations, report) = writer.finish();
    let written = WrittenEntries {
        is_text_input: entries.len() == 1 && text_inputs.first() == Some(&true),
        entries,
        confirmations,
        instructions,
    };
    (enclose(written, &history.envelope), report)
}

/// Writes entries in order.
#[derive(Debug, Default)]
pub(super) struct EntryWriter {
    entries: Vec<Value>,
    confirmations: Vec<Value>,
    pub(super) report: Report,
    /// Decodes the written entries again, to track their calls.
    reader: EntryReader,
    /// Original call ids and their replacements.
    ids: HashMap<String, String>,
    /// Unanswered calls, and whether they were encoded here rather than copied.
    unanswered: Vec<(String, bool)>,
    /// Ids of the calls that have a result in the history.
    answered: HashSet<CallId>,
    /// Images to show after the results.
    images: Vec<(String, Media)>,
    /// Whether a request surrounds the entries, which can hold confirmations.
    is_enclosed: bool,
}

impl EntryWriter {
    pub(super) fn finish(mut self) -> (Vec<Value>, Vec<Value>, Report) {
        self.push_images();
        (self.entries, self.confirmations, self.report)
    }

    fn push_images(&mut self) {
        let images = std::mem::take(&mut self.images);
        self.entries.extend(result_images::write(images));
    }

    fn push(&mut self, entry: Value, is_new: bool) {
        let Some(fields) = entry.as_object() else {
            return;
        };
        let is_result = kind(fields) == "function.result";
        if !is_result {
            self.push_images();
        }
        // Within one turn, calls and text may alternate.
        if !is_result && kind(fields) != "function.call" && kind(fields) != "message.output" {
            self.answer_open();
        }
        let read = self.reader.entry(fields, &[]);
        let ids = read.contents.iter().filter_map(fallback_tools::call_info);
        if kind(fields) == "function.call" {
            let ids = ids.filter_map(|(id, _)| Some((id?.to_owned(), is_new)));
            self.unanswered.extend(ids);
        }
        self.entries.push(entry);
    }

    /// Adds error results for unanswered calls, which would block the conversation.
    fn answer_open(&mut self) {
        for (id, is_new) in std::mem::take(&mut self.unanswered) {
            if !is_new {
                continue;
            }
            let text = losses::missing_result(&id, &mut self.report);
            let entry = json!({"type": "function.result", "tool_call_id": id, "result": text});
            self.entries.push(entry);
        }
    }

    fn message(&mut self, message: &Message, path: &str) {
        if self.repeat(message) {
            return;
        }
        turns::for_each_run(message, path, |rest, path| {
            self.contents(message, rest, path)
        });
    }

    /// Writes an unedited entry of this dialect unchanged.
    fn repeat(&mut self, message: &Message) -> bool {
        let Some(Value::Object(json)) = raw_of(&message.meta, DIALECT) else {
            return false;
        };
        let result = message.contents.first().and_then(result_of);
        let images_after = self.images_in_next_entry(message, result.as_ref());
        let contents: Vec<Content> = images_after.iter().cloned().map(Content::from).collect();
        let mut reader = self.reader.clone();
        let again = reader.entry(json, &contents);
        if again.role != message.role || again.contents != message.contents {
            return false;
        }
        if let Some(result) = &result {
            let id = result.call_id().map_or("", CallId::as_str);
            self.unanswered.retain(|(unanswered, _)| unanswered != id);
            self.images
                .extend(images_after.into_iter().map(|image| (id.to_owned(), image)));
        }
        self.push(Value::Object(json.clone()), false);
        true
    }

    /// The images of a result that are in the following entry.
    fn images_in_next_entry(&self, message: &Message, result: Option<&ToolResult>) -> Vec<Media> {
        let count = message
            .contents
            .first()
            .and_then(|content| content.meta()?.property(PROVIDER, AFTER)?.as_u64())
            .and_then(|count| usize::try_from(count).ok());
        let (Some(result), Some(count)) = (result, count) else {
            return Vec::new();
        };
        let mut images = fallback_tools::render_result(result).images;
        images.split_off(images.len().saturating_sub(count))
    }

    /// Writes one entry from the leading contents and returns the number of contents used.
    fn contents(&mut self, message: &Message, rest: &[Content], path: &str) -> usize {
        if let Some(result) = result_of(&rest[0]) {
            self.result(&result, message, path);
            return 1;
        }
        if let Some((entry, count)) = execution::write(rest) {
            self.push(self.with_original_fields(message, entry), true);
            self.show_files(&rest[..count], path);
            return count;
        }
        if let Content::ApprovalRequest(approval_request) = &rest[0] {
            self.approval_request(message, approval_request, path);
            return 1;
        }
        if let Content::ApprovalResponse(approval_response) = &rest[0] {
            self.approval_response(approval_response, path);
            return 1;
        }
        if let Content::Other(other) = &rest[0]
            && let entry = passed_on(other, WRAPPED)
            && kind(entry).contains('.')
        {
            self.push(Value::Object(entry.clone()), true);
            return 1;
        }
        if fallback_tools::call_info(&rest[0]).is_some() {
            self.call(message, &rest[0], path);
            return 1;
        }
        let is_message_part = |content: &&Content| {
            result_of(content).is_none()
                && fallback_tools::call_info(content).is_none()
                && execution::write(std::slice::from_ref(content)).is_none()
        };
        let count = rest.iter().take_while(is_message_part).count().max(1);
        self.write_message(message, &rest[..count], path);
        count
    }

    /// Adds the stored fields of the original entry, if its type is the same.
    fn with_original_fields(&self, message: &Message, mut entry: Fields) -> Value {
        let members = message.meta.property(PROVIDER, MEMBERS);
        let came_as = message.meta.property(PROVIDER, ENTRY);
        let same = came_as.and_then(Value::as_str) == text(&entry, "type");
        if let Some(Value::Object(members)) = members.filter(|_| same) {
            for (name, value) in members {
                entry.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        Value::Object(entry)
    }

    fn call(&mut self, message: &Message, content: &Content, path: &str) {
        let Some(called) = fallback_tools::to_function_call(content) else {
            return;
        };
        let (Some((id, _)), Some(meta)) = (fallback_tools::call_info(content), content.meta())
        else {
            return;
        };
        let came = message.meta.property(PROVIDER, ENTRY).is_some();
        if !came && fallback_tools::is_hosted_without_result(content, &self.answered) {
            return self.hosted_call(&called, path);
        }
        let own = id.map_or_else(|| format!("call{}", self.entries.len()), str::to_owned);
        let id = self.wire_id(own, came, path);
        losses::call(content, came, path, &mut self.report);
        let arguments = match &called.arguments {
            Arguments::Text(text) if text.trim().is_empty() => "{}".into(),
            Arguments::Text(text) => text.as_str().into(),
            Arguments::Json(members) => Value::Object(members.clone()),
        };
        let entry = object_of([
            ("type", "function.call".into()),
            ("tool_call_id", id.into()),
            ("name", called.name.into()),
            ("arguments", arguments),
            (
                CONFIRMATION,
                meta.property(PROVIDER, CONFIRMATION).cloned().into(),
            ),
        ]);
        let entry = self.with_original_fields(message, entry);
        self.push(entry, true);
    }

    /// Writes a call as text that another provider executed without returning a result.
    fn hosted_call(&mut self, called: &FunctionInvocation, path: &str) {
        let what = format!("the call of `{}`", called.name);
        let why = "the service that executed it returned no result";
        self.report.preserved(what, path, why, "as text");
        let text = called.as_text();
        let entry = json!({"type": "message.output", "role": "assistant", "content": text});
        self.push(entry, true);
    }

    /// The call id to send: the original, or a replacement that the API accepts.
    fn wire_id(&mut self, own: String, came: bool, path: &str) -> String {
        if came || FLAVOUR.takes_id(&own) {
            return own;
        }
        losses::replaced_id(FLAVOUR, own, &mut self.ids, path, &mut self.report)
    }

    /// Records a call from an entry that is not part of the output.
    pub(super) fn remember(&mut self, content: &Content, id: String) {
        if let Some((_, known)) = fallback_tools::call_info(content) {
            self.reader.calls_by_id.insert(id.clone(), known);
            self.unanswered.push((id, false));
        }
    }

    /// Writes the result of a call.
    pub(super) fn result(&mut self, result: &ToolResult, message: &Message, path: &str) {
        losses::acknowledged(result, path, &mut self.report);
        let own = result.call_id().map_or("", CallId::as_str).to_owned();
        let id = self.ids.get(&own).cloned().unwrap_or(own);
        let mut rendered = fallback_tools::render_result(result);
        add_addresses(FLAVOUR, &mut rendered, result, path, &mut self.report);
        let shown = rendered.images.into_iter();
        let images_after: Vec<Media> = shown
            .filter(|media| parts::write_media(FLAVOUR, media).is_some())
            .collect();
        let is_open = |unanswered: &[(String, bool)]| {
            unanswered.iter().any(|(unanswered, _)| *unanswered == id)
        };
        if !self.reader.calls_by_id.is_empty() && !is_open(&self.unanswered) {
            self.report.preserved(
                format!("the result of call {id}"),
                path,
                "a result must directly follow its call",
                "as a user entry",
            );
            let text = format!("The result of call {id}: {}", rendered.text);
            let mut content = vec![json!({"type": "text", "text": text})];
            content.extend(
                images_after
                    .iter()
                    .filter_map(|media| parts::write_media(FLAVOUR, media)),
            );
            let entry = json!({"type": "message.input", "role": "user", "content": content});
            return self.push(entry, true);
        }
        // Two calls may have one id; each gets a result.
        let answered = self.unanswered.iter().position(|(open, _)| *open == id);
        if let Some(at) = answered {
            self.unanswered.remove(at);
        }
        let entry = object_of([
            ("type", "function.result".into()),
            ("tool_call_id", id.as_str().into()),
            ("result", rendered.text.into()),
        ]);
        let entry = self.with_original_fields(message, entry);
        self.push(entry, true);
        self.images
            .extend(images_after.into_iter().map(|image| (id.clone(), image)));
    }
}
