//! What Google's two interfaces refuse, as far as their pages, recordings and reports of users say.

mod answers;
mod contents;
mod steps;
mod tools;

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::shape::{Checked, ensure, object, only, text, word};
use super::{Refusal, image};

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

pub(super) fn extra(place: &str, member: &str) -> Refusal {
    Refusal::invalid(format!(
        "Invalid JSON payload received. Unknown name \"{member}\" at '{place}': Cannot find field."
    ))
}

fn check_key(headers: &HeaderMap) -> Checked {
    let key = headers
        .get("x-goog-api-key")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if key.is_empty() {
        return Err(Refusal::unauthorized(
            "Method doesn't allow unregistered callers. Please use API Key in `x-goog-api-key`.",
        ));
    }
    Ok(())
}

/// Whether a path asks a model to generate.
pub(super) fn is_path(path: &str) -> bool {
    let model = path
        .strip_prefix("/v1beta/models/")
        .and_then(|rest| rest.strip_suffix(":generateContent"));
    model.is_some_and(|model| !model.is_empty() && !model.contains('/'))
}

/// Checks a whole `generateContent` request.
pub(super) fn check(headers: &HeaderMap, body: &Value, said: &[Vec<Value>]) -> Checked {
    check_key(headers)?;
    only(body, &[MEMBERS], "request", extra)?;
    tools::check(body)?;
    contents::check(body, said)
}

/// Checks a whole Interactions request.
pub(super) fn check_steps(headers: &HeaderMap, body: &Value, said: &[Vec<Value>]) -> Checked {
    check_key(headers)?;
    only(body, &[STEP_MEMBERS], "request", extra)?;
    text(body, "model", "request")?;
    let is_kept = body.get("previous_interaction_id").is_some();
    ensure(!is_kept && body.get("store") == Some(&json!(false)), || {
        "recorded model: it stores nothing; send all steps and `store: false`".to_owned()
    })?;
    tools::check_steps(body)?;
    steps::check(body, said)
}

/// The texts of every answer in the last content, by call: its id, or its name without one.
pub(super) fn results(body: &Value) -> BTreeMap<String, String> {
    let contents = body.get("contents").and_then(Value::as_array);
    let last = contents.and_then(|contents| contents.last());
    let parts = last.and_then(|content| content.get("parts")?.as_array());
    let answers = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("functionResponse"));
    let named = |answer: &Value| {
        let name = match word(answer, "id") {
            "" => word(answer, "name"),
            id => id,
        };
        let said = answer.get("response").cloned().unwrap_or_default();
        (name.to_owned(), answers::words(&said))
    };
    answers.map(named).collect()
}

/// The texts of every answer after the last words of the model, by call.
pub(super) fn step_results(body: &Value) -> BTreeMap<String, String> {
    let steps = body.get("input").and_then(Value::as_array);
    let last = steps.into_iter().flatten().rev();
    let answers = last.take_while(|step| word(step, "type") == "function_result");
    answers
        .map(|step| (word(step, "call_id").to_owned(), steps::words(step)))
        .collect()
}

/// A whole response around the parts that are said.
pub(super) fn answer(body: &Value, number: usize, say: Vec<Value>, with: &Value) -> Value {
    let prompt = body.to_string().len() / 4;
    let mut answer = json!({
        "candidates": [{
            "content": {"role": "model", "parts": say}, "finishReason": "STOP", "index": 0,
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
    super::server::merge(&mut answer, &without(with, "finishReason"));
    answer
}

/// A whole interaction around the steps that are said.
pub(super) fn interaction(body: &Value, number: usize, say: Vec<Value>, with: &Value) -> Value {
    let input = body.to_string().len() / 4;
    let calls = say.iter().any(|step| word(step, "type") == "function_call");
    let status = if calls {
        "requires_action"
    } else {
        "completed"
    };
    let mut answer = json!({
        "id": "", "object": "interaction", "status": status, "model": body.get("model"),
        "created": "2026-11-20T08:00:00Z", "updated": "2026-11-20T08:00:03Z", "steps": say,
        "usage": {
            "total_input_tokens": input, "total_output_tokens": 64, "total_thought_tokens": 0,
            "total_tokens": input + 64,
        },
        "service_tier": format!("recorded-{number}"),
    });
    super::server::merge(&mut answer, with);
    answer
}

fn without(value: &Value, name: &str) -> Value {
    let mut members = object(value, "with").cloned().unwrap_or_default();
    members.shift_remove(name);
    Value::Object(members)
}

/// A picture that the model can see.
fn check_image(kind: &str, data: &str, place: &str) -> Checked {
    image::measure(kind, data).map(|_| ()).map_err(|problem| {
        Refusal::invalid(format!("{place}: Unable to process input image: {problem}"))
    })
}

#[cfg(test)]
mod tests;
