//! What messages of Snowflake Cortex have besides those of other services: `content_list`, whose
//! parts are calls and results.

use serde_json::{Value, json};

use crate::json::{Fields, kind, list, object, owned, present, text};

/// The field of a message, and the form of its calls.
pub(super) const CONTENT_LIST: &str = "content_list";
const CALL: &str = "tool_use";
const RESULT: &str = "tool_results";

fn parts<'a>(message: &'a Fields, of: &'a str) -> impl Iterator<Item = &'a Fields> {
    let parts = list(message, CONTENT_LIST).iter();
    let parts = parts.filter_map(Value::as_object);
    parts.filter_map(move |part| {
        let inner = object(part, of).unwrap_or(part);
        (kind(part) == of).then_some(inner)
    })
}

/// The calls of a message, as entries of `tool_calls`.
pub(super) fn calls(message: &Fields) -> Vec<Value> {
    let entry = |call: &Fields| {
        let function = json!({"name": text(call, "name"), "arguments": present(call, "input")});
        json!({"id": text(call, "tool_use_id"), "type": "function", "function": function})
    };
    parts(message, CALL).map(entry).collect()
}

/// A result of a message.
pub(super) struct ListedResult {
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) text: String,
}

/// The results of a message.
pub(super) fn results(message: &Fields) -> Vec<ListedResult> {
    let read = |result: &Fields| {
        let texts = list(result, "content").iter();
        let texts: Vec<&str> = texts
            .filter_map(|part| part.get("text")?.as_str())
            .collect();
        ListedResult {
            call_id: owned(result, "tool_use_id").filter(|id| !id.is_empty()),
            name: owned(result, "name"),
            text: texts.join("\n"),
        }
    };
    parts(message, RESULT).map(read).collect()
}

/// Removes the calls and results, and texts that `content` repeats, from the unknown fields of a
/// message.
pub(super) fn remove_known(members: &mut Fields, message: &Fields) {
    let Some(Value::Array(parts)) = members.get_mut(CONTENT_LIST) else {
        return;
    };
    parts.retain(|part| match part.get("type").and_then(Value::as_str) {
        Some(CALL | RESULT) => false,
        Some("text") => part.get("text") != message.get("content"),
        _ => true,
    });
    if parts.is_empty() {
        members.shift_remove(CONTENT_LIST);
    }
}

/// A result as a part of a `content_list`, if its call came in one: `names` has the functions of such
/// calls by id.
pub(super) fn as_result(names: &[(String, String)], item: Value) -> Value {
    let id = item.get("tool_call_id").and_then(Value::as_str);
    let Some((id, name)) = names
        .iter()
        .find(|(call_id, _)| Some(call_id.as_str()) == id)
    else {
        return item;
    };
    let content = match item.get("content") {
        Some(Value::String(text)) => json!([{"type": "text", "text": text}]),
        Some(parts) => parts.clone(),
        None => json!([]),
    };
    let result = json!({"tool_use_id": id, "name": name, "content": content});
    json!({"role": "user", "content": "", CONTENT_LIST: [{"type": RESULT, RESULT: result}]})
}
