//! Values that a model wrote as arguments of a call. Null counts as absent; a value of another type
//! is an error, because a call without it would do something else.

use serde_json::{Value, json};

use super::{Fields, present};

/// A text.
pub(crate) fn text(arguments: &Fields, name: &str) -> Result<Option<String>, String> {
    match present(arguments, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, other, "a string")),
    }
}

/// An object; empty if absent. Small models fill in every argument, so that an empty text or list
/// counts as absent, too.
pub(crate) fn object(arguments: &Fields, name: &str) -> Result<Fields, String> {
    match present(arguments, name).filter(|value| **value != *"" && **value != json!([])) {
        None => Ok(Fields::new()),
        Some(Value::Object(members)) => Ok(members.clone()),
        Some(other) => Err(wrong(name, other, "an object")),
    }
}

/// A number of milliseconds or characters, also one given as a string. Zero and an empty string
/// mean no limit.
pub(crate) fn limit(arguments: &Fields, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = present(arguments, name).filter(|value| **value != *"") else {
        return Ok(None);
    };
    let limit = number(value).filter(|limit| (0.0..=MAX_LIMIT).contains(limit));
    let limit = limit.ok_or_else(|| wrong(name, value, "a number from 0"))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    let limit = limit.ceil() as u64;
    Ok(Some(limit).filter(|limit| *limit > 0))
}

/// The largest limit whose whole numbers a float can represent.
const MAX_LIMIT: f64 = 9_007_199_254_740_991.0;

/// A finite number, also one given as a string.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// Why an argument cannot be read, for the model.
pub(crate) fn wrong(name: &str, value: &Value, expected: &str) -> String {
    format!("`{name}` is {}, expected {expected}", excerpt(value))
}

/// The problem of an argument that the call requires, for the model.
pub(crate) fn missing(name: &str) -> String {
    format!("`{name}` is missing")
}

/// How far to scroll right and down, for an amount in the direction that the argument `name` states.
pub(crate) fn scroll_distance(
    name: &str,
    direction: &str,
    amount: f64,
) -> Result<(f64, f64), String> {
    match direction {
        "up" => Ok((0.0, -amount)),
        "down" => Ok((0.0, amount)),
        "left" => Ok((-amount, 0.0)),
        "right" => Ok((amount, 0.0)),
        other => Err(format!(
            "`{name}` is {other:?}, expected up, down, left or right"
        )),
    }
}

/// A value as text for an error message, cut to 80 characters.
pub(crate) fn excerpt(value: &Value) -> String {
    const LIMIT: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
