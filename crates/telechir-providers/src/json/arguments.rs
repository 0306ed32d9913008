//! Values that a model wrote as arguments of a call.

use serde_json::Value;

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
