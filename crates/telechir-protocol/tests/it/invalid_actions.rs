//! An invalid member of an action is named in an error and never ignored.

use serde_json::{Value, json};
use telechir_protocol::{Action, ComputerCall, Point, Region, ShellCall, Target};

use crate::refusal;

#[test]
fn a_malformed_member_is_an_error_that_names_it() {
    let table: &[(Value, &str)] = &[
        (
            json!({"action": "click", "coordinate": "somewhere"}),
            r#"`coordinate` is "somewhere""#,
        ),
        (
            json!({"action": "click", "coordinate": [1]}),
            "`coordinate` is [1]",
        ),
        (
            json!({"action": "click", "coordinate": [1, 2, 3]}),
            "`coordinate`",
        ),
        (
            json!({"action": "click", "coordinate": {"x": 1}}),
            "`coordinate`",
        ),
        (
            json!({"action": "click", "coordinate": {"x": 1, "y": 2, "z": 3}}),
            "`coordinate`",
        ),
        (
            json!({"action": "click", "coordinate": {"label": -1}}),
            "`coordinate`",
        ),
        (json!({"action": "click", "x": 4}), "`y` is missing"),
        (json!({"action": "click", "label": "one"}), "`label`"),
        (json!({"action": "click", "button": "lefty"}), "`button`"),
        (
            json!({"action": "right_click", "button": "left"}),
            "`button` is left",
        ),
        (
            json!({"action": "double_click", "count": 3}),
            "`count` is 3",
        ),
        (
            json!({"action": "click", "count": 1, "clicks": 2}),
            "`clicks` conflicts with another member",
        ),
        (
            json!({"action": "click", "xy": [1, 2], "coordinate": [1, 2], "path": 3, "x": 1}),
            "`xy`",
        ),
        (json!({"action": "click", "count": 4}), "`count` is 4"),
        (
            json!({"action": "click", "modifiers": ["a"]}),
            "`modifiers`",
        ),
        (json!({"action": "move"}), "`coordinate` is missing"),
        (json!({"action": "drag", "path": []}), "`path`"),
        (
            json!({"action": "drag", "coordinate": [1, 2]}),
            "`end_coordinate` is missing",
        ),
        (json!({"action": "drag", "path": [[1, 2], [3]]}), "`path`"),
        (json!({"action": "scroll"}), "`scroll_amount` is missing"),
        (
            json!({"action": "scroll", "direction": "sideways", "amount": 1}),
            "`direction`",
        ),
        (
            json!({"action": "scroll", "direction": "up", "amount": -1}),
            "negative",
        ),
        (
            json!({"action": "scroll", "magnitude": 1}),
            "`direction` is missing",
        ),
        (
            json!({"action": "scroll", "dx": 1, "dy": 1, "unit": "miles"}),
            "`unit`",
        ),
        (json!({"action": "type"}), "`text` is missing"),
        (json!({"action": "type", "text": 5}), "`text` is 5"),
        (json!({"action": "key"}), "`key` is missing"),
        (json!({"action": "key", "key": "ctrl+"}), "`key`"),
        (json!({"action": "key", "keys": []}), "`keys`"),
        (
            json!({"action": "key", "key": "a", "repeat": 0}),
            "`repeat`",
        ),
        (
            json!({"action": "hold_key", "key": "a"}),
            "`duration` is missing",
        ),
        (json!({"action": "wait", "duration": -1}), "`duration`"),
        (json!({"action": "wait", "duration": 1e300}), "`duration`"),
        (json!({"action": "zoom"}), "`region` is missing"),
        (json!({"action": "zoom", "region": [1, 2, 3]}), "`region`"),
        (json!({"action": "navigate"}), "`url` is missing"),
        (
            json!({"action": "form_input", "coordinate": [1, 1]}),
            "`value` is missing",
        ),
        (json!({"action": 5}), "`action` is 5"),
        (json!({"x": 1, "y": 2}), "`action` is missing"),
        (json!({"action": "screenshot", "flash": true}), "`flash`"),
    ];
    for (action, expected) in table {
        let error = refusal::<Action>(action.clone());
        assert!(
            error.contains(expected),
            "{action} has the error {error:?}, not {expected:?}"
        );
        assert!(error.starts_with("read the action"), "{error}");
    }
}

#[test]
fn a_call_names_itself_and_the_action() {
    let call = json!({"call_id": "c7", "actions": [{"action": "screenshot"}, {"action": "move"}]});
    assert_eq!(
        refusal::<ComputerCall>(call),
        "read the computer call c7: read the action move: `coordinate` is missing"
    );
    assert!(refusal::<ComputerCall>(json!({"call_id": "c7"})).contains("it has no action"));
    assert!(refusal::<ComputerCall>(json!({"action": "wait"})).contains("`call_id` is missing"));
    assert!(refusal::<ComputerCall>(json!({"call_id": "c", "actions": [3]})).contains("is 3"));
}

#[test]
fn a_shell_call_names_what_is_wrong() {
    let error = refusal::<ShellCall>(json!({"call_id": "s", "commands": "ls"}));
    assert!(
        error.starts_with("read the shell call: `commands`"),
        "{error}"
    );
    let error = refusal::<ShellCall>(json!({"call_id": "s", "action": "send_text"}));
    assert_eq!(error, "read the shell call: `text` is missing");
}

#[test]
fn an_invalid_point_is_shown_in_its_error() {
    assert!(refusal::<Point>(json!([1, "x"])).contains("is not a point"));
    assert!(
        refusal::<Target>(json!({"label": 1, "colour": "red"})).contains("is not a point like")
    );
    let crooked = json!({"from": [0, 0], "to": {"x": 1, "y": 1, "space": "screen"}});
    assert!(refusal::<Region>(crooked).contains("is not a region"));
}

#[test]
fn a_long_value_is_shown_as_its_beginning() {
    let error = refusal::<Action>(json!({"action": "move", "coordinate": "9".repeat(5_000)}));
    assert!(error.len() < 250, "{} bytes", error.len());
}
