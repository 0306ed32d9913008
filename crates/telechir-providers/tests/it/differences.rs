//! Compares two JSON documents path by path.

use serde_json::Value;

/// A path with its values in the first and in the second document.
pub(crate) type Difference = (String, Option<Value>, Option<Value>);

/// The differences, ignoring the order of keys.
pub(crate) fn differences(first: &Value, second: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(first), Some(second), &mut found);
    found
}

/// The differences as text, one short line each.
pub(crate) fn describe(first: &Value, second: &Value) -> String {
    let short = |value: &Option<Value>| {
        let text = value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), Value::to_string);
        text.chars().take(120).collect::<String>()
    };
    let lines = differences(first, second);
    let lines = lines
        .iter()
        .map(|(path, was, is)| format!("{path}: {} became {}\n", short(was), short(is)));
    lines.collect()
}

fn compare(
    path: String,
    first: Option<&Value>,
    second: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (first, second) {
        (Some(Value::Object(first)), Some(Value::Object(second))) => {
            let added = second.keys().filter(|name| !first.contains_key(*name));
            for name in first.keys().chain(added) {
                let path = format!("{path}.{name}");
                compare(path, first.get(name), second.get(name), found);
            }
        }
        (Some(Value::Array(first)), Some(Value::Array(second))) => {
            for at in 0..first.len().max(second.len()) {
                let path = format!("{path}[{at}]");
                compare(path, first.get(at), second.get(at), found);
            }
        }
        (first, second) if first == second => {}
        (first, second) => found.push((path, first.cloned(), second.cloned())),
    }
}
