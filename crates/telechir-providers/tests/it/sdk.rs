//! Everything we write, checked by the types of the providers' own SDKs; and what the vectors say
//! that providers send, read by them as well.
//!
//! The SDKs are Python: `scripts/sdk.sh` (part of `make test`) installs them, pinned. One process
//! for each SDK reads all documents.

pub(crate) mod python;
mod received;
pub(crate) mod written;

use serde_json::{Value, json};
use telechir_providers::Dialect;

use python::{Document, Refusal, refusals};

/// Which SDK has types for a dialect, and what begins its kinds there.
const SDKS: [(&str, &str, &str); 13] = [
    ("anthropic-messages", "anthropic", ""),
    ("bedrock-messages", "anthropic", ""),
    ("bedrock-invoke", "anthropic", "invoke."),
    ("openai-responses", "openai", ""),
    ("functions", "openai", "chat."),
    ("functions-inline", "openai", "inline."),
    ("google-generate-content", "google", ""),
    ("google-interactions", "google", "steps."),
    ("bedrock-converse", "bedrock", ""),
    ("bedrock-agents", "bedrock", "agents."),
    ("mistral-conversations", "mistral", ""),
    ("mistral-chat", "mistral", "chat."),
    ("agent-framework", "agent_framework", ""),
];

/// What an SDK's types refuse although the live interface takes it: dialect, words of the
/// refusal, and why we write it all the same.
const TAKEN_LIVE: [(&str, &str, &str); 6] = [
    (
        "openai-responses",
        "['.call_id']",
        "an output of local_shell is joined with its call by `call_id`; the SDK names it `id`",
    ),
    (
        "openai-responses: input.local_shell_call_output.wire_shape",
        "LocalShellCallOutput",
        "likewise, without the `id` that the SDK demands",
    ),
    (
        "functions",
        "cache_control",
        "servers of Anthropic's models take it in chat completions; it came in and goes back",
    ),
    (
        "openai-responses: the request after openai-responses: response.computer.json",
        "ResponseCreateParamsNonStreaming",
        "live calls have no `pending_safety_checks` and are repeated without",
    ),
    (
        "functions: the request after functions: ",
        "CompletionCreateParamsNonStreaming",
        "calls without ids or names, or with arguments as an object, are repeated as the server wrote them",
    ),
    (
        "functions: request__results_without_ids",
        "ChatCompletionToolMessageParam",
        "servers of small models give calls no ids; what came in goes back",
    ),
];

/// Streams of frames, which botocore reads whoever made what is in them.
const FRAMED: [&str; 1] = ["invoke.stream"];

/// What an SDK's types refuse although services send it: where, words of the refusal, and what
/// is known of it. All of it must be read.
const ON_THE_WIRE: [(&str, &str, &str); 29] = [
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
        "live responses say whether they are stored",
    ),
    (
        "openai-responses: response.failed.live_code",
        "error.code",
        "`insufficient_quota` is in no list",
    ),
    (
        "openai-responses",
        "cache_write_tokens",
        "older responses do not count them",
    ),
    (
        "openai-responses",
        "['.obfuscation']",
        "every delta may have it",
    ),
    (
        "openai-responses: stream.computer_shell_patch_interleaved",
        "validation errors for union",
        "the events of a patch's diff are in no list",
    ),
    (
        "openai-responses: events.error_nested",
        "validation errors",
        "the live error is an object within the event",
    ),
    (
        "openai-responses: responses_stream__function_call",
        "['.name']",
        "the specification has the name, the SDK's type lacks it",
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
        "servers of small models give calls no ids",
    ),
    (
        "functions: response__unnamed_call",
        "function.name",
        "a call without a name is answered with an error",
    ),
    (
        "functions",
        "reasoning",
        "servers say their model's thinking in members of their own",
    ),
    (
        "functions: stream__missing_index",
        "index",
        "some servers send one call after the other without numbers",
    ),
    (
        "functions: stream__error",
        "ChatCompletionChunk",
        "an error amid a stream is no chunk; the SDK raises it",
    ),
    (
        "google-generate-content",
        "Extra inputs are not permitted",
        "the SDK drops members it does not know before it reads",
    ),
    (
        "google-interactions: ix_stream__code_and_media",
        "no known variant",
        "an event that nobody knows is let be",
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
        "arguments may be an object",
    ),
    (
        "mistral-conversations: response__web_search",
        ".source'",
        "references named their source in 2025",
    ),
    (
        "mistral-conversations: response__unknown_entry",
        "tool.dream",
        "an entry that nobody knows is kept",
    ),
    (
        "mistral-conversations: stream__unknown_event",
        "mood",
        "an event that nobody knows is let be",
    ),
    (
        "mistral-chat",
        "prompt_tokens_details",
        "live responses count cached tokens",
    ),
    (
        "mistral-chat: chat_response__connector_turns",
        "messages",
        "turns of connectors have names and files",
    ),
    (
        "bedrock-converse",
        "serverToolUsage",
        "live responses count more than the service's model says",
    ),
    (
        "bedrock-converse: stream__converse_repeated_and_unknown",
        "ContentBlockStart",
        "a kind of block that nobody knows is let be",
    ),
];

/// Checks all documents of the dialects that an SDK knows, in one process.
fn check(sdk: &str) {
    let mut sent = Vec::new();
    for dialect in Dialect::ALL {
        let whose = SDKS.iter().find(|(name, _, _)| *name == dialect.name());
        let Some((_, own, start)) = whose else {
            continue;
        };
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
            // The framework hands a service's own tools on as they are.
            "tools" if dialect == Dialect::AgentFramework => sdk == "openai",
            _ => *own == sdk,
        };
        sent.extend(prefixed.filter(of_sdk));
    }
    assert!(!sent.is_empty(), "no dialect is of {sdk}");
    let refused = refusals(sdk, &sent);
    let rows = || TAKEN_LIVE.iter().chain(&ON_THE_WIRE);
    let unknown: Vec<String> = refused
        .iter()
        .filter(|refusal| !rows().any(|row| is_said(row, refusal)))
        .map(|Refusal { name, problem }| format!("{name}: {problem}"))
        .collect();
    let count = sent.len();
    assert!(
        unknown.is_empty(),
        "{} of {count} refused:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    // A row that nothing needs hides what comes next.
    for row in rows().filter(|row| sent.iter().any(|document| document.name.starts_with(row.0))) {
        assert!(
            refused.iter().any(|refusal| is_said(row, refusal)),
            "{row:?} is not needed"
        );
    }
}

fn is_said((name, words, _): &(&str, &str, &str), refusal: &Refusal) -> bool {
    refusal.name.starts_with(name) && refusal.problem.contains(words)
}

#[test]
fn anthropics_sdk_takes_what_we_write_and_reads_what_we_read() {
    check("anthropic");
}

#[test]
fn openais_sdk_takes_what_we_write_and_reads_what_we_read() {
    check("openai");
}

#[test]
fn googles_sdk_takes_what_we_write_and_reads_what_we_read() {
    check("google");
}

#[test]
fn botocore_takes_what_we_write_and_reads_what_we_read() {
    check("bedrock");
}

#[test]
fn mistrals_sdk_takes_what_we_write_and_reads_what_we_read() {
    check("mistral");
}

#[test]
fn agent_framework_takes_what_we_write_and_reads_what_we_read() {
    check("agent_framework");
}

#[test]
fn every_dialect_is_checked_by_an_sdk() {
    for dialect in Dialect::ALL {
        let is_checked = SDKS.iter().any(|(name, _, _)| *name == dialect.name());
        assert!(is_checked, "{dialect}");
    }
}

/// A check that lets everything through shows nothing.
#[test]
fn an_sdk_refuses_what_is_wrong() {
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
