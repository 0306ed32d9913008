//! The messages of a document, and what stands around them when only they are translated.

use serde_json::Value;
use telechir_protocol::{Content, Message, Role, TextContent};

use super::{ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions};
use crate::settings::CHOICE;
use crate::{Dialect, Envelope, History, Loss, Report, instructions};

/// The members around the messages of another dialect, which a list of messages cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The dialect of the document.
    pub dialect: &'static str,
    /// Names of the members, in the order of the document; `a[].b` for one in the entries of a list.
    pub members: Vec<String>,
    /// Whether the first message holds the document's instructions.
    pub has_instructions: bool,
}

impl SetAside {
    /// Takes the entries that are no losses out of a report, because only messages were asked for:
    /// one for all members, and those about the role of the instructions.
    pub fn take_notes(&self, report: &mut Report) -> Vec<Loss> {
        let mut notes = Vec::new();
        if !self.members.is_empty() {
            notes.push(Loss {
                what: format!(
                    "settings around the messages: `{}`",
                    self.members.join("`, `")
                ),
                location: format!("around the messages ({})", self.dialect),
                why: "only messages are translated; --envelope translates the settings, too"
                    .to_owned(),
                preserved_as: None,
            });
        }
        // A number or a repeated key of a member that was set aside.
        let is_aside = |loss: &mut Loss| self.has(&loss.location);
        notes.extend(report.losses.extract_if(.., is_aside));
        if self.has_instructions {
            let is_role = |loss: &mut Loss| {
                loss.location == "messages[0]" || loss.location.starts_with("messages[0].")
            };
            let is_note = |loss: &mut Loss| {
                is_role(loss)
                    && loss.what.starts_with("instructions")
                    && loss.preserved_as.is_some()
            };
            notes.extend(report.losses.extract_if(.., is_note));
        }
        notes
    }

    /// Whether the value at a JSON pointer was set aside.
    fn has(&self, pointer: &str) -> bool {
        let Some(path) = pointer.strip_prefix('/') else {
            return false;
        };
        let mut names = path.split('/');
        let mut name = names.next().unwrap_or_default().to_owned();
        loop {
            if self.members.contains(&name) {
                return true;
            }
            match names.next() {
                None => return false,
                Some(at) if at.bytes().all(|byte| byte.is_ascii_digit()) => name.push_str("[]"),
                Some(inner) => {
                    name.push('.');
                    name.push_str(inner);
                }
            }
        }
    }
}

impl History {
    /// Takes away the members around the messages that belong to another dialect than `to`.
    /// Instructions become the first message.
    pub fn set_envelope_aside(&mut self, to: Dialect) -> Option<SetAside> {
        let own = to.envelope_dialect();
        let is_foreign = matches!(&self.envelope, Envelope::Object { dialect, .. }
            if *dialect != own && *dialect != to.name());
        let left = match is_foreign {
            true => instructions::move_to_messages(self, own),
            false => return None,
        };
        let Envelope::Object {
            dialect,
            member,
            rest,
        } = &mut self.envelope
        else {
            return None;
        };
        let (dialect, member) = (*dialect, *member);
        let around = rest.shift_remove(member);
        let aside = rest.iter().filter(|(_, value)| !value.is_null());
        let mut members: Vec<String> = aside.map(|(name, _)| name.clone()).collect();
        match &around {
            Some(Value::Object(fields)) => {
                let present = fields.iter().filter(|(_, value)| !value.is_null());
                members.extend(present.map(|(name, _)| format!("{member}.{name}")));
                members.extend(fields_of_entries(member, choices(&self.messages)));
            }
            _ => {
                let around_message = around.iter().chain(choices(&self.messages));
                members.extend(fields_of_entries(member, around_message));
            }
        }
        let has_instructions = left.is_some();
        members.extend(left.into_iter().flatten());
        *rest = around
            .into_iter()
            .map(|value| (member.to_owned(), value))
            .collect();
        (has_instructions || !members.is_empty()).then_some(SetAside {
            dialect,
            members,
            has_instructions,
        })
    }

    /// Turns readable thinking into text, because no API accepts another's as thinking.
    pub fn thinking_to_text(&mut self, to: Dialect, report: &mut Report) {
        if has_thinking_text(to) {
            return;
        }
        for (at, message) in self.messages.iter_mut().enumerate() {
            let location = format!("messages[{at}]");
            thinking_to_text(&mut message.contents, to, &location, report);
            // The message's own JSON holds the thinking block.
            message.meta.raw_representation = None;
        }
    }
}

/// The fields of the choices that a response's messages were in.
fn choices(messages: &[Message]) -> impl Iterator<Item = &Value> {
    let settings = messages
        .iter()
        .flat_map(|message| message.meta.additional_properties.values());
    settings.filter_map(|settings| settings.get(CHOICE))
}

/// Names of the fields beside the messages in the entries of a list, such as
/// `choices[].finish_reason`.
fn fields_of_entries<'a>(list: &str, around: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let entries = around.flat_map(|value| match value {
        Value::Array(entries) => entries.as_slice(),
        one => std::slice::from_ref(one),
    });
    let fields = entries.filter_map(Value::as_object).flatten();
    let mut names: Vec<String> = fields
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| format!("{list}[].{name}"))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Whether the dialect writes readable thinking of others as its own.
fn has_thinking_text(to: Dialect) -> bool {
    matches!(to, Dialect::AgentFramework)
}

fn thinking_to_text(contents: &mut [Content], to: Dialect, location: &str, report: &mut Report) {
    for (at, content) in contents.iter_mut().enumerate() {
        let Content::Reasoning(reasoning) = content else {
            continue;
        };
        let is_own = reasoning
            .meta
            .raw_representation
            .as_ref()
            .is_some_and(|raw| raw.dialect == to.codec().raw_dialect);
        let Some(text) = reasoning
            .text
            .as_ref()
            .filter(|text| !is_own && !text.is_empty())
        else {
            continue;
        };
        let text = format!("<thinking>\n{text}\n</thinking>");
        report.preserved(
            "thinking",
            format!("{location}.contents[{at}]"),
            "thinking of another provider cannot be sent as thinking",
            "as text between <thinking> tags",
        );
        *content = Content::Text(TextContent::new(text));
    }
}

/// Translates a document that is only messages.
pub(super) fn translate(
    from: Dialect,
    to: Dialect,
    value: &Value,
    document: &[u8],
    options: &TranslationOptions,
) -> Result<TranslatedDocument, TranslationError> {
    let (mut history, mut report) = from.decode_history(document)?;
    if options.thinking == ThinkingTranslation::Text {
        history.thinking_to_text(to, &mut report);
    }
    let (document, losses) = to.encode_history(&history)?;
    report.absorb(losses);
    // Other reports of whole documents have JSON pointers.
    for loss in &mut report.losses {
        if value.get(&loss.location).is_some() {
            loss.location.insert(0, '/');
        }
    }
    Ok(TranslatedDocument {
        document,
        report,
        ..TranslatedDocument::default()
    })
}

/// A text of the instructions.
pub(super) struct Instruction {
    pub(super) text: String,
    /// Anthropic's `cache_control`.
    pub(super) cache: Option<Value>,
}

impl Instruction {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            cache: None,
        }
    }

    /// A text content, which keeps the marker as a setting of Anthropic's.
    pub(super) fn content(&self) -> Content {
        let mut text = TextContent::new(self.text.as_str());
        if let Some(cache) = &self.cache {
            text.meta.set_property(ANTHROPIC, CACHE, cache.clone());
        }
        Content::Text(text)
    }
}

const ANTHROPIC: &str = "anthropic";
pub(super) const CACHE: &str = "cache_control";

/// Takes the leading instructions of a history: their texts, and the messages that they were in.
/// What is not text is reported.
pub(super) fn take_instructions(
    messages: &mut Vec<Message>,
    report: &mut Report,
) -> (Vec<Instruction>, Vec<Message>) {
    let is_system = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let count = messages
        .iter()
        .take_while(|message| is_system(message))
        .count();
    let mut texts = Vec::new();
    let taken: Vec<Message> = messages.drain(..count).collect();
    for (at, message) in taken.iter().enumerate() {
        for content in &message.contents {
            match content {
                Content::Text(text) => texts.push(Instruction {
                    cache: text.meta.property(ANTHROPIC, CACHE).cloned(),
                    text: text.text.clone(),
                }),
                _ => report.lost(
                    "a part of the instructions that is not text",
                    format!("messages[{at}]"),
                    "the target's instructions are text",
                ),
            }
        }
    }
    (texts, taken)
}

/// Reports the members of a cache marker that Converse's cache points do not have, or the other way
/// round.
pub(super) fn report_cache_members(marker: &Value, pointer: &str, report: &mut Report) {
    for (name, value) in marker.as_object().into_iter().flatten() {
        let is_known = match name.as_str() {
            "type" => matches!(value.as_str(), Some("ephemeral" | "default")),
            "ttl" => true,
            _ => value.is_null(),
        };
        if !is_known {
            let why = "the target's cache markers have only a lifetime";
            let what = format!("`{name}` of the cache marker: {value}");
            report.lost(what, pointer, why);
        }
    }
}
