//! Checks the arguments of a call against the tool's table of arguments.

use serde_json::{Map, Value};

use crate::schema::{Argument, Kind};

/// Maximum characters of a wrong value that an error message repeats.
const MAX_SHOWN_CHARS: usize = 60;
/// Maximum bytes of one argument: as many as a command may have under any policy.
const MAX_BYTES: usize = 1 << 20;

/// Why a tool cannot be called so: a sentence that the model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// JSON pointer of the wrong argument; empty for all of them together.
    pub pointer: String,
    /// What was expected and what was found.
    pub message: String,
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.pointer, self.message)
    }
}

impl std::error::Error for ArgumentError {}

impl ArgumentError {
    pub(crate) fn at(name: &str, message: impl Into<String>) -> Self {
        let escaped = shortened(name).replace('~', "~0").replace('/', "~1");
        Self {
            pointer: format!("/{escaped}"),
            message: message.into(),
        }
    }

    pub(crate) fn of_call(message: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            message: message.into(),
        }
    }
}

/// Checks every member; nulls count as absent.
///
/// # Errors
/// For the first argument that is missing, unknown or of another type.
pub(crate) fn checked(
    tool: &str,
    table: &[Argument],
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentError> {
    let mut known = Map::new();
    for (name, value) in arguments {
        let Some(argument) = table.iter().find(|argument| argument.name == name) else {
            let listed = table.iter().filter(|argument| argument.is_listed);
            let names: Vec<&str> = listed.map(|argument| argument.name).collect();
            let expected = if names.is_empty() {
                format!("{tool} takes no arguments")
            } else {
                format!("{tool} has no such argument; it takes {}", names.join(", "))
            };
            return Err(ArgumentError::at(name, expected));
        };
        if value.is_null() {
            continue;
        }
        let bytes = byte_size(value);
        if bytes > MAX_BYTES {
            let message = format!("expected at most {MAX_BYTES} bytes, found {bytes}");
            return Err(ArgumentError::at(name, message));
        }
        let value = lenient(argument.kind, value);
        if !argument.kind.accepts(&value) {
            let expected = argument.kind.expectation();
            let message = format!("expected {expected}, found {}", shown(&value));
            return Err(ArgumentError::at(name, message));
        }
        known.insert(name.clone(), value);
    }
    let missing = table
        .iter()
        .find(|argument| argument.is_required && !known.contains_key(argument.name));
    match missing {
        Some(argument) => Err(ArgumentError::at(
            argument.name,
            format!("missing; expected {}", argument.kind.expectation()),
        )),
        None => Ok(known),
    }
}

/// Numbers and flags that a model wrote as text, as the type that the tool has.
fn lenient(kind: Kind, value: &Value) -> Value {
    let Value::String(text) = value else {
        return value.clone();
    };
    let parsed = match kind {
        Kind::Number(..)
        | Kind::Integer(..)
        | Kind::Flag
        | Kind::Texts
        | Kind::Region
        | Kind::Object
        | Kind::Objects => serde_json::from_str(text.trim()).ok(),
        Kind::Text | Kind::FieldValue | Kind::OneOf(_) | Kind::Action(_) | Kind::Point => None,
    };
    parsed.unwrap_or_else(|| value.clone())
}

/// The bytes of all texts, names and other values in a value.
pub(crate) fn byte_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(byte_size).sum(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| name.len() + byte_size(value);
            members.iter().map(member).sum()
        }
    }
}

fn shown(value: &Value) -> String {
    shortened(&value.to_string())
}

/// A client's text for an error message, which must not be as long as the text may be.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{optional, required};

    const TABLE: &[Argument] = &[
        required("command", Kind::Text, ""),
        optional("timeout", Kind::Number(0.0, 60.0), ""),
        optional("mode", Kind::OneOf(&["a", "b"]), ""),
    ];

    fn check(arguments: &Value) -> Result<Value, String> {
        let arguments = arguments.as_object().expect("an object");
        let checked = checked("run", TABLE, arguments);
        checked
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_was_expected() {
        for (arguments, expected) in [
            (json!({}), "/command: missing; expected a string"),
            (
                json!({"command": 3}),
                "/command: expected a string, found 3",
            ),
            (
                json!({"command": "x", "mode": "c"}),
                "/mode: expected one of a, b, found \"c\"",
            ),
            (
                json!({"command": "x", "timeout": 61}),
                "/timeout: expected a number from 0 to 60, found 61",
            ),
            (
                json!({"command": "x", "a/b": 1}),
                "/a~1b: run has no such argument; it takes command, timeout, mode",
            ),
        ] {
            assert_eq!(check(&arguments), Err(expected.to_owned()), "{arguments}");
        }
    }

    #[test]
    fn a_long_argument_is_refused_with_its_limit() {
        let long = "x".repeat(MAX_BYTES + 1);
        let error = check(&json!({"command": long})).expect_err("a long command");
        let expected = "/command: expected at most 1048576 bytes, found 1048577";
        assert_eq!(error, expected);
        let most = long.get(1..).expect("ASCII");
        assert!(check(&json!({"command": most})).is_ok());
    }

    #[test]
    fn null_is_absent_and_a_number_may_be_text() {
        let checked = check(&json!({"command": "x", "timeout": "2.5", "mode": null}));
        assert_eq!(checked, Ok(json!({"command": "x", "timeout": 2.5})));
    }
}
