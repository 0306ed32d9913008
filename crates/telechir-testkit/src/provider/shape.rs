//! Accessors for JSON that return a value or a rejection with the location.

use serde_json::{Map, Value};

use super::Rejection;

pub(super) type Validated<T = ()> = Result<T, Rejection>;

pub(super) fn object<'a>(value: &'a Value, location: &str) -> Validated<&'a Map<String, Value>> {
    value
        .as_object()
        .ok_or_else(|| Rejection::invalid(format!("{location}: Input should be an object")))
}

pub(super) fn list<'a>(value: &'a Value, location: &str) -> Validated<&'a [Value]> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| Rejection::invalid(format!("{location}: Input should be a list")))
}

pub(super) fn text<'a>(parent: &'a Value, name: &str, location: &str) -> Validated<&'a str> {
    let found = parent.get(name).and_then(Value::as_str);
    found.ok_or_else(|| Rejection::invalid(format!("{location}.{name}: Input should be a string")))
}

/// The string in a field, or an empty string.
pub(super) fn text_or_empty<'a>(parent: &'a Value, name: &str) -> &'a str {
    parent.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn positive(parent: &Value, name: &str, location: &str) -> Validated<u64> {
    let found = parent
        .get(name)
        .and_then(Value::as_u64)
        .filter(|number| *number > 0);
    found.ok_or_else(|| {
        Rejection::invalid(format!(
            "{location}.{name}: Input should be an integer above 0"
        ))
    })
}

pub(super) fn one_of(found: &str, allowed: &[&str], location: &str) -> Validated {
    if allowed.contains(&found) {
        return Ok(());
    }
    Err(Rejection::invalid(format!(
        "{location}: Input should be one of {}; found '{found}'",
        allowed.join(", ")
    )))
}

/// Rejects fields outside `allowed`, with the message that `refuse` builds.
pub(super) fn only(
    value: &Value,
    allowed: &[&[&str]],
    location: &str,
    refuse: fn(&str, &str) -> Rejection,
) -> Validated {
    let members = object(value, location)?;
    match members
        .keys()
        .find(|name| !allowed.iter().any(|list| list.contains(&name.as_str())))
    {
        Some(extra) => Err(refuse(location, extra)),
        None => Ok(()),
    }
}

pub(super) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Validated {
    if holds {
        Ok(())
    } else {
        Err(Rejection::invalid(message()))
    }
}

pub(super) fn is_name(name: &str, max: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= max && name.bytes().all(plain)
}

/// Overwrites fields of `answer` with those of `with`.
pub(super) fn merge(answer: &mut Value, with: &Value) {
    if let (Some(answer), Some(with)) = (answer.as_object_mut(), with.as_object()) {
        for (name, value) in with {
            answer.insert(name.clone(), value.clone());
        }
    }
}
