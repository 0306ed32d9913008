//! Steps of Interactions: unchanged model steps, and one result per call.

use serde_json::Value;

use super::super::Rejection;
use super::super::shape::{Validated, ensure, list, one_of, only, text, text_or_empty};
use super::{answers, check_image, extra};

const RESULT: &[&str] = &[
    "type",
    "call_id",
    "name",
    "result",
    "is_error",
    "safety_acknowledgement",
];
const STEPS: [&str; 7] = [
    "user_input",
    "model_output",
    "thought",
    "function_call",
    "function_result",
    "code_execution_call",
    "code_execution_result",
];

pub(super) fn check(body: &Value, history: &[Vec<Value>]) -> Validated {
    let steps = body.get("input").unwrap_or(&Value::Null);
    let steps = list(steps, "input")?;
    for (index, step) in steps.iter().enumerate() {
        check_step(step, &format!("input[{index}]"))?;
    }
    check_model_contents(steps, history)?;
    check_pairs(steps)
}

fn check_step(step: &Value, location: &str) -> Validated {
    let kind = text(step, "type", location)?;
    one_of(kind, &STEPS, &format!("{location}.type"))?;
    match kind {
        "user_input" | "model_output" => check_contents(step.get("content"), location),
        "function_call" => {
            text(step, "id", location)?;
            text(step, "name", location)?;
            let is_object = step.get("arguments").is_some_and(Value::is_object);
            ensure(is_object, || {
                format!("{location}.arguments: should be an object")
            })
        }
        "function_result" => {
            only(step, &[RESULT], location, extra)?;
            text(step, "call_id", location)?;
            ensure(step.get("result").is_some(), || {
                format!("{location}.result: Field required")
            })?;
            match step.get("result") {
                Some(result @ Value::Array(_)) => check_contents(Some(result), location),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_contents(contents: Option<&Value>, location: &str) -> Validated {
    for content in list(contents.unwrap_or(&Value::Null), location)? {
        match text_or_empty(content, "type") {
            "text" => {
                text(content, "text", location)?;
            }
            "image" => check_image(
                text_or_empty(content, "mime_type"),
                text_or_empty(content, "data"),
                location,
            )?,
            kind => one_of(kind, &["audio", "document", "video"], location)?,
        }
    }
    Ok(())
}

/// The model's steps must be returned in order, including thoughts.
fn check_model_contents(steps: &[Value], history: &[Vec<Value>]) -> Validated {
    let is_models = |step: &&Value| {
        !matches!(
            text_or_empty(step, "type"),
            "user_input" | "function_result"
        )
    };
    let own: Vec<&Value> = steps.iter().filter(is_models).collect();
    let all: Vec<&Value> = history.iter().flatten().collect();
    ensure(own == all, || {
        "recorded model: steps of this model were changed".to_owned()
    })
}

/// One result per call, in order, directly after the last call.
fn check_pairs(steps: &[Value]) -> Validated {
    let mut open: Vec<&Value> = Vec::new();
    for step in steps {
        match text_or_empty(step, "type") {
            "function_call" => open.push(step),
            "function_result" => {
                ensure(!open.is_empty(), || {
                    format!("no call waits for {}", text_or_empty(step, "call_id"))
                })?;
                check_pair(open.remove(0), step)?;
            }
            _ => ensure(open.is_empty(), || unanswered(&open))?,
        }
    }
    ensure(open.is_empty(), || unanswered(&open))
}

fn unanswered(open: &[&Value]) -> String {
    let name = open.first().map_or("", |call| text_or_empty(call, "name"));
    format!("function_call `{name}` has no function_result")
}

fn check_pair(call: &Value, result: &Value) -> Validated {
    let name = text_or_empty(call, "name");
    ensure(
        text_or_empty(result, "call_id") == text_or_empty(call, "id"),
        || {
            format!(
                "the result for {} comes where {} is due",
                text_or_empty(result, "call_id"),
                text_or_empty(call, "id")
            )
        },
    )?;
    ensure(
        matches!(text_or_empty(result, "name"), "" | "function")
            || text_or_empty(result, "name") == name,
        || "Each Function Call must be matched to a Function Response by name".to_owned(),
    )?;
    let agreed = result.get("safety_acknowledgement") == Some(&true.into());
    let none = Value::Null;
    let arguments = call.get("arguments").unwrap_or(&none);
    if answers::needs_agreement(arguments) && !agreed {
        return Err(Rejection::invalid(format!(
            "The safety decision from function call {name} must be acknowledged in the corresponding function response."
        )));
    }
    let history = first_text(result);
    let response = serde_json::from_str(history).unwrap_or_else(|_| {
        Value::Object(
            [("output".to_owned(), history.into())]
                .into_iter()
                .collect(),
        )
    });
    answers::check(name, arguments, &response, agreed, "function_result")
}

fn first_text(result: &Value) -> &str {
    match result.get("result") {
        Some(Value::String(text)) => text,
        Some(Value::Array(contents)) => {
            let texts = contents
                .iter()
                .filter(|content| text_or_empty(content, "type") == "text");
            texts
                .map(|content| text_or_empty(content, "text"))
                .next()
                .unwrap_or_default()
        }
        _ => "",
    }
}

/// All text of a result.
pub(super) fn text_of(step: &Value) -> String {
    let history = first_text(step);
    match serde_json::from_str::<Value>(history) {
        Ok(value) => answers::text_of(&value),
        Err(_) => history.to_owned(),
    }
}
