//! Parses responses of the recorded models with the providers' own SDKs, so that tests use
//! realistic responses.

#[path = "../../../telechir-providers/tests/it/sdk/python.rs"]
mod python;

use std::path::Path;

use serde_json::{Value, json};
use telechir_testkit::provider::Script;

use python::{Document, refusals};

/// Dialects, the SDK with types for each, and the prefix of its kinds.
const SDKS: [(&str, &str, &str); 11] = [
    ("anthropic-messages", "anthropic", ""),
    ("bedrock-messages", "anthropic", ""),
    ("bedrock-invoke", "anthropic", ""),
    ("openai-responses", "openai", ""),
    ("functions", "openai", "chat."),
    ("functions-inline", "openai", "chat."),
    ("google-generate-content", "google", ""),
    ("google-interactions", "google", "steps."),
    ("bedrock-converse", "bedrock", ""),
    ("mistral-chat", "mistral", "chat."),
    ("mistral-conversations", "mistral", ""),
];

/// Fields that an SDK's types reject although live services send them.
const ON_THE_WIRE: [(&str, &str, &str); 3] = [
    (
        "openai-responses",
        "for Response",
        "live calls of a computer have no `pending_safety_checks`",
    ),
    (
        "google-generate-content",
        "usageMetadata.serviceTier",
        "live responses contain their tier",
    ),
    (
        "bedrock-converse",
        "serverToolUsage",
        "live responses contain more counts than the API model",
    ),
];

/// Text, a computer call and a shell call, as a service of the dialect sends them.
fn content(dialect: &str) -> Value {
    let (click, show) = (json!({"x": 5, "y": 6}), "{\"command\":\"show it\"}");
    let function = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls = || {
        json!([
            function("aB3dE5fG7", "computer", "{\"action\":\"screenshot\"}"),
            function("aB3dE5fG8", "shell", show)
        ])
    };
    match dialect {
        "anthropic-messages" | "bedrock-messages" => json!([
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "screenshot", "toolset_name": "computer", "input": {}, "caller": {"type": "direct"}},
        ]),
        "bedrock-invoke" => json!([
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "computer", "input": {"action": "screenshot"}},
        ]),
        "openai-responses" => json!([
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
            {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed", "actions": [{"type": "screenshot"}], "pending_safety_checks": []},
        ]),
        "google-generate-content" => json!([
            {"text": "I look."}, {"functionCall": {"id": "f1", "name": "take_screenshot", "args": {"intent": "Look."}}, "thoughtSignature": "c2ln"},
        ]),
        "google-interactions" => json!([
            {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
            {"type": "function_call", "id": "f1", "name": "click", "arguments": click},
        ]),
        "functions" | "functions-inline" | "mistral-chat" => {
            json!([{"role": "assistant", "content": "I look.", "tool_calls": calls()}])
        }
        "bedrock-converse" => json!([
            {"text": "I look."}, {"toolUse": {"toolUseId": "tooluse_1", "name": "bash", "input": {"command": "show it"}}},
        ]),
        "mistral-conversations" => json!([
            {"object": "entry", "type": "message.output", "id": "msg_1", "role": "assistant", "content": "I look."},
            {"object": "entry", "type": "function.call", "id": "fc_1", "tool_call_id": "aB3dE5fG7", "name": "shell", "arguments": show},
        ]),
        other => panic!("{other}"),
    }
}

/// Every response of a script, as a document for its dialect's SDK.
fn documents(dialect: &str, script: &Script, start: &str) -> Vec<Document> {
    let document = |(at, json): (usize, Value)| Document {
        name: format!("{dialect}: answer {}", at + 1),
        kind: format!("{start}response"),
        json,
    };
    script
        .responses()
        .into_iter()
        .enumerate()
        .map(document)
        .collect()
}

#[test]
fn responses_of_recorded_models_parse_as_the_providers_types() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telechir-testkit/recordings");
    for sdk in ["anthropic", "openai", "google", "bedrock", "mistral"] {
        let mut sent = Vec::new();
        for (dialect, _, start) in SDKS.iter().filter(|(_, own, _)| *own == sdk) {
            let script = json!({"dialect": dialect, "turns": [{"say": content(dialect)}]});
            let script = Script::from_json(&script.to_string()).unwrap();
            sent.extend(documents(dialect, &script, start));
        }
        let recorded = [
            ("anthropic", "anthropic-messages"),
            ("openai", "openai-responses"),
        ];
        if let Some((name, dialect)) = recorded.iter().find(|(name, _)| *name == sdk) {
            let script = Script::open(&recordings.join(format!("{name}.json"))).unwrap();
            sent.extend(documents(dialect, &script, ""));
        }
        let mut refused = refusals(sdk, &sent);
        refused.retain(|rejection| {
            let is_known = |(name, words, _): &(&str, &str, &str)| {
                rejection.name.starts_with(name) && rejection.problem.contains(words)
            };
            !ON_THE_WIRE.iter().any(is_known)
        });
        assert!(refused.is_empty(), "{sdk}: {refused:#?}");
    }
}
