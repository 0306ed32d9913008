//! What OpenAI's Responses API rejects, according to its specification and recordings.

mod items;
mod output;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::shape::{Validated, ensure, list, object, one_of, only, positive, text, text_or_empty};
use super::{Rejection, image};

const MEMBERS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "previous_response_id",
    "conversation",
    "store",
    "include",
    "stream",
    "stream_options",
    "truncation",
    "max_output_tokens",
    "max_tool_calls",
    "reasoning",
    "text",
    "background",
    "context_management",
    "image",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "metadata",
    "user",
    "temperature",
    "top_p",
];
const INCLUDES: &[&str] = &[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
];
const MAX_CALL_ID_CHARS: usize = 64;
const MAX_TEXT_CHARS: usize = 10_485_760;

pub(super) fn extra(location: &str, member: &str) -> Rejection {
    Rejection::invalid(format!("Unknown parameter: '{location}.{member}'."))
}

/// Validates a request against its headers and the model's earlier responses.
pub(super) fn check(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
    let authorization = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if authorization
        .strip_prefix("Bearer ")
        .unwrap_or_default()
        .is_empty()
    {
        return Err(Rejection::unauthorized(
            "You didn't provide an API key in the Authorization header (Bearer).",
        ));
    }
    let members = object(body, "request")?;
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return Err(Rejection::invalid(format!("Unknown parameter: '{name}'.")));
    }
    text(body, "model", "request")?;
    let stateful = body
        .get("previous_response_id")
        .is_some_and(|id| !id.is_null());
    ensure(!stateful, || {
        "recorded model: nothing is stored; send all items and `store: false`".to_owned()
    })?;
    check_state(body)?;
    tools::check(body)?;
    items::check(body, history)
}

fn check_state(body: &Value) -> Validated {
    for (index, include) in body
        .get("include")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        one_of(
            include.as_str().unwrap_or_default(),
            INCLUDES,
            &format!("include[{index}]"),
        )?;
    }
    let stores = body.get("store").and_then(Value::as_bool).unwrap_or(true);
    let encrypted = body
        .get("include")
        .and_then(Value::as_array)
        .is_some_and(|list| list.contains(&json!("reasoning.encrypted_content")));
    ensure(stores || encrypted, || {
        "recorded model: without `reasoning.encrypted_content` in `include` a request with `store: false` cannot repeat reasoning".to_owned()
    })?;
    if let Some(truncation) = body.get("truncation").and_then(Value::as_str) {
        one_of(truncation, &["auto", "disabled"], "truncation")?;
    }
    Ok(())
}

/// The text of every result after the model's last items, by call id.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let items = body
        .get("input")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .rev();
    let results = items.take_while(|item| {
        text_or_empty(item, "type").ends_with("_output")
            || text_or_empty(item, "role") == "user"
            || text_or_empty(item, "role") == "developer"
    });
    results
        .map(|item| {
            (
                text_or_empty(item, "call_id").to_owned(),
                output::text_of(item),
            )
        })
        .filter(|(id, _)| !id.is_empty())
        .collect()
}

/// A complete response with these items.
pub(super) fn answer(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let mut answer = json!({
        "id": format!("resp_recorded_{number}"), "object": "response", "created_at": 1_790_000_000_u64,
        "status": "completed", "model": body.get("model"), "output": content, "error": null, "incomplete_details": null,
        "usage": {"input_tokens": input, "output_tokens": 64, "total_tokens": input + 64},
    });
    super::shape::merge(&mut answer, with);
    answer
}

#[cfg(test)]
mod tests;
