//! Recognizes AWS errors, and guesses the dialect of JSON for errors.

use serde_json::Value;

use crate::provider_error::ProviderError;
use crate::{DecodeError, EncodeError};

/// An error for JSON of an unexpected shape, with the dialect it looks like.
pub(super) fn wrong_shape(
    dialect: &'static str,
    problem: impl Into<String>,
    document: &Value,
) -> DecodeError {
    DecodeError::WrongShape {
        dialect,
        problem: problem.into(),
        looks_like: guess_dialect(document).filter(|guess_dialect| *guess_dialect != dialect),
    }
}

/// Whether a block has a `type`, as blocks of other dialects do.
pub(super) fn is_typed(block: &Value) -> bool {
    block.get("type").is_some_and(Value::is_string)
}

fn guess_dialect(document: &Value) -> Option<&'static str> {
    let has = |name: &str| document.get(name).is_some();
    if has("invocationInputs") || has("returnControl") || has("completion") {
        return Some("bedrock-agents");
    }
    if has("candidates") || has("contents") {
        return Some("google-generate-content");
    }
    if has("anthropic_version") {
        return Some("bedrock-invoke");
    }
    if document.get("output").is_some_and(Value::is_object) || has("toolConfig") {
        return Some("bedrock-converse");
    }
    if has("input") || document.get("output").is_some_and(Value::is_array) {
        return Some("openai-responses");
    }
    let messages = document.get("messages").unwrap_or(document);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut blocks = list(messages)
        .iter()
        .filter_map(|message| message.get("content").map(list))
        .flatten()
        .chain(document.get("content").map(list).into_iter().flatten())
        .collect::<Vec<_>>();
    blocks.truncate(100);
    match blocks.first() {
        Some(block) if is_typed(block) => Some("anthropic-messages"),
        Some(block) if block.is_object() => Some("bedrock-converse"),
        _ => None,
    }
}

/// Fails if the document is an AWS error.
pub(super) fn reject_error_body(document: &Value) -> Result<(), DecodeError> {
    let Some(members) = document.as_object() else {
        return Ok(());
    };
    let is_answer = [
        "output",
        "messages",
        "content",
        "completion",
        "returnControl",
    ]
    .iter()
    .any(|name| members.contains_key(*name));
    let error = ProviderError::from_aws(document).filter(|_| !is_answer);
    let Some(ProviderError { kind, message }) = error else {
        return Ok(());
    };
    let message = match kind.as_str() {
        "" => message,
        kind => format!("{kind}: {message}"),
    };
    Err(DecodeError::ProviderError { message })
}

/// The same error with dialect `name` instead of Anthropic's.
pub(super) fn decode_error_as(error: DecodeError, name: &'static str) -> DecodeError {
    match error {
        DecodeError::WrongShape {
            problem,
            looks_like,
            ..
        } => DecodeError::WrongShape {
            dialect: name,
            problem,
            looks_like: looks_like.filter(|guess_dialect| {
                *guess_dialect != name
                    && !(*guess_dialect == "anthropic-messages" && name != "bedrock-converse")
            }),
        },
        DecodeError::NotJson { .. }
        | DecodeError::ProviderError { .. }
        | DecodeError::InvalidTurn(_) => error,
    }
}

/// The same error with dialect `name` instead of Anthropic's, for encoding.
pub(super) fn encode_error_as(error: EncodeError, name: &'static str) -> EncodeError {
    match error {
        EncodeError::Missing { problem, .. } => EncodeError::Missing {
            dialect: name,
            problem,
        },
        EncodeError::Lossy { .. } => error,
    }
}
