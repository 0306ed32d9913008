//! Converts messages to items. An item of this dialect is written back unchanged; everything else
//! is encoded from its neutral value, and losses are reported.

mod call;
mod client_call;
mod computer;
mod hosted;
mod long_ids;
mod message;
mod result;
mod shell;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use telechir_protocol::{CallId, Content, FunctionCall, Media, Message, UnknownContent};

use super::action::ActionEncoder;
use super::call_form::CallForm;
use super::decode::{is_instructions, matches_json, unedited};
use super::envelope::enclose;
use super::item::{Item, passed_on, raw_of};
use super::item_kinds::HOSTED_ITEMS;
use super::{DIALECT, rules};
use crate::history::turns;
use crate::json::kind;
use crate::{EncodeError, History, Report, content_text, fallback_tools};

pub(super) use message::message_text;

/// Writes a history in its original envelope, or as a list of items.
pub(super) fn write_history(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut writer = ItemWriter {
        answered: turns::answered_ids(&history.messages),
        ..ItemWriter::default()
    };
    let is_own_dialect = history.envelope.own(DIALECT).is_some();
    let first = history
        .messages
        .first()
        .filter(|message| is_own_dialect && is_instructions(message));
    history.envelope.report_foreign(DIALECT, &mut writer.report);
    for (index, message) in history
        .messages
        .iter()
        .enumerate()
        .skip(usize::from(first.is_some()))
    {
        writer.message(message, &format!("messages[{index}]"))?;
    }
    let (mut items, mut report) = writer.finish();
    long_ids::shorten(&mut items, &history.messages, &mut report);
    let is_single_string = matches!(items.as_slice(), [Value::String(_)]);
    let own = history.envelope.own(DIALECT);
    let request = own.filter(|(member, _)| *member == "input");
    if !(is_single_string && request.is_some()) {
        items.iter_mut().for_each(string_to_message);
    }
    if let Some((_, rest)) = request {
        rules::request(rest, &items)?;
    }
    Ok((enclose(items, &history.envelope, first), report))
}

/// A lone string is a valid `input`; next to other items it must be a message.
fn string_to_message(item: &mut Value) {
    if let Value::String(text) = item {
        *item = json!({"type": "message", "role": "user", "content": text});
    }
}

/// How to handle a result without the screenshot that its item requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MissingScreenshot {
    /// In a history, reuse the last screenshot before it.
    #[default]
    UsePrevious,
    /// In a reply, a successful result must have a screenshot.
    Reject,
}

/// Writes items in order and tracks calls and screenshots.
#[derive(Debug, Default)]
pub(super) struct ItemWriter {
    items: Vec<Value>,
    /// Text that an output cannot carry; written after the outputs.
    notes: Vec<String>,
    pub(super) report: Report,
    call_forms: HashMap<CallId, CallForm>,
    /// Ids of the calls that have a result in the history.
    answered: HashSet<CallId>,
    /// The last screenshot, as the fields of an output.
    image: Option<Item>,
    /// The first screenshot of the current message.
    next_image: Option<Item>,
    action_encoder: ActionEncoder,
    missing_screenshot: MissingScreenshot,
}

impl ItemWriter {
    /// A writer for a reply: `image` replaces the screenshot of a failed call; a successful call
    /// without one is an error.
    pub(super) fn for_results(image: Option<Item>) -> Self {
        Self {
            image,
            missing_screenshot: MissingScreenshot::Reject,
            ..Self::default()
        }
    }

    /// All items, including pending notes, and the report.
    pub(super) fn finish(mut self) -> (Vec<Value>, Report) {
        self.flush_notes();
        (self.items, self.report)
    }

    /// Keeps outputs adjacent; notes follow them.
    fn push(&mut self, item: Value) {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if !kind.ends_with("_output") {
            self.flush_notes();
        }
        self.items.push(item);
    }

    /// Sent as the user, the least privileged role: the text may come from a web page.
    fn flush_notes(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.notes).join("\n");
        let part = json!({"type": "input_text", "text": text});
        self.items
            .push(json!({"type": "message", "role": "user", "content": [part]}));
    }

    fn message(&mut self, message: &Message, path: &str) -> Result<(), EncodeError> {
        if let Some(json) = raw_of(&message.meta).filter(|json| matches_json(json, message)) {
            self.push(json.clone());
            return Ok(());
        }
        self.next_image = message.contents.iter().find_map(image_in);
        let mut at = 0;
        while let Some(rest) = message.contents.get(at..).filter(|rest| !rest.is_empty()) {
            let path = format!("{path}.contents[{at}]");
            at += self.contents(message, rest, &path)?;
        }
        Ok(())
    }

    /// Writes one item from the leading contents and returns the number of contents used.
    fn contents(
        &mut self,
        message: &Message,
        rest: &[Content],
        path: &str,
    ) -> Result<usize, EncodeError> {
        if let Some((json, count)) = unedited(&message.role, rest) {
            let json = json.clone();
            rest.iter()
                .take(count)
                .for_each(|content| self.remember(content));
            self.push(json);
            return Ok(count);
        }
        let part_count = rest
            .iter()
            .take_while(|content| message::is_part(content, message))
            .count();
        if part_count > 0 {
            self.write_message(message, &rest[..part_count], path);
            return Ok(part_count);
        }
        match &rest[0] {
            Content::Text(_) | Content::Data(_) | Content::Uri(_) | Content::HostedFile(_) => {}
            Content::Reasoning(reasoning) => self.reasoning(reasoning, path),
            content @ Content::FunctionCall(call)
                if fallback_tools::is_hosted_without_result(content, &self.answered) =>
            {
                self.hosted_call(call, path);
            }
            Content::FunctionCall(call) => self.function_call(call, path),
            Content::ComputerCall(call) => self.computer_call(call, path),
            Content::ShellCall(call) => self.shell_call(call, path),
            Content::EditCall(call) => self.edit_call(call, path),
            Content::FunctionResult(result) => self.function_result(result, path),
            Content::ComputerResult(result) => self.computer_result(result, path)?,
            Content::ShellResult(result) => self.shell_result(result, path),
            Content::EditResult(result) => self.edit_result(result),
            Content::CommandCall(call) => {
                return Ok(self.code_interpreter(call, rest.get(1), path));
            }
            Content::CommandResult(result) => self.hosted_text("command_result", result, path),
            Content::ImageGenerationCall(call) => {
                return Ok(self.image_generation(call, rest.get(1), path));
            }
            Content::ImageGenerationResult(result) => {
                self.hosted_text("image_generation_result", result, path);
            }
            Content::ApprovalRequest(request) => self.approval_request(request, path),
            Content::ApprovalResponse(response) => self.approval_response(response, path),
            Content::Usage(_) => self
                .report
                .lost("usage", path, "request items have no usage"),
            Content::Error(error) => self.error(error, path),
            Content::Other(other) => self.other(other, path),
        }
        Ok(1)
    }

    /// Remembers the item type of a call and the screenshot of a result.
    pub(super) fn remember(&mut self, content: &Content) {
        if let Some(image) = image_in(content) {
            self.image = Some(image);
        } else if let Content::ComputerCall(call) = content {
            let is_supported =
                self.action_encoder.encode(&call.actions).is_some() || raw_of(&call.meta).is_some();
            self.call_forms
                .insert(call.call_id.clone(), CallForm::computer(call, is_supported));
        } else if let Content::ShellCall(call) = content {
            self.call_forms
                .insert(call.call_id.clone(), CallForm::shell(call));
        } else if let Content::EditCall(call) = content {
            self.call_forms
                .insert(call.call_id.clone(), CallForm::edit(call));
        } else if let Content::FunctionCall(
            call @ FunctionCall {
                call_id: Some(call_id),
                ..
            },
        ) = content
        {
            self.call_forms
                .insert(call_id.clone(), CallForm::function(call));
        }
    }

    fn other(&mut self, other: &UnknownContent, path: &str) {
        let item = passed_on(other);
        let kind = kind(item);
        // An item reference may omit its type.
        let is_reference = item.len() == 1 && item.contains_key("id");
        if is_reference || HOSTED_ITEMS.contains(&kind) {
            self.push(Value::Object(item.clone()));
        } else {
            let label = content_text::label(&Content::Other(other.clone()));
            let why = "no item type represents it";
            let Some(text) = content_text::as_text(&Content::Other(other.clone())) else {
                return self.report.lost(label, path, why);
            };
            self.report.preserved(label, path, why, "as a text message");
            self.push(json!({"type": "message", "role": "assistant", "content": text}));
        }
    }
}

/// The screenshot of a computer result.
fn image_in(content: &Content) -> Option<Item> {
    let Content::ComputerResult(result) = content else {
        return None;
    };
    result.screenshot.as_ref().map(image_fields)
}

/// An image as the fields of an output.
pub(super) fn image_fields(media: &Media) -> Item {
    let (name, value) = match media {
        Media::Data(data) => ("image_url", data.uri.as_str()),
        Media::Uri(uri) => ("image_url", uri.uri.as_str()),
        Media::HostedFile(file) => ("file_id", file.file_id.as_str()),
    };
    Item::from_iter([(name.to_owned(), value.into())])
}
