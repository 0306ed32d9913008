//! Assembles arguments of a call that arrive value by value, each with a JSON path.

use serde_json::{Map, Value};

use crate::google::{member, text};

/// Maximum nesting of arguments.
const MAX_DEPTH: usize = 64;

/// A segment of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    Member(String),
    Element(usize),
}

/// Adds one value to the arguments. Returns its path and whether the value continues.
///
/// The error completes a sentence about the piece.
pub(super) fn put(args: &mut Map<String, Value>, piece: &Value) -> Result<(String, bool), String> {
    let piece = piece.as_object().ok_or("it is not an object")?;
    let path = text(piece, "jsonPath").ok_or("it has no `jsonPath`")?;
    let steps = steps(path).ok_or_else(|| format!("its path {path:?} is invalid"))?;
    let continues = member(piece, "willContinue") == Some(&Value::Bool(true));
    let value = if let Some(text) = text(piece, "stringValue") {
        Value::from(text)
    } else if let Some(number) = member(piece, "numberValue").filter(|value| value.is_number()) {
        number.clone()
    } else if let Some(flag) = member(piece, "boolValue").filter(|value| value.is_boolean()) {
        flag.clone()
    } else if piece.contains_key("nullValue") || piece.contains_key("null_value") {
        Value::Null
    } else {
        return Err("it has no value".to_owned());
    };
    let target =
        find(args, &steps).ok_or_else(|| format!("the arguments have no value at {path:?}"))?;
    match (target, value) {
        (Value::String(before), Value::String(more)) => before.push_str(&more),
        (target @ Value::Null, value) => *target = value,
        (before, value) if *before == value => {}
        _ => return Err(format!("there is already another value at {path:?}")),
    }
    Ok((path.to_owned(), continues))
}

/// Parses `$.a[0].b` and `$['a'][0]["b"]`.
fn steps(path: &str) -> Option<Vec<PathSegment>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, left) = after.split_at(end);
            if name.is_empty() {
                return None;
            }
            steps.push(PathSegment::Member(name.to_owned()));
            rest = left;
        } else {
            let after = rest.strip_prefix('[')?;
            let (step, left) = bracketed(after)?;
            steps.push(step);
            rest = left;
        }
        if steps.len() > MAX_DEPTH {
            return None;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// Parses the text after a `[`: a number, or a name in quotes.
fn bracketed(text: &str) -> Option<(PathSegment, &str)> {
    let quote = text.chars().next()?;
    if quote != '\'' && quote != '"' {
        let (number, left) = text.split_once(']')?;
        return Some((PathSegment::Element(number.trim().parse().ok()?), left));
    }
    let mut name = String::new();
    let mut chars = text[1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            _ if c == quote => {
                let left = text[1 + at + 1..].strip_prefix(']')?;
                return Some((PathSegment::Member(name), left));
            }
            _ => name.push(c),
        }
    }
    None
}

/// The value at a path; creates objects and lists on the way. An index is that of an existing
/// element or of the next one.
fn find<'a>(args: &'a mut Map<String, Value>, steps: &[PathSegment]) -> Option<&'a mut Value> {
    let (first, rest) = steps.split_first()?;
    let PathSegment::Member(name) = first else {
        return None;
    };
    let mut target = args.entry(name.as_str()).or_insert(Value::Null);
    for step in rest {
        match step {
            PathSegment::Member(name) => {
                if target.is_null() {
                    *target = Value::Object(Map::new());
                }
                target = target
                    .as_object_mut()?
                    .entry(name.as_str())
                    .or_insert(Value::Null);
            }
            PathSegment::Element(at) => {
                if target.is_null() {
                    *target = Value::Array(Vec::new());
                }
                let list = target.as_array_mut()?;
                if *at == list.len() {
                    list.push(Value::Null);
                }
                target = list.get_mut(*at)?;
            }
        }
    }
    Some(target)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::put;

    #[test]
    fn assembles_values_at_their_paths() {
        let mut args = Map::new();
        let pieces = [
            json!({"jsonPath": "$.command", "stringValue": "car", "willContinue": true}),
            json!({"jsonPath": "$.command", "stringValue": "go"}),
            json!({"json_path": "$.flags[0].level", "number_value": 2.5}),
            json!({"jsonPath": "$['flags'][0][\"it's\"]", "boolValue": true}),
            json!({"jsonPath": "$.flags[1]", "nullValue": "NULL_VALUE"}),
        ];
        let continues: Vec<bool> = pieces
            .iter()
            .map(|piece| put(&mut args, piece).expect("a piece").1)
            .collect();
        assert_eq!(continues, [true, false, false, false, false]);
        let expected = json!({"command": "cargo", "flags": [{"level": 2.5, "it's": true}, null]});
        assert_eq!(Value::Object(args), expected);
    }

    #[test]
    fn rejects_a_value_with_an_impossible_path() {
        let bad = [
            json!({"jsonPath": "$.a[1000000000]", "stringValue": "x"}),
            json!({"jsonPath": "$[0]", "stringValue": "x"}),
            json!({"jsonPath": "$", "stringValue": "x"}),
            json!({"jsonPath": "a", "stringValue": "x"}),
            json!({"jsonPath": "$.", "stringValue": "x"}),
            json!({"jsonPath": "$.a['", "stringValue": "x"}),
            json!({"jsonPath": "$.a"}),
            json!({"stringValue": "x"}),
            json!({"jsonPath": "$.n", "stringValue": "x"}),
            json!(["x"]),
            json!({"jsonPath": format!("${}", ".a".repeat(100)), "stringValue": "x"}),
        ];
        for piece in bad {
            let mut args = Map::from_iter([("n".to_owned(), json!(1))]);
            assert!(put(&mut args, &piece).is_err(), "{piece}");
        }
    }
}
