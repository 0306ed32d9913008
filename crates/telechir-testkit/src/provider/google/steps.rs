//! Steps of Interactions: what the model said comes back, and every call is answered.

use serde_json::Value;

use super::super::Refusal;
use super::super::shape::{Checked, ensure, list, one_of, only, text, word};
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

pub(super) fn check(body: &Value, said: &[Vec<Value>]) -> Checked {
    let steps = body.get("input").unwrap_or(&Value::Null);
    let steps = list(steps, "input")?;
    for (index, step) in steps.iter().enumerate() {
        check_step(step, &format!("input[{index}]"))?;
    }
    check_words(steps, said)?;
    check_pairs(steps)
}

fn check_step(step: &Value, place: &str) -> Checked {
    let kind = text(step, "type", place)?;
    one_of(kind, &STEPS, &format!("{place}.type"))?;
    match kind {
        "user_input" | "model_output" => check_contents(step.get("content"), place),
        "function_call" => {
            text(step, "id", place)?;
            text(step, "name", place)?;
            let is_object = step.get("arguments").is_some_and(Value::is_object);
            ensure(is_object, || {
                format!("{place}.arguments: should be an object")
            })
        }
        "function_result" => {
            only(step, &[RESULT], place, extra)?;
            text(step, "call_id", place)?;
            ensure(step.get("result").is_some(), || {
                format!("{place}.result: Field required")
            })?;
            match step.get("result") {
                Some(result @ Value::Array(_)) => check_contents(Some(result), place),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_contents(contents: Option<&Value>, place: &str) -> Checked {
    for content in list(contents.unwrap_or(&Value::Null), place)? {
        match word(content, "type") {
            "text" => {
                text(content, "text", place)?;
            }
            "image" => check_image(word(content, "mime_type"), word(content, "data"), place)?,
            kind => one_of(kind, &["audio", "document", "video"], place)?,
        }
    }
    Ok(())
}

/// Everything the model said stands there in its order, thoughts included.
fn check_words(steps: &[Value], said: &[Vec<Value>]) -> Checked {
    let is_models = |step: &&Value| !matches!(word(step, "type"), "user_input" | "function_result");
    let own: Vec<&Value> = steps.iter().filter(is_models).collect();
    let all: Vec<&Value> = said.iter().flatten().collect();
    ensure(own == all, || {
        "recorded model: its steps came back otherwise than it said them".to_owned()
    })
}

/// One answer for each call, in their order, right after the last of them.
fn check_pairs(steps: &[Value]) -> Checked {
    let mut open: Vec<&Value> = Vec::new();
    for step in steps {
        match word(step, "type") {
            "function_call" => open.push(step),
            "function_result" => {
                ensure(!open.is_empty(), || {
                    format!("no call waits for {}", word(step, "call_id"))
                })?;
                check_pair(open.remove(0), step)?;
            }
            _ => ensure(open.is_empty(), || unanswered(&open))?,
        }
    }
    ensure(open.is_empty(), || unanswered(&open))
}

fn unanswered(open: &[&Value]) -> String {
    let name = open.first().map_or("", |call| word(call, "name"));
    format!("function_call `{name}` has no function_result")
}

fn check_pair(call: &Value, result: &Value) -> Checked {
    let name = word(call, "name");
    ensure(word(result, "call_id") == word(call, "id"), || {
        format!(
            "the result for {} comes where {} is due",
            word(result, "call_id"),
            word(call, "id")
        )
    })?;
    ensure(
        matches!(word(result, "name"), "" | "function") || word(result, "name") == name,
        || "Each Function Call must be matched to a Function Response by name".to_owned(),
    )?;
    let agreed = result.get("safety_acknowledgement") == Some(&true.into());
    let none = Value::Null;
    let arguments = call.get("arguments").unwrap_or(&none);
    if answers::needs_agreement(arguments) && !agreed {
        return Err(Refusal::invalid(format!(
            "The safety decision from function call {name} must be acknowledged in the corresponding function response."
        )));
    }
    let said = first_text(result);
    let response = serde_json::from_str(said).unwrap_or_else(|_| {
        Value::Object([("output".to_owned(), said.into())].into_iter().collect())
    });
    answers::check(name, arguments, &response, agreed, "function_result")
}

fn first_text(result: &Value) -> &str {
    match result.get("result") {
        Some(Value::String(text)) => text,
        Some(Value::Array(contents)) => {
            let texts = contents
                .iter()
                .filter(|content| word(content, "type") == "text");
            texts
                .map(|content| word(content, "text"))
                .next()
                .unwrap_or_default()
        }
        _ => "",
    }
}

/// All that a result says.
pub(super) fn words(step: &Value) -> String {
    let said = first_text(step);
    match serde_json::from_str::<Value>(said) {
        Ok(value) => answers::words(&value),
        Err(_) => said.to_owned(),
    }
}
