//! The instructions in an envelope of another dialect: a message for dialects that encode only
//! messages.

use serde_json::{Map, Value};
use telechir_protocol::{Content, Message, Role};

use crate::{Envelope, History};

/// Members that hold instructions in some API.
const MEMBERS: [&str; 4] = [
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
];

/// Makes the textual instructions of an envelope of another dialect than `own` the first message.
///
/// Returns the names of the values beside their texts, such as `system[].cache_control`, or `None`
/// if the envelope has no such instructions.
pub(crate) fn move_to_messages(history: &mut History, own: &str) -> Option<Vec<String>> {
    let Envelope::Object {
        dialect,
        member,
        rest,
    } = &mut history.envelope
    else {
        return None;
    };
    if *dialect == own {
        return None;
    }
    // Decoders make a message of all members but `system`.
    let has_message = matches!(history.messages.first(), Some(first) if first.role == Role::System);
    let (mut texts, mut left, mut is_found) = (Vec::new(), Vec::new(), false);
    for name in MEMBERS.into_iter().filter(|name| name != member) {
        let Some(text) = rest.get(name).and_then(text) else {
            continue;
        };
        is_found = true;
        if let Some(value) = rest.shift_remove(name)
            && (name == "system" || !has_message)
        {
            add_others(&value, name, &mut left);
            texts.push(text);
        }
    }
    let messages = texts
        .into_iter()
        .map(|text| Message::new(Role::System, vec![Content::text(text)]));
    history.messages.splice(0..0, messages);
    is_found.then_some(left)
}

/// The same history with the instructions of another dialect's envelope as its first message, and
/// the names of the values beside their texts; `None` if there are none.
pub(crate) fn as_message(history: &History, own: &str) -> Option<(History, Vec<String>)> {
    let rest = match &history.envelope {
        Envelope::Object { dialect, rest, .. } if *dialect != own => rest,
        Envelope::Object { .. } | Envelope::List => return None,
    };
    if !MEMBERS.iter().any(|name| rest.contains_key(*name)) {
        return None;
    }
    let mut moved = history.clone();
    let left = move_to_messages(&mut moved, own)?;
    Some((moved, left))
}

/// The text of instructions, given as a string or as parts.
fn text(value: &Value) -> Option<String> {
    let joined = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let texts: Option<Vec<&str>> = parts(value)?.iter().map(text_of_part).collect();
            texts?.join("\n\n")
        }
    };
    (!joined.is_empty()).then_some(joined)
}

fn parts(value: &Value) -> Option<&Vec<Value>> {
    let parts = value.get("parts").and_then(Value::as_array);
    parts.or_else(|| value.as_array())
}

/// The text of a part; an empty one for a cache point after it.
fn text_of_part(part: &Value) -> Option<&str> {
    match part.get("text") {
        Some(text) => text.as_str(),
        None => part.get("cachePoint").map(|_| ""),
    }
}

/// Adds the names of the values that are no texts of instructions.
fn add_others(value: &Value, name: &str, others: &mut Vec<String>) {
    let mut add = |path: String, members: &Map<String, Value>, own: &[&str]| {
        for (name, value) in members {
            let path = format!("{path}.{name}");
            if !value.is_null() && !own.contains(&name.as_str()) && !others.contains(&path) {
                others.push(path);
            }
        }
    };
    if let Some(members) = value.as_object() {
        add(name.to_owned(), members, &["parts"]);
    }
    let list = match value.is_object() {
        true => format!("{name}.parts[]"),
        false => format!("{name}[]"),
    };
    for part in parts(value).into_iter().flatten() {
        if let Some(members) = part.as_object() {
            let is_text = members.get("type").is_some_and(|kind| kind == "text");
            let own: &[&str] = if is_text {
                &["text", "type"]
            } else {
                &["text"]
            };
            add(list.clone(), members, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use telechir_protocol::{Content, Message, Role};

    use super::move_to_messages;
    use crate::Dialect;

    fn moved(from: Dialect, request: &Value, to: Dialect) -> (Vec<Message>, Option<Vec<String>>) {
        let (mut history, _) = from.decode_history(request.to_string()).unwrap();
        let left = move_to_messages(&mut history, to.name());
        (history.messages, left)
    }

    #[test]
    fn blocks_become_one_message_and_their_other_values_are_named() {
        let request = json!({"model": "m", "max_tokens": 9,
            "system": [{"type": "text", "text": "Be brief."},
                {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "Hi"}]});
        let (messages, left) = moved(Dialect::AnthropicMessages, &request, Dialect::Functions);
        assert_eq!(messages[0].role, Role::System);
        assert_eq!(
            messages[0].contents,
            [Content::text("Be brief.\n\nBe kind.")]
        );
        assert_eq!(messages.len(), 2);
        assert_eq!(left, Some(vec!["system[].cache_control".to_owned()]));
    }

    #[test]
    fn a_cache_point_is_named() {
        let request = json!({"system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
            "messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {}});
        let (messages, left) = moved(Dialect::BedrockConverse, &request, Dialect::Functions);
        assert_eq!(messages.len(), 2);
        assert_eq!(left, Some(vec!["system[].cachePoint".to_owned()]));
    }

    #[test]
    fn instructions_that_are_a_message_already_stay_one() {
        let request = json!({"model": "m", "instructions": "Be brief.", "input": "Hi"});
        let (messages, left) = moved(Dialect::OpenaiResponses, &request, Dialect::Functions);
        assert_eq!(messages.len(), 2);
        assert_eq!(left, Some(Vec::new()));
    }

    #[test]
    fn the_own_envelope_keeps_its_instructions() {
        let request = json!({"model": "m", "max_tokens": 9, "system": "Be brief.",
            "messages": [{"role": "user", "content": "Hi"}]});
        let own = Dialect::AnthropicMessages;
        let (messages, left) = moved(own, &request, own);
        assert_eq!((messages.len(), left), (1, None));
    }
}
