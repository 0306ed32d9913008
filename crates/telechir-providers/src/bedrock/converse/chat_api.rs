//! Conversations through Converse with a Bedrock API key.

mod images;

use serde_json::{Map, Value, json};

use self::images::ResultImages;
use crate::anthropic;
use crate::bedrock::models::{self, ModelVendor};
use crate::bedrock::path;
use crate::chat_api::{ChatApi, Endpoint};
use crate::history::{prune, trim};
use crate::json::text_of;
use crate::{Request, RequestOptions, StopReason};

/// Default response limit for Claude; models of other vendors have their own defaults.
const DEFAULT_MAX_TOKENS: u32 = 16_000;

/// Converse as a [`ChatApi`].
pub(super) struct ConverseChat;

impl ChatApi for ConverseChat {
    fn first_message(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"text": text}]})
    }

    fn request(&self, options: &RequestOptions, messages: &mut Vec<Value>) -> Request {
        prune::prune(&mut ResultImages, messages, options.images);
        let removed = images::have_note(messages) || trim::have_note(messages);
        let is_claude = models::vendor(Some(&options.model)) == ModelVendor::Anthropic;
        let mut body = options.declaration.body.clone();
        let default = is_claude.then_some(DEFAULT_MAX_TOKENS);
        if let Some(max_tokens) = options.max_tokens.or(default) {
            body.insert(
                "inferenceConfig".to_owned(),
                json!({"maxTokens": max_tokens}),
            );
        }
        if let Some(system) = &options.system {
            body.insert("system".to_owned(), json!([{"text": system}]));
        }
        if !options.declaration.tools.is_empty() {
            let tools = json!({"tools": options.declaration.tools});
            body.insert("toolConfig".to_owned(), tools);
        }
        if removed && let Some((thinking, beta)) = anthropic::unbound_thinking(&options.model) {
            dropped_thinking(&mut body, thinking, beta);
        }
        let images = prune::count::<ResultImages>(messages);
        let mut sent = messages.to_vec();
        if is_claude {
            mark_last(&mut sent);
        }
        body.insert("messages".to_owned(), sent.into());
        Request {
            path: format!("/model/{}/converse", path::path_segment(&options.model)),
            headers: options.declaration.headers.clone(),
            body: Value::Object(body),
            images,
        }
    }

    fn stream(&self, request: &mut Request) {
        request.path.push_str("-stream");
    }

    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        messages: &mut Vec<Value>,
    ) -> StopReason {
        let message = response
            .get("output")
            .and_then(|output| output.get("message"));
        let content = message.and_then(|message| message.get("content")?.as_array());
        let content: Vec<Value> = content
            .into_iter()
            .flatten()
            .filter(|block| !is_empty_text(block))
            .map(repeated)
            .collect();
        if !content.is_empty() {
            messages.push(json!({"role": "assistant", "content": content}));
        }
        stop(response, has_calls)
    }

    fn push_results(&self, results: Vec<Value>, items: &mut Vec<Value>) {
        items.push(json!({"role": "user", "content": results}));
    }

    /// No host, because it depends on the region.
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: None,
            prefix: "",
        }
    }
}

/// Lets the service drop thinking whose preceding content changed, instead of rejecting it.
fn dropped_thinking(body: &mut Map<String, Value>, thinking: Value, beta: &str) {
    let fields = body
        .entry("additionalModelRequestFields")
        .or_insert_with(|| json!({}));
    fields["thinking"] = thinking;
    match fields
        .get_mut("anthropic_beta")
        .and_then(Value::as_array_mut)
    {
        Some(betas) => betas.push(beta.into()),
        None => fields["anthropic_beta"] = json!([beta]),
    }
}

/// Marks the end of the last message, so that everything before it is cached.
fn mark_last(messages: &mut [Value]) {
    let last = messages.last_mut();
    let content = last.and_then(|last| last.get_mut("content")?.as_array_mut());
    if let Some(content) = content {
        content.push(json!({"cachePoint": {"type": "default"}}));
    }
}

/// Whether a block is an empty text, which a response may contain but a request may not.
fn is_empty_text(block: &Value) -> bool {
    let text = block.get("text").and_then(Value::as_str);
    text.is_some_and(|text| text.trim().is_empty())
}

/// A block for the next request, without the `type` of an ordinary call, which AWS rejects.
fn repeated(block: &Value) -> Value {
    let mut block = block.clone();
    let call = block.get_mut("toolUse").and_then(Value::as_object_mut);
    if let Some(call) = call
        && call
            .get("type")
            .is_some_and(|kind| kind != "server_tool_use")
    {
        call.shift_remove("type");
    }
    block
}

fn stop(response: &Value, has_calls: bool) -> StopReason {
    match text_of(response, "stopReason") {
        reason @ ("guardrail_intervened" | "content_filtered") => StopReason::Refused {
            reason: reason.to_owned(),
        },
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        _ if has_calls => StopReason::Calls,
        "end_turn" | "stop_sequence" => StopReason::Done,
        other => StopReason::Incomplete {
            reason: other.to_owned(),
        },
    }
}
