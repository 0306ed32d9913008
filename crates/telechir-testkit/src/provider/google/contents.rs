//! Contents of `generateContent`: what the model said comes back as it said it, and every call is
//! answered right after.

use serde_json::Value;

use super::super::Refusal;
use super::super::shape::{Checked, ensure, list, one_of, only, text, word};
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

pub(super) fn check(body: &Value, said: &[Vec<Value>]) -> Checked {
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
    check_words(contents, said)?;
    check_pairs(contents)
}

fn check_content(content: &Value, place: &str) -> Checked {
    only(content, &[&["role", "parts"]], place, extra)?;
    let role = word(content, "role");
    if !matches!(role, "user" | "model") {
        return Err(Refusal::invalid("Please use a valid role: user, model."));
    }
    let parts = list(content.get("parts").unwrap_or(&Value::Null), place)?;
    ensure(!parts.is_empty(), || {
        format!("{place}.parts must not be empty.")
    })?;
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}.parts[{index}]");
        only(part, &[PART], &place, extra)?;
        if let Some(call) = part.get("functionCall") {
            only(call, &[CALL], &place, extra)?;
            text(call, "name", &place)?;
        }
        if let Some(answer) = part.get("functionResponse") {
            only(answer, &[ANSWER], &place, extra)?;
            text(answer, "name", &place)?;
            check_media(answer.get("parts"), &place)?;
        }
        if let Some(data) = part.get("inlineData") {
            check_image(word(data, "mimeType"), word(data, "data"), &place)?;
        }
    }
    Ok(())
}

fn check_media(parts: Option<&Value>, place: &str) -> Checked {
    let Some(parts) = parts else { return Ok(()) };
    for part in list(parts, place)? {
        only(part, &[&["inlineData", "fileData"]], place, extra)?;
        if let Some(data) = part.get("inlineData") {
            only(data, &[&["mimeType", "data", "displayName"]], place, extra)?;
            let known = ["image/png", "image/jpeg", "image/webp"];
            one_of(word(data, "mimeType"), &known, place)?;
            check_image(word(data, "mimeType"), word(data, "data"), place)?;
        }
    }
    Ok(())
}

/// Everything the model said stands there, part by part, signatures included.
fn check_words(contents: &[Value], said: &[Vec<Value>]) -> Checked {
    let own: Vec<&Value> = contents
        .iter()
        .filter(|content| word(content, "role") == "model")
        .collect();
    ensure(own.len() == said.len(), || {
        format!(
            "recorded model: it spoke {} times, and the request repeats {}",
            said.len(),
            own.len()
        )
    })?;
    for (content, said) in own.into_iter().zip(said) {
        let parts = list(content.get("parts").unwrap_or(&Value::Null), "parts")?;
        ensure(parts == said.as_slice(), || {
            "recorded model: a content of the model came back otherwise than it was said".to_owned()
        })?;
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        if let Some(first) = first.filter(|part| part.get("thoughtSignature").is_none()) {
            let name = word(first.get("functionCall").unwrap_or(&Value::Null), "name");
            return Err(Refusal::invalid(format!(
                "Function call is missing a thought_signature in functionCall parts: `{name}`"
            )));
        }
    }
    Ok(())
}

fn held<'a>(content: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let parts = content.get("parts").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .filter_map(move |part| part.get(name))
}

/// As many answers as calls, by name and id, in the very next content.
fn check_pairs(contents: &[Value]) -> Checked {
    for (index, content) in contents.iter().enumerate() {
        let calls: Vec<&Value> = held(content, "functionCall").collect();
        let before = index.checked_sub(1).and_then(|before| contents.get(before));
        let asked = before.map_or(0, |before| held(before, "functionCall").count());
        let answered = held(content, "functionResponse").count();
        ensure(answered == 0 || asked > 0, || {
            "Please ensure that function response turn comes immediately after a function call turn.".to_owned()
        })?;
        if calls.is_empty() {
            continue;
        }
        let next = contents.get(index + 1);
        let given: Vec<&Value> =
            next.map_or_else(Vec::new, |next| held(next, "functionResponse").collect());
        ensure(given.len() == calls.len(), || {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".to_owned()
        })?;
        for (call, answer) in calls.into_iter().zip(given) {
            check_pair(call, answer)?;
        }
    }
    Ok(())
}

fn check_pair(call: &Value, answer: &Value) -> Checked {
    let name = word(call, "name");
    ensure(word(answer, "name") == name, || {
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
