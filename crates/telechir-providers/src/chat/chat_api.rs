//! Conversation state for chat completions: messages are resent with every request.

use serde_json::{Map, Value, json};
use telechir_protocol::json_limits;

use super::decode::is_result;
use super::{Flavour, result_images};
use crate::chat_api::{ChatApi, Endpoint};
use crate::history::prune::{self, ImageItems, REMOVED_NOTE};
use crate::json::{Fields, list, list_of, object, present, some_text, text_of};
use crate::{ImageLimit, Request, RequestOptions, StopReason};

/// Maximum number of images in one Mistral request.
const MAX_MISTRAL_IMAGES: usize = 8;

/// The chat API of the chat completion dialects.
pub(super) struct CompletionsChat(pub(super) Flavour);

impl ChatApi for CompletionsChat {
    fn first_message(&self, text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    fn push_message(&self, text: &str, items: &mut Vec<Value>) {
        let is_after_tool = items.last().is_some_and(|last| last["role"] == "tool");
        if self.0 == Flavour::Mistral && is_after_tool {
            items.push(result_images::bridge());
        }
        items.push(self.first_message(text));
    }

    fn is_inserted(&self, item: &Value) -> bool {
        self.0 == Flavour::Mistral && *item == result_images::bridge()
    }

    fn request(&self, options: &RequestOptions, items: &mut Vec<Value>) -> Request {
        let limit = image_limit(self.0, options.images);
        prune::prune(&mut MessageImages, items, limit);
        let system = options
            .system
            .iter()
            .map(|system| json!({"role": "system", "content": system}));
        let messages: Vec<Value> = system.chain(items.iter().cloned()).collect();
        let mut body = Map::new();
        body.insert("model".into(), options.model.clone().into());
        body.insert("messages".into(), messages.into());
        if !options.declaration.tools.is_empty() {
            body.insert("tools".into(), options.declaration.tools.clone().into());
        }
        if let Some(max_tokens) = options.max_tokens {
            body.insert("max_tokens".into(), max_tokens.into());
        }
        Request {
            path: "/chat/completions".to_owned(),
            headers: options.declaration.headers.clone(),
            body: Value::Object(body),
            images: prune::count::<MessageImages>(items),
        }
    }

    /// The usage is part of a stream only where it is asked for; Mistral's always has it.
    fn stream(&self, request: &mut Request) {
        request.body["stream"] = true.into();
        if matches!(self.0, Flavour::Functions | Flavour::Inline) {
            request.body["stream_options"] = json!({"include_usage": true});
        }
    }

    /// The stop reason of a response that contains only an error.
    fn failure(&self, response: &Value) -> Option<StopReason> {
        let choice = choice(response)?;
        let error = object(choice, "error");
        let finish_reason = some_text(choice, "finish_reason").unwrap_or_default();
        if finish_reason != "error" && error.is_none() {
            return None;
        }
        let text = |name: &str| {
            let text = error.and_then(|error| some_text(error, name));
            text.unwrap_or_default().to_owned()
        };
        let message = text("message");
        Some(StopReason::Failed {
            code: "error".to_owned(),
            message: if message.is_empty() {
                "the service ended the response with an error".to_owned()
            } else {
                message
            },
        })
    }

    fn push_response(
        &self,
        response: &Value,
        has_calls: bool,
        items: &mut Vec<Value>,
    ) -> StopReason {
        let none = Fields::new();
        let choice = choice(response).unwrap_or(&none);
        let message = object(choice, "message").into_iter().cloned();
        let several = list(choice, "messages").iter().filter_map(Value::as_object);
        let messages: Vec<Fields> = several.cloned().chain(message).collect();
        let last = messages.last().unwrap_or(&none);
        let stop_reason = stop_reason(choice, last, has_calls);
        items.extend(messages.into_iter().filter_map(as_input_message));
        stop_reason
    }

    fn endpoint(&self) -> Endpoint {
        let host = match self.0 {
            Flavour::Functions | Flavour::Inline => None,
            Flavour::Mistral | Flavour::Conversations => Some("https://api.mistral.ai"),
        };
        Endpoint {
            host,
            prefix: "/v1",
        }
    }
}

/// Mistral rejects requests with more images than its limit.
pub(crate) fn image_limit(flavour: Flavour, requested: ImageLimit) -> ImageLimit {
    match flavour {
        Flavour::Functions | Flavour::Inline => requested,
        Flavour::Mistral | Flavour::Conversations => {
            requested.at_most(MAX_MISTRAL_IMAGES / 2, MAX_MISTRAL_IMAGES)
        }
    }
}

fn choice(response: &Value) -> Option<&Fields> {
    response.get("choices")?.get(0)?.as_object()
}

fn stop_reason(choice: &Fields, message: &Fields, has_calls: bool) -> StopReason {
    let refusal = some_text(message, "refusal").map(str::to_owned);
    let finish_reason = some_text(choice, "finish_reason").unwrap_or_default();
    match finish_reason {
        "length" => StopReason::MaxTokens,
        "model_length" => StopReason::ContextExceeded,
        "content_filter" => StopReason::Refused {
            reason: refusal.unwrap_or_else(|| "content_filter".to_owned()),
        },
        _ if has_calls => StopReason::Calls,
        "tool_calls" | "function_call" => StopReason::Incomplete {
            reason: "the response announced calls but contains none".to_owned(),
        },
        "stop" | "" | "eos" | "end_turn" | "stop_sequence" => match refusal {
            Some(reason) => StopReason::Refused { reason },
            None => StopReason::Done,
        },
        other => StopReason::Incomplete {
            reason: other.to_owned(),
        },
    }
}

/// Prepares a response message for the next request: removes nulls and empty call lists and makes
/// arguments parseable. `None` if nothing remains.
fn as_input_message(mut message: Fields) -> Option<Value> {
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    message.retain(|name, value| !empty(value) && name != "annotations");
    let calls = message
        .get_mut("tool_calls")
        .and_then(Value::as_array_mut)
        .map(Vec::as_mut_slice)
        .unwrap_or_default();
    for call in calls {
        // The position of a streamed call, which strict servers reject in a request.
        if let Some(call) = call.as_object_mut() {
            call.shift_remove("index");
        }
        if let Some(function) = call.get_mut("function") {
            repair_arguments(function);
        }
    }
    if let Some(call) = message.get_mut("function_call") {
        repair_arguments(call);
    }
    let calls = message.contains_key("tool_calls") || message.contains_key("function_call");
    let has_content = present(&message, "content").is_some_and(|content| content != "");
    if !calls && !has_content && some_text(&message, "refusal").is_none() && !is_result(&message) {
        return None;
    }
    message
        .entry("content")
        .or_insert_with(|| if calls { Value::Null } else { "".into() });
    Some(Value::Object(message))
}

/// Some servers parse echoed arguments and reject invalid JSON; the result of the call already
/// reports the problem.
pub(crate) fn repair_arguments(function: &mut Value) {
    let Some(arguments) = function.get("arguments").and_then(Value::as_str) else {
        return;
    };
    let read = json_limits::parse(arguments.as_bytes());
    if !read.is_ok_and(|value| value.is_object()) {
        let repaired = if arguments.trim().is_empty() {
            json!({})
        } else {
            json!({"malformed": arguments})
        };
        function["arguments"] = repaired.to_string().into();
    }
}

/// Images in the parts of messages and entries.
pub(crate) struct MessageImages;

impl ImageItems for MessageImages {
    fn count(item: &Value) -> usize {
        let parts = list_of(item, "content").iter();
        parts.filter(|part| is_image(part)).count()
    }

    fn remove(&mut self, item: &mut Value, max: usize) -> usize {
        let parts = item.get_mut("content").and_then(Value::as_array_mut);
        let note = json!({"type": "text", "text": REMOVED_NOTE});
        parts.map_or(0, |parts| prune::replace(parts, is_image, &note, max))
    }
}

fn is_image(part: &Value) -> bool {
    text_of(part, "type") == "image_url"
}
