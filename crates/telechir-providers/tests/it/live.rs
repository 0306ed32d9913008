//! Rules that services add to what their SDKs' types say, asserted of everything we write: the
//! common history from every dialect, the vectors, answers, declarations, whole requests.
//!
//! What a type says (members, patterns, enumerations) is asserted by the SDKs themselves.

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

/// A rule: what it demands of a document of a kind.
struct Rule {
    says: &'static str,
    dialects: &'static [Dialect],
    check: fn(&Value) -> Result<(), String>,
    /// A document that breaks it.
    broken: fn() -> Value,
}

/// Documents that break a rule and are written all the same, because they came so.
const CAME_SO: [(&str, &str); 6] = [
    (
        "openai-responses: input.computer_call_output.null_ack.json",
        "a preview's output, alone: there null is taken",
    ),
    (
        "openai-responses: input.local_shell_call_output.sdk_shape.json",
        "as the SDK's type has it, alone",
    ),
    (
        "openai-responses: responses_request__tools.json",
        "another service's request, whose functions say less",
    ),
    (
        "google-generate-content: gc_request__gemini_cli_shell_tool.json",
        "a program's own function without properties, which is taken from it",
    ),
    (
        "functions: the request after functions: response__object_arguments.json",
        "a server's own call is repeated to it as it wrote it",
    ),
    (
        "mistral-chat: chat_request__tools.json",
        "a person's own request",
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

/// Every object in a document, from the outside in.
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

/// The objects of a type, wherever they are.
fn of_type<'a>(document: &'a Value, kind: &str) -> Vec<&'a Value> {
    let mut all = Vec::new();
    objects(document, &mut all);
    all.retain(|object| object["type"] == kind);
    all
}

/// The values of a member, wherever it is.
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

fn holds(holds: bool, what: &Value) -> Result<(), String> {
    if holds {
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
fn everything_we_write_keeps_the_rules_of_the_live_services() {
    let (mut broken, mut came_so) = (Vec::new(), HashSet::new());
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
                match CAME_SO.iter().find(|(name, _)| *name == document.name) {
                    Some((name, _)) => _ = came_so.insert(*name),
                    None => broken.push(format!("{}: {}: {problem}", document.name, rule.says)),
                }
            }
        }
    }
    assert_eq!(
        came_so.len(),
        CAME_SO.len(),
        "one of them breaks no rule: {came_so:?}"
    );
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// A rule that nothing breaks shows nothing.
#[test]
fn each_rule_is_broken_by_what_breaks_it() {
    for rule in rules() {
        let broken = (rule.broken)();
        assert!((rule.check)(&broken).is_err(), "{}: {broken}", rule.says);
    }
}
