//! Members of a JSON document by a path such as `browserSettings.context.id`.

use serde_json::{Map, Value};

/// The value at a path; null if there is none.
pub(crate) fn get<'a>(document: &'a Value, path: &str) -> &'a Value {
    let step = |value: &'a Value, name: &str| match name.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[name],
    };
    path.split('.').fold(document, step)
}

/// The text at a path, also of a number.
pub(crate) fn text(document: &Value, path: &str) -> Option<String> {
    match get(document, path) {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Sets the value at a path, and makes the objects and the arrays of one item that lead to it.
pub(crate) fn set(document: &mut Value, path: &str, value: Value) {
    match path.split_once('.') {
        None => *member(document, path) = value,
        Some((name, rest)) => set(member(document, name), rest, value),
    }
}

fn member<'a>(document: &'a mut Value, name: &str) -> &'a mut Value {
    if name == "0" {
        if !document.is_array() {
            *document = Value::Array(vec![Value::Null]);
        }
        return &mut document[0];
    }
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    &mut document[name]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_makes_what_leads_to_it() {
        let mut document = json!({});
        set(&mut document, "proxies.0.geolocation.country", "DE".into());
        set(&mut document, "proxies.0.type", "browserbase".into());
        let expected =
            json!({"proxies": [{"geolocation": {"country": "DE"}, "type": "browserbase"}]});
        assert_eq!(document, expected);
        assert_eq!(
            text(&document, "proxies.0.type").as_deref(),
            Some("browserbase")
        );
        assert_eq!(text(&document, "none.at.all"), None);
    }
}
