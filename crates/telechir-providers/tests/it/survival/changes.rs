//! A member that nobody knows and an unusual value arrive from every place of every document, or are
//! named in the report.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use serde_json::Value;
use telechir_providers::Dialect;
use telechir_providers::conform::Manifest;
use telechir_providers::survival::{Change, ChangedDocument, TranslationScope};

use super::known::vectors;

/// Set to follow every change to every dialect, which takes minutes.
const EVERY: &str = "TELECHIR_EVERY_CHANGE";

/// One of so many other dialects gets a change, another one for each path.
const SHARE: u64 = 100;

fn follow_vectors(scope: TranslationScope, folders: &[&str]) {
    follow(scope, folders, Change::all);
}

fn follow(scope: TranslationScope, folders: &[&str], changes: fn(&Value) -> Vec<Change>) {
    let is_complete = std::env::var_os(EVERY).is_some();
    let mut seen: HashSet<(Dialect, Dialect, String)> = HashSet::new();
    let mut lost: Vec<String> = Vec::new();
    let documents = folders.iter().flat_map(|folder| match scope {
        TranslationScope::Events => event_lists(folder),
        TranslationScope::Messages | TranslationScope::Document => {
            let all = vectors(folder).into_iter();
            all.map(|(name, from, _, document)| (name, from, document))
                .collect()
        }
    });
    for (name, from, document) in documents {
        let changed = ChangedDocument::new(from, scope, &document);
        for change in changes(&document) {
            // Events repeat and correct each other's values.
            if scope == TranslationScope::Events && !change.is_addition() {
                continue;
            }
            let path = change.path();
            for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
                let is_chosen = is_complete || is_sampled(&path, to);
                if !is_chosen || !seen.insert((from, to, path.clone())) {
                    continue;
                }
                if let Some(finding) = changed.follow(&change, to) {
                    let (pointer, value) = (finding.pointer, finding.value);
                    lost.push(format!("{from} to {to}: {pointer}: {value} ({name})"));
                }
            }
        }
    }
    assert!(
        lost.is_empty(),
        "{} lost in silence:\n{}",
        lost.len(),
        lost.join("\n")
    );
}

/// The streams of a vector folder that are lists of events.
fn event_lists(folder: &str) -> Vec<(String, Dialect, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(folder);
    let mut names = ["manifest.json", "index.json"].iter();
    let manifest = names
        .find_map(|name| fs::read(path.join(name)).ok())
        .unwrap();
    let manifest = Manifest::read(&manifest, None).unwrap();
    let streams = manifest.vectors.into_iter().filter_map(|vector| {
        let json: Value = serde_json::from_slice(&fs::read(path.join(&vector.file)).ok()?).ok()?;
        let is_stream = vector.kind.ends_with("stream") || vector.kind == "sse";
        let events = json.get("events").unwrap_or(&json);
        let events = Some(events).filter(|events| is_stream && events.is_array());
        Some((vector.file, vector.dialect.ok()?, events?.clone()))
    });
    let streams: Vec<_> = streams.collect();
    assert!(!streams.is_empty(), "no stream in {folder}");
    streams
}

fn is_sampled(path: &str, to: Dialect) -> bool {
    let mut hasher = DefaultHasher::new();
    (path, to.name()).hash(&mut hasher);
    hasher.finish().is_multiple_of(SHARE)
}

fn follow_documents(folder: &str) {
    follow_vectors(TranslationScope::Document, &[folder]);
}

#[test]
fn changes_of_documents_of_agent_framework_survive() {
    follow_documents("agent-framework");
}

#[test]
fn changes_of_documents_of_anthropic_survive() {
    follow_documents("anthropic");
}

#[test]
fn changes_of_documents_of_bedrock_survive() {
    follow_documents("bedrock");
}

#[test]
fn changes_of_documents_of_functions_survive() {
    follow_documents("functions");
}

#[test]
fn changes_of_documents_of_google_survive() {
    follow_documents("google");
}

#[test]
fn changes_of_documents_of_mistral_survive() {
    follow_documents("mistral");
}

#[test]
fn changes_of_documents_of_openai_survive() {
    follow_documents("openai");
}

#[test]
fn changes_of_messages_of_large_providers_survive() {
    follow_vectors(
        TranslationScope::Messages,
        &["anthropic", "google", "openai"],
    );
}

#[test]
fn changes_of_messages_of_the_others_survive() {
    let others = ["agent-framework", "bedrock", "functions", "mistral"];
    follow_vectors(TranslationScope::Messages, &others);
}

#[test]
fn changes_of_streams_survive() {
    let folders = ["anthropic", "functions", "google", "mistral", "openai"];
    follow_vectors(TranslationScope::Events, &folders);
}

/// A list as a name, a text as a list of properties, a number as an id.
fn follow_types(folders: &[&str]) {
    for scope in [TranslationScope::Document, TranslationScope::Messages] {
        follow(scope, folders, Change::types);
    }
}

#[test]
fn values_of_another_type_in_documents_of_anthropic_survive() {
    follow_types(&["anthropic"]);
}

#[test]
fn values_of_another_type_in_documents_of_google_survive() {
    follow_types(&["google"]);
}

#[test]
fn values_of_another_type_in_documents_of_openai_survive() {
    follow_types(&["openai"]);
}

#[test]
fn values_of_another_type_in_documents_of_bedrock_survive() {
    follow_types(&["agent-framework", "bedrock"]);
}

#[test]
fn values_of_another_type_in_chat_messages_survive() {
    follow_types(&["functions", "mistral"]);
}
