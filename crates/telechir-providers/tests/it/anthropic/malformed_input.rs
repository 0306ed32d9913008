//! Malformed input never panics, and JSON of another dialect is recognized.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use telechir_providers::DecodeError;

use super::{DIALECT, history, written};

/// JSON of strings that the dialect uses, so that decoding gets far before it fails.
fn any_json() -> impl Strategy<Value = Value> {
    let strings = prop::sample::select(vec![
        "tool_use",
        "tool_result",
        "text",
        "image",
        "thinking",
        "base64",
        "computer",
        "browser",
        "bash",
        "left_click",
        "screenshot",
        "key",
        "scroll",
        "zoom",
        "wait",
        "memory",
        "view",
        "insert",
        "down",
        "browser_state",
        "user",
        "assistant",
        "toolu_1",
        "toolu_1-1of2",
        "toolu_1-2of2",
        "ctrl+s",
        "ctrl+",
        "[1, 2]",
        "\u{0}",
        "é",
        "[exit code 0]",
        "server_tool_use",
        "code_execution",
        "image/png",
        "iVBORw0KGgo=",
    ]);
    let names = prop::sample::select(vec![
        "type",
        "id",
        "name",
        "toolset_name",
        "input",
        "action",
        "coordinate",
        "text",
        "duration",
        "repeat",
        "region",
        "content",
        "role",
        "messages",
        "tool_use_id",
        "is_error",
        "source",
        "media_type",
        "data",
        "target",
        "x",
        "y",
        "ref",
        "tab_id",
        "url",
        "command",
        "path",
        "tabs",
        "state_changes",
        "scroll_amount",
        "scroll_direction",
        "caller",
        "tools",
        "start_coordinate",
        "actions",
        "stdout",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        strings.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            hash_map(names.clone(), inner, 0..8).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect::<Map<_, _>>(),
                )
            }),
        ]
    })
}

fn try_all(value: &Value) {
    let bytes = value.to_string();
    let _any_outcome = DIALECT.decode_response(bytes.as_bytes());
    if let Ok((history, _)) = DIALECT.decode_history(bytes.as_bytes())
        && let Ok((again, report)) = DIALECT.encode_history(&history)
    {
        assert_eq!(again, *value);
        assert!(report.is_lossless(), "{report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_decoded_or_rejected(bytes in vec(any::<u8>(), 0..200)) {
        let _any_outcome = DIALECT.decode_response(&bytes);
        let _any_outcome = DIALECT.decode_history(&bytes);
    }

    #[test]
    fn any_json_round_trips_or_is_rejected(value in any_json()) {
        try_all(&value);
    }

    #[test]
    fn any_blocks_round_trip(blocks in vec(any_json(), 0..5), answers in vec(any_json(), 0..5)) {
        let objects = |items: &[Value]| items.iter().filter(|item| item.is_object()).cloned().collect::<Vec<_>>();
        try_all(&json!({"role": "assistant", "type": "message", "content": objects(&blocks)}));
        try_all(&json!([
            {"role": "assistant", "content": objects(&blocks)},
            {"role": "user", "content": objects(&answers)},
        ]));
    }

    #[test]
    fn any_input_of_any_call_is_a_call(input in any_json(), name in "[a-z_]{1,12}|left_click|key|scroll|zoom|wait|type", toolset in prop::option::of("computer|browser|other")) {
        let mut block = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
        if let Some(toolset) = toolset {
            block["toolset_name"] = toolset.into();
        }
        prop_assert_eq!(super::turn(&json!([block.clone()])).calls().len(), 1);
        let message = json!([{"role": "assistant", "content": [block]}]);
        prop_assert_eq!(&written(&history(&message)).unwrap().0, &message);
    }
}

#[test]
fn guesses_the_other_dialect() {
    let table = [
        (
            json!({"object": "response", "output": []}),
            Some("openai-responses"),
        ),
        (
            json!({"output": [{"type": "message"}]}),
            Some("openai-responses"),
        ),
        (
            json!({"model": "gpt", "input": "hello"}),
            Some("openai-responses"),
        ),
        (
            json!([{"type": "computer_call", "call_id": "c"}]),
            Some("openai-responses"),
        ),
        (
            json!([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]),
            Some("openai-responses"),
        ),
        (json!({"candidates": []}), Some("google-generate-content")),
        (
            json!({"output": {"message": {}}, "stopReason": "end_turn"}),
            Some("bedrock-converse"),
        ),
        (json!({"hello": 1}), None),
        (json!(7), None),
    ];
    for (value, expected) in table {
        let error = DIALECT
            .decode_history(value.to_string().as_bytes())
            .unwrap_err();
        let DecodeError::WrongShape { looks_like, .. } = error else {
            panic!("{value}: {error}")
        };
        assert_eq!(looks_like, expected, "{value}");
    }
}

#[test]
fn a_request_is_not_a_response() {
    let request = json!({"model": "claude-opus-5-5", "messages": []});
    let error = DIALECT
        .decode_response(request.to_string().as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("found a request"), "{error}");
}

#[test]
fn errors_name_the_location() {
    let table = [
        (
            json!([{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]),
            "the list[1] has an unknown role",
        ),
        (
            json!({"messages": [{"role": "user"}]}),
            "messages[0] needs `content`",
        ),
        (
            json!({"messages": [{"role": "user", "content": [1]}]}),
            "messages[0].content[0] must be an object",
        ),
    ];
    for (value, expected) in table {
        let error = DIALECT
            .decode_history(value.to_string().as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}
