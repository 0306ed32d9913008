//! Anthropic's Messages as a conversation.

mod pictures;

use serde_json::{Map, Value, json};
use telechir_protocol::UsageContent;

use super::{Opening, Request, Stop, text_of, usage};

const VERSION: &str = "2026-10-21";
const DEFAULT_MAX_TOKENS: u32 = 16_000;
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

pub(super) fn task(task: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": task}]})
}

pub(super) fn answers(blocks: Vec<Value>) -> Value {
    json!({"role": "user", "content": blocks})
}

/// The request. Sampling members are never sent: the version in use refuses them.
pub(super) fn request(opening: &Opening, messages: &mut [Value]) -> Request {
    let removed = pictures::prune(messages, opening.pictures);
    let mut body = Map::new();
    body.insert("model".into(), opening.model.clone().into());
    body.insert(
        "max_tokens".into(),
        opening.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into(),
    );
    // The provider moves this one breakpoint along as the conversation grows.
    body.insert("cache_control".into(), json!({"type": "ephemeral"}));
    if let Some(system) = &opening.system {
        body.insert("system".into(), system.clone().into());
    }
    if !opening.declaration.tools.is_empty() {
        body.insert("tools".into(), opening.declaration.tools.clone().into());
    }
    let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
    let mut betas = Vec::new();
    for (name, value) in &opening.declaration.headers {
        if name.eq_ignore_ascii_case("anthropic-beta") {
            betas.push(value.clone());
        } else {
            headers.push((name.clone(), value.clone()));
        }
    }
    if removed && binds_thinking(&opening.model) {
        let thinking = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        body.insert("thinking".into(), thinking);
        betas.push(BINDING_BETA.to_owned());
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta".to_owned(), betas.join(",")));
    }
    let pictures = messages.iter().map(pictures::count).sum();
    body.insert("messages".into(), messages.to_vec().into());
    Request {
        path: "/v1/messages",
        headers,
        body: Value::Object(body),
        pictures,
    }
}

pub(super) fn take(
    body: &Value,
    has_calls: bool,
    messages: &mut Vec<Value>,
) -> (Stop, UsageContent) {
    let blocks: Vec<Value> = body
        .get("content")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    // An answer may hold empty text blocks; a request may not.
    let kept: Vec<Value> = blocks
        .into_iter()
        .filter(|block| !is_empty_text(block))
        .collect();
    if !kept.is_empty() {
        messages.push(json!({"role": "assistant", "content": kept}));
    }
    (stop(body, has_calls), usage(body, None))
}

fn stop(body: &Value, has_calls: bool) -> Stop {
    match text_of(body, "stop_reason") {
        "refusal" => Stop::Refused {
            reason: refusal(body),
        },
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::ContextExceeded,
        _ if has_calls => Stop::Calls,
        "pause_turn" => Stop::Continue,
        "end_turn" | "stop_sequence" => Stop::Done,
        other => Stop::Incomplete {
            reason: other.to_owned(),
        },
    }
}

fn refusal(body: &Value) -> String {
    let details = body.get("stop_details").unwrap_or(&Value::Null);
    let parts = [
        text_of(details, "category"),
        text_of(details, "explanation"),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
}

fn is_empty_text(block: &Value) -> bool {
    text_of(block, "type") == "text" && text_of(block, "text").trim().is_empty()
}

/// Models whose thinking belongs to the exact words before it (the lines 5.1, 5.2 and 5.5).
fn binds_thinking(model: &str) -> bool {
    ["-5-1", "-5-2", "-5-5"]
        .iter()
        .any(|line| model.contains(line))
}
