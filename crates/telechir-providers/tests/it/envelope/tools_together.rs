//! Tools that a target cannot declare beside each other: each that is left out is reported.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{is_reported, translate};

fn request(names: impl Iterator<Item = String>) -> Value {
    let tools: Vec<Value> = names
        .enumerate()
        .map(|(at, name)| {
            json!({"name": name, "description": format!("tool number {at}"), "input_schema": {"type": "object"}})
        })
        .collect();
    json!({
        "model": "m", "max_tokens": 9, "tools": tools,
        "messages": [{"role": "user", "content": "Look it up."}],
    })
}

/// How many of the tools are in the translated request, and how many are reported.
fn declared_and_reported(request: &Value, to: Dialect) -> (usize, usize) {
    let translated = translate(Dialect::AnthropicMessages, to, request);
    let text = translated.document.to_string();
    let losses = translated.report.losses.iter();
    let reported = losses.filter(|loss| loss.location.starts_with("/tools/"));
    (text.matches("tool number").count(), reported.count())
}

#[test]
fn every_tool_is_declared_or_reported() {
    let same = request(
        ["a", "t", "b", "t", "c", "t"]
            .map(str::to_owned)
            .into_iter(),
    );
    let many = request((0..520).map(|at| format!("t{at}")));
    for to in Dialect::ALL {
        // An agent's tools are part of its definition, and these dialects have the request's own form.
        if matches!(
            to,
            Dialect::BedrockAgents | Dialect::AgentFramework | Dialect::Neutral
        ) {
            continue;
        }
        for (what, request, count) in [("same", &same, 6), ("many", &many, 520)] {
            let (declared, reported) = declared_and_reported(request, to);
            assert!(
                declared + reported >= count,
                "{what} to {to}: {declared}, {reported}"
            );
            assert!(declared >= 4, "{what} to {to}: {declared}");
        }
    }
}

#[test]
fn a_loss_of_a_tool_has_the_tool_s_pointer() {
    let schema = json!({"type": "object", "properties": {"key": {"type": "string"}}});
    let request = json!({
        "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Look it up."}],
        "tools": [
            {"name": "plain", "input_schema": schema},
            {"name": "kept", "input_schema": schema, "strict": true, "defer_loading": true,
                "input_examples": [{"key": "a"}], "eager_input_streaming": true},
            {"type": "computer_20250124", "name": "computer", "display_width_px": 1024, "display_height_px": 768,
                "display_number": 1},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            {"type": "memory_20250818", "name": "memory"},
            {"name": "plain", "input_schema": {"type": "object"}},
        ],
    });
    for to in Dialect::ALL
        .into_iter()
        .filter(|to| *to != Dialect::Neutral)
    {
        let translated = translate(Dialect::AnthropicMessages, to, &request);
        for loss in &translated.report.losses {
            let pointer = loss.location.as_str();
            assert!(
                request.pointer(pointer).is_some() || !pointer.contains("tool"),
                "{to}: {loss:?}"
            );
            assert!(pointer.starts_with('/'), "{to}: {loss:?}");
        }
    }
}

#[test]
fn a_conversation_without_declarations_goes_to_a_service_that_requires_them() {
    let request = json!({
        "model": "some-model",
        "messages": [
            {"role": "user", "content": "Which weather?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}},
                {"id": "call_2", "type": "function", "function": {"name": "look_up", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            {"role": "tool", "tool_call_id": "call_2", "content": "sun"},
        ],
    });
    let translated = translate(Dialect::Functions, Dialect::BedrockConverse, &request);
    let spec = json!({"name": "look_up", "inputSchema": {"json": {"type": "object"}}});
    let expected = json!({"tools": [{"toolSpec": spec}]});
    assert_eq!(translated.document["toolConfig"], expected);
    assert!(is_reported(&translated.report.losses, "/tools"));
}
