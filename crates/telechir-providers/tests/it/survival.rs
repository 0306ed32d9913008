//! Every value of every document arrives in every dialect or is named in the report.
//!
//! `survival/known.txt` lists the values that are still lost in silence. A test fails when a value
//! joins them, and when one of them arrives: then it must leave the list.

#[path = "survival/changes.rs"]
mod changes;
#[path = "survival/known.rs"]
pub(crate) mod known;

use telechir_providers::Dialect;
use telechir_providers::conform::{DocumentKind, FoundDocuments, PairReport, check_document};

use known::{Known, Lost, recorded, vectors};

fn check_vectors(folder: &str) {
    let known = Known::read();
    let mut lost = Lost::default();
    let mut problems = Vec::new();
    for (name, dialect, kind, document) in vectors(folder) {
        let report = check_document(dialect, kind, &document);
        problems.extend(known::problems(&name, &report));
        lost.add(&report);
    }
    problems.extend(known.compare(folder, &lost));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn values_of_agent_framework_survive() {
    check_vectors("agent-framework");
}

#[test]
fn values_of_anthropic_survive() {
    check_vectors("anthropic");
}

#[test]
fn values_of_bedrock_survive() {
    check_vectors("bedrock");
}

#[test]
fn values_of_functions_survive() {
    check_vectors("functions");
}

#[test]
fn values_of_google_survive() {
    check_vectors("google");
}

#[test]
fn values_of_mistral_survive() {
    check_vectors("mistral");
}

#[test]
fn values_of_openai_survive() {
    check_vectors("openai");
}

/// Without the folder of recordings there is no input.
fn check_recordings(provider: &str) {
    let known = Known::read();
    let mut problems = Vec::new();
    for (name, document) in recorded(provider) {
        let report = check_document(document.dialect, document.kind, &document.json);
        problems.extend(known::problems(&name, &report));
        let mut lost = Lost::default();
        lost.add(&report);
        let unlisted = known.unlisted(&lost).into_iter();
        problems.extend(unlisted.map(|line| format!("{name}: {line}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn values_of_recordings_of_anthropic_survive() {
    check_recordings("anthropic");
}

#[test]
fn values_of_recordings_of_bedrock_survive() {
    check_recordings("bedrock");
}

#[test]
fn values_of_recordings_of_google_survive() {
    check_recordings("google");
}

#[test]
fn values_of_recordings_of_mistral_survive() {
    check_recordings("mistral");
}

#[test]
fn values_of_recordings_of_openai_survive() {
    check_recordings("openai");
}

#[test]
fn the_list_is_as_the_example_writes_it() {
    let written = std::fs::read_to_string(known::file()).unwrap();
    assert_eq!(written, Known::read().page());
}

#[test]
fn a_document_of_no_provider_is_not_checked() {
    let found = FoundDocuments::in_bytes(br#"{"name": "package", "scripts": {"test": "none"}}"#);
    assert!(found.is_empty());
}

fn recognized(text: &str) -> Vec<(&'static str, DocumentKind)> {
    let found = FoundDocuments::in_bytes(text.as_bytes()).documents;
    found
        .iter()
        .map(|document| (document.dialect.name(), document.kind))
        .collect()
}

#[test]
fn recognizes_requests_responses_and_histories() {
    use DocumentKind::{History, Request, Response};
    for (text, dialect, kind) in [
        (
            r#"{"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}"#,
            "anthropic-messages",
            Request,
        ),
        (
            r#"{"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": {"output_tokens": 1}}"#,
            "anthropic-messages",
            Response,
        ),
        (
            r#"{"model": "gpt-x", "input": [{"role": "user", "content": "Hi"}]}"#,
            "openai-responses",
            Request,
        ),
        (
            r#"[{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]"#,
            "openai-responses",
            History,
        ),
        (
            r#"{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}"#,
            "google-generate-content",
            Request,
        ),
        (
            r#"{"model": "gemini-x", "input": "Hi there"}"#,
            "google-interactions",
            Request,
        ),
        (
            r#"{"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {}}"#,
            "bedrock-converse",
            Request,
        ),
        (
            r#"{"anthropic_version": "bedrock-2023-05-31", "messages": [{"role": "user", "content": "Hi"}]}"#,
            "bedrock-invoke",
            Request,
        ),
        (
            r#"{"model": "mistral-x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}"#,
            "mistral-chat",
            Response,
        ),
        (
            r#"{"agent_id": "ag_1", "inputs": "Hi, who are you?"}"#,
            "mistral-conversations",
            Request,
        ),
        (
            r#"[{"role": "user", "contents": [{"type": "text", "text": "Hi"}]}]"#,
            "agent-framework",
            History,
        ),
        (
            r#"{"inputText": "Hi", "sessionState": {"invocationId": "i"}}"#,
            "bedrock-agents",
            Request,
        ),
        (
            r#"{"model": "llama", "messages": [{"role": "tool", "tool_call_id": "c", "content": "ok"}]}"#,
            "functions",
            Request,
        ),
    ] {
        assert_eq!(recognized(text), [(dialect, kind)], "{text}");
    }
}

#[test]
fn finds_documents_inside_of_recorded_exchanges_and_streams() {
    let exchange = r#"{"interactions": [{"request": {"body": "{\"model\": \"claude-x\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"}}]}"#;
    assert_eq!(
        recognized(exchange),
        [("anthropic-messages", DocumentKind::Request)]
    );
    let chunk = |delta: &str, end: &str| {
        format!(
            r#"{{"object": "chat.completion.chunk", "choices": [{{"index": 0, "delta": {delta}, "finish_reason": {end}}}]}}"#
        )
    };
    let (first, last) = (
        chunk(r#"{"role": "assistant", "content": "Hi"}"#, "null"),
        chunk("{}", "\"stop\""),
    );
    let events = format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    let lines = format!("{first}\n{last}\n");
    for text in [events, lines, format!("[{first}, {last}]")] {
        assert_eq!(
            recognized(&text),
            [("functions", DocumentKind::Stream)],
            "{text}"
        );
    }
}

#[test]
fn a_text_arrives_in_every_dialect() {
    let document =
        serde_json::json!([{"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}]);
    let dialect = Dialect::AnthropicMessages;
    let report = check_document(dialect, DocumentKind::History, &document);
    assert_eq!(report.pairs.len(), Dialect::ALL.len() - 1);
    let is_sound = |pair: &PairReport| pair.problems.is_empty() && pair.findings.is_empty();
    assert!(report.pairs.iter().all(is_sound), "{report:?}");
    assert_eq!(report.difference, None);
}
