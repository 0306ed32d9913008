//! The instructions in an envelope of another dialect, for dialects that have none but messages.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Role};

use crate::Report;

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
    messages: &[Message],
    report: &mut Report,
) -> Vec<Message> {
    let why = "a list of messages has no request or response members";
    let has_message = messages
        .first()
        .is_some_and(|message| message.role == Role::System);
    let mut instructions = Vec::new();
    for (name, value) in rest.iter().filter(|(_, value)| !value.is_null()) {
        let is_instructions = MEMBERS.contains(&name.as_str());
        if is_instructions && has_message {
            continue;
        }
        let what = format!("member `{name}`");
        match text(value).filter(|_| is_instructions) {
            Some(text) => {
                report.preserved(what, name, why, "as a system message");
                instructions.push(Message::new(Role::System, vec![Content::text(text)]));
            }
            None => report.lost(what, name, why),
        }
    }
    instructions
}

/// The text of instructions, given as a string or as parts.
pub(crate) fn text(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let parts = value
        .get("parts")
        .and_then(Value::as_array)
        .or_else(|| value.as_array())?;
    let text_of_part = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
    let texts: Option<Vec<String>> = parts.iter().map(text_of_part).collect();
    texts.map(|texts| texts.join("\n\n"))
}
