//! What services that speak chat completions refuse: a server that takes only words from a tool,
//! one that takes pictures there, and Mistral, which is stricter than both.

mod messages;
mod parts;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::Refusal;
use super::shape::{Checked, ensure, list, object, positive, text, word};

pub(super) use messages::plain_arguments;
pub(super) use parts::{check as content_of, text_of as content_text};
pub(super) use tools::check as tools_of;

/// Whose rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// A tool's message has only words.
    Words,
    /// A tool's message may have pictures.
    Images,
    /// Ids of nine characters, an order of roles, eight pictures.
    Mistral,
}

const MEMBERS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
    "n",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "metadata",
    "stream",
];

pub(super) fn extra(place: &str, member: &str) -> Refusal {
    Refusal::invalid(format!(
        "{place}: Additional properties are not allowed ('{member}' was unexpected)"
    ))
}

/// A key in the header that everyone uses.
pub(super) fn check_key(headers: &HeaderMap) -> Checked {
    let authorization = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let key = authorization.and_then(|value| value.strip_prefix("Bearer "));
    match key {
        Some(key) if !key.is_empty() => Ok(()),
        _ => Err(Refusal::unauthorized("Unauthorized: no Bearer key")),
    }
}

/// Checks a whole request against the headers it came with and what was said before.
pub(super) fn check(
    rules: Rules,
    headers: &HeaderMap,
    body: &Value,
    said: &[Vec<Value>],
) -> Checked {
    check_key(headers)?;
    let members = object(body, "request")?;
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return Err(extra("request", name));
    }
    text(body, "model", "request")?;
    if members.contains_key("max_tokens") {
        positive(body, "max_tokens", "request")?;
    }
    tools::check(body)?;
    messages::check(rules, list(&body["messages"], "messages")?, said)
}

/// The texts of the results after the model's last calls, by call; pictures that the user shows
/// with them stand under `user`.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let newest = messages.into_iter().flatten().rev();
    let mut results = BTreeMap::new();
    let newest = newest.take_while(|message| message.get("tool_calls").is_none());
    for message in newest {
        let id = match word(message, "role") {
            "tool" => word(message, "tool_call_id"),
            "user" => "user",
            _ => continue,
        };
        results.insert(id.to_owned(), parts::text_of(message));
    }
    results
}

/// A whole answer around the one message that is said.
pub(super) fn answer(body: &Value, number: usize, say: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let message = say.into_iter().next().unwrap_or_default();
    let finish = if message.get("tool_calls").is_some_and(Value::is_array) {
        "tool_calls"
    } else {
        "stop"
    };
    let mut choice = json!({"index": 0, "message": message, "finish_reason": finish});
    super::server::merge(&mut choice, with);
    json!({
        "id": format!("chatcmpl-recorded-{number}"), "object": "chat.completion",
        "created": 1_790_000_000_u64, "model": body.get("model"), "choices": [choice],
        "usage": {"prompt_tokens": input, "completion_tokens": 64, "total_tokens": input + 64},
    })
}

/// No member may be null, but for content beside calls.
pub(super) fn no_null(value: &Value, allowed: &str, place: &str) -> Checked {
    let members = object(value, place)?;
    let null = members
        .iter()
        .find(|(name, value)| value.is_null() && name.as_str() != allowed);
    ensure(null.is_none(), || {
        let name = null.map_or("", |(name, _)| name.as_str());
        format!("{place}.{name}: Input should not be null")
    })
}

#[cfg(test)]
mod tests;
