//! What neutral values alone say of these dialects' documents.

use std::fs;
use std::path::Path;

use serde_json::Value;
use telechir_providers::Dialect;
use telechir_providers::conform::{Expect, Manifest};

use crate::bare::{Losses, check, note};

/// The accepted documents of a dialect, taken out of what the manifest holds them in.
fn documents(dialect: Dialect) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/bedrock");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let manifest = Manifest::read(&read("manifest.json"), None).unwrap();
    let own = manifest
        .vectors
        .into_iter()
        .filter(|vector| vector.dialect == Ok(dialect) && vector.expect == Expect::Valid);
    let mut documents = Vec::new();
    for vector in own {
        let mut document: Value = serde_json::from_slice(&read(&vector.file)).unwrap();
        let found = match vector.kind.as_str() {
            // Blocks without a message get one.
            "request" | "response" | "message" | "history" => vec![document],
            "response[]" => document.as_array().unwrap().clone(),
            "wire_request" => vec![document["http"]["body"].take()],
            "wire_response" if document["http"]["status"] == 200 => {
                vec![document["http"]["body"].take()]
            }
            "stream" if document["expect"].is_object() => vec![document["expect"].take()],
            _ => Vec::new(),
        };
        documents.extend(found.into_iter().map(|found| (vector.file.clone(), found)));
    }
    assert!(!documents.is_empty());
    documents
}

fn losses(dialect: Dialect) -> Losses {
    let mut losses = Losses::new();
    for (file, document) in documents(dialect) {
        note(dialect, &document, &file, &mut losses);
    }
    losses
}

const CONVERSE: [(&str, &str); 6] = [
    (
        "[].toolUse.input",
        "an input that is no object is one with `arguments`",
    ),
    (
        "[].toolUse.input.restart",
        "no restart is the same as none asked for",
    ),
    (
        "[].toolUse.type",
        "AWS's own model of the service does not know the value `tool_use`",
    ),
    (
        "[user].content[].toolResult.content[].json",
        "JSON in a result is the text of it",
    ),
    (
        "[user].content[].toolResult.content[].text",
        "JSON in a result is the text of it",
    ),
    (
        "[user].content[].toolResult.status",
        "an absent status is success",
    ),
];

const ONE_FORM: &str = "a response is its events, a request its state: other forms say the same";
const SETTINGS: &str = "a request's settings say nothing of the conversation";
const PIECES: &str = "words in several pieces are one";
const SPACED: &str = "JSON in a string may have other spaces";

const AGENTS: [(&str, &str); 18] = [
    (
        "[]",
        "a file that an agent sent has no place in what it is told",
    ),
    (
        "",
        "a result is written with its call, and that is in another document",
    ),
    (".completion", ONE_FORM),
    (".enableTrace", SETTINGS),
    (".invocationId", ONE_FORM),
    (".invocationInputs", ONE_FORM),
    (".returnControl", ONE_FORM),
    ("[].chunk", PIECES),
    ("[].chunk.bytes", PIECES),
    ("[].completion", ONE_FORM),
    (
        "[].completion[].returnControl.invocationInputs[].functionInvocationInput.parameters[array].value",
        SPACED,
    ),
    ("[].enableTrace", SETTINGS),
    ("[].inlineSessionState", ONE_FORM),
    ("[].invocationId", ONE_FORM),
    ("[].invocationInputs", ONE_FORM),
    ("[].returnControl", PIECES),
    (
        "[].returnControl.invocationInputs[].functionInvocationInput.parameters[array].value",
        SPACED,
    ),
    ("[].sessionState", ONE_FORM),
];
const BODIES: [(&str, &str); 2] = [
    ("[user].content", "one string is one text block"),
    (
        "[user].content[tool_result].is_error",
        "an absent error is none",
    ),
];

#[test]
fn neutral_values_alone_lose_what_the_table_of_converse_says() {
    check(&losses(Dialect::BedrockConverse), &CONVERSE);
}

#[test]
fn neutral_values_alone_lose_what_the_table_of_agents_says() {
    check(&losses(Dialect::BedrockAgents), &AGENTS);
}

#[test]
fn neutral_values_alone_lose_what_the_table_of_bodies_says() {
    let mut all = losses(Dialect::BedrockMessages);
    all.extend(losses(Dialect::BedrockInvoke));
    check(&all, &BODIES);
}
