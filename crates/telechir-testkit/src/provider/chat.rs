//! What chat completion services reject: servers that accept only text in tool messages, servers
//! that accept images there, and Mistral, which is stricter than both.

mod messages;
mod parts;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::Rejection;
use super::shape::{Validated, ensure, list, object, positive, text, text_or_empty};

pub(super) use messages::plain_arguments;
pub(super) use parts::{check as content_of, text_of as content_text};
pub(super) use tools::check as tools_of;

/// The rule set of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Tool messages contain only text.
    Words,
    /// Tool messages may contain images.
    Images,
    /// Ids of nine characters, an order of roles, at most eight images.
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
    "seed",
    "random_seed",
    "user",
    "reasoning_effort",
    "metadata",
    "stream",
];

/// Members that Mistral does not know.
const OTHERS: [&str; 2] = ["store", "stream_options"];

pub(super) fn extra(location: &str, member: &str) -> Rejection {
    Rejection::invalid(format!(
        "{location}: Additional properties are not allowed ('{member}' was unexpected)"
    ))
}

/// Validates the bearer key.
pub(super) fn check_key(headers: &HeaderMap) -> Validated {
    let authorization = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let key = authorization.and_then(|value| value.strip_prefix("Bearer "));
    match key {
        Some(key) if !key.is_empty() => Ok(()),
        _ => Err(Rejection::unauthorized("Unauthorized: no Bearer key")),
    }
}

/// Validates a request against its headers and the model's earlier responses.
pub(super) fn check(
    rules: Rules,
    headers: &HeaderMap,
    body: &Value,
    history: &[Vec<Value>],
) -> Validated {
    check_key(headers)?;
    let members = object(body, "request")?;
    let is_known =
        |name: &str| MEMBERS.contains(&name) || (OTHERS.contains(&name) && rules != Rules::Mistral);
    if let Some(name) = members.keys().find(|name| !is_known(name)) {
        return Err(extra("request", name));
    }
    text(body, "model", "request")?;
    if members.contains_key("max_tokens") {
        positive(body, "max_tokens", "request")?;
    }
    tools::check(body)?;
    messages::check(rules, list(&body["messages"], "messages")?, history)
}

/// The text of the results after the model's last calls, by call id; images that the user message
/// shows with them are under `user`.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let newest = messages.into_iter().flatten().rev();
    let mut results = BTreeMap::new();
    let newest = newest.take_while(|message| message.get("tool_calls").is_none());
    for message in newest {
        let id = match text_or_empty(message, "role") {
            "tool" => text_or_empty(message, "tool_call_id"),
            "user" => "user",
            _ => continue,
        };
        results.insert(id.to_owned(), parts::text_of(message));
    }
    results
}

/// A complete response with this message.
pub(super) fn answer(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let message = content.into_iter().next().unwrap_or_default();
    let finish = if message.get("tool_calls").is_some_and(Value::is_array) {
        "tool_calls"
    } else {
        "stop"
    };
    let mut choice = json!({"index": 0, "message": message, "finish_reason": finish});
    super::shape::merge(&mut choice, with);
    json!({
        "id": format!("chatcmpl-recorded-{number}"), "object": "chat.completion",
        "created": 1_790_000_000_u64, "model": body.get("model"), "choices": [choice],
        "usage": {"prompt_tokens": input, "completion_tokens": 64, "total_tokens": input + 64},
    })
}

/// Rejects null fields, except `content` beside calls.
pub(super) fn no_null(value: &Value, allowed: &str, location: &str) -> Validated {
    let members = object(value, location)?;
    let null = members
        .iter()
        .find(|(name, value)| value.is_null() && name.as_str() != allowed);
    ensure(null.is_none(), || {
        let name = null.map_or("", |(name, _)| name.as_str());
        format!("{location}.{name}: Input should not be null")
    })
}

#[cfg(test)]
mod tests;
