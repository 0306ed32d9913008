//! Conversations with Interactions; the provider is asked not to store them.

use serde_json::{Map, Value, json};

use crate::chat_api::{ChatApi, Endpoint};
use crate::google::images::ItemImages;
use crate::history::prune;
use crate::json::text_of;
use crate::{Request, RequestOptions, StopReason};

/// The API for conversations with Interactions.
pub(super) struct InteractionsChat;

impl ChatApi for InteractionsChat {
    fn first_message(&self, task: &str) -> Value {
        json!({"type": "user_input", "content": [{"type": "text", "text": task}]})
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    /// Builds a request with all steps so far and without storage by the provider.
    fn request(&self, options: &RequestOptions, steps: &mut Vec<Value>) -> Request {
        prune::prune(&mut ItemImages, steps, options.images);
        let mut body = Map::new();
        let model = options.model.trim_start_matches("models/");
        body.insert("model".into(), model.into());
        if let Some(system) = &options.system {
            body.insert("system_instruction".into(), system.clone().into());
        }
        body.insert("input".into(), steps.to_vec().into());
        if !options.declaration.tools.is_empty() {
            body.insert("tools".into(), options.declaration.tools.clone().into());
        }
        if let Some(max_tokens) = options.max_tokens {
            let config = json!({"max_output_tokens": max_tokens});
            body.insert("generation_config".into(), config);
        }
        body.insert("store".into(), false.into());
        Request {
            path: "/interactions".to_owned(),
            headers: options.declaration.headers.clone(),
            body: body.into(),
            images: prune::count::<ItemImages>(steps),
        }
    }

    fn failure(&self, body: &Value) -> Option<StopReason> {
        match text_of(body, "status") {
            "failed" => {
                let none = Value::Null;
                let first = body.get("errors").and_then(|errors| errors.get(0));
                let error = first.unwrap_or(&none);
                let code = match error.get("code") {
                    Some(Value::String(code)) => code.clone(),
                    Some(Value::Null) | None => String::new(),
                    Some(code) => code.to_string(),
                };
                let message = text_of(error, "message").to_owned();
                Some(StopReason::Failed { code, message })
            }
            status @ ("cancelled" | "queued" | "in_progress") => Some(StopReason::Incomplete {
                reason: status.to_owned(),
            }),
            _ => None,
        }
    }

    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> StopReason {
        let steps = response.get("steps").and_then(Value::as_array);
        items.extend(steps.into_iter().flatten().cloned());
        stop(response, has_calls)
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: Some("https://generativelanguage.googleapis.com"),
            prefix: "/v1beta",
        }
    }
}

fn stop(body: &Value, has_calls: bool) -> StopReason {
    match text_of(body, "status") {
        // Its calls may be truncated.
        "incomplete" => StopReason::MaxTokens,
        "budget_exceeded" => StopReason::Incomplete {
            reason: "budget_exceeded".to_owned(),
        },
        _ if has_calls => StopReason::Calls,
        "requires_continuation" => StopReason::Continue,
        "completed" => StopReason::Done,
        other => StopReason::Incomplete {
            reason: other.to_owned(),
        },
    }
}
