//! Conversations with Anthropic's request bodies and a Bedrock API key.

use serde_json::{Map, Value, json};

use super::declare;
use crate::anthropic;
use crate::bedrock::{models, path};
use crate::chat_api::{ChatApi, Endpoint};
use crate::json::text_of;
use crate::{Request, RequestOptions, StopReason};

/// The conversation itself is the same as in Anthropic's Messages API.
const ANTHROPIC: anthropic::AnthropicChat = anthropic::AnthropicChat;

/// Conversations with Anthropic's bodies.
pub(super) enum AnthropicBodyChat {
    Messages,
    Invoke,
}

impl ChatApi for AnthropicBodyChat {
    fn first_message(&self, text: &str) -> Value {
        ANTHROPIC.first_message(text)
    }

    fn request(&self, options: &RequestOptions, items: &mut Vec<Value>) -> Request {
        let request = ANTHROPIC.request(options, items);
        match self {
            Self::Messages => request,
            Self::Invoke => invoke(options, request),
        }
    }

    fn stream(&self, request: &mut Request) {
        match self {
            Self::Messages => ANTHROPIC.stream(request),
            Self::Invoke => request.path.push_str("-with-response-stream"),
        }
    }

    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> StopReason {
        ANTHROPIC.push_response(response, has_calls, items)
    }

    fn push_results(&self, results: Vec<Value>, items: &mut Vec<Value>) {
        ANTHROPIC.push_results(results, items);
    }

    /// No host, because it depends on the region.
    fn endpoint(&self) -> Endpoint {
        let prefix = match self {
            Self::Messages => "/anthropic/v1",
            Self::Invoke => "",
        };
        Endpoint { host: None, prefix }
    }
}

/// Moves the model into the path and the headers into the body.
fn invoke(options: &RequestOptions, request: Request) -> Request {
    let mut body = match request.body {
        Value::Object(body) => body,
        _ => Map::new(),
    };
    // InvokeModel has no moving cache breakpoint: it is set in each request.
    body.shift_remove("cache_control");
    if let Some(messages) = body.get_mut("messages") {
        mark_last(messages);
    }
    for name in ["model", "stream"] {
        body.shift_remove(name);
    }
    let mut betas = models::betas(&request.headers);
    let declared = options.declaration.body.get("anthropic_beta");
    betas.extend(
        declared
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .cloned(),
    );
    if !betas.is_empty() {
        body.insert("anthropic_beta".to_owned(), betas.into());
    }
    body.insert("anthropic_version".to_owned(), declare::VERSION.into());
    Request {
        path: format!("/model/{}/invoke", path::path_segment(&options.model)),
        headers: Vec::new(),
        body: Value::Object(body),
        images: request.images,
    }
}

/// Marks the last block, so that everything before it is cached. Thinking cannot be marked.
fn mark_last(messages: &mut Value) {
    let last = messages.as_array_mut().and_then(|messages| {
        messages
            .last_mut()?
            .get_mut("content")?
            .as_array_mut()?
            .last_mut()
    });
    if let Some(block) = last.filter(|block| !text_of(block, "type").contains("thinking")) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}
