//! No input makes the dialect panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use telechir_protocol::{Action, ComputerCall, Content, Message, Role};
use telechir_providers::{Dialect, Envelope, History};

use super::{DIALECT, written};

/// Names that the dialect looks for, so that arbitrary JSON reaches its branches.
const NAMES: &[&str] = &[
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
    let name =
        || prop_oneof![8 => prop::sample::select(NAMES).prop_map(str::to_owned), 1 => ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        name().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..7)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An item of a known type with arbitrary fields.
fn items() -> impl Strategy<Value = Value> {
    (prop::sample::select(NAMES), json_values()).prop_map(|(kind, mut value)| {
        if let Some(members) = value.as_object_mut() {
            members.insert("type".to_owned(), kind.into());
            members.entry("call_id").or_insert_with(|| "c".into());
        }
        value
    })
}

/// Actions of other vocabularies, with arbitrary numbers.
fn actions() -> impl Strategy<Value = Value> {
    let all = |(x, y, n): (i32, f64, u32)| {
        vec![
            json!({"action": "screenshot"}),
            json!({"action": "click", "coordinate": [x, x], "modifiers": ["ctrl", "super"]}),
            json!({"action": "click", "button": "right"}),
            json!({"action": "double_click", "coordinate": [y, x], "button": "middle"}),
            json!({"action": "triple_click", "coordinate": {"label": n}}),
            json!({"action": "double_click", "coordinate": {"x": x, "y": y, "space": "thousandths"}}),
            json!({"action": "move", "coordinate": [y, y]}),
            json!({"action": "drag", "path": [[x, 1], [2, y]], "duration": n}),
            json!({"action": "drag", "path": [[x, x]]}),
            json!({"action": "scroll", "dx": x, "dy": y, "unit": "pixels", "coordinate": [1, 2]}),
            json!({"action": "scroll", "dx": 0, "dy": n, "unit": "clicks"}),
            json!({"action": "type", "text": "a\u{0}é"}),
            json!({"action": "type", "text": "a", "submit": true}),
            json!({"action": "key", "key": "ctrl+shift+KP_Enter"}),
            json!({"action": "key", "key": "a", "repeat": n.max(1)}),
            json!({"action": "wait", "duration": n}),
            json!({"action": "wait"}),
            json!({"action": "hold_key", "key": "F5", "duration": n}),
            json!({"action": "zoom", "region": [x, x, y, y]}),
            json!({"action": "form_input", "ref": "e1", "value": null}),
            json!({"action": "levitate", "height": y}),
        ]
    };
    let numbers = (any::<i32>(), -1.0e6..1.0e6, 0u32..1_000);
    numbers.prop_map(all).prop_flat_map(prop::sample::select)
}

/// A call of these actions by a model of another provider.
fn foreign_history(actions: &[Value]) -> History {
    let read = |value: &Value| serde_json::from_value::<Action>(value.clone()).ok();
    let call = ComputerCall::new("t1", actions.iter().filter_map(read).collect());
    let message = Message::new(Role::Assistant, vec![Content::ComputerCall(call)]);
    History {
        messages: vec![message],
        envelope: Envelope::List,
    }
}

proptest! {
    #[test]
    fn actions_are_written_unchanged_or_reported(
        actions in prop::collection::vec(actions(), 1..4)
    ) {
        let history = foreign_history(&actions);
        let (items, report) = written(&history);
        let read = super::history(&items);
        let calls = |history: &History| -> Vec<Action> {
            let contents = history.messages.iter().flat_map(|message| message.contents.clone());
            let actions = |content| {
                if let Content::ComputerCall(call) = content { call.actions } else { Vec::new() }
            };
            contents.flat_map(actions).collect()
        };
        let is_function = items[0]["type"] == "function_call";
        if report.is_lossless() || is_function {
            prop_assert_eq!(calls(&read), calls(&history));
        }
    }

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

    #[test]
    fn whatever_can_be_read_can_be_offered_to_the_other_dialect(
        value in prop::collection::vec(items(), 0..4)
    ) {
        let other = Dialect::AnthropicMessages;
        if let Ok((history, _)) = DIALECT.decode_history(json!(value).to_string().as_bytes())
            && let Ok((messages, _)) = other.encode_history(&history)
        {
            let again = other.decode_history(messages.to_string().as_bytes());
            prop_assert!(again.is_ok(), "{messages}");
        }
    }
}

#[test]
fn an_action_without_a_name_survives_its_neutral_json() {
    let history = super::history(&json!([
        {"type": "computer_call", "call_id": "c", "action": {}},
        {"type": "computer_call", "call_id": "d", "action": {"type": ""}},
    ]));
    let neutral = serde_json::to_string(&history.messages).unwrap();
    let back: Vec<Message> = serde_json::from_str(&neutral).unwrap();
    assert_eq!(back, history.messages);
}
