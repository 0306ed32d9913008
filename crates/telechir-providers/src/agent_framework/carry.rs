//! A neutral content kept beside the framework's own members, long texts only once.

use serde_json::{Map, Value, json};

/// Texts longer than this are not written twice: a picture is in the framework's member already.
const LONG: usize = 512;

/// Stands for a text: which of the long texts, and from which byte.
const SAME: &str = "same_text";

/// `neutral` with its long texts replaced by where `native` has them.
pub(super) fn shorten(mut neutral: Value, native: &Value) -> Value {
    let texts = long_texts(native);
    visit(&mut neutral, &|value| {
        let text = value.as_str().filter(|text| text.len() > LONG)?;
        let found = texts
            .iter()
            .enumerate()
            .find(|(_, long)| long.ends_with(text));
        let (index, long) = found?;
        Some(json!({SAME: [index, long.len() - text.len()]}))
    });
    neutral
}

/// The reverse; a place that `native` no longer has is left as it is.
pub(super) fn lengthen(mut neutral: Value, native: &Value) -> Value {
    let texts = long_texts(native);
    visit(&mut neutral, &|value| {
        let place = value.as_object().filter(|members| members.len() == 1)?;
        let place = place.get(SAME)?.as_array()?;
        let number = |at: usize| usize::try_from(place.get(at)?.as_u64()?).ok();
        let long = texts.get(number(0)?)?;
        Some(Value::from(long.get(number(1)?..)?))
    });
    neutral
}

/// Replaces values from the outside in; what was put in is not looked at again.
fn visit(value: &mut Value, change: &impl Fn(&Value) -> Option<Value>) {
    if let Some(other) = change(value) {
        *value = other;
        return;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|value| visit(value, change)),
        Value::Array(items) => items.iter_mut().for_each(|value| visit(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn long_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.len() > LONG => vec![text],
        Value::Object(members) => members.values().flat_map(long_texts).collect(),
        Value::Array(items) => items.iter().flat_map(long_texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Puts what is carried into a content's or a message's additional properties.
pub(super) fn put(members: &mut Map<String, Value>, carried: Value) {
    let properties = members
        .entry("additional_properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        properties.insert(super::CARRIED.to_owned(), carried);
    }
}

/// Takes it out again.
pub(super) fn take(members: &mut Map<String, Value>) -> Option<Value> {
    let properties = members.get_mut("additional_properties")?;
    properties.as_object_mut()?.shift_remove(super::CARRIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_image_is_written_once_and_comes_back() {
        let base64 = "iVBORw0KGgo".repeat(100);
        let native = json!({"screenshot": {"uri": format!("data:image/png;base64,{base64}")}});
        let neutral = json!({"raw": {"data": base64}, "text": "short"});
        let short = shorten(neutral.clone(), &native);
        assert!(short.to_string().len() < 100, "{short}");
        assert_eq!(lengthen(short, &native), neutral);
    }

    #[test]
    fn a_place_that_is_no_longer_there_stays_a_place() {
        let place = json!({SAME: [3, 10_000]});
        assert_eq!(lengthen(place.clone(), &json!({})), place);
    }
}
