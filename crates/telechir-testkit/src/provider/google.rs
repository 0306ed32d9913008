//! What Google's two APIs reject, according to their documentation, recordings and bug reports.

mod answers;
mod contents;
mod steps;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::shape::{Validated, ensure, object, only, text, text_or_empty};
use super::{Rejection, image};

const MEMBERS: &[&str] = &[
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
    "serviceTier",
    "store",
    "continuationToken",
];
const STEP_MEMBERS: &[&str] = &[
    "model",
    "agent",
    "input",
    "previous_interaction_id",
    "tools",
    "system_instruction",
    "generation_config",
    "response_format",
    "response_modalities",
    "store",
    "stream",
    "background",
    "safety_settings",
    "service_tier",
    "labels",
    "cached_content",
];

pub(super) fn extra(location: &str, member: &str) -> Rejection {
    Rejection::invalid(format!(
        "Invalid JSON payload received. Unknown name \"{member}\" at '{location}': Cannot find field."
    ))
}

fn check_key(headers: &HeaderMap) -> Validated {
    let key = headers
        .get("x-goog-api-key")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if key.is_empty() {
        return Err(Rejection::unauthorized(
            "Method doesn't allow unregistered callers. Please use API Key in `x-goog-api-key`.",
        ));
    }
    Ok(())
}

/// Whether the path is that of `generateContent`.
pub(super) fn is_path(path: &str) -> bool {
    let model = path
        .strip_prefix("/v1beta/models/")
        .and_then(|rest| rest.strip_suffix(":generateContent"));
    model.is_some_and(|model| !model.is_empty() && !model.contains('/'))
}

/// Validates a `generateContent` request.
pub(super) fn check(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
    check_key(headers)?;
    only(body, &[MEMBERS], "request", extra)?;
    tools::check(body)?;
    contents::check(body, history)
}

/// Validates an Interactions request.
pub(super) fn check_steps(headers: &HeaderMap, body: &Value, history: &[Vec<Value>]) -> Validated {
    check_key(headers)?;
    only(body, &[STEP_MEMBERS], "request", extra)?;
    text(body, "model", "request")?;
    let is_stored = body.get("previous_interaction_id").is_some();
    ensure(
        !is_stored && body.get("store") == Some(&json!(false)),
        || "recorded model: nothing is stored; send all steps and `store: false`".to_owned(),
    )?;
    tools::check_steps(body)?;
    steps::check(body, history)
}

/// The text of every function response in the last content, by call id, or by name without one.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let contents = body.get("contents").and_then(Value::as_array);
    let last = contents.and_then(|contents| contents.last());
    let parts = last.and_then(|content| content.get("parts")?.as_array());
    let answers = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("functionResponse"));
    let named = |answer: &Value| {
        let name = match text_or_empty(answer, "id") {
            "" => text_or_empty(answer, "name"),
            id => id,
        };
        let history = answer.get("response").cloned().unwrap_or_default();
        (name.to_owned(), answers::text_of(&history))
    };
    answers.map(named).collect()
}

/// The text of every result after the model's last steps, by call id.
pub(super) fn step_results(body: &Value) -> BTreeMap<String, String> {
    let steps = body.get("input").and_then(Value::as_array);
    let last = steps.into_iter().flatten().rev();
    let answers = last.take_while(|step| text_or_empty(step, "type") == "function_result");
    answers
        .map(|step| {
            (
                text_or_empty(step, "call_id").to_owned(),
                steps::text_of(step),
            )
        })
        .collect()
}

/// A complete response with these parts.
pub(super) fn answer(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let prompt = body.to_string().len() / 4;
    let mut answer = json!({
        "candidates": [{
            "content": {"role": "model", "parts": content}, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": prompt, "candidatesTokenCount": 64, "totalTokenCount": prompt + 64,
            "serviceTier": "standard",
        },
        "modelVersion": "recorded", "responseId": format!("recorded-{number}"),
    });
    if let Some(reason) = with.get("finishReason") {
        answer["candidates"][0]["finishReason"] = reason.clone();
    }
    super::shape::merge(&mut answer, &without(with, "finishReason"));
    answer
}

/// A complete interaction with these steps.
pub(super) fn interaction(body: &Value, number: usize, content: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let calls = content
        .iter()
        .any(|step| text_or_empty(step, "type") == "function_call");
    let status = if calls {
        "requires_action"
    } else {
        "completed"
    };
    let mut answer = json!({
        "id": "", "object": "interaction", "status": status, "model": body.get("model"),
        "created": "2026-11-20T08:00:00Z", "updated": "2026-11-20T08:00:03Z", "steps": content,
        "usage": {
            "total_input_tokens": input, "total_output_tokens": 64, "total_thought_tokens": 0,
            "total_tokens": input + 64,
        },
        "service_tier": format!("recorded-{number}"),
    });
    super::shape::merge(&mut answer, with);
    answer
}

fn without(value: &Value, name: &str) -> Value {
    let mut members = object(value, "with").cloned().unwrap_or_default();
    members.shift_remove(name);
    Value::Object(members)
}

/// Validates an image that the model can decode.
fn check_image(kind: &str, data: &str, location: &str) -> Validated {
    image::measure(kind, data).map(|_| ()).map_err(|problem| {
        Rejection::invalid(format!(
            "{location}: Unable to process input image: {problem}"
        ))
    })
}

#[cfg(test)]
mod tests;
