//! Fills `{{names}}` in scripts with values that the run itself reported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Rejection, TakeRule};

pub(super) type Values = BTreeMap<String, String>;

/// Replaces every `{{name}}` in the strings of a value.
pub(super) fn filled(value: &Value, values: &Values) -> Result<Value, Rejection> {
    Ok(match value {
        Value::String(text) => Value::String(filled_text(text, values)?),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| filled(item, values))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => {
            let filled = members
                .iter()
                .map(|(name, value)| Ok((name.clone(), filled(value, values)?)));
            Value::Object(filled.collect::<Result<_, Rejection>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

pub(super) fn filled_text(text: &str, values: &Values) -> Result<String, Rejection> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind.split_once("}}").unwrap_or((behind, ""));
        let value = values.get(name).ok_or_else(|| {
            Rejection::invalid(format!("recorded model: {name} was not captured so far"))
        })?;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The value that a rule captures from a result's text; it must be one short string.
pub(super) fn taken(rule: &TakeRule, text: &str) -> Result<String, Rejection> {
    let found = text
        .split_once(&rule.after)
        .and_then(|(_, behind)| behind.split_once(&rule.until));
    let text_or_empty = found
        .map(|(text_or_empty, _)| text_or_empty.trim())
        .filter(|text_or_empty| !text_or_empty.is_empty() && text_or_empty.len() <= 200);
    text_or_empty.map(str::to_owned).ok_or_else(|| {
        Rejection::invalid(format!(
            "recorded model: the result of {} does not contain a {} between {:?} and {:?}",
            rule.call, rule.name, rule.after, rule.until
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fills_in_captured_values_only() {
        let rule = TakeRule {
            name: "word".into(),
            call: "c".into(),
            after: "word: ".into(),
            until: ".".into(),
        };
        let text_or_empty = taken(&rule, "the word: zebra-7. and more").expect("a word");
        let values = Values::from([("word".to_owned(), text_or_empty)]);
        assert_eq!(
            filled(&json!({"a": ["x {{word}} y"]}), &values).expect("filled"),
            json!({"a": ["x zebra-7 y"]})
        );
        filled(&json!("{{other}}"), &values).expect_err("unknown");
        taken(&rule, "nothing here").expect_err("not there");
    }
}
