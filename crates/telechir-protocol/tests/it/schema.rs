//! The published schema is up to date and matches what is written.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use telechir_protocol::{Action, ActionKind, ClickCount, json_schema};

use crate::{strategies, written};

static SCHEMA: LazyLock<Value> = LazyLock::new(json_schema);

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE=1 makes this test rewrite the file"
)]
fn the_published_schema_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("schemas/telechir-protocol.schema.json");
    let fresh = serde_json::to_string_pretty(&*SCHEMA).unwrap() + "\n";
    if std::env::var("UPDATE").is_ok() {
        fs::write(&path, &fresh).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap();
    assert!(
        published == fresh,
        "{} is stale: run this test with UPDATE=1",
        path.display()
    );
}

#[test]
fn every_action_has_its_own_form() {
    let forms = SCHEMA["$defs"]["Action"]["anyOf"].as_array().unwrap();
    let names: Vec<&str> = forms
        .iter()
        .filter_map(|form| form["properties"]["action"]["const"].as_str())
        .collect();
    for kind in ActionKind::ALL {
        let listed = names.contains(&kind.name());
        assert_eq!(listed, *kind != ActionKind::Other, "{kind}");
    }
    for count in [ClickCount::Single, ClickCount::Double, ClickCount::Triple] {
        assert!(names.contains(&count.action_name()));
    }
}

#[test]
fn the_schema_refuses_invalid_values() {
    for wrong in [
        json!({"action": "click", "coordinate": [1]}),
        json!({"action": "click", "button": "lefty"}),
        json!({"action": "move"}),
        json!({"action": "drag", "path": []}),
        json!({"action": "wait", "duration": -1}),
        json!({"action": 5}),
        json!([]),
    ] {
        assert!(fits("Action", &wrong).is_err(), "{wrong}");
    }
    for wrong in [
        json!({"type": "text"}),
        json!({"type": "computer_call", "actions": []}),
        json!({"type": "computer_call", "call_id": "c", "actions": [{"action": "type"}]}),
        json!({"type": "shell_result", "call_id": "s", "outputs": [{"stdout": 1}]}),
    ] {
        assert!(fits("Content", &wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn every_action_fits(action in strategies::action()) {
        prop_assert_eq!(fits("Action", &written(&action)), Ok(()));
        let known = !matches!(action, Action::Other { .. });
        let members = &written(&action);
        prop_assert_eq!(known.then(|| unlisted(members)).flatten(), None);
    }

    #[test]
    fn every_content_fits(content in strategies::content()) {
        prop_assert_eq!(fits("Content", &written(&content)), Ok(()));
    }

    #[test]
    fn every_tool_fits(tool in strategies::tool()) {
        prop_assert_eq!(fits("Tool", &written(&tool)), Ok(()));
    }
}

/// A member of a known action that its schema does not list.
fn unlisted(action: &Value) -> Option<String> {
    let forms = SCHEMA["$defs"]["Action"]["anyOf"].as_array().unwrap();
    let form = forms
        .iter()
        .find(|form| form["properties"]["action"]["const"] == action["action"]);
    let listed = form.unwrap()["properties"].as_object().unwrap();
    action
        .as_object()
        .unwrap()
        .keys()
        .find(|name| !listed.contains_key(*name))
        .cloned()
}

fn fits(definition: &str, value: &Value) -> Result<(), String> {
    judge(&SCHEMA["$defs"][definition], value)
}

/// Validates the parts of JSON Schema that the published schema uses. An unknown keyword is an
/// error.
fn judge(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &json!(true) {
            Ok(())
        } else {
            Err("no alternative matches".to_owned())
        };
    };
    for (keyword, rule) in keywords {
        let holds = match keyword.as_str() {
            "description" | "title" | "default" | "format" => true,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                judge(&SCHEMA["$defs"][name], value)?;
                true
            }
            "type" => of_type(rule, value),
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "not" => judge(rule, value).is_err(),
            "anyOf" => all(rule).iter().any(|schema| judge(schema, value).is_ok()),
            "oneOf" => {
                all(rule)
                    .iter()
                    .filter(|schema| judge(schema, value).is_ok())
                    .count()
                    == 1
            }
            "allOf" => all(rule).iter().all(|schema| judge(schema, value).is_ok()),
            "required" => value.as_object().is_none_or(|members| {
                all(rule)
                    .iter()
                    .all(|name| members.contains_key(name.as_str().unwrap()))
            }),
            "properties" => rule.as_object().unwrap().iter().all(|(name, schema)| {
                value
                    .get(name)
                    .is_none_or(|member| judge(schema, member).is_ok())
            }),
            "additionalProperties" => {
                rule != &json!(false) || {
                    let listed = keywords["properties"].as_object().unwrap();
                    value
                        .as_object()
                        .is_none_or(|members| members.keys().all(|m| listed.contains_key(m)))
                }
            }
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| judge(rule, item).is_ok())),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= count(rule)),
            "maxItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 <= count(rule)),
            "minLength" => value
                .as_str()
                .is_none_or(|text| text.len() as u64 >= count(rule)),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= rule.as_f64().unwrap()),
            unknown => return Err(format!("this test does not support the keyword {unknown}")),
        };
        if !holds {
            return Err(format!("{value} breaks {keyword}: {rule}"));
        }
    }
    Ok(())
}

fn all(rule: &Value) -> &[Value] {
    rule.as_array().unwrap()
}

fn count(rule: &Value) -> u64 {
    rule.as_u64().unwrap()
}

fn of_type(rule: &Value, value: &Value) -> bool {
    let one = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("unknown type {other}"),
    };
    rule.as_array()
        .map_or_else(|| one(rule), |names| names.iter().any(one))
}
