//! Converts one item to one message. Unknown items are kept unchanged; calls that cannot be
//! executed carry the reason.

mod client_call;
mod computer;
mod edit;
mod hosted;
mod message;
mod reasoning;
mod shell;
mod tool;

use std::collections::HashMap;

use telechir_protocol::{Content, Message, Role};

use super::item::{Item, raw, raw_of, verbatim};
use crate::Report;
use crate::json::{is_text_or_absent, kind, text};

pub(super) use hosted::IMAGE_CALL_FIELDS;
pub(super) use message::{MESSAGE_FIELDS, instructions, is_instructions, text_input};
pub(super) use reasoning::{REASONING_FIELDS, reasoning_text};
pub(super) use tool::{ERROR, OUTPUT_FIELDS, TOOL_CALL_FIELDS};

/// What surrounding items reveal about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallContext {
    /// The provider sent the output of the call itself.
    AnsweredByProvider,
    /// A call of the `browser` function.
    Browser,
    /// A call of the `computer_action` function.
    ComputerAction,
    /// A call of the `shell_session` function.
    ShellSession,
    /// A call without a neutral kind.
    Client,
}

/// Reads items in order and tracks the calls among them.
#[derive(Debug, Default)]
pub(super) struct ItemReader {
    /// Contexts by call id.
    pub(super) call_contexts: HashMap<String, CallContext>,
    /// Call ids of local shell calls by the ids of their items.
    pub(super) local_shell_calls: HashMap<String, String>,
    pub(super) report: Report,
}

impl ItemReader {
    /// Converts an item to a message.
    pub(super) fn item(&mut self, item: &Item, path: &str) -> Message {
        let read = match kind(item) {
            "message" | "" if is_message(item) => Some(message::read(item)),
            "reasoning" => Some(message_of(Role::Assistant, reasoning::read(item))),
            "computer_call" => self
                .computer_call(item, path)
                .map(|call| message_of(Role::Assistant, call)),
            "computer_call_output" => {
                computer::output(item).map(|output| message_of(Role::Tool, output))
            }
            "shell_call" => self
                .shell_call(item)
                .map(|call| message_of(Role::Assistant, call)),
            "shell_call_output" => self.shell_output(item),
            "local_shell_call" => {
                let ids = text(item, "id").zip(text(item, "call_id"));
                let ids = ids.map(|(id, call_id)| (id.to_owned(), call_id.to_owned()));
                self.local_shell_calls.extend(ids);
                shell::local_call(item).map(|call| message_of(Role::Assistant, call))
            }
            "local_shell_call_output" => self
                .local_output(item)
                .map(|output| message_of(Role::Tool, output)),
            "apply_patch_call" => edit::call(item).map(|call| message_of(Role::Assistant, call)),
            "apply_patch_call_output" => {
                edit::output(item).map(|output| message_of(Role::Tool, output))
            }
            "function_call" | "custom_tool_call" => self
                .tool_call(item)
                .map(|call| message_of(Role::Assistant, call)),
            "function_call_output" | "custom_tool_call_output" => {
                Some(message_of(Role::Tool, self.tool_output(item)))
            }
            "code_interpreter_call" => hosted::code_interpreter(item),
            "image_generation_call" => hosted::image_generation(item),
            "mcp_approval_request" => {
                hosted::approval_request(item).map(|request| message_of(Role::Assistant, request))
            }
            "mcp_approval_response" => {
                hosted::approval_response(item).map(|response| message_of(Role::User, response))
            }
            _ => self.client_call(item).or_else(|| self.client_output(item)),
        };
        read.unwrap_or_else(|| unknown_item(item))
    }
}

/// Whether an item is a message. One with a type that is no text is not known.
fn is_message(item: &Item) -> bool {
    text(item, "role").is_some() && is_text_or_absent(item, "type")
}

/// A message with a single content, which carries the raw item.
fn message_of(role: Role, content: Content) -> Message {
    Message::new(role, vec![content])
}

/// An item of an unknown type; the role of the message is that of its sender.
fn unknown_item(item: &Item) -> Message {
    let role = match kind(item) {
        "configuration_update" | "additional_tools" | "compaction_trigger" => Role::Developer,
        _ => Role::Assistant,
    };
    Message {
        role,
        contents: vec![verbatim(item)],
        meta: raw(item),
    }
}

/// Whether decoding this JSON again yields exactly this message.
pub(super) fn matches_json(json: &serde_json::Value, message: &Message) -> bool {
    let serde_json::Value::Object(item) = json else {
        return text_input(json).as_ref() == Some(message);
    };
    let contexts = [
        None,
        Some(CallContext::AnsweredByProvider),
        Some(CallContext::Browser),
        Some(CallContext::ComputerAction),
        Some(CallContext::ShellSession),
        Some(CallContext::Client),
    ];
    contexts.into_iter().any(|call_contexts| {
        let call_id = text(item, "call_id").unwrap_or_default().to_owned();
        let call_contexts = call_contexts
            .map(|call_contexts| (call_id, call_contexts))
            .into_iter()
            .collect();
        let mut reader = ItemReader {
            call_contexts,
            local_shell_calls: local_shell_call(item, message),
            report: Report::default(),
        };
        reader.item(item, "") == *message
    })
}

/// The call that a result names by the id of its item.
fn local_shell_call(item: &Item, message: &Message) -> HashMap<String, String> {
    match message.contents.first() {
        Some(Content::ShellResult(result)) => text(item, "id")
            .map(|id| (id.to_owned(), result.call_id.to_string()))
            .into_iter()
            .collect(),
        _ => HashMap::new(),
    }
}

/// The raw item of the leading contents and the number of contents it covers, if none was edited.
pub(super) fn unedited<'a>(
    role: &Role,
    contents: &'a [Content],
) -> Option<(&'a serde_json::Value, usize)> {
    let json = raw_of(contents.first()?.meta()?)?;
    let fits = |count: usize| {
        let message = Message::new(role.clone(), contents.get(..count)?.to_vec());
        matches_json(json, &message).then_some((json, count))
    };
    fits(1).or_else(|| fits(2))
}
