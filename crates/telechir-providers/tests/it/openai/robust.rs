//! Nothing that can be sent makes the dialect panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DIALECT, written};

/// Words that the dialect looks for, so that arbitrary JSON meets its branches.
const WORDS: &[&str] = &[
    "type",
    "role",
    "content",
    "output",
    "input",
    "data",
    "items",
    "id",
    "call_id",
    "action",
    "actions",
    "commands",
    "command",
    "name",
    "arguments",
    "status",
    "message",
    "reasoning",
    "computer_call",
    "computer_call_output",
    "shell_call",
    "shell_call_output",
    "local_shell_call",
    "apply_patch_call",
    "operation",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_approval_request",
    "summary",
    "text",
    "image_url",
    "click",
    "x",
    "y",
    "keys",
    "path",
    "button",
    "left",
    "browser",
    "completed",
    "instructions",
    "pending_safety_checks",
    "{\"action\":\"click\"}",
    "environment",
    "outcome",
    "error",
    "response",
    "usage",
    "assistant",
];

fn json_values() -> impl Strategy<Value = Value> {
    let word =
        || prop_oneof![8 => prop::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..7)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An item of a known type with arbitrary members.
fn items() -> impl Strategy<Value = Value> {
    (prop::sample::select(WORDS), json_values()).prop_map(|(kind, mut value)| {
        if let Some(members) = value.as_object_mut() {
            members.insert("type".to_owned(), kind.into());
            members.entry("call_id").or_insert_with(|| "c".into());
        }
        value
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in json_values()) {
        let bytes = value.to_string();
        let _refused = DIALECT.decode_response(bytes.as_bytes());
        let _refused = DIALECT.decode_history(bytes.as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _refused = DIALECT.decode_response(&bytes);
        let _refused = DIALECT.decode_history(&bytes);
    }

    #[test]
    fn whatever_can_be_read_comes_back_as_it_was(value in prop::collection::vec(items(), 0..4)) {
        let value = json!(value);
        if let Ok((history, _)) = DIALECT.decode_history(value.to_string().as_bytes()) {
            prop_assert_eq!(written(&history).0, value);
        }
    }

    #[test]
    fn a_history_survives_its_neutral_json(value in prop::collection::vec(items(), 0..4)) {
        let value = json!(value);
        if let Ok((mut history, _)) = DIALECT.decode_history(value.to_string().as_bytes()) {
            let text = serde_json::to_string(&history.messages).map_err(|e| TestCaseError::fail(e.to_string()))?;
            history.messages = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(written(&history).0, value);
        }
    }
}
