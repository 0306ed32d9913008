//! Results by call id, and other conversions of contents for messages.

use std::collections::HashMap;

use serde_json::Value;
use telechir_protocol::{CallId, Content, Message, Role, ToolResult};

use crate::anthropic::{DIALECT, decode_history};

pub(super) fn index(messages: &[Message]) -> HashMap<&str, &Content> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    contents
        .filter_map(|content| Some((result_id(content)?.as_str(), content)))
        .collect()
}

/// The id of the call that a result belongs to.
pub(super) fn result_id(content: &Content) -> Option<&CallId> {
    match content {
        Content::ComputerResult(result) => Some(&result.call_id),
        Content::ShellResult(result) => Some(&result.call_id),
        Content::EditResult(result) => Some(&result.call_id),
        Content::FunctionResult(result) => result.call_id.as_ref(),
        _ => None,
    }
}

/// Whether a content is the result of a call.
pub(super) fn is_result(content: &Content) -> bool {
    result_id(content).is_some() || matches!(content, Content::FunctionResult(_))
}

pub(super) fn result_of(content: &Content) -> Option<ToolResult> {
    Some(match content {
        Content::ComputerResult(result) => ToolResult::Computer(result.clone()),
        Content::ShellResult(result) => ToolResult::Shell(result.clone()),
        Content::EditResult(result) => ToolResult::Edit(result.clone()),
        Content::FunctionResult(result) => ToolResult::Function(result.clone()),
        _ => return None,
    })
}

/// The string that was a message's `content`, if the text is unchanged.
pub(super) fn string_of(content: &Content) -> Option<Value> {
    let Content::Text(text) = content else {
        return None;
    };
    let raw = text
        .meta
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    let again = decode_history::string_content(raw.json().as_str()?);
    (again == *content).then(|| raw.json().clone())
}

pub(super) fn role_name(role: &Role) -> &'static str {
    match role {
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    }
}
