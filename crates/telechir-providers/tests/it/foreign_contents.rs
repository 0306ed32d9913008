//! Objects that only their own provider understands. Two providers may use the same type name for
//! different things, so where an object came from decides who gets it.

use std::str::FromStr as _;

use serde_json::{Value, json};
use telechir_protocol::Message;
use telechir_providers::conform::without_raw;
use telechir_providers::{Dialect, Envelope, History, Report};

/// The text that only the unknown object has.
const MARKER: &str = "opaque-state-of-the-provider";

/// Histories with one object that no neutral content represents: the dialect, its name and the
/// history.
fn histories() -> Vec<(&'static str, &'static str, Value)> {
    let anthropic = |block: Value| {
        json!([
            {"role": "user", "content": "Sum up."},
            {"role": "assistant", "content": [block, {"type": "text", "text": "Done."}]},
            {"role": "user", "content": "Go on."},
        ])
    };
    let openai = |item: Value| {
        json!([
            {"role": "user", "content": "Sum up."}, item, {"role": "user", "content": "Go on."},
        ])
    };
    vec![
        (
            "anthropic-messages",
            "compaction",
            anthropic(json!({"type": "compaction", "content": MARKER})),
        ),
        (
            "anthropic-messages",
            "program",
            anthropic(json!({"type": "program", "code": MARKER})),
        ),
        (
            "openai-responses",
            "compaction",
            openai(json!({"type": "compaction", "id": "cmp_1", "encrypted_content": MARKER})),
        ),
        (
            "openai-responses",
            "input_video",
            json!([{"role": "user", "content": [{"type": "input_text", "text": "See."},
                {"type": "input_video", "clip": MARKER}]}]),
        ),
        (
            "google-interactions",
            "tool_search_call",
            json!([
                {"type": "user_input", "content": [{"type": "text", "text": "Find it."}]},
                {"type": "tool_search_call", "id": "ts_1", "arguments": {"queries": [MARKER]}},
                {"type": "model_output", "content": [{"type": "text", "text": "Found."}]},
            ]),
        ),
        (
            "google-generate-content",
            "toolCall",
            json!([
                {"role": "user", "parts": [{"text": "Find it."}]},
                {"role": "model", "parts": [{"toolCall": {"id": "t", "args": {"q": MARKER}}}, {"text": "Found."}]},
            ]),
        ),
        (
            "bedrock-converse",
            "hologram",
            json!([
                {"role": "user", "content": [{"text": "Show."}]},
                {"role": "assistant", "content": [{"hologram": {"rays": MARKER}}, {"text": "Shown."}]},
            ]),
        ),
        (
            "bedrock-agents",
            "hologram",
            json!([
                {"inputText": "Draw."},
                {"completion": [{"hologram": {"rays": MARKER}}, {"chunk": {"bytes": "RHJhd24u"}}]},
            ]),
        ),
        (
            "mistral-chat",
            "tool_reference",
            json!([
                {"role": "user", "content": "Who won?"},
                {"role": "assistant", "content": [{"type": "text", "text": "Nobody."},
                    {"type": "tool_reference", "tool": "web_search", "title": MARKER}]},
            ]),
        ),
        (
            "agent-framework",
            "oauth_consent_request",
            json!([
                {"type": "message", "role": "assistant", "contents": [
                    {"type": "oauth_consent_request", "consent_link": MARKER}]},
            ]),
        ),
    ]
}

/// Dialects that understand each other's objects.
const FAMILIES: [&[Dialect]; 2] = [
    &[
        Dialect::AnthropicMessages,
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
    ],
    &[Dialect::Functions, Dialect::FunctionsInline],
];

fn is_same_family(one: Dialect, other: Dialect) -> bool {
    let both = |family: &&[Dialect]| family.contains(&one) && family.contains(&other);
    one == other || FAMILIES.iter().any(both)
}

fn has_raw(messages: &[Message]) -> bool {
    let json = serde_json::to_string(messages).unwrap();
    json.contains("raw_representation")
}

fn list(messages: Vec<Message>) -> History {
    History {
        messages,
        envelope: Envelope::List,
    }
}

fn encoded(to: Dialect, messages: &[Message]) -> (Value, Report) {
    to.encode_history(&list(messages.to_vec()))
        .unwrap_or_else(|error| panic!("{to}: {error}"))
}

fn check(keep: impl Fn(Vec<Message>) -> Vec<Message>) {
    for (from, name, document) in histories() {
        let from = Dialect::from_str(from).unwrap();
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        let messages = keep(history.messages);
        for to in Dialect::ALL {
            let case = format!("`{name}` of {from} to {to}");
            let (written, report) = encoded(to, &messages);
            let is_sent = written.to_string().contains(MARKER);
            if is_same_family(from, to) {
                let is_named = report.losses.iter().any(|loss| loss.what.contains(name));
                assert!(is_sent || is_named, "{case} is lost: {written}");
                assert!(
                    is_sent || from != to || !has_raw(&messages),
                    "{case} is lost: {written}"
                );
                continue;
            }
            if to == Dialect::Neutral {
                assert!(is_sent, "{case} is lost: {written}");
                continue;
            }
            if to == Dialect::AgentFramework {
                let visible = without_sidecar(written);
                assert!(!visible.to_string().contains(MARKER), "{case}: {visible}");
                continue;
            }
            assert!(!is_sent, "{case} is sent: {written}");
            let mut losses = report.losses.iter();
            let named = losses.any(|loss| loss.what.contains(name) && loss.preserved_as.is_none());
            assert!(named, "{case} is not reported: {report:?}");
        }
    }
}

/// The framework's clients ignore the neutral form beside its fields.
fn without_sidecar(mut json: Value) -> Value {
    match &mut json {
        Value::Object(members) => {
            members.shift_remove("additional_properties");
            members
                .values_mut()
                .for_each(|value| *value = without_sidecar(value.take()));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = without_sidecar(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    json
}

#[test]
fn an_unknown_object_goes_only_to_its_own_provider() {
    check(|messages| messages);
}

#[test]
fn an_unknown_object_goes_only_to_its_own_provider_after_neutral_json() {
    check(|messages| {
        let json = serde_json::to_string(&messages).unwrap();
        serde_json::from_str(&json).unwrap()
    });
}

#[test]
fn an_unknown_object_goes_only_to_its_own_provider_without_raw_json() {
    check(|messages| without_raw(&list(messages)).unwrap().messages);
}
