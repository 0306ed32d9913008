//! The Converse checks reject what the service rejects.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{check, model_of};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAEUlEQVR42mNwaDiAFTEMpAQAAdFIAedY0+sAAAAASUVORK5CYII=";

fn request() -> Value {
    json!({
        "messages": [
            {"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "computer", "input": {}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"image": {"format": "png", "source": {"bytes": PNG}}}]}},
                {"cachePoint": {"type": "default"}},
            ]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
        "additionalModelRequestFields": {
            "tools": [{"type": "computer_20251124", "name": "computer", "display_width_px": 64, "display_height_px": 48}],
            "anthropic_beta": ["computer-use-2025-11-24"],
        },
    })
}

fn history() -> Vec<Vec<Value>> {
    let call =
        json!({"toolUse": {"toolUseId": "a", "name": "computer", "input": {}, "type": "tool_use"}});
    vec![vec![call]]
}

/// The error message for the request after a change.
fn refused(change: impl FnOnce(&mut Value)) -> Option<String> {
    let headers = HeaderMap::from_iter([(
        "authorization".parse().expect("a name"),
        "Bearer key".parse().expect("a value"),
    )]);
    let mut body = request();
    change(&mut body);
    check(&headers, &body, &history())
        .err()
        .map(|rejection| rejection.message)
}

#[test]
fn takes_a_good_request() {
    assert_eq!(refused(|_| ()), None);
    assert_eq!(model_of("/model/a.b%3A0/converse"), Some("a.b%3A0"));
    assert_eq!(model_of("/model/a:0/converse"), None);
    assert_eq!(model_of("/model/a/invoke"), None);
}

#[test]
fn refuses_requests_that_the_service_rejects() {
    let result = "/messages/2/content/0/toolResult";
    let set = |pointer: &'static str, value: Value| {
        move |body: &mut Value| *body.pointer_mut(pointer).expect("there") = value
    };
    let cases: Vec<(&str, Option<String>)> = vec![
        (
            "toolUseId",
            refused(set("/messages/1/content/0/toolUse/toolUseId", json!("a b"))),
        ),
        (
            "name",
            refused(set("/messages/1/content/0/toolUse/name", json!("a.b"))),
        ),
        (
            "blank",
            refused(set("/messages/0/content/0/text", json!(" "))),
        ),
        (
            "union",
            refused(set(
                "/messages/0/content/0",
                json!({"text": "a", "image": {}}),
            )),
        ),
        (
            "Expected toolResult",
            refused(set("/messages/2/content", json!([{"text": "no"}]))),
        ),
        ("alternate", refused(set("/messages/1/role", json!("user")))),
        (
            "Unknown parameter",
            refused(|body| body["model"] = "m".into()),
        ),
        (
            "toolConfig",
            refused(|body| {
                drop(
                    body.as_object_mut()
                        .expect("an object")
                        .remove("toolConfig"),
                )
            }),
        ),
        (
            "computer-use-2025-11-24",
            refused(set(
                "/additionalModelRequestFields/anthropic_beta",
                json!([]),
            )),
        ),
        (
            "unique",
            refused(set("/toolConfig/tools/0/toolSpec/name", json!("computer"))),
        ),
        (
            "expected tags",
            refused(set(
                "/additionalModelRequestFields/tools/0/type",
                json!("computer_toolset_20260801"),
            )),
        ),
        (
            "format",
            refused(set(
                "/messages/2/content/0/toolResult/content/0/image/format",
                json!("bmp"),
            )),
        ),
        (
            "should be one of success",
            refused(|body| body.pointer_mut(result).expect("there")["status"] = "bad".into()),
        ),
        (
            "type",
            refused(|body| {
                body["messages"][1]["content"][0]["toolUse"]["type"] = "tool_use".into()
            }),
        ),
        (
            "differs from this model's response",
            refused(|body| body["messages"][1]["content"][0]["toolUse"]["input"] = json!({"x": 1})),
        ),
    ];
    for (wanted, found) in cases {
        let found = found.unwrap_or_default();
        assert!(found.contains(wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn requires_a_key() {
    let rejection = check(&HeaderMap::new(), &request(), &history()).expect_err("no key");
    assert_eq!(rejection.status, 401);
}
