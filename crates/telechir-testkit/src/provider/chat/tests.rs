//! Each check is effective: a valid request passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{Rules, check};
use crate::provider::image::tests::png_base64;

fn headers() -> HeaderMap {
    HeaderMap::from_iter([(
        "authorization".parse().expect("a name"),
        "Bearer k".parse().expect("a value"),
    )])
}

fn history() -> Vec<Vec<Value>> {
    let call = json!({"id": "aB3dE5fG7", "type": "function", "function": {"name": "computer", "arguments": "{}"}});
    vec![vec![
        json!({"role": "assistant", "content": null, "tool_calls": [call], "refusal": null}),
    ]]
}

fn image() -> Value {
    let url = format!("data:image/png;base64,{}", png_base64(4, 3));
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn good(rules: Rules) -> Value {
    let mut turns = history()[0][0].clone();
    turns
        .as_object_mut()
        .expect("an object")
        .shift_remove("refusal");
    let fragment = json!({"role": "tool", "tool_call_id": "aB3dE5fG7", "content": "Done."});
    let normalized = json!({"role": "user", "content": [{"type": "text", "text": "see"}, image()]});
    let mut messages = vec![json!({"role": "user", "content": "go"}), turns];
    match rules {
        Rules::Words => messages.extend([fragment, normalized]),
        Rules::Images => messages.push(json!({
            "role": "tool", "tool_call_id": "aB3dE5fG7",
            "content": [{"type": "text", "text": "Done."}, image()],
        })),
        Rules::Mistral => {
            let bridge = json!({"role": "assistant", "content": "I see."});
            messages.extend([fragment, bridge, normalized]);
        }
    }
    json!({"model": "m", "messages": messages, "tools": [
        {"type": "function", "function": {"name": "computer", "parameters": {"type": "object"}}},
    ]})
}

#[track_caller]
fn refused(rules: Rules, change: impl FnOnce(&mut Value), fragment: &str) {
    let mut body = good(rules);
    change(&mut body);
    let rejection = check(rules, &headers(), &body, &history()).expect_err("a refusal");
    assert!(
        rejection.message.contains(fragment),
        "{}",
        rejection.message
    );
}

fn remove(body: &mut Value, location: usize) {
    body["messages"]
        .as_array_mut()
        .expect("a list")
        .remove(location);
}

#[test]
fn a_good_request_passes() {
    for rules in [Rules::Words, Rules::Images, Rules::Mistral] {
        check(rules, &headers(), &good(rules), &history()).expect("no refusal");
    }
}

#[test]
fn a_request_without_a_key_is_refused() {
    let body = good(Rules::Words);
    let rejection =
        check(Rules::Words, &HeaderMap::new(), &body, &history()).expect_err("a refusal");
    assert_eq!(rejection.status, 401);
}

#[test]
fn every_call_needs_exactly_one_immediate_result() {
    let rules = Rules::Words;
    refused(
        rules,
        |body| remove(body, 2),
        "did not have response messages",
    );
    refused(
        rules,
        |body| {
            let again = body["messages"][2].clone();
            body["messages"]
                .as_array_mut()
                .expect("a list")
                .insert(3, again);
        },
        "must be a response",
    );
    refused(
        rules,
        |body| body["messages"][2]["tool_call_id"] = "x".into(),
        "must be a response",
    );
}

#[test]
fn model_messages_must_be_returned() {
    let rules = Rules::Words;
    refused(
        rules,
        |body| {
            body["messages"][1]["tool_calls"][0]["function"]["name"] = "shell".into();
        },
        "a response of this model is missing",
    );
}

#[test]
fn unsupported_fields_and_parts_are_refused() {
    let rules = Rules::Words;
    refused(rules, |body| body["reasoning"] = json!({}), "unexpected");
    refused(
        rules,
        |body| body["messages"][1]["refusal"] = Value::Null,
        "null",
    );
    refused(
        rules,
        |body| body["messages"][0]["content"] = json!([]),
        "too short",
    );
    refused(
        rules,
        |body| body["messages"][2]["content"] = json!([image()]),
        "image_url",
    );
    refused(
        rules,
        |body| body["messages"][2]["name"] = "computer".into(),
        "unexpected",
    );
    refused(
        rules,
        |body| body["messages"][3]["content"][1]["image_url"] = "data:x".into(),
        "object with `url`",
    );
    refused(
        rules,
        |body| {
            body["messages"][3]["content"][1]["image_url"]["url"] =
                "data:image/png;base64,AAAA".into()
        },
        "process image",
    );
    refused(
        rules,
        |body| body["messages"][1]["tool_calls"][0]["function"]["arguments"] = "{".into(),
        "no JSON object",
    );
    refused(
        rules,
        |body| body["tools"][0]["function"]["name"] = "a b".into(),
        "match",
    );
}

#[test]
fn mistral_requires_its_order_ids_and_image_limit() {
    let rules = Rules::Mistral;
    refused(
        rules,
        |body| remove(body, 3),
        "Unexpected role 'user' after role 'tool'",
    );
    refused(
        rules,
        |body| {
            body["messages"][1]["tool_calls"][0]["id"] = "call_1".into();
            body["messages"][2]["tool_call_id"] = "call_1".into();
        },
        "no id that this service takes",
    );
    refused(
        rules,
        |body| {
            let nine = vec![image(); 9];
            body["messages"][4]["content"] = nine.into();
        },
        "Too many images",
    );
    refused(
        rules,
        |body| {
            remove(body, 4);
        },
        "Expected last role",
    );
}
