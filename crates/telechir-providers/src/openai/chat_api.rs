//! Conversation state for the Responses API: items are resent with every request (`store: false`).

use serde_json::{Map, Value, json};

use crate::chat_api::{ChatApi, Endpoint};
use crate::history::prune::{self, ImageItems, REMOVED_NOTE};
use crate::json::text_of;
use crate::{ImageLimit, Request, RequestOptions, StopReason};

/// Output-only fields of response items; requests that contain them are rejected.
const OUTPUT_ONLY: [&str; 2] = ["created_by", "parsed_arguments"];

/// The chat API of `openai-responses`.
pub(super) struct ResponsesChat;

impl ChatApi for ResponsesChat {
    fn first_message(&self, text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    /// Builds the request from all items so far. It includes encrypted reasoning so that the next
    /// request can repeat it.
    fn request(&self, options: &RequestOptions, items: &mut Vec<Value>) -> Request {
        prune(items, options.images);
        let mut body = Map::new();
        body.insert("model".into(), options.model.clone().into());
        if let Some(system) = &options.system {
            body.insert("instructions".into(), system.clone().into());
        }
        body.insert("input".into(), items.clone().into());
        if !options.declaration.tools.is_empty() {
            body.insert("tools".into(), options.declaration.tools.clone().into());
        }
        body.insert("store".into(), false.into());
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        if let Some(max_tokens) = options.max_tokens {
            body.insert("max_output_tokens".into(), max_tokens.into());
        }
        if options.model.starts_with("computer-use-preview") {
            body.insert("truncation".into(), "auto".into());
        }
        let images = prune::count::<OutputImages>(items);
        let headers = options.declaration.headers.clone();
        Request {
            path: "/responses".to_owned(),
            headers,
            body: Value::Object(body),
            images,
        }
    }

    /// The stop reason of a response without output; `None` if there is output to read.
    fn failure(&self, body: &Value) -> Option<StopReason> {
        match text_of(body, "status") {
            "failed" => {
                let error = body.get("error").unwrap_or(&Value::Null);
                let (code, message) = (
                    text_of(error, "code").to_owned(),
                    text_of(error, "message").to_owned(),
                );
                Some(if code == "context_length_exceeded" {
                    StopReason::ContextExceeded
                } else {
                    StopReason::Failed { code, message }
                })
            }
            "cancelled" | "queued" | "in_progress" => Some(StopReason::Incomplete {
                reason: text_of(body, "status").to_owned(),
            }),
            _ => None,
        }
    }

    fn push_response(&self, body: &Value, has_calls: bool, items: &mut Vec<Value>) -> StopReason {
        let output: Vec<Value> = body
            .get("output")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let stop_reason = stop_reason(body, &output, has_calls);
        items.extend(output.into_iter().map(as_input_item));
        stop_reason
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: Some("https://api.openai.com"),
            prefix: "/v1",
        }
    }
}

fn stop_reason(body: &Value, output: &[Value], has_calls: bool) -> StopReason {
    if text_of(body, "status") == "incomplete" {
        let details = body.get("incomplete_details").unwrap_or(&Value::Null);
        return match text_of(details, "reason") {
            "max_output_tokens" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refused {
                reason: "content_filter".to_owned(),
            },
            other => StopReason::Incomplete {
                reason: other.to_owned(),
            },
        };
    }
    if has_calls {
        return StopReason::Calls;
    }
    if let Some(reason) = refusal(output) {
        return StopReason::Refused { reason };
    }
    // A final message in the commentary phase announces further output.
    match output
        .iter()
        .rfind(|item| text_of(item, "type") == "message")
    {
        Some(message) if text_of(message, "phase") == "commentary" => StopReason::Continue,
        _ => StopReason::Done,
    }
}

fn refusal(output: &[Value]) -> Option<String> {
    let parts = output
        .iter()
        .filter_map(|item| item.get("content").and_then(Value::as_array))
        .flatten();
    let refused = parts
        .into_iter()
        .find(|part| text_of(part, "type") == "refusal")?;
    Some(text_of(refused, "refusal").to_owned())
}

fn as_input_item(mut item: Value) -> Value {
    if let Some(members) = item.as_object_mut() {
        members.retain(|name, _| !OUTPUT_ONLY.contains(&name.as_str()));
    }
    item
}

/// Removes old screenshots. A `computer_call_output` requires a screenshot, so it is removed
/// together with its call and the preceding reasoning; a note replaces them.
fn prune(items: &mut Vec<Value>, limit: ImageLimit) {
    let mut images = OutputImages::default();
    prune::prune(&mut images, items, limit);
    for call_id in images.removed_calls {
        remove_pair(items, &call_id);
    }
}

/// Images in the outputs of calls.
#[derive(Default)]
struct OutputImages {
    /// Ids of the calls whose output cannot be without its screenshot.
    removed_calls: Vec<String>,
}

impl ImageItems for OutputImages {
    fn count(item: &Value) -> usize {
        match item.get("output") {
            Some(Value::Array(parts)) => parts.iter().filter(|part| is_image(part)).count(),
            Some(output) => usize::from(text_of(output, "type") == "computer_screenshot"),
            None => 0,
        }
    }

    fn remove(&mut self, item: &mut Value, _max: usize) -> usize {
        let count = Self::count(item);
        if count > 0 && text_of(item, "type") == "computer_call_output" {
            self.removed_calls.push(text_of(item, "call_id").to_owned());
        } else if let Some(parts) = item.get_mut("output").and_then(Value::as_array_mut) {
            let note = json!({"type": "input_text", "text": REMOVED_NOTE});
            prune::replace(parts, is_image, &note, count);
        }
        count
    }
}

fn is_image(part: &Value) -> bool {
    text_of(part, "type") == "input_image"
}

fn remove_pair(items: &mut Vec<Value>, call_id: &str) {
    items.retain(|item| {
        !(text_of(item, "type") == "computer_call_output" && text_of(item, "call_id") == call_id)
    });
    let is_call = |item: &Value| {
        text_of(item, "type") == "computer_call" && text_of(item, "call_id") == call_id
    };
    let Some(at) = items.iter().position(is_call) else {
        return;
    };
    let removal_note = removal_note(&items[at]);
    let start = items[..at]
        .iter()
        .rposition(|item| text_of(item, "type") != "reasoning")
        .map_or(0, |last| last + 1);
    items.splice(start..=at, [removal_note]);
}

fn removal_note(call: &Value) -> Value {
    let actions = call.get("actions").and_then(Value::as_array).cloned();
    let actions = actions
        .or_else(|| call.get("action").map(|action| vec![action.clone()]))
        .unwrap_or_default();
    let names = actions
        .iter()
        .map(|action| text_of(action, "type").to_owned())
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        "[An older computer call ({names}) was carried out here; it and its screenshot were removed to save room.]"
    );
    json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]})
}
