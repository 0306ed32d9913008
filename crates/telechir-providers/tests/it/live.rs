//! Rules that live services add to their SDKs' types, checked for everything we encode: the common
//! history from every dialect, vectors, results, declarations, requests.
//!
//! The SDKs themselves check their types (fields, patterns, enumerations).

mod anthropic;
mod bedrock;
mod google;
mod mistral;
mod openai;

use std::collections::HashSet;

use serde_json::Value;
use telechir_providers::Dialect;

use crate::sdk::python::Document;
use crate::sdk::written;

/// A rule for documents of some dialects.
struct Rule {
    demand: &'static str,
    dialects: &'static [Dialect],
    check: fn(&Value) -> Result<(), String>,
    /// A document that violates the rule.
    broken: fn() -> Value,
}

/// Documents that violate a rule but are encoded unchanged because they were received like this.
const KNOWN_VIOLATIONS: [(&str, &str); 6] = [
    (
        "openai-responses: input.computer_call_output.null_ack.json",
        "a single output of the preview, which permits null",
    ),
    (
        "openai-responses: input.local_shell_call_output.sdk_shape.json",
        "a single output in the form of the SDK's type",
    ),
    (
        "openai-responses: responses_request__tools.json",
        "a request to another service, with less detailed functions",
    ),
    (
        "google-generate-content: gc_request__gemini_cli_shell_tool.json",
        "a function of Gemini CLI without properties, which the service accepts",
    ),
    (
        "functions: the request after functions: response__object_arguments.json",
        "a server's call is sent back to it unchanged",
    ),
    (
        "mistral-chat: chat_request__tools.json",
        "a user's own request",
    ),
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        openai::RULES,
        anthropic::RULES,
        bedrock::RULES,
        google::RULES,
        mistral::RULES,
    ]
    .into_iter()
    .flatten()
}

fn everything(dialect: Dialect) -> impl Iterator<Item = Document> {
    written::histories(dialect)
        .into_iter()
        .chain(written::vectors(dialect))
        .chain(written::answers(dialect))
        .chain(written::tools(dialect))
        .chain(written::requests(dialect))
}

/// Every object in a document, outer objects first.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            found.push(value);
            members.values().for_each(|inner| objects(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// All objects with this type.
fn of_type<'a>(document: &'a Value, kind: &str) -> Vec<&'a Value> {
    let mut all = Vec::new();
    objects(document, &mut all);
    all.retain(|object| object["type"] == kind);
    all
}

/// All values of fields with this name.
fn members<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    let mut all = Vec::new();
    objects(document, &mut all);
    all.into_iter()
        .filter_map(|object| object.get(name))
        .collect()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn texts<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn holds(is_met: bool, what: &Value) -> Result<(), String> {
    if is_met {
        return Ok(());
    }
    let text = what.to_string();
    Err(text.chars().take(300).collect())
}

fn all<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    check: impl Fn(&Value) -> bool,
) -> Result<(), String> {
    values
        .into_iter()
        .try_for_each(|value| holds(check(value), value))
}

#[test]
fn everything_we_encode_follows_the_rules_of_live_services() {
    let (mut broken, mut violations_seen) = (Vec::new(), HashSet::new());
    for dialect in Dialect::ALL {
        let own: Vec<&Rule> = rules()
            .filter(|rule| rule.dialects.contains(&dialect))
            .collect();
        if own.is_empty() {
            continue;
        }
        for document in everything(dialect) {
            for rule in &own {
                let Err(problem) = (rule.check)(&document.json) else {
                    continue;
                };
                match KNOWN_VIOLATIONS
                    .iter()
                    .find(|(name, _)| *name == document.name)
                {
                    Some((name, _)) => _ = violations_seen.insert(*name),
                    None => broken.push(format!("{}: {}: {problem}", document.name, rule.demand)),
                }
            }
        }
    }
    assert_eq!(
        violations_seen.len(),
        KNOWN_VIOLATIONS.len(),
        "some of these violate no rule: {violations_seen:?}"
    );
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// A rule that nothing violates shows nothing.
#[test]
fn each_rule_rejects_its_counterexample() {
    for rule in rules() {
        let broken = (rule.broken)();
        assert!((rule.check)(&broken).is_err(), "{}: {broken}", rule.demand);
    }
}
