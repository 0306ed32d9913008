//! Each check is effective: a valid request passes, and each invalid change of it is rejected.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use crate::provider::image::tests::png_base64;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(*name, value.parse().expect("a value"));
    }
    map
}

fn good_headers() -> HeaderMap {
    headers(&[("x-api-key", "k"), ("anthropic-version", "2026-10-21")])
}

fn image(width: u32, height: u32) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png_base64(width, height)}})
}

fn call(id: &str, name: &str, family: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": family, "input": {}})
}

fn history() -> Vec<Vec<Value>> {
    vec![vec![
        json!({"type": "thinking", "thinking": "t", "signature": "s"}),
        call("a", "left_click", "computer"),
        call("b", "screenshot", "computer"),
        json!({"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "ls"}}),
        call("d", "list_tabs", "browser"),
    ]]
}

fn state() -> Value {
    json!({"type": "browser_state", "tabs": [{"tab_id": "1", "title": "t", "url": "u", "active": true}]})
}

fn good() -> Value {
    json!({
        "model": "claude-opus-5-5", "max_tokens": 100, "system": "s", "cache_control": {"type": "ephemeral"},
        "tools": [
            {"type": "computer_toolset_20260801"}, {"type": "browser_toolset_20260801"},
            {"type": "bash_20250124", "name": "bash"},
            {"name": "mine", "input_schema": {"type": "object"}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": history()[0]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "toolset_name": "computer", "content": "Clicked."},
                {"type": "tool_result", "tool_use_id": "b", "toolset_name": "computer", "content": [image(40, 30)]},
                {"type": "tool_result", "tool_use_id": "c", "content": "x"},
                {"type": "tool_result", "tool_use_id": "d", "toolset_name": "browser", "content": [state()]},
            ]},
        ],
    })
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Value), fragment: &str) {
    let mut body = good();
    change(&mut body);
    let rejection = super::check(&good_headers(), &body, &history()).expect_err(fragment);
    assert!(
        rejection.message.contains(fragment),
        "{}",
        rejection.message
    );
}

fn results(body: &mut Value) -> &mut Vec<Value> {
    body["messages"][2]["content"]
        .as_array_mut()
        .expect("results")
}

#[test]
fn takes_a_good_request() {
    super::check(&good_headers(), &good(), &history()).expect("good");
}

#[test]
fn refuses_missing_or_unknown_headers() {
    let refused = |pairs: &[(&'static str, &str)], fragment: &str| {
        let rejection = super::check(&headers(pairs), &good(), &history()).expect_err(fragment);
        assert!(
            rejection.message.contains(fragment),
            "{}",
            rejection.message
        );
    };
    refused(
        &[("anthropic-version", "2026-10-21")],
        "x-api-key header is required",
    );
    refused(&[("x-api-key", "k")], "anthropic-version");
    refused(
        &[
            ("x-api-key", "k"),
            ("anthropic-version", "2026-10-21"),
            ("anthropic-beta", "made-up-2026-01-01"),
        ],
        "anthropic-beta",
    );
}

#[test]
fn refuses_sampling_members_only_under_the_new_version() {
    refused(
        |body| body["temperature"] = json!(0.5),
        "temperature: Extra inputs",
    );
    let mut body = good();
    body["temperature"] = json!(0.5);
    let old = headers(&[("x-api-key", "k"), ("anthropic-version", "2023-06-01")]);
    super::check(&old, &body, &history()).expect("the old version accepts it");
}

#[test]
fn refuses_unknown_and_beta_members() {
    refused(|body| body["input"] = json!([]), "input: Extra inputs");
    refused(
        |body| body["context_management"] = json!({}),
        "context_management: Extra inputs",
    );
    refused(
        |body| body["thinking"] = json!({"type": "adaptive", "block_binding": {}}),
        "block_binding",
    );
    refused(|body| body["max_tokens"] = json!(0), "max_tokens");
}

#[test]
fn refuses_invalid_tool_definitions() {
    refused(
        |body| body["tools"][0]["display_width_px"] = json!(1),
        "display_width_px: Extra inputs",
    );
    refused(
        |body| body["tools"][0]["name"] = json!("computer"),
        "name: Extra inputs",
    );
    refused(
        |body| body["tools"][0]["configs"] = json!({"fly": {}}),
        "configs",
    );
    refused(|body| body["tools"][2]["name"] = json!("shell"), "name");
    refused(|body| body["tools"][3]["name"] = json!("browser"), "unique");
    refused(
        |body| body["tools"][3]["input_schema"] = json!({}),
        "input_schema",
    );
    refused(
        |body| body["tools"][3]["type"] = json!("computer_20991231"),
        "does not support tool types",
    );
    let old = json!({"type": "computer_20250124", "name": "computer", "display_width_px": 9, "display_height_px": 9});
    refused(
        |body| body["tools"][0] = old.clone(),
        "does not support tool types: computer_20250124",
    );
    refused(
        |body| {
            body["model"] = json!("claude-sonnet-4-5");
            body["tools"] = json!([old]);
        },
        "anthropic-beta header computer-use-2025-01-24",
    );
}

#[test]
fn refuses_calls_that_are_not_answered_exactly_once() {
    refused(
        |body| drop(results(body).pop()),
        "were found without `tool_result` blocks",
    );
    refused(
        |body| drop(body["messages"].as_array_mut().map(Vec::pop)),
        "were found without `tool_result` blocks",
    );
    refused(
        |body| {
            let twice = results(body)[0].clone();
            results(body).push(twice);
        },
        "single result",
    );
    refused(
        |body| results(body)[0]["tool_use_id"] = json!("zz"),
        "unexpected `tool_use_id`",
    );
    refused(
        |body| results(body).insert(0, json!({"type": "text", "text": "hi"})),
        "must come first",
    );
}

#[test]
fn refuses_malformed_results() {
    refused(
        |body| results(body)[0]["toolset_name"] = json!("browser"),
        "toolset_name",
    );
    refused(
        |body| results(body)[2]["toolset_name"] = json!("computer"),
        "toolset_name",
    );
    refused(
        |body| results(body)[0] = json!({"type": "tool_result", "tool_use_id": "a", "toolset_name": "computer", "is_error": true}),
        "content cannot be empty",
    );
    refused(
        |body| results(body)[0]["content"] = json!([{"type": "document"}]),
        "type",
    );
    refused(
        |body| results(body)[1]["content"] = json!("no image"),
        "must hold an image",
    );
    refused(
        |body| results(body)[3]["content"] = json!("tabs"),
        "exactly one browser_state",
    );
    refused(
        |body| results(body)[3]["content"][0]["tabs"][0]["active"] = json!(false),
        "exactly one tab must be active",
    );
    refused(
        |body| results(body)[3]["content"][0]["state_changes"] = json!([]),
        "state_changes",
    );
}

#[test]
fn refuses_invalid_and_oversized_images() {
    refused(
        |body| results(body)[1]["content"][0]["source"]["data"] = json!("AAAA"),
        "could not process image",
    );
    refused(
        |body| results(body)[1]["content"][0]["source"]["media_type"] = json!("image/bmp"),
        "media_type",
    );
    refused(
        |body| results(body)[1]["content"][0] = image(2600, 20),
        "too large",
    );
    refused(
        |body| {
            let wide: Vec<Value> = (0..21).map(|_| image(2100, 2)).collect();
            results(body)[1]["content"] = json!(wide);
        },
        "many-image",
    );
}

#[test]
fn refuses_a_batch_that_continued_after_a_failure() {
    let fail = |body: &mut Value| {
        results(body)[0]["is_error"] = json!(true);
    };
    refused(
        fail,
        "must say exactly: Not executed: an earlier computer action in this turn failed.",
    );
    let mut body = good();
    fail(&mut body);
    results(&mut body)[1] = json!({
        "type": "tool_result", "tool_use_id": "b", "toolset_name": "computer", "is_error": true,
        "content": "Not executed: an earlier computer action in this turn failed.",
    });
    super::check(&good_headers(), &body, &history()).expect("the fixed sentence");
}

#[test]
fn refuses_changed_or_missing_model_content() {
    refused(
        |body| body["messages"][1]["content"][0]["signature"] = json!("other"),
        "differs from this model's response",
    );
    let forget = |body: &mut Value| {
        body["messages"]
            .as_array_mut()
            .expect("messages")
            .truncate(1)
    };
    refused(forget, "missing from the conversation");
}

#[test]
fn refuses_a_fifth_cache_mark() {
    refused(
        |body| {
            for result in results(body) {
                result["cache_control"] = json!({"type": "ephemeral"});
            }
        },
        "maximum of 4 blocks",
    );
}
