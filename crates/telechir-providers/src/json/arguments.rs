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

/// A value as text for an error message, cut to 80 characters.
pub(crate) fn excerpt(value: &Value) -> String {
    const LIMIT: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
