//! Each check is effective: a valid request passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::provider::image::tests::png_base64;

fn headers() -> HeaderMap {
    let name = "x-goog-api-key".parse().expect("a name");
    HeaderMap::from_iter([(name, "k".parse().expect("a value"))])
}

fn decision() -> Value {
    json!({"decision": "require_confirmation", "explanation": "Buying."})
}

fn history() -> Vec<Vec<Value>> {
    vec![vec![
        json!({"text": "I buy it.", "thought": true}),
        json!({"functionCall": {"id": "c1", "name": "click", "args": {"x": 1, "y": 2, "safety_decision": decision()}}, "thoughtSignature": "c2ln"}),
        json!({"functionCall": {"id": "c2", "name": "shell", "args": {"command": "ls"}}}),
    ]]
}

fn good() -> Value {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": png_base64(40, 30)}});
    json!({
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": history()[0]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "click", "response": {"url": "", "safety_acknowledgement": "true"}, "parts": [image]}},
                {"functionResponse": {"id": "c2", "name": "shell", "response": {"output": "a"}}},
            ]},
        ],
        "tools": [
            {"computerUse": {"environment": "ENVIRONMENT_DESKTOP"}},
            {"functionDeclarations": [{"name": "shell", "parametersJsonSchema": {"type": "object", "properties": {"command": {"type": "string"}}}}]},
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

fn step_history() -> Vec<Vec<Value>> {
    vec![vec![
        json!({"type": "thought", "signature": "c2ln"}),
        json!({"type": "function_call", "id": "c1", "name": "click", "arguments": {"x": 1, "y": 2, "safety_decision": decision()}}),
        json!({"type": "function_call", "id": "c2", "name": "shell", "arguments": {"command": "ls"}}),
    ]]
}

fn good_steps() -> Value {
    let image = json!({"type": "image", "mime_type": "image/png", "data": png_base64(40, 30)});
    let mut input =
        vec![json!({"type": "user_input", "content": [{"type": "text", "text": "go"}]})];
    input.extend(step_history().concat());
    input.push(json!({"type": "function_result", "call_id": "c1", "name": "click", "safety_acknowledgement": true,
        "result": [{"type": "text", "text": "{\"url\":\"\",\"safety_acknowledgement\":true}"}, image]}));
    input.push(json!({"type": "function_result", "call_id": "c2", "name": "shell", "result": [{"type": "text", "text": "a"}]}));
    json!({
        "model": "gemini-3.8-flash", "store": false, "input": input,
        "tools": [{"type": "computer_use", "environment": "desktop"}, {"type": "function", "name": "shell"}],
    })
}

#[track_caller]
fn refused_steps(change: impl FnOnce(&mut Value), fragment: &str) {
    let mut body = good_steps();
    change(&mut body);
    let rejection = super::check_steps(&headers(), &body, &step_history()).expect_err(fragment);
    assert!(
        rejection.message.contains(fragment),
        "{}",
        rejection.message
    );
}

#[test]
fn takes_good_requests() {
    super::check(&headers(), &good(), &history()).expect("good");
    super::check_steps(&headers(), &good_steps(), &step_history()).expect("good");
    let texts = super::results(&good());
    assert_eq!(texts.get("c2").map(String::as_str), Some("a"));
    assert_eq!(super::step_results(&good_steps()).len(), 2);
}

#[test]
fn refuses_a_request_without_a_key() {
    let rejection = super::check(&HeaderMap::new(), &good(), &history()).expect_err("no key");
    assert_eq!(rejection.status, 401);
}

#[test]
fn recognizes_its_path() {
    assert!(super::is_path(
        "/v1beta/models/gemini-3.8-flash:generateContent"
    ));
    for other in [
        "/v1beta/models/:generateContent",
        "/v1/messages",
        "/v1beta/models/a/b:generateContent",
    ] {
        assert!(!super::is_path(other), "{other}");
    }
}

#[test]
fn refuses_requests_that_the_api_rejects() {
    refused(
        |body| body["tools"][0]["type"] = "computer".into(),
        "Unknown name \"type\"",
    );
    refused(
        |body| body["tools"][0]["computerUse"]["environment"] = "DESKTOP".into(),
        "found 'DESKTOP'",
    );
    refused(
        |body| {
            body["tools"][1]["functionDeclarations"][0]["parametersJsonSchema"]["properties"] =
                json!({})
        },
        "non-empty for OBJECT",
    );
    refused(
        |body| body["tools"][0]["googleSearch"] = json!({}),
        "include_server_side_tool_invocations",
    );
    refused(
        |body| body["contents"][0]["role"] = "system".into(),
        "valid role",
    );
    refused(
        |body| body["contents"][0]["parts"] = json!([]),
        "must not be empty",
    );
    refused(
        |body| body["contents"][1]["parts"][1]["thoughtSignature"] = "eHh4".into(),
        "was changed",
    );
    refused(
        |body| {
            body["contents"][2]["parts"]
                .as_array_mut()
                .expect("parts")
                .pop();
        },
        "equal to the number",
    );
    refused(
        |body| body["contents"][2]["parts"][0]["functionResponse"]["name"] = "type".into(),
        "matched to a Function Response by name",
    );
    refused(
        |body| body["contents"][2]["parts"][0]["functionResponse"]["id"] = "c9".into(),
        "another id",
    );
    refused(
        |body| {
            body["contents"][2]["parts"][0]["functionResponse"]["response"] =
                json!({"safety_acknowledgement": true})
        },
        "URL of the web page",
    );
    refused(
        |body| body["contents"][2]["parts"][0]["functionResponse"]["response"] = json!({"url": ""}),
        "must be acknowledged",
    );
    refused(
        |body| {
            body["contents"][2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["data"] =
                "AAAA".into()
        },
        "Unable to process",
    );
    refused(
        |body| {
            body["contents"]
                .as_array_mut()
                .expect("contents")
                .swap(1, 2);
        },
        "immediately after",
    );
    let mut unsigned = history();
    unsigned[0][1]
        .as_object_mut()
        .expect("a part")
        .shift_remove("thoughtSignature");
    let mut body = good();
    body["contents"][1]["parts"] = json!(unsigned[0]);
    let rejection = super::check(&headers(), &body, &unsigned).expect_err("unsigned");
    assert!(
        rejection.message.contains("thought_signature"),
        "{}",
        rejection.message
    );
}

#[test]
fn refuses_steps_that_the_api_rejects() {
    refused_steps(|body| body["store"] = true.into(), "nothing is stored");
    refused_steps(
        |body| body["input"][1]["signature"] = "eHh4".into(),
        "were changed",
    );
    refused_steps(
        |body| {
            body["input"].as_array_mut().expect("steps").pop();
        },
        "has no function_result",
    );
    refused_steps(
        |body| {
            body["input"].as_array_mut().expect("steps").swap(4, 5);
        },
        "comes where c1 is due",
    );
    refused_steps(
        |body| {
            body["input"][4]
                .as_object_mut()
                .expect("a step")
                .shift_remove("safety_acknowledgement");
        },
        "must be acknowledged",
    );
    refused_steps(
        |body| body["input"][4]["result"][0]["text"] = "{}".into(),
        "URL of the web page",
    );
    refused_steps(
        |body| body["input"][5]["extra"] = 1.into(),
        "Unknown name \"extra\"",
    );
    refused_steps(
        |body| body["tools"][0]["environment"] = "ENVIRONMENT_DESKTOP".into(),
        "found 'ENVIRONMENT_DESKTOP'",
    );
}
