//! Messages to items. An item of this dialect goes back as it came; anything else is written
//! from what it means, and what cannot be said is reported.

mod call;
mod computer;
mod hosted;
mod long_ids;
mod message;
mod result;
mod shell;

use std::collections::HashMap;

use serde_json::{Value, json};
use telechir_protocol::{CallId, Content, FunctionCall, Media, Message, UnknownContent};

use super::action::Speaker;
use super::call_form::Asked;
use super::envelope::enclose;
use super::item::{Item, kind, passed_on, raw_of};
use super::read::{is_instructions, still_says, unedited};
use super::{DIALECT, PROVIDER, check};
use crate::{EncodeError, Envelope, History, Report, settings};

pub(super) use message::words_of;

/// Writes a history as the envelope it came in, or as a list of items.
pub(super) fn write_history(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut writer = Writer::default();
    let ours = matches!(
        &history.envelope,
        Envelope::Object {
            dialect: DIALECT,
            ..
        }
    );
    let first = history
        .messages
        .first()
        .filter(|message| ours && is_instructions(message));
    writer.foreign_envelope(&history.envelope);
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
    let alone = matches!(items.as_slice(), [Value::String(_)]);
    let member = if let Envelope::Object { member, .. } = &history.envelope {
        member
    } else {
        ""
    };
    if !(ours && alone && member == "input") {
        items.iter_mut().for_each(spell_out);
    }
    if let Envelope::Object {
        dialect: DIALECT,
        member: "input",
        rest,
    } = &history.envelope
    {
        check::request(rest, &items)?;
    }
    Ok((enclose(items, &history.envelope, first), report))
}

/// One string is all of `input`; among others it is a message.
fn spell_out(item: &mut Value) {
    if let Value::String(said) = item {
        *item = json!({"type": "message", "role": "user", "content": said});
    }
}

/// What to do about a result without the picture that its item must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pictureless {
    /// A history is told with the newest picture before it.
    #[default]
    Earlier,
    /// An answer that claims success must show it.
    Refused,
}

/// Writes items one after another.
#[derive(Debug, Default)]
pub(super) struct Writer {
    items: Vec<Value>,
    /// Words that an output could not carry; they follow the outputs.
    notes: Vec<String>,
    pub(super) report: Report,
    asked: HashMap<CallId, Asked>,
    /// The newest picture, as an output names it.
    image: Option<Item>,
    /// The first picture of the message that is being written.
    coming: Option<Item>,
    speaker: Speaker,
    pictureless: Pictureless,
}

impl Writer {
    /// A writer that shows `image` where a failed call has none, and refuses to where a call
    /// claims success.
    pub(super) fn of_answers(image: Option<Item>) -> Self {
        Self {
            image,
            pictureless: Pictureless::Refused,
            ..Self::default()
        }
    }

    /// All items, with what is left to be said.
    pub(super) fn finish(mut self) -> (Vec<Value>, Report) {
        self.say_notes();
        (self.items, self.report)
    }

    /// Outputs stand together; words that belong to them follow.
    fn push(&mut self, item: Value) {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if !kind.ends_with("_output") {
            self.say_notes();
        }
        self.items.push(item);
    }

    /// The role is a person's, the least an input has: the words may be a page's.
    fn say_notes(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.notes).join("\n");
        let part = json!({"type": "input_text", "text": text});
        self.items
            .push(json!({"type": "message", "role": "user", "content": [part]}));
    }

    /// Members around a history of another dialect have no place in a list of items; only its
    /// instructions can be said as a message.
    fn foreign_envelope(&mut self, envelope: &Envelope) {
        let Envelope::Object {
            dialect,
            member,
            rest,
        } = envelope
        else {
            return;
        };
        if *dialect == DIALECT {
            return;
        }
        let why = "a list of items has no place for members of a request or response";
        for (name, value) in rest {
            if name == member || value.is_null() {
                continue;
            }
            let words = instructions_in(value).filter(|_| name == "system");
            let Some(words) = words else {
                self.report
                    .lost(format!("member `{name}`"), name.clone(), why);
                continue;
            };
            let how = "as a message of the developer";
            self.report
                .kept(format!("member `{name}`"), name.clone(), why, how);
            let part = json!({"type": "input_text", "text": words});
            self.push(json!({"type": "message", "role": "developer", "content": [part]}));
        }
    }

    fn message(&mut self, message: &Message, place: &str) -> Result<(), EncodeError> {
        if let Some(json) = raw_of(&message.meta).filter(|json| still_says(json, message)) {
            self.push(json.clone());
            return Ok(());
        }
        self.coming = message.contents.iter().find_map(image_in);
        let mut at = 0;
        while let Some(rest) = message.contents.get(at..).filter(|rest| !rest.is_empty()) {
            let place = format!("{place}.contents[{at}]");
            at += self.contents(message, rest, &place)?;
        }
        Ok(())
    }

    /// Writes the first of these contents, or as many as make one item; says how many.
    fn contents(
        &mut self,
        message: &Message,
        rest: &[Content],
        place: &str,
    ) -> Result<usize, EncodeError> {
        if let Some((json, count)) = unedited(&message.role, rest) {
            let json = json.clone();
            rest.iter()
                .take(count)
                .for_each(|content| self.learn(content));
            self.push(json);
            return Ok(count);
        }
        let spoken = rest
            .iter()
            .take_while(|content| message::is_part(content, message))
            .count();
        for content in rest.iter().take(spoken.max(1)) {
            self.note_settings(content, place);
        }
        if spoken > 0 {
            self.say(message, &rest[..spoken], place);
            return Ok(spoken);
        }
        match &rest[0] {
            Content::Text(_) | Content::Data(_) | Content::Uri(_) | Content::HostedFile(_) => {}
            Content::Reasoning(reasoning) => self.reasoning(reasoning, place),
            Content::FunctionCall(call) => self.function_call(call, place),
            Content::ComputerCall(call) => self.computer_call(call, place),
            Content::ShellCall(call) => self.shell_call(call, place),
            Content::EditCall(call) => self.edit_call(call, place),
            Content::FunctionResult(result) => self.function_result(result, place),
            Content::ComputerResult(result) => self.computer_result(result, place)?,
            Content::ShellResult(result) => self.shell_result(result, place),
            Content::EditResult(result) => self.edit_result(result),
            Content::CommandCall(call) => {
                return Ok(self.code_interpreter(call, rest.get(1), place));
            }
            Content::CommandResult(result) => {
                self.hosted_words("command_result", &result.results, place)
            }
            Content::ImageGenerationCall(call) => {
                return Ok(self.image_generation(call, rest.get(1), place));
            }
            Content::ImageGenerationResult(result) => {
                self.hosted_words("image_generation_result", &result.results, place);
            }
            Content::ApprovalRequest(request) => self.approval_request(request, place),
            Content::ApprovalResponse(response) => self.approval_response(response, place),
            Content::Usage(_) => {
                self.report
                    .lost("usage", place, "items of a request carry no usage")
            }
            Content::Error(error) => self.error(error, place),
            Content::Other(other) => self.other(other, place),
        }
        Ok(1)
    }

    /// Settings of other providers stay behind. What a response cost and why it ended does anyway.
    fn note_settings(&mut self, content: &Content, place: &str) {
        if matches!(content, Content::Usage(_) | Content::Error(_)) {
            return;
        }
        let others = content
            .meta()
            .map(|meta| settings::of_others(meta, PROVIDER));
        for (provider, names) in others.into_iter().flatten() {
            let what = format!("settings of {provider}: {}", names.join(", "));
            self.report.lost(what, place, "they are another provider's");
        }
    }

    /// Remembers of a call how it stands, and of a result its picture.
    pub(super) fn learn(&mut self, content: &Content) {
        if let Some(image) = image_in(content) {
            self.image = Some(image);
        } else if let Content::ComputerCall(call) = content {
            let sayable =
                self.speaker.actions(&call.actions).is_some() || raw_of(&call.meta).is_some();
            self.asked
                .insert(call.call_id.clone(), Asked::computer(call, sayable));
        } else if let Content::ShellCall(call) = content {
            self.asked.insert(call.call_id.clone(), Asked::shell(call));
        } else if let Content::EditCall(call) = content {
            self.asked.insert(call.call_id.clone(), Asked::edit(call));
        } else if let Content::FunctionCall(
            call @ FunctionCall {
                call_id: Some(call_id),
                ..
            },
        ) = content
        {
            self.asked.insert(call_id.clone(), Asked::function(call));
        }
    }

    fn other(&mut self, other: &UnknownContent, place: &str) {
        let item = passed_on(other);
        let kind = kind(item);
        // A reference may come without its type.
        let is_reference = item.len() == 1 && item.contains_key("id");
        if is_reference || hosted::ITEMS.contains(&kind) {
            self.push(Value::Object(item.clone()));
        } else {
            self.report.lost(
                format!("content of type `{kind}`"),
                place,
                "no item is known that says it",
            );
        }
    }
}

/// Words of instructions, as one string or as a list of texts.
fn instructions_in(value: &Value) -> Option<String> {
    if let Some(words) = value.as_str() {
        return Some(words.to_owned());
    }
    let words = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
    let parts: Option<Vec<String>> = value.as_array()?.iter().map(words).collect();
    parts.map(|parts| parts.join("\n\n"))
}

/// The picture of a result.
fn image_in(content: &Content) -> Option<Item> {
    let Content::ComputerResult(result) = content else {
        return None;
    };
    result.screenshot.as_ref().map(image_of)
}

/// A picture as the members of an output.
pub(super) fn image_of(media: &Media) -> Item {
    let (name, value) = match media {
        Media::Data(data) => ("image_url", data.uri.text_with_slot()),
        Media::Uri(uri) => ("image_url", uri.uri.as_str()),
        Media::HostedFile(file) => ("file_id", file.file_id.as_str()),
    };
    Item::from_iter([(name.to_owned(), value.into())])
}
