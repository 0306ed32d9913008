//! Contents of `generateContent`: unchanged model contents, and responses directly after their
//! calls.

use serde_json::Value;

use super::super::Rejection;
use super::super::shape::{Validated, ensure, list, one_of, only, text, text_or_empty};
use super::{answers, check_image, extra};

const PART: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "thought",
    "thoughtSignature",
    "mediaResolution",
    "videoMetadata",
    "partMetadata",
];
const CALL: &[&str] = &["id", "name", "args"];
const ANSWER: &[&str] = &[
    "id",
    "name",
    "response",
    "parts",
    "willContinue",
    "scheduling",
];

pub(super) fn check(body: &Value, history: &[Vec<Value>]) -> Validated {
    let contents = body.get("contents").unwrap_or(&Value::Null);
    let contents = list(contents, "contents")?;
    ensure(!contents.is_empty(), || {
        "contents is not specified".to_owned()
    })?;
    for (index, content) in contents.iter().enumerate() {
        check_content(content, &format!("contents[{index}]"))?;
    }
    if let Some(system) = body.get("systemInstruction") {
        list(
            system.get("parts").unwrap_or(&Value::Null),
            "system_instruction.parts",
        )?;
    }
    check_model_contents(contents, history)?;
    check_pairs(contents)
}

fn check_content(content: &Value, location: &str) -> Validated {
    only(content, &[&["role", "parts"]], location, extra)?;
    let role = text_or_empty(content, "role");
    if !matches!(role, "user" | "model") {
        return Err(Rejection::invalid("Please use a valid role: user, model."));
    }
    let parts = list(content.get("parts").unwrap_or(&Value::Null), location)?;
    ensure(!parts.is_empty(), || {
        format!("{location}.parts must not be empty.")
    })?;
    for (index, part) in parts.iter().enumerate() {
        let location = format!("{location}.parts[{index}]");
        only(part, &[PART], &location, extra)?;
        if let Some(call) = part.get("functionCall") {
            only(call, &[CALL], &location, extra)?;
            text(call, "name", &location)?;
        }
        if let Some(answer) = part.get("functionResponse") {
            only(answer, &[ANSWER], &location, extra)?;
            text(answer, "name", &location)?;
            check_media(answer.get("parts"), &location)?;
        }
        if let Some(data) = part.get("inlineData") {
            check_image(
                text_or_empty(data, "mimeType"),
                text_or_empty(data, "data"),
                &location,
            )?;
        }
    }
    Ok(())
}

fn check_media(parts: Option<&Value>, location: &str) -> Validated {
    let Some(parts) = parts else { return Ok(()) };
    for part in list(parts, location)? {
        only(part, &[&["inlineData", "fileData"]], location, extra)?;
        if let Some(data) = part.get("inlineData") {
            only(
                data,
                &[&["mimeType", "data", "displayName"]],
                location,
                extra,
            )?;
            let known = ["image/png", "image/jpeg", "image/webp"];
            one_of(text_or_empty(data, "mimeType"), &known, location)?;
            check_image(
                text_or_empty(data, "mimeType"),
                text_or_empty(data, "data"),
                location,
            )?;
        }
    }
    Ok(())
}

/// The model's contents must be returned part by part, including signatures.
fn check_model_contents(contents: &[Value], history: &[Vec<Value>]) -> Validated {
    let own: Vec<&Value> = contents
        .iter()
        .filter(|content| text_or_empty(content, "role") == "model")
        .collect();
    ensure(own.len() == history.len(), || {
        format!(
            "recorded model: there were {} responses, but the request contains {}",
            history.len(),
            own.len()
        )
    })?;
    for (content, history) in own.into_iter().zip(history) {
        let parts = list(content.get("parts").unwrap_or(&Value::Null), "parts")?;
        ensure(parts == history.as_slice(), || {
            "recorded model: a content of this model was changed".to_owned()
        })?;
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        if let Some(first) = first.filter(|part| part.get("thoughtSignature").is_none()) {
            let name = text_or_empty(first.get("functionCall").unwrap_or(&Value::Null), "name");
            return Err(Rejection::invalid(format!(
                "Function call is missing a thought_signature in functionCall parts: `{name}`"
            )));
        }
    }
    Ok(())
}

fn members<'a>(content: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let parts = content.get("parts").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .filter_map(move |part| part.get(name))
}

/// The next content must have one response per call, matched by name and id.
fn check_pairs(contents: &[Value]) -> Validated {
    for (index, content) in contents.iter().enumerate() {
        let calls: Vec<&Value> = members(content, "functionCall").collect();
        let before = index.checked_sub(1).and_then(|before| contents.get(before));
        let call_ids = before.map_or(0, |before| members(before, "functionCall").count());
        let outcome = members(content, "functionResponse").count();
        ensure(outcome == 0 || call_ids > 0, || {
            "Please ensure that function response turn comes immediately after a function call turn.".to_owned()
        })?;
        if calls.is_empty() {
            continue;
        }
        let next = contents.get(index + 1);
        let given: Vec<&Value> =
            next.map_or_else(Vec::new, |next| members(next, "functionResponse").collect());
        ensure(given.len() == calls.len(), || {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".to_owned()
        })?;
        for (call, answer) in calls.into_iter().zip(given) {
            check_pair(call, answer)?;
        }
    }
    Ok(())
}

fn check_pair(call: &Value, answer: &Value) -> Validated {
    let name = text_or_empty(call, "name");
    ensure(text_or_empty(answer, "name") == name, || {
        "Each Function Call must be matched to a Function Response by name".to_owned()
    })?;
    ensure(answer.get("id") == call.get("id"), || {
        format!("the response to `{name}` has another id than its call")
    })?;
    let none = Value::Null;
    let arguments = call.get("args").unwrap_or(&none);
    let response = answer.get("response").unwrap_or(&none);
    answers::check(name, arguments, response, false, "function_response")
}
