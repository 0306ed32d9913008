//! Function calls and results without ids, as some servers and hand-written histories have them.

use serde_json::{Value, json};
use telechir_providers::Dialect;

/// Two calls without ids and one with an id, each with a result that lacks one.
fn openai() -> Value {
    json!([
        {"role": "user", "content": "Which weather?"},
        {"type": "function_call", "name": "look_up", "arguments": "{\"city\": \"Oslo\"}"},
        {"type": "function_call", "name": "measure", "arguments": "{\"unit\": \"mm\"}"},
        {"type": "function_call_output", "output": "rain over Oslo"},
        {"type": "function_call_output", "output": "twelve millimetres"},
        {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "{\"city\": \"Bergen\"}"},
        {"type": "function_call_output", "output": "sun over Bergen"},
    ])
}

#[test]
fn calls_without_ids_keep_their_results_in_every_dialect() {
    let from = Dialect::OpenaiResponses;
    let (history, _) = from.decode_history(openai().to_string()).unwrap();
    for to in Dialect::ALL {
        // Its own dialect writes the history as it was; an agent knows only its last message.
        if [from, Dialect::BedrockAgents].contains(&to) {
            continue;
        }
        let (written, report) = to.encode_history(&history).unwrap();
        let text = written.to_string();
        for value in ["Oslo", "measure", "rain over Oslo", "twelve millimetres"] {
            assert!(text.contains(value), "{to}: {text}\n{report:?}");
        }
        let is_missing = |what: &str| what.contains("absence of a result");
        let mut missing = report.losses.iter();
        assert!(!missing.any(|loss| is_missing(&loss.what)), "{to}: {text}");
    }
}

#[test]
fn a_result_without_an_id_answers_the_first_open_call_of_its_function() {
    let document = json!([
        {"role": "user", "content": "q"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "of f"},
        {"type": "function_call_output", "output": "of g"},
    ]);
    let from = Dialect::OpenaiResponses;
    let (history, _) = from.decode_history(document.to_string()).unwrap();
    let (written, report) = Dialect::AnthropicMessages.encode_history(&history).unwrap();
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "tool_use", "id": "call_1", "name": "g", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "of f"},
            {"type": "tool_result", "tool_use_id": "call_1", "content": "of g"},
        ]},
    ]);
    assert_eq!(written, expected);
    let ids = report
        .losses
        .iter()
        .filter(|loss| loss.what == "the absence of a call id");
    assert_eq!(ids.count(), 2, "{report:?}");
}

#[test]
fn an_empty_id_is_none() {
    let document = json!({"messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "", "content": "of f"},
    ]});
    let (history, _) = Dialect::Functions
        .decode_history(document.to_string())
        .unwrap();
    for to in [Dialect::AnthropicMessages, Dialect::GoogleInteractions] {
        let (written, _) = to.encode_history(&history).unwrap();
        let text = written.to_string();
        assert!(
            text.contains("of f") && !text.contains("\"\""),
            "{to}: {text}"
        );
    }
}
