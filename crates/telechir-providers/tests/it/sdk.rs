//! Validates everything we encode with the types of the providers' SDKs, and the vectors of what
//! providers send.
//!
//! The SDKs are Python packages: `scripts/sdk.sh` (part of `make test`) installs pinned versions.
//! One process per SDK validates all documents.

pub(crate) mod python;
mod received;
pub(crate) mod written;

use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::sdk_types;

use python::{Document, Refusal, refusals};

/// Rejections by an SDK's types that the live API accepts: dialect, part of the message, and the
/// reason to send it nonetheless.
const ACCEPTED_LIVE: [(&str, &str, &str); 6] = [
    (
        "openai-responses",
        "['.call_id']",
        "an output of local_shell refers to its call by `call_id`; the SDK names it `id`",
    ),
    (
        "openai-responses: input.local_shell_call_output.wire_shape",
        "LocalShellCallOutput",
        "likewise, without the `id` that the SDK requires",
    ),
    (
        "functions",
        "cache_control",
        "servers of Anthropic's models accept it in chat completions; it is sent back unchanged",
    ),
    (
        "openai-responses: the request after openai-responses: response.computer.json",
        "ResponseCreateParamsNonStreaming",
        "live calls have no `pending_safety_checks` and are sent back without",
    ),
    (
        "functions: the request after functions: ",
        "CompletionCreateParamsNonStreaming",
        "calls without ids or names, or with arguments as an object, are sent back unchanged",
    ),
    (
        "functions: request__results_without_ids",
        "ChatCompletionToolMessageParam",
        "servers of small models omit call ids; their calls are sent back unchanged",
    ),
];

/// Streams of frames, which botocore decodes for any payload.
const FRAMED: [&str; 1] = ["invoke.stream"];

/// Rejections by an SDK's types of what live services send: document, part of the message, and the
/// explanation. We must decode all of it.
const SENT_LIVE: [(&str, &str, &str); 29] = [
    (
        "openai-responses: output.computer_call.ga_live",
        "validation errors for union",
        "live calls have no `pending_safety_checks`",
    ),
    (
        "openai-responses: response.computer",
        "for Response",
        "likewise, in a response",
    ),
    (
        "openai-responses",
        "status']",
        "live custom calls have a status",
    ),
    (
        "openai-responses",
        ".store']",
        "live responses state whether they are stored",
    ),
    (
        "openai-responses: response.failed.live_code",
        "error.code",
        "`insufficient_quota` is undocumented",
    ),
    (
        "openai-responses",
        "cache_write_tokens",
        "older responses omit the count",
    ),
    (
        "openai-responses",
        "['.obfuscation']",
        "every delta may have it",
    ),
    (
        "openai-responses: stream.computer_shell_patch_interleaved",
        "validation errors for union",
        "the events of a patch's diff are undocumented",
    ),
    (
        "openai-responses: events.error_nested",
        "validation errors",
        "the live error is an object inside the event",
    ),
    (
        "openai-responses: responses_stream__function_call",
        "['.name']",
        "the specification has the name, but the SDK's type lacks it",
    ),
    (
        "functions",
        "message.content\n  Input should be a valid string",
        "some servers write contents in parts",
    ),
    (
        "functions",
        "arguments\n  Input should be a valid string",
        "some servers write arguments as an object",
    ),
    (
        "functions: response__no_ids",
        "Field required",
        "servers of small models omit call ids",
    ),
    (
        "functions: response__unnamed_call",
        "function.name",
        "a call without a name gets an error result",
    ),
    (
        "functions",
        "reasoning",
        "servers put reasoning into fields of their own",
    ),
    (
        "functions: stream__missing_index",
        "index",
        "some servers send consecutive calls without indexes",
    ),
    (
        "functions: stream__error",
        "ChatCompletionChunk",
        "an error inside a stream is not a chunk; the SDK raises it",
    ),
    (
        "google-generate-content",
        "Extra inputs are not permitted",
        "the SDK drops unknown fields before validation",
    ),
    (
        "google-interactions: ix_stream__code_and_media",
        "no known variant",
        "unknown events are ignored",
    ),
    (
        "mistral-conversations: response__code_interpreter_2025",
        "arguments",
        "executions had no arguments in 2025",
    ),
    (
        "mistral-conversations: stream__search_2025",
        "arguments",
        "likewise, in a stream",
    ),
    (
        "mistral-conversations: response__document_library",
        "arguments",
        "arguments can be an object",
    ),
    (
        "mistral-conversations: response__web_search",
        ".source'",
        "references named their source in 2025",
    ),
    (
        "mistral-conversations: response__unknown_entry",
        "tool.dream",
        "unknown entries are kept",
    ),
    (
        "mistral-conversations: stream__unknown_event",
        "mood",
        "unknown events are ignored",
    ),
    (
        "mistral-chat",
        "prompt_tokens_details",
        "live responses include cached tokens",
    ),
    (
        "mistral-chat: chat_response__connector_turns",
        "messages",
        "turns of connectors have names and files",
    ),
    (
        "bedrock-converse",
        "serverToolUsage",
        "live responses have counts that the service model lacks",
    ),
    (
        "bedrock-converse: stream__converse_repeated_and_unknown",
        "ContentBlockStart",
        "unknown block types are ignored",
    ),
];

/// Validates all documents for an SDK in one process.
fn check(sdk: &str) {
    let mut sent = Vec::new();
    for dialect in Dialect::ALL {
        let Some(types) = sdk_types(dialect) else {
            continue;
        };
        let (own, start) = (types.sdk, types.prefix);
        let documents = written::histories(dialect)
            .into_iter()
            .chain(written::vectors(dialect))
            .chain(written::answers(dialect))
            .chain(written::tools(dialect))
            .chain(written::requests(dialect))
            .chain(received::documents(dialect));
        let prefixed = documents.map(|document| Document {
            kind: format!("{start}{}", document.kind),
            ..document
        });
        let of_sdk = |document: &Document| match document.kind.as_str() {
            kind if FRAMED.contains(&kind) => sdk == "bedrock",
            // Agent Framework passes a service's tools on unchanged.
            "tools" if dialect == Dialect::AgentFramework => sdk == "openai",
            _ => own == sdk,
        };
        sent.extend(prefixed.filter(of_sdk));
    }
    assert!(!sent.is_empty(), "no dialect uses {sdk}");
    let refused = refusals(sdk, &sent);
    let rows = || ACCEPTED_LIVE.iter().chain(&SENT_LIVE);
    let unknown: Vec<String> = refused
        .iter()
        .filter(|refusal| !rows().any(|row| matches_row(row, refusal)))
        .map(|Refusal { name, problem }| format!("{name}: {problem}"))
        .collect();
    let count = sent.len();
    assert!(
        unknown.is_empty(),
        "{} of {count} refused:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    // An unused row would hide later rejections.
    for row in rows().filter(|row| sent.iter().any(|document| document.name.starts_with(row.0))) {
        assert!(
            refused.iter().any(|refusal| matches_row(row, refusal)),
            "{row:?} is not needed"
        );
    }
}

fn matches_row((name, message, _): &(&str, &str, &str), refusal: &Refusal) -> bool {
    refusal.name.starts_with(name) && refusal.problem.contains(message)
}

#[test]
fn the_anthropic_sdk_accepts_our_requests_and_responses() {
    check("anthropic");
}

#[test]
fn the_openai_sdk_accepts_our_requests_and_responses() {
    check("openai");
}

#[test]
fn the_google_sdk_accepts_our_requests_and_responses() {
    check("google");
}

#[test]
fn botocore_accepts_our_requests_and_responses() {
    check("bedrock");
}

#[test]
fn the_mistral_sdk_accepts_our_requests_and_responses() {
    check("mistral");
}

#[test]
fn agent_framework_accepts_our_requests_and_responses() {
    check("agent_framework");
}

#[test]
fn every_dialect_is_checked_by_an_sdk() {
    // The neutral form is our own; its schema is checked in telechir-protocol.
    let foreign = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Neutral);
    for dialect in foreign {
        assert!(sdk_types(dialect).is_some(), "{dialect}");
    }
}

/// A check that accepts everything shows nothing.
#[test]
fn each_sdk_rejects_invalid_documents() {
    let wrong = |kind: &str, json: Value| Document {
        name: "x".to_owned(),
        kind: kind.to_owned(),
        json,
    };
    let history = json!([{"role": "user", "contents": "x"}]);
    let nonsense = json!({"role": "user", "contents": "x"});
    let event = json!([{"type": "message_begun", "event_type": "x", "contents": "x"}]);
    let frames = json!({"bytes_base64": "AAAAAAAA"});
    for (sdk, kinds) in [
        (
            "anthropic",
            vec![
                ("history", &history),
                ("response", &nonsense),
                ("stream", &event),
                ("request", &nonsense),
            ],
        ),
        (
            "bedrock",
            vec![
                ("history", &history),
                ("response", &nonsense),
                ("stream", &frames),
                ("agents.answers", &nonsense),
                ("agents.response", &nonsense),
                ("agents.tools", &history),
            ],
        ),
        (
            "openai",
            vec![
                ("response", &nonsense),
                ("stream", &event),
                ("chat.response", &nonsense),
                ("chat.stream", &event),
                ("request", &nonsense),
            ],
        ),
        (
            "google",
            vec![
                ("response", &nonsense),
                ("stream", &event),
                ("steps.response", &nonsense),
                ("steps.stream", &event),
                ("request", &nonsense),
            ],
        ),
        (
            "mistral",
            vec![
                ("response", &nonsense),
                ("stream", &event),
                ("chat.response", &nonsense),
                ("chat.stream", &event),
                ("request", &nonsense),
            ],
        ),
        ("agent_framework", vec![("history", &history)]),
    ] {
        let sent: Vec<Document> = kinds
            .into_iter()
            .map(|(kind, json)| wrong(kind, json.clone()))
            .collect();
        let refused = refusals(sdk, &sent);
        assert_eq!(refused.len(), sent.len(), "{sdk}: {refused:?}");
    }
}
