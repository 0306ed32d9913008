//! Filling `{{names}}` into recorded words with what the run itself reported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Refusal, TakeRule};

pub(super) type Values = BTreeMap<String, String>;

/// The value with every `{{name}}` in its texts replaced.
pub(super) fn filled(value: &Value, values: &Values) -> Result<Value, Refusal> {
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
            Value::Object(filled.collect::<Result<_, Refusal>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

pub(super) fn filled_text(text: &str, values: &Values) -> Result<String, Refusal> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind.split_once("}}").unwrap_or((behind, ""));
        let value = values.get(name).ok_or_else(|| {
            Refusal::invalid(format!(
                "recorded model: nothing in the run so far said what {name} is"
            ))
        })?;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What a rule takes from a result's text. It must be there, and be one short printable word.
pub(super) fn taken(rule: &TakeRule, text: &str) -> Result<String, Refusal> {
    let found = text
        .split_once(&rule.after)
        .and_then(|(_, behind)| behind.split_once(&rule.until));
    let word = found
        .map(|(word, _)| word.trim())
        .filter(|word| !word.is_empty() && word.len() <= 200);
    word.map(str::to_owned).ok_or_else(|| {
        Refusal::invalid(format!(
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
    fn fills_in_what_was_taken_and_nothing_else() {
        let rule = TakeRule {
            name: "word".into(),
            call: "c".into(),
            after: "word: ".into(),
            until: ".".into(),
        };
        let word = taken(&rule, "the word: zebra-7. and more").expect("a word");
        let values = Values::from([("word".to_owned(), word)]);
        assert_eq!(
            filled(&json!({"a": ["x {{word}} y"]}), &values).expect("filled"),
            json!({"a": ["x zebra-7 y"]})
        );
        filled(&json!("{{other}}"), &values).expect_err("unknown");
        taken(&rule, "nothing here").expect_err("not there");
    }
}
