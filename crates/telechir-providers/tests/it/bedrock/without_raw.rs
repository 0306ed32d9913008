//! What remains of these dialects' documents without raw representations.

use std::fs;
use std::path::Path;

use serde_json::Value;
use telechir_providers::Dialect;
use telechir_providers::conform::{Expect, Manifest};

use crate::without_raw::{Losses, check, note};

/// The valid documents of a dialect, extracted from the files of the manifest.
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
            // Blocks without a message become a message.
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

const CONVERSE: [(&str, &str); 7] = [
    (
        "[].toolUse.input",
        "an input that is not an object is encoded in `arguments`",
    ),
    (
        "[].toolUse.input.restart",
        "an absent `restart` means false",
    ),
    (
        "[].toolUse.type",
        "AWS's service model has no value `tool_use`",
    ),
    (
        "[user].content[].toolResult.content[].json",
        "JSON in a result is encoded as text",
    ),
    (
        "[user].content[].toolResult.content[].text",
        "JSON in a result is encoded as text",
    ),
    (
        "[user].content[].toolResult.status",
        "an absent status means success",
    ),
    (
        "[user].content[].toolResult.content[]",
        "a failed result contains only text",
    ),
];

const ONE_FORM: &str =
    "equivalent forms: a response is encoded as events, a request as session state";
const SETTINGS: &str = "request settings are not part of the conversation";
const PIECES: &str = "chunks of text are joined";
const SPACED: &str = "whitespace of JSON in a string may differ";

const AGENTS: [(&str, &str); 18] = [
    ("[]", "a file from an agent cannot be sent to it"),
    (
        "",
        "a result is encoded with its call, which is in another document",
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
    ("[user].content", "a string is encoded as one text block"),
    (
        "[user].content[tool_result].is_error",
        "an absent `is_error` means false",
    ),
];

#[test]
fn converse_neutral_values_lose_only_the_listed_fields() {
    check(&losses(Dialect::BedrockConverse), &CONVERSE);
}

#[test]
fn agents_neutral_values_lose_only_the_listed_fields() {
    check(&losses(Dialect::BedrockAgents), &AGENTS);
}

#[test]
fn body_neutral_values_lose_only_the_listed_fields() {
    let mut all = losses(Dialect::BedrockMessages);
    all.extend(losses(Dialect::BedrockInvoke));
    check(&all, &BODIES);
}
