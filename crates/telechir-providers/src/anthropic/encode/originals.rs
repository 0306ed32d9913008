//! What a message is written from: its role and its original text.

use serde_json::Value;
use telechir_protocol::{Content, Role};

use crate::anthropic::{DIALECT, decode};

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
    let again = decode::string_content(raw.json().as_str()?);
    (again == *content).then(|| raw.json().clone())
}

pub(super) fn role_name(role: &Role) -> &'static str {
    match role {
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    }
}
