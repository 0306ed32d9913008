//! Each check is effective: a valid request passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::check;

fn headers() -> HeaderMap {
    HeaderMap::from_iter([(
        "authorization".parse().expect("a name"),
        "Bearer k".parse().expect("a value"),
    )])
}

fn history() -> Vec<Vec<Value>> {
    vec![vec![
        json!({"type": "message.output", "id": "msg_1", "role": "assistant", "content": "I go.", "agent_id": null}),
        json!({"type": "function.call", "id": "fc_1", "tool_call_id": "aB3dE5fG7", "name": "shell", "arguments": "{}"}),
    ]]
}

fn good() -> Value {
    let mut inputs = vec![json!({"type": "message.input", "role": "user", "content": "go"})];
    inputs.extend(history().concat());
    inputs[1]
        .as_object_mut()
        .expect("an object")
        .shift_remove("agent_id");
    inputs.push(json!({"type": "function.result", "tool_call_id": "aB3dE5fG7", "result": "a"}));
    json!({"model": "m", "inputs": inputs, "store": false, "stream": false})
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Value), fragment: &str) {
    let mut body = good();
    change(&mut body);
    let rejection = check(&headers(), &body, &history()).expect_err("a refusal");
    assert!(
        rejection.message.contains(fragment),
        "{}",
        rejection.message
    );
}

#[test]
fn a_good_request_passes() {
    check(&headers(), &good(), &history()).expect("no refusal");
}

#[test]
fn requests_that_the_service_rejects_are_refused() {
    refused(|body| body["agent_id"] = "ag_1".into(), "either");
    refused(|body| body["store"] = true.into(), "nothing is stored");
    refused(|body| body["messages"] = json!([]), "unexpected");
    refused(
        |body| body["inputs"][3]["tool_call_id"] = "x".into(),
        "no call waits",
    );
    refused(
        |body| body["inputs"][3]["is_error"] = true.into(),
        "unexpected",
    );
    refused(
        |body| body["inputs"][3]["result"] = json!(["a"]),
        "should be a string",
    );
    refused(|body| body["inputs"][1]["model"] = Value::Null, "null");
    refused(
        |body| body["inputs"][1]["content"] = "I stay.".into(),
        "a response of this model is missing",
    );
    refused(
        |body| body["inputs"][0]["type"] = "message".into(),
        "tag 'message'",
    );
    refused(
        |body| {
            body["inputs"].as_array_mut().expect("a list").pop();
        },
        "without a result",
    );
}
