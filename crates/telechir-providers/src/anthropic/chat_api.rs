//! Conversations through the Messages API.

mod images;

use serde_json::{Map, Value, json};

use self::images::ResultImages;
use super::limits;
use crate::chat_api::{ChatApi, Endpoint};
use crate::history::{prune, trim};
use crate::json::text_of;
use crate::service_rules::NEWEST_ANTHROPIC_VERSION;
use crate::{ImageLimit, Request, RequestOptions, StopReason};

const DEFAULT_MAX_TOKENS: u32 = 16_000;
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// The Messages API as a [`ChatApi`].
pub(crate) struct AnthropicChat;

impl ChatApi for AnthropicChat {
    fn first_message(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    /// Builds the request. Sampling parameters are never sent: this API version rejects them.
    fn request(&self, options: &RequestOptions, messages: &mut Vec<Value>) -> Request {
        let limit = limit(options.images, messages);
        prune::prune(&mut ResultImages::of(messages), messages, limit);
        let removed = images::have_note(messages) || trim::have_note(messages);
        let mut body = Map::new();
        body.insert("model".into(), options.model.clone().into());
        body.insert(
            "max_tokens".into(),
            options.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into(),
        );
        // The provider moves this single breakpoint forward as the conversation grows.
        body.insert("cache_control".into(), json!({"type": "ephemeral"}));
        if let Some(system) = &options.system {
            body.insert("system".into(), system.clone().into());
        }
        if !options.declaration.tools.is_empty() {
            body.insert("tools".into(), options.declaration.tools.clone().into());
        }
        let mut headers = vec![(
            "anthropic-version".to_owned(),
            NEWEST_ANTHROPIC_VERSION.to_owned(),
        )];
        let mut betas = Vec::new();
        for (name, value) in &options.declaration.headers {
            if name.eq_ignore_ascii_case("anthropic-beta") {
                betas.push(value.clone());
            } else {
                headers.push((name.clone(), value.clone()));
            }
        }
        if removed && let Some((thinking, beta)) = unbound_thinking(&options.model) {
            body.insert("thinking".into(), thinking);
            betas.push(beta.to_owned());
        }
        if !betas.is_empty() {
            headers.push(("anthropic-beta".to_owned(), betas.join(",")));
        }
        let images = prune::count::<ResultImages>(messages);
        body.insert("messages".into(), messages.to_vec().into());
        Request {
            path: "/messages".to_owned(),
            headers,
            body: Value::Object(body),
            images,
        }
    }

    fn push_response(
        &self,
        body: &Value,
        has_calls: bool,
        messages: &mut Vec<Value>,
    ) -> StopReason {
        let blocks: Vec<Value> = body
            .get("content")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        // A response may contain empty text blocks; a request may not.
        let blocks: Vec<Value> = blocks
            .into_iter()
            .filter(|block| !is_empty_text(block))
            .collect();
        if !blocks.is_empty() {
            messages.push(json!({"role": "assistant", "content": blocks}));
        }
        stop(body, has_calls)
    }

    fn push_results(&self, results: Vec<Value>, items: &mut Vec<Value>) {
        items.push(json!({"role": "user", "content": results}));
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: Some("https://api.anthropic.com"),
            prefix: "/v1",
        }
    }
}

/// Tightens the limit when an image is too large for a request with many images.
fn limit(limit: ImageLimit, messages: &[Value]) -> ImageLimit {
    if !limits::has_oversized_image(messages) {
        return limit;
    }
    limit.at_most(limits::MAX_FULL_SIZE_IMAGES, limits::MAX_FULL_SIZE_IMAGES)
}

fn stop(body: &Value, has_calls: bool) -> StopReason {
    match text_of(body, "stop_reason") {
        "refusal" => StopReason::Refused {
            reason: refusal(body),
        },
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        _ if has_calls => StopReason::Calls,
        "pause_turn" => StopReason::Continue,
        "end_turn" | "stop_sequence" => StopReason::Done,
        other => StopReason::Incomplete {
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

/// The `thinking` field and the beta that let the provider drop thinking whose preceding content
/// changed, instead of rejecting the request. Only for models 5.1, 5.2 and 5.5, which bind
/// thinking to the exact content before it.
pub(crate) fn unbound_thinking(model: &str) -> Option<(Value, &'static str)> {
    let binds = ["-5-1", "-5-2", "-5-5"]
        .iter()
        .any(|line| model.contains(line));
    let binding = json!({"prefix_mismatch_behavior": "drop_block"});
    let thinking = json!({"type": "adaptive", "block_binding": binding});
    binds.then_some((thinking, BINDING_BETA))
}
