//! Each check is effective: a valid request passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::provider::image::tests::png_base64;

fn headers() -> HeaderMap {
    HeaderMap::from_iter([(
        "authorization".parse().expect("a name"),
        "Bearer k".parse().expect("a value"),
    )])
}

fn history() -> Vec<Vec<Value>> {
    vec![vec![
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
        json!({"type": "computer_call", "id": "cu_1", "call_id": "c1", "status": "completed", "actions": [{"type": "screenshot"}]}),
        json!({"type": "shell_call", "id": "sh_1", "call_id": "s1", "status": "completed", "created_by": "x",
            "action": {"commands": ["ls", "pwd"], "max_output_length": 99}}),
        json!({"type": "function_call", "id": "fc_1", "call_id": "f1", "name": "browser", "arguments": "{}"}),
    ]]
}

fn screen(width: u32, height: u32) -> Value {
    let image_url = format!("data:image/png;base64,{}", png_base64(width, height));
    json!({"type": "computer_screenshot", "image_url": image_url, "detail": "original"})
}

fn entry() -> Value {
    json!({"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}})
}

fn good() -> Value {
    let mut input = vec![
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}),
    ];
    input.extend(history().concat());
    input[3]
        .as_object_mut()
        .expect("an object")
        .shift_remove("created_by");
    input.extend([
        json!({"type": "computer_call_output", "call_id": "c1", "output": screen(40, 30)}),
        json!({"type": "shell_call_output", "call_id": "s1", "output": [entry(), entry()], "max_output_length": 99}),
        json!({"type": "function_call_output", "call_id": "f1", "output": [{"type": "input_text", "text": "t"}]}),
    ]);
    json!({
        "model": "gpt-5.6-sol", "store": false, "include": ["reasoning.encrypted_content"], "input": input,
        "tools": [
            {"type": "computer"}, {"type": "shell", "environment": {"type": "local"}},
            {"type": "function", "name": "browser", "parameters": {"type": "object"}, "strict": false},
        ],
    })
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Value), fragment: &str) {
    let mut body = good();
    change(&mut body);
    let rejection = super::check(&headers(), &body, &history()).expect_err(fragment);
    assert!(
        rejection.message.contains(fragment),
        "{}",
        rejection.message
    );
}

fn items(body: &mut Value) -> &mut Vec<Value> {
    body["input"].as_array_mut().expect("items")
}

#[test]
fn takes_a_good_request() {
    super::check(&headers(), &good(), &history()).expect("good");
}

#[test]
fn refuses_a_request_without_a_key() {
    let rejection = super::check(&HeaderMap::new(), &good(), &history()).expect_err("no key");
    assert_eq!(rejection.status, 401);
}

#[test]
fn refuses_unknown_fields_and_stored_responses() {
    refused(
        |body| body["messages"] = json!([]),
        "Unknown parameter: 'messages'",
    );
    refused(|body| body["include"] = json!(["everything"]), "include[0]");
    refused(
        |body| body["include"] = json!([]),
        "cannot repeat reasoning",
    );
    refused(
        |body| body["previous_response_id"] = json!("resp_1"),
        "nothing is stored",
    );
}

#[test]
fn refuses_invalid_tool_definitions() {
    refused(
        |body| body["tools"][0]["display_width"] = json!(1),
        "Unknown parameter: 'tools[0].display_width'",
    );
    refused(
        |body| body["tools"][0] = json!({"type": "computer_use_preview"}),
        "is not supported with gpt-5.6-sol",
    );
    refused(
        |body| body["tools"][1]["environment"]["type"] = json!("moon"),
        "environment.type",
    );
    refused(
        |body| {
            drop(
                body["tools"][2]
                    .as_object_mut()
                    .map(|tool| tool.shift_remove("strict")),
            )
        },
        "tools[2].strict",
    );
    refused(
        |body| body["tools"][2]["name"] = json!("a b"),
        "does not match pattern",
    );
    refused(
        |body| body["tools"][1] = json!({"type": "computer"}),
        "is duplicated",
    );
}

#[test]
fn refuses_calls_that_are_not_answered_exactly_once() {
    refused(
        |body| drop(items(body).pop()),
        "No tool output found for function call f1",
    );
    refused(
        |body| items(body)[5]["call_id"] = json!("zz"),
        "No tool call found for computer call",
    );
    refused(
        |body| {
            let twice = items(body)[5].clone();
            items(body).push(twice);
        },
        "Duplicate output",
    );
    refused(
        |body| items(body)[5]["call_id"] = json!("x".repeat(65)),
        "call_id",
    );
}

#[test]
fn refuses_malformed_computer_outputs() {
    refused(
        |body| items(body)[5]["acknowledged_safety_checks"] = Value::Null,
        "acknowledged_safety_checks",
    );
    refused(|body| items(body)[5]["status"] = json!("failed"), "status");
    refused(
        |body| items(body)[5]["error"] = json!("x"),
        "Unknown parameter",
    );
    refused(
        |body| items(body)[5]["output"] = json!({"type": "computer_screenshot"}),
        "image_url",
    );
    refused(
        |body| items(body)[5]["output"]["image_url"] = json!("data:image/png;base64,AAAA"),
        "could not process image",
    );
    refused(
        |body| items(body)[5]["output"]["detail"] = json!("best"),
        "detail",
    );
    refused(
        |body| items(body)[5]["output"] = screen(70_000, 1),
        "patches",
    );
}

#[test]
fn refuses_an_unacknowledged_safety_check() {
    let pending = json!([{"id": "sc_1", "code": "malicious_instructions", "message": "m"}]);
    let mut history = history();
    history[0][1]["pending_safety_checks"] = pending.clone();
    let mut body = good();
    items(&mut body)[2]["pending_safety_checks"] = pending.clone();
    let rejection = super::check(&headers(), &body, &history).expect_err("not acknowledged");
    assert!(
        rejection.message.contains("was not acknowledged"),
        "{}",
        rejection.message
    );
    items(&mut body)[5]["acknowledged_safety_checks"] = pending;
    super::check(&headers(), &body, &history).expect("acknowledged");
}

#[test]
fn refuses_malformed_shell_outputs() {
    refused(
        |body| drop(items(body)[6]["output"].as_array_mut().map(Vec::pop)),
        "1 entries for 2 commands",
    );
    refused(
        |body| {
            drop(
                items(body)[6]["output"][0]
                    .as_object_mut()
                    .map(|entry| entry.shift_remove("stderr")),
            )
        },
        "stderr",
    );
    refused(
        |body| items(body)[6]["output"][0]["outcome"] = json!({"type": "exit"}),
        "exit_code",
    );
    refused(
        |body| items(body)[6]["output"][0]["outcome"] = json!({"type": "signal"}),
        "outcome.type",
    );
    refused(|body| items(body)[6]["status"] = json!("failed"), "status");
    refused(
        |body| items(body)[6]["max_output_length"] = json!(1),
        "must repeat",
    );
}

#[test]
fn refuses_reasoning_without_its_item() {
    refused(
        |body| {
            let reasoning = items(body).remove(1);
            items(body).push(reasoning);
        },
        "without its required following item",
    );
}

#[test]
fn refuses_changed_or_missing_model_items() {
    refused(
        |body| items(body)[1]["encrypted_content"] = json!("other"),
        "differs from this model's response",
    );
    refused(
        |body| items(body)[3]["created_by"] = json!("x"),
        "created_by",
    );
    refused(
        |body| {
            items(body).remove(7);
            items(body).remove(4);
        },
        "an item of this model is missing",
    );
}

#[test]
fn refuses_results_that_are_not_parts() {
    refused(
        |body| items(body)[7]["output"] = json!([{"type": "text", "text": "x"}]),
        "Invalid value: 'text'",
    );
    refused(|body| items(body)[7]["output"] = json!(7), "list");
}
