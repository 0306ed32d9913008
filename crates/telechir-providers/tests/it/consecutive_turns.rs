//! Several messages of the model in a row, whose results follow together.

use serde_json::{Value, json};
use telechir_providers::Dialect;

fn anthropic() -> Value {
    let call =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "weigh", "input": {"item": id}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "3 kg"});
    json!({"messages": [
        {"role": "user", "content": "Weigh both."},
        {"role": "assistant", "content": [{"type": "text", "text": "First."}, call("toolu_crate")]},
        {"role": "assistant", "content": [call("toolu_barrel")]},
        {"role": "user", "content": [result("toolu_crate"), result("toolu_barrel")]},
        {"role": "assistant", "content": "Six."},
    ]})
}

fn google() -> Value {
    let call =
        |id: &str| json!({"functionCall": {"id": id, "name": "weigh", "args": {"item": id}}});
    let result =
        |id: &str| json!({"functionResponse": {"id": id, "name": "weigh", "response": {"kg": 3}}});
    json!({"contents": [
        {"role": "user", "parts": [{"text": "Weigh both."}]},
        {"role": "model", "parts": [{"text": "First."}, call("crate")]},
        {"role": "model", "parts": [call("barrel")]},
        {"role": "user", "parts": [result("crate"), result("barrel")]},
        {"role": "model", "parts": [{"text": "Six."}]},
    ]})
}

#[test]
fn they_survive_their_own_dialect_and_reach_every_other() {
    for (from, document) in [
        (Dialect::AnthropicMessages, anthropic()),
        (Dialect::GoogleGenerateContent, google()),
    ] {
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        for to in Dialect::ALL {
            let case = format!("{from} to {to}");
            let (written, report) = to
                .encode_history(&history)
                .unwrap_or_else(|error| panic!("{case}: {error}"));
            if from == to {
                assert_eq!(written, document);
                assert!(report.is_lossless(), "{report:?}");
            }
            let whats = report.losses.iter().map(|loss| loss.what.as_str());
            let lost: Vec<&str> = whats.filter(|what| what.contains("result")).collect();
            assert_eq!(lost, [""; 0], "{case}");
        }
    }
}

#[test]
fn one_result_of_two_is_missing() {
    let mut document = anthropic();
    document["messages"][3]["content"]
        .as_array_mut()
        .unwrap()
        .pop();
    let (history, _) = Dialect::AnthropicMessages
        .decode_history(document.to_string())
        .unwrap();
    let error = Dialect::AnthropicMessages
        .encode_history(&history)
        .unwrap_err();
    assert!(error.to_string().contains("toolu_barrel"), "{error}");
}
