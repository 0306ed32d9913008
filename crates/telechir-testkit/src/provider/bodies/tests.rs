//! Each check is effective: a valid body passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{check_invoke, check_messages, model_of};
use crate::provider::image::tests::png_base64;

const PATH: &str = "/model/us.anthropic.claude-opus-4-6-v1%3A0/invoke";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        let name = name.parse().expect("a name");
        (name, value.parse().expect("a value"))
    });
    HeaderMap::from_iter(pairs)
}

fn history() -> Vec<Vec<Value>> {
    let input = json!({"action": "screenshot"});
    vec![vec![
        json!({"type": "tool_use", "id": "a", "name": "computer", "input": input}),
    ]]
}

fn body() -> Value {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png_base64(40, 30)}});
    json!({
        "anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["computer-use-2025-11-24"], "max_tokens": 100,
        "tools": [{"type": "computer_20251124", "name": "computer", "display_width_px": 64, "display_height_px": 48}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": history()[0]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [image]}]},
        ],
    })
}

/// The error message for the body after a change.
fn refused(change: impl FnOnce(&mut Value)) -> Option<String> {
    let mut body = body();
    change(&mut body);
    let headers = headers(&[("authorization", "Bearer key")]);
    check_invoke(PATH, &headers, &body, &history())
        .err()
        .map(|rejection| rejection.message)
}

type Change = Box<dyn FnOnce(&mut Value)>;

#[test]
fn takes_a_good_body() {
    assert_eq!(refused(|_| ()), None);
    assert_eq!(model_of(PATH), Some("us.anthropic.claude-opus-4-6-v1%3A0"));
    assert_eq!(model_of("/model/a:0/invoke"), None);
    assert_eq!(model_of("/model/a/converse"), None);
}

#[test]
fn refuses_requests_that_the_service_rejects() {
    let image = "/messages/2/content/0/content/0";
    let set = |pointer: String, value: Value| {
        move |body: &mut Value| *body.pointer_mut(&pointer).expect("there") = value
    };
    let add = |name: &'static str, value: Value| {
        move |body: &mut Value| {
            body[name] = value;
        }
    };
    let without = |name: &'static str| {
        move |body: &mut Value| {
            body.as_object_mut().expect("an object").shift_remove(name);
        }
    };
    let changes: Vec<(Change, &str)> = vec![
        (Box::new(add("model", json!("m"))), "[model]"),
        (Box::new(add("stream", json!(false))), "[stream]"),
        (Box::new(add("cache_control", json!({}))), "[cache_control]"),
        (Box::new(without("anthropic_version")), "anthropic_version"),
        (
            Box::new(without("anthropic_beta")),
            "computer-use-2025-11-24",
        ),
        (
            Box::new(add("anthropic_beta", json!("computer-use-2025-11-24"))),
            "list",
        ),
        (
            Box::new(add("tools", json!([{"type": "computer_toolset_20260801"}]))),
            "computer_toolset_20260801",
        ),
        (
            Box::new(add(
                "tools",
                json!([{"type": "computer_20250124", "name": "computer"}]),
            )),
            "does not support",
        ),
        (
            Box::new(set(
                format!("{image}/source"),
                json!({"type": "url", "url": "https://a.test/b.png"}),
            )),
            "'url'",
        ),
        (
            Box::new(set(
                format!("{image}/source/data"),
                json!("A".repeat(super::MAX_BASE64_BYTES + 1)),
            )),
            "5 MB",
        ),
        (
            Box::new(move |body| {
                let image = body.pointer_mut(image).expect("there");
                image["transformations"] = json!({"oversized_image": "error"});
            }),
            "transformations",
        ),
        (
            Box::new(set(
                "/messages/2/content/0/tool_use_id".to_owned(),
                json!("b"),
            )),
            "tool_use",
        ),
    ];
    for (change, fragment) in changes {
        let history = refused(change);
        assert!(
            history
                .as_ref()
                .is_some_and(|history| history.contains(fragment)),
            "{fragment}: {history:?}"
        );
    }
}

#[test]
fn the_messages_endpoint_accepts_toolsets_and_a_key_in_its_own_header() {
    let good = json!({
        "model": "claude-opus-5-5", "max_tokens": 100, "tools": [{"type": "computer_toolset_20260801"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
    });
    let version = ("anthropic-version", "2026-10-21");
    let own_headers = headers(&[("authorization", "Bearer key"), version]);
    assert_eq!(check_messages(&own_headers, &good, &[]), Ok(()));
    let theirs = headers(&[("x-api-key", "key"), version]);
    let rejection = check_messages(&theirs, &good, &[]).expect_err("no key");
    assert_eq!(rejection.status, 401);
    let mut by_address = good;
    by_address["messages"][0]["content"][0] =
        json!({"type": "image", "source": {"type": "url", "url": "https://a.test/b.png"}});
    let rejection = check_messages(&own_headers, &by_address, &[]).expect_err("an address");
    assert!(rejection.message.contains("'url'"), "{}", rejection.message);
}
