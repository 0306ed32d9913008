//! Stores a neutral content beside the framework's fields, without repeating long texts.

use serde_json::{Map, Value, json};

/// The additional property of the framework's contents that stores what it has no field for.
pub(super) const SIDECAR: &str = "telechir";

/// Texts longer than this are not stored twice; they are mostly images.
const MAX_REPEATED_BYTES: usize = 512;

/// The field that stands for a long text: its index and the byte offset.
const TEXT_REFERENCE: &str = "same_text";

/// Replaces the long texts of `neutral` by references into `native`.
pub(super) fn compact(mut neutral: Value, native: &Value) -> Value {
    let texts = long_texts(native);
    visit(&mut neutral, &|value| {
        let text = value
            .as_str()
            .filter(|text| text.len() > MAX_REPEATED_BYTES)?;
        let found = texts
            .iter()
            .enumerate()
            .find(|(_, long)| long.ends_with(text));
        let (index, long) = found?;
        Some(json!({TEXT_REFERENCE: [index, long.len() - text.len()]}))
    });
    neutral
}

/// Reverses [`compact`]. A reference that `native` no longer contains stays unchanged.
pub(super) fn expand(mut neutral: Value, native: &Value) -> Value {
    let texts = long_texts(native);
    visit(&mut neutral, &|value| {
        let reference = value.as_object().filter(|members| members.len() == 1)?;
        let reference = reference.get(TEXT_REFERENCE)?.as_array()?;
        let number = |at: usize| usize::try_from(reference.get(at)?.as_u64()?).ok();
        let long = texts.get(number(0)?)?;
        Some(Value::from(long.get(number(1)?..)?))
    });
    neutral
}

/// Replaces values from the outside in; does not visit replacements.
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
        Value::String(text) if text.len() > MAX_REPEATED_BYTES => vec![text],
        Value::Object(members) => members.values().flat_map(long_texts).collect(),
        Value::Array(items) => items.iter().flat_map(long_texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Stores the sidecar in the additional properties of a content or message.
pub(super) fn insert(members: &mut Map<String, Value>, sidecar_json: Value) {
    let properties = members
        .entry("additional_properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        properties.insert(SIDECAR.to_owned(), sidecar_json);
    }
}

/// Removes the sidecar and returns it.
pub(super) fn remove(members: &mut Map<String, Value>) -> Option<Value> {
    let properties = members.get_mut("additional_properties")?;
    properties.as_object_mut()?.shift_remove(SIDECAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_an_image_once_and_restores_it() {
        let base64 = "iVBORw0KGgo".repeat(100);
        let native = json!({"screenshot": {"uri": format!("data:image/png;base64,{base64}")}});
        let neutral = json!({"raw": {"data": base64}, "text": "short"});
        let short = compact(neutral.clone(), &native);
        assert!(short.to_string().len() < 100, "{short}");
        assert_eq!(expand(short, &native), neutral);
    }

    #[test]
    fn keeps_a_reference_without_its_target() {
        let reference = json!({TEXT_REFERENCE: [3, 10_000]});
        assert_eq!(expand(reference.clone(), &json!({})), reference);
    }
}
