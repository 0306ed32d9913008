//! Requests that Anthropic's Messages API rejects, according to its documentation and recordings.

mod messages;
mod result;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::shape::{Validated, ensure, list, object, one_of, only, positive, text, text_or_empty};
use super::{Rejection, image};

const MEMBERS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
    "stream",
    "container",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "cache_control",
    "diagnostics",
];
const SAMPLING: &[&str] = &["temperature", "top_p", "top_k"];
/// Fields that need a beta header, with the prefix of its name.
const BETA_MEMBERS: &[(&str, &str)] = &[
    ("context_management", "context-management-"),
    ("mcp_servers", "mcp-client-"),
    ("compaction", "compact-"),
    ("thread", "message-threads-"),
];
const BETAS: &[&str] = &[
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-management-2025-06-27",
    "compact-2026-01-12",
    "compact-2026-09-04",
    "model-context-window-exceeded-2025-08-26",
    "interleaved-thinking-2025-05-14",
    "extended-cache-ttl-2025-04-11",
    "files-api-2025-04-14",
    "token-efficient-tools-2025-02-19",
    "mid-conversation-tool-changes-2026-07-01",
    "inline-tools-2026-09-15",
    "message-threads-2026-08-12",
    "thinking-binding-controls-2026-08-01",
    "mcp-client-2026-09-15",
    "fast-mode-2026-02-01",
    "task-budgets-2026-03-13",
];

pub(super) fn extra(location: &str, member: &str) -> Rejection {
    Rejection::invalid(format!(
        "{location}.{member}: Extra inputs are not permitted"
    ))
}

/// Validates a request against its headers and the model's earlier responses.
pub(super) fn check(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
    let betas = check_headers(headers)?;
    check_members(headers, body, &betas)?;
    text(body, "model", "request")?;
    positive(body, "max_tokens", "request")?;
    check_system(body)?;
    tools::check(body, &betas)?;
    check_thinking(body, &betas)?;
    messages::check(body, history)?;
    let marks = count_cache_marks(body);
    ensure(marks <= 4, || {
        format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    })
}

/// The text of every result in the request's last message, by call id.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let last = body
        .get("messages")
        .and_then(Value::as_array)
        .and_then(|messages| messages.last());
    let blocks = last
        .and_then(|message| message.get("content"))
        .and_then(Value::as_array);
    let results = blocks
        .into_iter()
        .flatten()
        .filter(|block| text_or_empty(block, "type") == "tool_result");
    results
        .map(|block| {
            (
                text_or_empty(block, "tool_use_id").to_owned(),
                result::text_of(block),
            )
        })
        .collect()
}

/// A complete response with these blocks.
pub(super) fn answer(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let calls = content
        .iter()
        .any(|block| text_or_empty(block, "type") == "tool_use");
    let mut answer = json!({
        "id": format!("msg_recorded_{number}"), "type": "message", "role": "assistant",
        "model": body.get("model"), "content": content,
        "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": {"input_tokens": body.to_string().len() / 4, "output_tokens": 64},
    });
    super::shape::merge(&mut answer, with);
    answer
}

fn check_headers(headers: &HeaderMap) -> Validated<Vec<String>> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let bearer = header("authorization")
        .strip_prefix("Bearer ")
        .unwrap_or_default();
    if header("x-api-key").is_empty() && bearer.is_empty() {
        return Err(Rejection::unauthorized("x-api-key header is required"));
    }
    let version = header("anthropic-version");
    ensure(matches!(version, "2023-06-01" | "2026-10-21"), || {
        format!(
            "anthropic-version: header is required and must be a known version; found '{version}'"
        )
    })?;
    let all = headers
        .get_all("anthropic-beta")
        .iter()
        .filter_map(|value| value.to_str().ok());
    let betas: Vec<String> = all
        .flat_map(|value| value.split(','))
        .map(|beta| beta.trim().to_owned())
        .collect();
    match betas.iter().find(|beta| !BETAS.contains(&beta.as_str())) {
        Some(beta) => Err(Rejection::invalid(format!(
            "Unexpected value(s) `{beta}` for the `anthropic-beta` header."
        ))),
        None => Ok(betas),
    }
}

fn check_members(headers: &HeaderMap, body: &Value, betas: &[String]) -> Validated {
    let new_version = headers
        .get("anthropic-version")
        .is_some_and(|version| version == "2026-10-21");
    for name in object(body, "request")?.keys().map(String::as_str) {
        let beta = BETA_MEMBERS.iter().find(|(member, _)| *member == name);
        let allowed = match beta {
            Some((_, prefix)) => betas.iter().any(|beta| beta.starts_with(prefix)),
            None => MEMBERS.contains(&name) || (SAMPLING.contains(&name) && !new_version),
        };
        ensure(allowed, || {
            format!("{name}: Extra inputs are not permitted")
        })?;
    }
    Ok(())
}

fn check_system(body: &Value) -> Validated {
    let Some(Value::Array(blocks)) = body.get("system") else {
        return ensure(
            matches!(body.get("system"), None | Some(Value::String(_))),
            || "system: Input should be a string or a list".to_owned(),
        );
    };
    for (index, block) in blocks.iter().enumerate() {
        one_of(
            text_or_empty(block, "type"),
            &["text"],
            &format!("system.{index}.type"),
        )?;
    }
    Ok(())
}

fn check_thinking(body: &Value, betas: &[String]) -> Validated {
    let Some(thinking) = body.get("thinking") else {
        return Ok(());
    };
    only(
        thinking,
        &[&["type", "budget_tokens", "display", "block_binding"]],
        "thinking",
        extra,
    )?;
    one_of(
        text_or_empty(thinking, "type"),
        &["enabled", "disabled", "adaptive", "between_tools"],
        "thinking.type",
    )?;
    let controls = betas
        .iter()
        .any(|beta| beta.starts_with("thinking-binding-controls-"));
    ensure(controls || thinking.get("block_binding").is_none(), || {
        "thinking.block_binding: Extra inputs are not permitted".to_owned()
    })
}

fn count_cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let own = usize::from(
                members
                    .get("cache_control")
                    .is_some_and(|mark| !mark.is_null()),
            );
            own + members.values().map(count_cache_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_cache_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests;
