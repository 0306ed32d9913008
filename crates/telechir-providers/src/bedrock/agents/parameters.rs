//! Parameters of an agent's call. Every value is a string, whatever its type.

use serde_json::{Map, Value, json};
use telechir_protocol::json_limits;

use crate::precision;

/// Parameters of Anthropic's tools that are lists, numbers or booleans. All others are text, even
/// if they look like JSON, because typed text may contain brackets.
const KNOWN: [&str; 10] = [
    "coordinate",
    "start_coordinate",
    "region",
    "view_range",
    "scroll_amount",
    "duration",
    "insert_line",
    "restart",
    "repeat",
    "display_number",
];

/// Whether a function is one of Anthropic's tools.
pub(super) fn is_anthropic_tool(function: &str) -> bool {
    matches!(
        function,
        "computer" | "bash" | "str_replace_editor" | "str_replace_based_edit_tool"
    )
}

/// Decodes parameters into a tool's input. One without a readable name has its position as its name,
/// so that no tool takes it.
pub(super) fn input(function: &str, parameters: &[Value]) -> Map<String, Value> {
    let text = |parameter: &Value, name: &str| Some(parameter.get(name)?.as_str()?.to_owned());
    let member = |(at, parameter): (usize, &Value)| {
        let Some(name) = text(parameter, "name") else {
            return (at.to_string(), parameter.clone());
        };
        let value = parameter.get("value").cloned().unwrap_or_default();
        let Some(string) = value.as_str() else {
            return (name, value);
        };
        let kind = text(parameter, "type").unwrap_or_default();
        let is_text = if is_anthropic_tool(function) {
            !KNOWN.contains(&name.as_str())
        } else {
            matches!(kind.as_str(), "" | "string")
        };
        // A number that would lose digits stays text.
        let read = if is_text || !precision::are_exact(string) {
            None
        } else {
            json_limits::parse(string.as_bytes()).ok()
        };
        (name, read.unwrap_or(value))
    };
    parameters.iter().enumerate().map(member).collect()
}

/// Encodes a tool's input as parameters.
pub(super) fn parameters(input: &Map<String, Value>) -> Vec<Value> {
    let parameter = |(name, value): (&String, &Value)| {
        let (kind, text) = match value {
            Value::String(text) => ("string", text.clone()),
            Value::Bool(_) => ("boolean", value.to_string()),
            Value::Number(number) if number.is_f64() => ("number", value.to_string()),
            Value::Number(_) => ("integer", value.to_string()),
            Value::Array(_) => ("array", value.to_string()),
            Value::Object(_) | Value::Null => ("object", value.to_string()),
        };
        json!({"name": name, "type": kind, "value": text})
    };
    input.iter().map(parameter).collect()
}
