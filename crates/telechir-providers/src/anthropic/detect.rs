//! Recognizes provider errors, and guesses the dialect of JSON that is not this dialect's.

use serde_json::{Map, Value};

use super::DIALECT;
use crate::DecodeError;
use crate::json::text;
use crate::responses_items::OWN_ITEMS;

/// Types that OpenAI's Responses API has beside those of [`OWN_ITEMS`], and Anthropic's does not.
const OPENAI_TYPES: [&str; 4] = ["function_call", "input_text", "input_image", "output_text"];

/// An error for JSON of an unexpected shape, with the dialect it looks like.
pub(super) fn wrong_shape(problem: impl Into<String>, value: &Value) -> DecodeError {
    wrong_shape_like(problem, guess_dialect(value))
}

/// An error for JSON of an unexpected shape, with the dialect that was guessed before.
pub(super) fn wrong_shape_like(
    problem: impl Into<String>,
    looks_like: Option<&'static str>,
) -> DecodeError {
    DecodeError::WrongShape {
        dialect: DIALECT,
        problem: problem.into(),
        looks_like,
    }
}

/// The provider's error, if the value is one.
pub(super) fn provider_error(value: &Value) -> Option<DecodeError> {
    let error = value
        .as_object()
        .filter(|all| text(all, "type") == Some("error"))?
        .get("error")?;
    let error = error.as_object()?;
    let message = text(error, "message").unwrap_or("no message");
    let kind = text(error, "type").unwrap_or("error");
    Some(DecodeError::ProviderError {
        message: format!("{kind}: {message}"),
    })
}

/// The dialect that a document looks like, if any.
pub(super) fn guess_dialect(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(all) => guess_from_object(all),
        Value::Array(items) => items.iter().find_map(|item| match item {
            Value::Object(item) if is_openai(item) => Some("openai-responses"),
            Value::Object(item) => item
                .get("content")
                .filter(|content| content.is_array())
                .and_then(guess_dialect),
            _ => None,
        }),
        _ => None,
    }
}

fn guess_from_object(all: &Map<String, Value>) -> Option<&'static str> {
    let has = |name: &str| all.contains_key(name);
    if text(all, "object") == Some("response") || has("input") || is_openai(all) {
        return Some("openai-responses");
    }
    if all.get("output").is_some_and(Value::is_array) {
        return Some("openai-responses");
    }
    if has("candidates") || has("contents") {
        return Some("google-generate-content");
    }
    if has("stopReason") && has("output") {
        return Some("bedrock-converse");
    }
    if has("messages") || (has("content") && has("role")) {
        return Some(DIALECT);
    }
    all.get("error")
        .and_then(Value::as_object)
        .filter(|error| error.contains_key("code"))
        .map(|_| "openai-responses")
}

/// Whether an item or part has a type that only OpenAI has.
pub(super) fn is_openai(item: &Map<String, Value>) -> bool {
    text(item, "type").is_some_and(|kind| OWN_ITEMS.contains(&kind) || OPENAI_TYPES.contains(&kind))
}
