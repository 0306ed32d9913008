//! The messages of a document, and what stands around them when only they are translated.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Role, TextContent};

use super::api::Api;
use super::{ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions};
use crate::settings::CHOICE;
use crate::{Dialect, Envelope, History, Loss, Report, instructions};

/// The members around the messages of another dialect, which a list of messages cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The dialect of the document.
    pub dialect: &'static str,
    /// Names of the members, in the order of the document.
    pub members: Vec<String>,
}

impl SetAside {
    /// One line of a report for all members. It is no loss: the messages were asked for.
    pub fn note(&self) -> Loss {
        Loss {
            what: format!(
                "settings around the messages: `{}`",
                self.members.join("`, `")
            ),
            location: format!("around the messages ({})", self.dialect),
            why: "only messages are translated; --envelope translates the settings, too".to_owned(),
            preserved_as: None,
        }
    }
}

impl History {
    /// Takes away the members around the messages that belong to another dialect than `to`, except
    /// for instructions, which are messages there.
    pub fn set_envelope_aside(&mut self, to: Dialect) -> Option<SetAside> {
        let own = Api::envelope_dialect(to);
        let Envelope::Object {
            dialect,
            member,
            rest,
        } = &mut self.envelope
        else {
            return None;
        };
        if *dialect == own || *dialect == to.name() {
            return None;
        }
        let (dialect, member) = (*dialect, *member);
        let is_instruction = |name: &str| name == member || instructions::MEMBERS.contains(&name);
        let aside = rest
            .iter()
            .filter(|(name, value)| !is_instruction(name) && !value.is_null());
        let mut members: Vec<String> = aside.map(|(name, _)| name.clone()).collect();
        let around_message = rest.get(member).into_iter().chain(choices(&self.messages));
        members.extend(fields_of_entries(member, around_message));
        let instructions = rest.iter().filter(|(name, _)| is_instruction(name));
        let instructions: Map<String, Value> = instructions
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        *rest = instructions;
        (!members.is_empty()).then_some(SetAside { dialect, members })
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
            .is_some_and(|raw| raw.dialect == to.codec().raw_dialect());
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
            format!("{location}.content[{at}]"),
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
    document: &[u8],
    options: &TranslationOptions,
) -> Result<TranslatedDocument, TranslationError> {
    let (mut history, mut report) = from.decode_history(document)?;
    if options.thinking == ThinkingTranslation::Text {
        history.thinking_to_text(to, &mut report);
    }
    let (document, losses) = to.encode_history(&history)?;
    report.absorb(losses);
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

/// The leading instructions of a history, as texts; anything else in them is reported.
pub(super) fn take_instructions(
    messages: &mut Vec<Message>,
    report: &mut Report,
) -> Vec<Instruction> {
    let is_system = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let count = messages
        .iter()
        .take_while(|message| is_system(message))
        .count();
    let mut texts = Vec::new();
    for (at, message) in messages.drain(..count).enumerate() {
        for content in message.contents {
            match content {
                Content::Text(text) => texts.push(Instruction {
                    cache: text.meta.property(ANTHROPIC, CACHE).cloned(),
                    text: text.text,
                }),
                _ => report.lost(
                    "a part of the instructions that is not text",
                    format!("messages[{at}]"),
                    "the target's instructions are text",
                ),
            }
        }
    }
    texts
}
