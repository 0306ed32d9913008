//! JSON Schemas of tool arguments, written as tables of members.

use serde_json::{Map, Value, json};
use telechir_protocol::normalize_action_type;

/// The type of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// Text, or a number or flag, which models write as such, or the texts of several options.
    FieldValue,
    /// A finite number from the first to the second value.
    Number(f64, f64),
    /// A whole number from the first to the second value.
    Integer(i64, i64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these actions, or another name of one of them, such as `left_click`.
    Action(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A point, as `[x, y]` or `"x,y"`.
    Point,
    /// A JSON object.
    Object,
    /// A list of JSON objects.
    Objects,
    /// A rectangle, as `[left, top, right, bottom]`.
    Region,
}

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
    /// Whether clients see it; one of another vocabulary is only accepted.
    pub(crate) is_listed: bool,
    /// For the model; empty if the name is enough.
    pub(crate) description: &'static str,
}

/// An argument that a call may omit.
pub(crate) const fn optional(
    name: &'static str,
    kind: Kind,
    description: &'static str,
) -> Argument {
    Argument {
        name,
        kind,
        is_required: false,
        is_listed: true,
        description,
    }
}

/// An argument of another vocabulary, which is accepted without being listed.
pub(crate) const fn accepted(name: &'static str, kind: Kind) -> Argument {
    Argument {
        is_listed: false,
        ..optional(name, kind, "")
    }
}

/// An argument that every call needs.
pub(crate) const fn required(
    name: &'static str,
    kind: Kind,
    description: &'static str,
) -> Argument {
    Argument {
        name,
        kind,
        is_required: true,
        is_listed: true,
        description,
    }
}

/// A limit from which on it is not listed.
const UNLIMITED: f64 = 100_000.0;

/// A number without `.0`.
fn short(number: f64) -> Value {
    let value = Value::from(number);
    integer(&value).map_or(value, Value::from)
}

impl Kind {
    fn schema(self) -> Map<String, Value> {
        let schema = match self {
            // One type each: some clients cannot pass on a schema with several.
            Self::Text | Self::FieldValue => json!({"type": "string"}),
            // What no screen has needs no limit in a list that every request of a model has.
            Self::Number(_, max) if max >= UNLIMITED => json!({"type": "number"}),
            Self::Integer(_, max) if max >= 100_000 => json!({"type": "integer"}),
            Self::Number(min, max) => {
                json!({"type": "number", "minimum": short(min), "maximum": short(max)})
            }
            Self::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Flag => json!({"type": "boolean"}),
            Self::OneOf(words) | Self::Action(words) => {
                json!({"type": "string", "enum": words})
            }
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            // A text is accepted, too.
            Self::Point | Self::Region => json!({"type": "array", "items": {"type": "number"}}),
            Self::Object => json!({"type": "object"}),
            Self::Objects => json!({"type": "array", "items": {"type": "object"}}),
        };
        match schema {
            Value::Object(members) => members,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        }
    }

    /// What a value of this kind is, for an error message.
    pub(crate) fn expectation(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::FieldValue => {
                "a string, a number, true or false, or a list of strings".to_owned()
            }
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::OneOf(words) | Self::Action(words) => format!("one of {}", words.join(", ")),
            Self::Texts => "a list of strings".to_owned(),
            Self::Point => "a point, as [x, y]".to_owned(),
            Self::Object => "an object".to_owned(),
            Self::Objects => "a list of objects".to_owned(),
            Self::Region => "a rectangle, as [left, top, right, bottom]".to_owned(),
        }
    }

    pub(crate) fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::FieldValue => {
                value.is_string()
                    || value.is_number()
                    || value.is_boolean()
                    || Self::Texts.accepts(value)
            }
            Self::Number(min, max) => value.as_f64().is_some_and(|n| (min..=max).contains(&n)),
            Self::Integer(min, max) => integer(value).is_some_and(|n| (min..=max).contains(&n)),
            Self::Flag => value.is_boolean(),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Action(words) => value.as_str().is_some_and(|name| is_action(name, words)),
            Self::Texts => value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Point => point(value).is_some(),
            Self::Object => value.is_object(),
            Self::Objects => value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_object)),
            // An object is a region in the neutral form, which is read later.
            Self::Region => match value {
                Value::Array(items) => items.len() == 4 && items.iter().all(Value::is_number),
                Value::Object(_) => true,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            },
        }
    }
}

/// Whether the name is listed, or another name of a listed action.
fn is_action(name: &str, words: &[&str]) -> bool {
    let meaning = |name| normalize_action_type(name).action;
    words.contains(&name) || words.iter().any(|word| meaning(word) == meaning(name))
}

/// A whole number, also written as `3.0`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let exact = |number: f64| {
        let is_exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is a whole number below 2^53"
        )]
        is_exact.then_some(number as i64)
    };
    value.as_i64().or_else(|| value.as_f64().and_then(exact))
}

/// A point, as `[x, y]`, `"x,y"` or `"[x, y]"`.
pub(crate) fn point(value: &Value) -> Option<[f64; 2]> {
    let numbers: Vec<f64> = match value {
        Value::Array(items) => items.iter().map(Value::as_f64).collect::<Option<_>>()?,
        Value::String(text) => {
            let inner = text.trim().trim_start_matches(['[', '(']);
            let inner = inner.trim_end_matches([']', ')']);
            let number = |part: &str| part.trim().parse().ok().filter(|n: &f64| n.is_finite());
            inner.split(',').map(number).collect::<Option<_>>()?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    <[f64; 2]>::try_from(numbers).ok()
}

/// The schema of an object with these members and no others.
pub(crate) fn object(arguments: &[Argument]) -> Map<String, Value> {
    let member = |argument: &Argument| {
        let mut schema = argument.kind.schema();
        if !argument.description.is_empty() {
            schema.insert("description".to_owned(), argument.description.into());
        }
        (argument.name.to_owned(), Value::Object(schema))
    };
    let listed = arguments.iter().filter(|argument| argument.is_listed);
    let properties: Map<String, Value> = listed.map(member).collect();
    let required = arguments.iter().filter(|argument| argument.is_required);
    let required: Vec<Value> = required.map(|argument| argument.name.into()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_in_the_forms_that_models_write() {
        for text in [
            json!([1, 2]),
            json!("1,2"),
            json!("[1, 2]"),
            json!("(1.0, 2)"),
        ] {
            assert_eq!(point(&text), Some([1.0, 2.0]), "{text}");
        }
        for text in [
            json!([1]),
            json!("1"),
            json!("1,2,3"),
            json!("a,b"),
            json!({"x": 1}),
            json!("NaN,1"),
        ] {
            assert_eq!(point(&text), None, "{text}");
        }
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(integer(&json!(3.0)), Some(3));
        assert_eq!(integer(&json!(3.5)), None);
        assert_eq!(integer(&json!(1e300)), None);
    }
}
