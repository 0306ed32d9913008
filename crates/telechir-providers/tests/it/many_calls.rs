//! One turn with thousands of calls. A writer whose work grows with their square would exceed the
//! time limit of a test.

use serde_json::{Value, json};
use telechir_providers::Dialect;

const CALLS: usize = 10_000;

fn history() -> Value {
    let call = |at| {
        json!({
            "type": "function_call", "call_id": format!("call_{at}"), "name": "look_up",
            "arguments": "{}",
        })
    };
    let result = |at| json!({"type": "function_call_output", "call_id": format!("call_{at}"), "output": "found"});
    let items = (0..CALLS).map(call).chain((0..CALLS).map(result));
    items.collect()
}

fn translate(to: Dialect) {
    let document = history().to_string();
    let (history, _) = Dialect::OpenaiResponses.decode_history(document).unwrap();
    let (translated, _) = to.encode_history(&history).unwrap();
    let found = translated.to_string().matches("found").count();
    // Agent Framework keeps the neutral form and that of OpenAI beside its own.
    assert!(found >= CALLS, "{to:?}: {found}");
}

#[test]
fn of_anthropic() {
    translate(Dialect::AnthropicMessages);
}

#[test]
fn of_converse() {
    translate(Dialect::BedrockConverse);
}

#[test]
fn of_google() {
    translate(Dialect::GoogleGenerateContent);
    translate(Dialect::GoogleInteractions);
}

#[test]
fn of_chat_completions_and_mistral() {
    translate(Dialect::Functions);
    translate(Dialect::MistralChat);
    translate(Dialect::MistralConversations);
}

#[test]
fn of_openai_and_agent_framework() {
    translate(Dialect::OpenaiResponses);
    translate(Dialect::AgentFramework);
}
