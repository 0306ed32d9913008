//! Conversation state for the Conversations API: entries are resent with every request (`store:
//! false`).

use serde_json::{Map, Value, json};

use crate::chat::Flavour;
use crate::chat::chat_api::{MessageImages, image_limit, repair_arguments};
use crate::chat_api::{ChatApi, Endpoint};
use crate::history::prune;
use crate::json::text_of;
use crate::{Request, RequestOptions, StopReason};

/// The chat API of `mistral-conversations`.
pub(super) struct ConversationsChat;

impl ChatApi for ConversationsChat {
    fn first_message(&self, text: &str) -> Value {
        json!({"type": "message.input", "role": "user", "content": text})
    }

    /// Builds the request. Without storage every request starts a new conversation, so retrying it is
    /// safe. An agent (`ag_…`) replaces the model and brings its own tools.
    fn request(&self, options: &RequestOptions, items: &mut Vec<Value>) -> Request {
        let limit = image_limit(Flavour::Conversations, options.images);
        prune::prune(&mut MessageImages, items, limit);
        let mut body = Map::new();
        let is_agent = options.model.starts_with("ag_") || options.model.starts_with("ag:");
        if is_agent {
            body.insert("agent_id".into(), options.model.clone().into());
        } else {
            body.insert("model".into(), options.model.clone().into());
            if let Some(system) = &options.system {
                body.insert("instructions".into(), system.clone().into());
            }
            if !options.declaration.tools.is_empty() {
                body.insert("tools".into(), options.declaration.tools.clone().into());
            }
            if let Some(max_tokens) = options.max_tokens {
                body.insert("completion_args".into(), json!({"max_tokens": max_tokens}));
            }
        }
        body.insert("inputs".into(), items.to_vec().into());
        body.insert("store".into(), false.into());
        body.insert("stream".into(), false.into());
        Request {
            path: "/conversations".to_owned(),
            headers: options.declaration.headers.clone(),
            body: Value::Object(body),
            images: prune::count::<MessageImages>(items),
        }
    }

    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> StopReason {
        let outputs = response.get("outputs").and_then(Value::as_array);
        let outputs = outputs.map(Vec::as_slice).unwrap_or_default();
        items.extend(outputs.iter().cloned().map(as_input_entry));
        stop_reason(outputs, has_calls)
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: Some("https://api.mistral.ai"),
            prefix: "/v1",
        }
    }
}

fn stop_reason(outputs: &[Value], has_calls: bool) -> StopReason {
    let pending = outputs
        .iter()
        .find(|entry| text_of(entry, "confirmation_status") == "pending");
    if let Some(pending) = pending {
        let name = text_of(pending, "name");
        return StopReason::Incomplete {
            reason: format!("the service's tool {name} waits for the user's confirmation"),
        };
    }
    if has_calls {
        return StopReason::Calls;
    }
    match outputs.last().map(|entry| text_of(entry, "type")) {
        Some("message.output") => StopReason::Done,
        Some(kind) => StopReason::Incomplete {
            reason: format!("the response ended with an entry {kind}"),
        },
        None => StopReason::Incomplete {
            reason: "the response has no output".to_owned(),
        },
    }
}

/// Prepares a response entry for the next request: removes nulls and makes arguments parseable.
fn as_input_entry(mut entry: Value) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    if text_of(&entry, "type") == "function.call" {
        repair_arguments(&mut entry);
    }
    entry
}
