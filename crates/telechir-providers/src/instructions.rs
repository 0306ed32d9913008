//! The instructions in an envelope of another dialect, for dialects that have none but messages.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Role};

use crate::chat::assistant_message;
use crate::{History, Report};

/// Members that hold instructions in some API.
pub(crate) const MEMBERS: [&str; 4] = [
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
];

/// The instructions of another dialect's envelope as messages. Its other members are reported.
pub(crate) fn of_envelope(
    rest: &Map<String, Value>,
    history: &History,
    report: &mut Report,
) -> Vec<Message> {
    let why = "a list of messages has no request or response members";
    let has_message = history
        .messages
        .first()
        .is_some_and(|message| message.role == Role::System);
    let mut messages = Vec::new();
    for (name, value) in rest.iter().filter(|(_, value)| !value.is_null()) {
        let is_instructions = MEMBERS.contains(&name.as_str());
        if is_instructions && has_message {
            continue;
        }
        let what = format!("member `{name}`");
        match assistant_message::instructions(value).filter(|_| is_instructions) {
            Some(text) => {
                report.preserved(what, name, why, "as a system message");
                messages.push(Message::new(Role::System, vec![Content::text(text)]));
            }
            None => report.lost(what, name, why),
        }
    }
    messages
}
