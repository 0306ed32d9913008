//! One item to one message. What is not understood is kept whole; what cannot be carried out
//! says why.

mod computer;
mod edit;
mod hosted;
mod message;
mod reasoning;
mod shell;
mod tool;

use std::collections::HashMap;

use telechir_protocol::{Content, Message, Role};

use super::item::{Item, kind, raw, raw_of, text, verbatim};
use crate::Report;

pub(super) use hosted::KEPT_OF_IMAGES;
pub(super) use message::{KEPT as KEPT_OF_MESSAGES, instructions, is_instructions, spoken};
pub(super) use reasoning::{KEPT as KEPT_OF_REASONING, said as reasoned};
pub(super) use tool::{ERROR, KEPT as KEPT_OF_TOOLS, KEPT_OF_OUTPUTS};

/// What the items around one say about its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The provider sent the shell call's output itself.
    AnsweredByProvider,
    /// The call was one of `browser`.
    Browser,
    /// The call was one of `computer_action`.
    ComputerAction,
    /// The call was one of `shell_session`.
    ShellSession,
}

/// Reads items one after another.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// By call id.
    pub(super) known: HashMap<String, Known>,
    pub(super) report: Report,
}

impl Reader {
    /// The message that an item is.
    pub(super) fn item(&mut self, item: &Item, place: &str) -> Message {
        let read = match kind(item) {
            "message" | "" if text(item, "role").is_some() => Some(message::read(item)),
            "reasoning" => Some(said(Role::Assistant, reasoning::read(item))),
            "computer_call" => self
                .computer_call(item, place)
                .map(|call| said(Role::Assistant, call)),
            "computer_call_output" => computer::output(item).map(|output| said(Role::Tool, output)),
            "shell_call" => self
                .shell_call(item)
                .map(|call| said(Role::Assistant, call)),
            "shell_call_output" => self.shell_output(item),
            "local_shell_call" => shell::local_call(item).map(|call| said(Role::Assistant, call)),
            "local_shell_call_output" => {
                shell::local_output(item).map(|output| said(Role::Tool, output))
            }
            "apply_patch_call" => edit::call(item).map(|call| said(Role::Assistant, call)),
            "apply_patch_call_output" => edit::output(item).map(|output| said(Role::Tool, output)),
            "function_call" | "custom_tool_call" => {
                self.tool_call(item).map(|call| said(Role::Assistant, call))
            }
            "function_call_output" | "custom_tool_call_output" => {
                Some(said(Role::Tool, self.tool_output(item)))
            }
            "code_interpreter_call" => hosted::code_interpreter(item),
            "image_generation_call" => hosted::image_generation(item),
            "mcp_approval_request" => {
                hosted::approval_request(item).map(|asked| said(Role::Assistant, asked))
            }
            "mcp_approval_response" => {
                hosted::approval_response(item).map(|given| said(Role::User, given))
            }
            _ => None,
        };
        read.unwrap_or_else(|| other(item))
    }
}

/// A message of one content, which carries the item.
fn said(role: Role, content: Content) -> Message {
    Message::new(role, vec![content])
}

/// An item of a type nobody here knows; the message carries whose it is.
fn other(item: &Item) -> Message {
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

/// Whether this JSON, read again, says these very contents in this role.
pub(super) fn still_says(json: &serde_json::Value, message: &Message) -> bool {
    let serde_json::Value::Object(item) = json else {
        return spoken(json).as_ref() == Some(message);
    };
    let contexts = [
        None,
        Some(Known::AnsweredByProvider),
        Some(Known::Browser),
        Some(Known::ComputerAction),
        Some(Known::ShellSession),
    ];
    contexts.into_iter().any(|known| {
        let call_id = text(item, "call_id").unwrap_or_default().to_owned();
        let known = known.map(|known| (call_id, known)).into_iter().collect();
        let mut reader = Reader {
            known,
            report: Report::default(),
        };
        reader.item(item, "") == *message
    })
}

/// The item these contents begin with, and how many of them it is, when none was edited.
pub(super) fn unedited<'a>(
    role: &Role,
    contents: &'a [Content],
) -> Option<(&'a serde_json::Value, usize)> {
    let json = raw_of(contents.first()?.meta()?)?;
    let fits = |count: usize| {
        let message = Message::new(role.clone(), contents.get(..count)?.to_vec());
        still_says(json, &message).then_some((json, count))
    };
    fits(1).or_else(|| fits(2))
}
