//! Questions about JSON whose answer is a value or a refusal that names the place.

use serde_json::{Map, Value};

use super::Refusal;

pub(super) type Checked<T = ()> = Result<T, Refusal>;

pub(super) fn object<'a>(value: &'a Value, place: &str) -> Checked<&'a Map<String, Value>> {
    value
        .as_object()
        .ok_or_else(|| Refusal::invalid(format!("{place}: Input should be an object")))
}

pub(super) fn list<'a>(value: &'a Value, place: &str) -> Checked<&'a [Value]> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| Refusal::invalid(format!("{place}: Input should be a list")))
}

pub(super) fn text<'a>(parent: &'a Value, name: &str, place: &str) -> Checked<&'a str> {
    let found = parent.get(name).and_then(Value::as_str);
    found.ok_or_else(|| Refusal::invalid(format!("{place}.{name}: Input should be a string")))
}

/// The text of a member, or nothing.
pub(super) fn word<'a>(parent: &'a Value, name: &str) -> &'a str {
    parent.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn positive(parent: &Value, name: &str, place: &str) -> Checked<u64> {
    let found = parent
        .get(name)
        .and_then(Value::as_u64)
        .filter(|number| *number > 0);
    found.ok_or_else(|| {
        Refusal::invalid(format!(
            "{place}.{name}: Input should be an integer above 0"
        ))
    })
}

pub(super) fn one_of(found: &str, allowed: &[&str], place: &str) -> Checked {
    if allowed.contains(&found) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "{place}: Input should be one of {}; found '{found}'",
        allowed.join(", ")
    )))
}

/// Refuses members outside `allowed` in the words that `refuse` gives them.
pub(super) fn only(
    value: &Value,
    allowed: &[&[&str]],
    place: &str,
    refuse: fn(&str, &str) -> Refusal,
) -> Checked {
    let members = object(value, place)?;
    match members
        .keys()
        .find(|name| !allowed.iter().any(|list| list.contains(&name.as_str())))
    {
        Some(extra) => Err(refuse(place, extra)),
        None => Ok(()),
    }
}

pub(super) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Refusal::invalid(message()))
    }
}

pub(super) fn is_name(name: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= longest && name.bytes().all(plain)
}
