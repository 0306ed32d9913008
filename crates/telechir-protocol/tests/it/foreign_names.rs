//! An action in another vocabulary means the same, and an unsupported action is an error.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Vocabulary};

use crate::{read, strategies};

const ALL: [Vocabulary; 3] = [
    Vocabulary::ToolCalls,
    Vocabulary::Computer,
    Vocabulary::DesktopTool,
];

fn encoded(action: Value, vocabulary: Vocabulary) -> Result<Value, String> {
    let encoded = read::<Action>(action).in_vocabulary(vocabulary);
    encoded
        .map(Value::Object)
        .map_err(|error| error.to_string())
}

#[test]
fn each_vocabulary_has_its_own_names() {
    let table = [
        (
            json!({"action": "click", "coordinate": [0, 5], "button": "right"}),
            Ok(json!({"type": "right_click", "xy": [0, 5]})),
            Err("express the action click in this vocabulary: the action is not supported"),
            Ok(json!({"action": "right_click", "x": 0, "y": 5})),
        ),
        (
            json!({"action": "key", "key": "ctrl+shift+t"}),
            Ok(json!({"type": "keypress", "keys": ["ctrl", "shift", "t"]})),
            Ok(json!({"type": "key", "key": "ctrl+shift+t"})),
            Ok(json!({"action": "hotkey", "keys": ["ctrl", "shift", "t"]})),
        ),
        (
            json!({"action": "scroll", "dx": 0, "dy": -3}),
            Ok(json!({"type": "scroll", "magnitude": 3, "direction": "up"})),
            Ok(json!({"type": "scroll", "direction": "up", "amount": 3})),
            Ok(json!({"action": "scroll", "direction": "up", "clicks": 3})),
        ),
        (
            json!({"action": "wait", "duration": 200_000}),
            Ok(json!({"type": "wait", "duration": 200.0})),
            Ok(json!({"type": "wait", "duration": 200_000})),
            Err("express the action wait in this vocabulary: the action is not supported"),
        ),
        (
            json!({"action": "click", "coordinate": {"label": 7}}),
            Err(
                "express the action click in this vocabulary: a label, ref or name is not supported",
            ),
            Ok(json!({"type": "click", "label": 7})),
            Err(
                "express the action click in this vocabulary: a label, ref or name is not supported",
            ),
        ),
    ];
    for (action, tool_calls, computer, desktop_tool) in table {
        for (vocabulary, description) in ALL.into_iter().zip([tool_calls, computer, desktop_tool]) {
            let description = description.map_err(str::to_owned);
            assert_eq!(
                encoded(action.clone(), vocabulary),
                description,
                "{vocabulary:?}"
            );
        }
    }
}

#[test]
fn unsupported_parts_are_reported() {
    for action in [
        json!({"action": "click", "coordinate": [1, 2], "modifiers": ["ctrl"]}),
        json!({"action": "click", "coordinate": [0.5, 2]}),
        json!({"action": "click", "coordinate": {"x": 1, "y": 2, "space": "thousandths"}}),
        json!({"action": "type", "text": "a", "submit": true}),
        json!({"action": "key", "key": "a", "repeat": 2}),
        json!({"action": "scroll", "dx": 1, "dy": 1}),
        json!({"action": "drag", "path": [[1, 2], [3, 4]], "duration": 5}),
        json!({"action": "zoom", "region": [0, 0, 1, 1]}),
    ] {
        for vocabulary in ALL {
            assert!(
                encoded(action.clone(), vocabulary).is_err(),
                "{action} as {vocabulary:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn encoded_actions_are_read_back(action in strategies::action()) {
        for vocabulary in ALL {
            if let Ok(description) = action.in_vocabulary(vocabulary) {
                let back = Action::from_json(description.clone());
                prop_assert_eq!(back, Ok((action.clone(), Map::new())), "{:?}", description);
            }
        }
    }
}
