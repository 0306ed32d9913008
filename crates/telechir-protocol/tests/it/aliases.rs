//! The names of other vocabularies mean the neutral actions.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, ActionKind, Button, ClickCount, Content, Target, action_aliases, normalize_action_type,
};

use crate::{read, written};

/// Pairs of input and expected neutral JSON.
fn check(table: &[(Value, Value)]) {
    for (foreign, neutral) in table {
        let action: Action = read(foreign.clone());
        assert_eq!(written(&action), *neutral, "read {foreign}");
        assert_eq!(
            read::<Action>(neutral.clone()),
            action,
            "read back {neutral}"
        );
    }
}

#[test]
fn the_eleven_names_of_the_decision_record_are_neutral() {
    check(&[
        (
            json!({"action": "click", "coordinate": [0, 0]}),
            json!({"action": "click", "coordinate": [0, 0], "button": "left"}),
        ),
        (
            json!({"action": "click", "coordinate": [5, 6], "button": "right"}),
            json!({"action": "click", "coordinate": [5, 6], "button": "right"}),
        ),
        (
            json!({"action": "double_click"}),
            json!({"action": "double_click", "button": "left"}),
        ),
        (
            json!({"action": "triple_click"}),
            json!({"action": "triple_click", "button": "left"}),
        ),
        (
            json!({"action": "move", "coordinate": [0.5, 2]}),
            json!({"action": "move", "coordinate": [0.5, 2]}),
        ),
        (
            json!({"action": "drag", "coordinate": [1, 2], "end_coordinate": [3, 4]}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left"}),
        ),
        (
            json!({"action": "type", "text": ""}),
            json!({"action": "type", "text": ""}),
        ),
        (
            json!({"action": "key", "key": "ctrl+c"}),
            json!({"action": "key", "key": "ctrl+c"}),
        ),
        (
            json!({"action": "screenshot"}),
            json!({"action": "screenshot"}),
        ),
        (
            json!({"action": "scroll", "coordinate": [1, 1], "scroll_amount": -3,
                "scroll_direction": "vertical"}),
            json!({"action": "scroll", "coordinate": [1, 1], "dx": 0, "dy": -3, "unit": "clicks"}),
        ),
        (
            json!({"action": "scroll", "scroll_amount": 2, "scroll_direction": "horizontal"}),
            json!({"action": "scroll", "dx": 2, "dy": 0, "unit": "clicks"}),
        ),
        (
            json!({"action": "wait", "duration": 2}),
            json!({"action": "wait", "duration": 2}),
        ),
        (json!({"action": "wait"}), json!({"action": "wait"})),
        (
            json!({"action": "zoom", "region": [0, 0, 10, 20]}),
            json!({"action": "zoom", "region": [0, 0, 10, 20]}),
        ),
    ]);
}

#[test]
fn the_eighteen_classes_are_read_by_type_and_by_class() {
    let table = [
        (
            "left_mouse_down",
            "CULeftMouseDown",
            json!({"xy": [1, 2]}),
            json!({"action": "mouse_down", "coordinate": [1, 2], "button": "left"}),
        ),
        (
            "left_mouse_up",
            "CULeftMouseUp",
            json!({"xy": null}),
            json!({"action": "mouse_up", "button": "left"}),
        ),
        (
            "left_mouse_click",
            "CULeftMouseClick",
            json!({"xy": [0, 0]}),
            json!({"action": "click", "coordinate": [0, 0], "button": "left"}),
        ),
        (
            "left_mouse_double_click",
            "CULeftMouseDoubleClick",
            json!({"xy": [1, 2]}),
            json!({"action": "double_click", "coordinate": [1, 2], "button": "left"}),
        ),
        (
            "left_mouse_triple_click",
            "CULeftMouseTripleClick",
            json!({"xy": [1, 2]}),
            json!({"action": "triple_click", "coordinate": [1, 2], "button": "left"}),
        ),
        (
            "middle_click",
            "CUMiddleClick",
            json!({"xy": [1, 2]}),
            json!({"action": "click", "coordinate": [1, 2], "button": "middle"}),
        ),
        (
            "right_click",
            "CURightClick",
            json!({"xy": [1, 2]}),
            json!({"action": "click", "coordinate": [1, 2], "button": "right"}),
        ),
        (
            "back_click",
            "CUBackClick",
            json!({}),
            json!({"action": "click", "button": "back"}),
        ),
        (
            "forward_click",
            "CUForwardClick",
            json!({}),
            json!({"action": "click", "button": "forward"}),
        ),
        (
            "drag",
            "CUDrag",
            json!({"xy": [[1, 2], [3, 4], [5, 6]]}),
            json!({"action": "drag", "path": [[1, 2], [3, 4], [5, 6]], "button": "left"}),
        ),
        (
            "drag",
            "CUDrag",
            json!({"xy": [[5, 6]]}),
            json!({"action": "drag", "path": [[5, 6]], "button": "left"}),
        ),
        (
            "keypress",
            "CUKeypress",
            json!({"keys": ["CTRL", "c"]}),
            json!({"action": "key", "key": "ctrl+c"}),
        ),
        (
            "keypress_hold",
            "CUKeypressHold",
            json!({"keys": ["a"], "duration": 2}),
            json!({"action": "hold_key", "key": "a", "duration": 2000}),
        ),
        (
            "move",
            "CUMove",
            json!({"xy": [1, 2]}),
            json!({"action": "move", "coordinate": [1, 2]}),
        ),
        (
            "screenshot",
            "CUScreenshot",
            json!({}),
            json!({"action": "screenshot"}),
        ),
        (
            "scroll",
            "CUScroll",
            json!({"start_xy": [1, 2], "distance_xy": [0, -30]}),
            json!({"action": "scroll", "coordinate": [1, 2], "dx": 0, "dy": -30, "unit": "pixels"}),
        ),
        (
            "scroll",
            "CUScroll",
            json!({"magnitude": 2.5, "direction": "left"}),
            json!({"action": "scroll", "dx": -2.5, "dy": 0, "unit": "clicks"}),
        ),
        (
            "type",
            "CUType",
            json!({"text": "hi"}),
            json!({"action": "type", "text": "hi"}),
        ),
        (
            "wait",
            "CUWait",
            json!({"duration": 1.5}),
            json!({"action": "wait", "duration": 1500}),
        ),
        (
            "wait",
            "CUWait",
            json!({"duration": 2}),
            json!({"action": "wait", "duration": 2000}),
        ),
        (
            "cursor_position",
            "CUCursorPosition",
            json!({}),
            json!({"action": "cursor_position"}),
        ),
    ];
    for (name, class, members, neutral) in table {
        for name in [name, class] {
            let mut foreign = members.clone();
            foreign["type"] = name.into();
            check(&[(foreign, neutral.clone())]);
        }
    }
}

#[test]
fn the_small_computer_packages_strings_are_read() {
    check(&[
        (
            json!({"action": "left_click", "coordinate": "512,384"}),
            json!({"action": "click", "coordinate": [512, 384], "button": "left"}),
        ),
        (
            json!({"action": "click", "coordinate": "[5, 6.5]"}),
            json!({"action": "click", "coordinate": [5, 6.5], "button": "left"}),
        ),
        (
            json!({"action": "double_click", "label": "7"}),
            json!({"action": "double_click", "coordinate": {"label": 7}, "button": "left"}),
        ),
        (
            json!({"type": "click", "x": 0, "y": 3}),
            json!({"action": "click", "coordinate": [0, 3], "button": "left"}),
        ),
        (
            json!({"action": "scroll", "direction": "up", "amount": "4"}),
            json!({"action": "scroll", "dx": 0, "dy": -4, "unit": "clicks"}),
        ),
        (
            json!({"action": "scroll", "scroll_direction": "down"}),
            json!({"action": "scroll", "dx": 0, "dy": 3, "unit": "clicks"}),
        ),
        (
            json!({"type": "wait", "duration": 1000}),
            json!({"action": "wait", "duration": 1000}),
        ),
        (
            json!({"action": "key", "key": "Escape"}),
            json!({"action": "key", "key": "Escape"}),
        ),
        (
            json!({"type": "navigate", "url": "https://example.org"}),
            json!({"action": "navigate", "url": "https://example.org"}),
        ),
    ]);
}

#[test]
fn the_desktop_tools_names_are_read() {
    check(&[
        (
            json!({"action": "click", "coordinates": {"x": 3, "y": 0}}),
            json!({"action": "click", "coordinate": [3, 0], "button": "left"}),
        ),
        (
            json!({"action": "right_click", "x": 3, "y": 4}),
            json!({"action": "click", "coordinate": [3, 4], "button": "right"}),
        ),
        (
            json!({"action": "hotkey", "coordinates": {"keys": ["ctrl", "shift", "t"]}}),
            json!({"action": "key", "key": "ctrl+shift+t"}),
        ),
        (
            json!({"action": "hotkey", "key": "alt+f4"}),
            json!({"action": "key", "key": "alt+F4"}),
        ),
        (
            json!({"action": "press_key", "key": "enter"}),
            json!({"action": "key", "key": "Enter"}),
        ),
        (
            json!({"action": "move_mouse", "x": 3, "y": 4}),
            json!({"action": "move", "coordinate": [3, 4]}),
        ),
        (
            json!({"action": "drag", "coordinates":
                {"start_x": 1, "start_y": 2, "end_x": 3, "end_y": 4}}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left"}),
        ),
        (
            json!({"action": "scroll", "x": 1, "y": 2, "direction": "right", "clicks": 5}),
            json!({"action": "scroll", "coordinate": [1, 2], "dx": 5, "dy": 0, "unit": "clicks"}),
        ),
        (
            json!({"action": "click", "coordinates": {"element_id": 4}}),
            json!({"action": "click", "coordinate": {"label": 4}, "button": "left"}),
        ),
    ]);
}

#[test]
fn provider_names_adopted_by_others_are_read() {
    check(&[
        (
            json!({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left"}),
        ),
        (
            json!({"action": "left_click_drag", "coordinate": [3, 4]}),
            json!({"action": "drag", "path": [[3, 4]], "button": "left"}),
        ),
        (
            json!({"action": "left_click", "coordinate": [3, 4], "text": "shift"}),
            json!({"action": "click", "coordinate": [3, 4], "button": "left",
                "modifiers": ["shift"]}),
        ),
        (
            json!({"action": "key", "text": "Control_L+a"}),
            json!({"action": "key", "key": "ctrl+a"}),
        ),
        (
            json!({"type": "click", "x": 1, "y": 2, "button": "wheel", "keys": ["CTRL"]}),
            json!({"action": "click", "coordinate": [1, 2], "button": "middle",
                "modifiers": ["ctrl"]}),
        ),
        (
            json!({"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left"}),
        ),
        (
            json!({"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 120}),
            json!({"action": "scroll", "coordinate": [1, 2], "dx": 0, "dy": 120,
                "unit": "pixels"}),
        ),
        (json!({"type": "wait"}), json!({"action": "wait"})),
    ]);
}

#[test]
fn a_label_wins_over_a_point_and_the_point_is_retained() {
    let foreign = json!({"type": "computer_call", "call_id": "c",
        "actions": [{"action": "click", "label": 5, "coordinate": [1, 2]}]});
    let neutral = json!({"type": "computer_call", "call_id": "c", "actions": [{"action": "click",
        "coordinate": {"label": 5}, "button": "left", "x": 1, "y": 2}]});
    assert_eq!(written(&read::<Content>(foreign)), neutral);
    assert_eq!(written(&read::<Content>(neutral.clone())), neutral);
}

#[test]
fn normalizing_a_name_loses_nothing() {
    let table = [
        (
            "left_click",
            "click",
            Some(Button::Left),
            Some(ClickCount::Single),
        ),
        (
            "right_click",
            "click",
            Some(Button::Right),
            Some(ClickCount::Single),
        ),
        (
            "middle_click",
            "click",
            Some(Button::Middle),
            Some(ClickCount::Single),
        ),
        ("triple_click", "click", None, Some(ClickCount::Triple)),
        ("left_click_drag", "drag", Some(Button::Left), None),
        ("left_mouse_down", "mouse_down", Some(Button::Left), None),
        ("mouse_move", "move", None, None),
        ("keypress", "key", None, None),
        ("hold_key", "hold_key", None, None),
        ("screenshot", "screenshot", None, None),
        ("unheard_of", "unheard_of", None, None),
    ];
    for (name, action, button, count) in table {
        let encoded = normalize_action_type(name);
        assert_eq!(
            (encoded.action, encoded.button, encoded.count),
            (action, button, count),
            "{name}"
        );
    }
}

#[test]
fn window_and_element_names_of_the_desktop_tool_are_read() {
    check(&[
        (
            json!({"action": "maximize_active_window"}),
            json!({"action": "maximize_window"}),
        ),
        (
            json!({"action": "focus_window", "window": 3}),
            json!({"action": "focus_window", "window": "3"}),
        ),
        (
            json!({"action": "click", "element_name": "Save", "control_type": "button"}),
            json!({"action": "click", "coordinate": {"name": "Save", "role": "button"}, "button": "left"}),
        ),
        (
            json!({"action": "set_value", "automation_id": "user", "window_title": "Log in", "value": "me"}),
            json!({"action": "form_input", "coordinate": {"id": "user", "window": "Log in"}, "value": "me"}),
        ),
        (
            json!({"action": "invoke", "coordinate": {"name": "Bold"}, "name": "toggle"}),
            json!({"action": "invoke", "coordinate": {"name": "Bold"}, "name": "toggle"}),
        ),
        (
            json!({"action": "place_window", "region": "0, 0, 640, 400"}),
            json!({"action": "place_window", "region": [0, 0, 640, 400]}),
        ),
        (
            json!({"action": "capture_monitor", "monitor": 2}),
            json!({"action": "capture_monitor", "monitor": "2"}),
        ),
    ]);
}

#[test]
fn an_element_is_named_by_name_role_or_id() {
    for nothing in [json!({}), json!({"window": "w1"}), json!({"name": 5})] {
        let read = serde_json::from_value::<Target>(nothing.clone());
        assert!(read.is_err(), "{nothing}");
    }
    let named: Target = read(json!({"name": "OK", "role": "button", "window": "Save"}));
    let Target::Named(named) = named else {
        panic!("{named:?}")
    };
    assert_eq!(named.to_string(), r#"button "OK" in the window "Save""#);
}

#[test]
fn kinds_are_read_by_every_name() {
    for kind in ActionKind::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
    }
    for (name, kind) in action_aliases() {
        assert_eq!(name.parse(), Ok(kind), "{name}");
    }
    assert!("unheard_of".parse::<ActionKind>().is_err());
    assert_eq!(written(&ActionKind::MouseDown), json!("mouse_down"));
}
