//! The instructions of a request whose messages alone are translated: they arrive, and are no loss.

use serde_json::{Value, json};
use telechir_providers::{Dialect, Loss, Report};

const INSTRUCTIONS: &str = "Answer in one word.";

/// A request with instructions, one message and settings, in every dialect that has them.
fn requests() -> Vec<(Dialect, Value)> {
    let messages = json!([{"role": "user", "content": "Is it late?"}]);
    vec![
        (
            Dialect::AnthropicMessages,
            json!({"model": "m", "max_tokens": 99, "system": INSTRUCTIONS, "messages": messages}),
        ),
        (
            Dialect::AnthropicMessages,
            json!({"model": "m", "max_tokens": 99, "messages": messages, "system": [
                {"type": "text", "text": INSTRUCTIONS, "cache_control": {"type": "ephemeral"}}]}),
        ),
        (
            Dialect::BedrockInvoke,
            json!({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99,
                "system": INSTRUCTIONS, "messages": messages}),
        ),
        (
            Dialect::BedrockConverse,
            json!({"system": [{"text": INSTRUCTIONS}, {"cachePoint": {"type": "default"}}],
                "messages": [{"role": "user", "content": [{"text": "Is it late?"}]}],
                "inferenceConfig": {"maxTokens": 99}}),
        ),
        (
            Dialect::OpenaiResponses,
            json!({"model": "m", "instructions": INSTRUCTIONS, "input": "Is it late?"}),
        ),
        (
            Dialect::GoogleGenerateContent,
            json!({"systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
                "contents": [{"role": "user", "parts": [{"text": "Is it late?"}]}]}),
        ),
        (
            Dialect::GoogleInteractions,
            json!({"model": "m", "system_instruction": INSTRUCTIONS, "input": "Is it late?"}),
        ),
        (
            Dialect::MistralConversations,
            json!({"model": "m", "instructions": INSTRUCTIONS, "inputs": "Is it late?"}),
        ),
    ]
}

/// The translated messages, their losses, and the lines that are no losses.
fn messages_of(from: Dialect, request: &Value, to: Dialect) -> (Value, Report, Vec<String>) {
    let decoded = from.decode_history(request.to_string());
    let (mut history, mut report) = decoded.expect("a request");
    let aside = history.set_envelope_aside(to);
    let (document, losses) = to.encode_history(&history).expect("messages");
    report.absorb(losses);
    let notes = aside.map(|aside| aside.take_notes(&mut report));
    let notes = notes.into_iter().flatten().map(|note| note.what);
    (document, report, notes.collect())
}

#[test]
fn instructions_arrive_in_every_dialect_and_are_no_loss() {
    for (from, request) in requests() {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let (document, report, notes) = messages_of(from, &request, to);
            // An agent's instructions are part of its definition.
            if to == Dialect::BedrockAgents {
                let lost = |loss: &Loss| loss.what == "text content of the system instructions";
                assert!(report.losses.iter().any(lost), "{from}: {report:?}");
                continue;
            }
            let text = document.to_string();
            assert!(
                text.contains(INSTRUCTIONS),
                "{from} to {to}: {text} {notes:?}"
            );
            assert_eq!(report.losses, [], "{from} to {to}");
            // Neutral contents also have the provider's own form.
            if !matches!(to, Dialect::AgentFramework | Dialect::Neutral) {
                let count = text.matches(INSTRUCTIONS).count();
                assert_eq!(count, 1, "{from} to {to}: {text}");
            }
        }
    }
}

#[test]
fn a_setting_of_the_instructions_is_named_with_the_other_settings() {
    let (from, request) = requests().swap_remove(1);
    let (_, _, notes) = messages_of(from, &request, Dialect::Functions);
    assert!(notes[0].contains("`max_tokens`"), "{notes:?}");
    assert!(notes[0].contains("`system[].cache_control`"), "{notes:?}");
    // Who encodes the history itself gets the entry as a loss.
    let (history, _) = from.decode_history(request.to_string()).expect("a request");
    let encoded = Dialect::Functions.encode_history(&history);
    let (_, report) = encoded.expect("messages");
    let lost = |loss: &Loss| loss.what == "field `system[].cache_control`";
    assert!(report.losses.iter().any(lost), "{report:?}");
}
