//! Computer calls and results in all their input forms.

use serde_json::json;
use telechir_protocol::{
    Action, Button, CallId, ClickCount, ComputerCall, ComputerResult, Content, Failure,
    FailureKind, Key, Media, Message, Point, Role, SafetySource, Target, ToolCallLike,
};

use crate::{read, written};

fn computer(json: serde_json::Value) -> ComputerCall {
    let Content::ComputerCall(call) = read(json) else {
        panic!("no computer call")
    };
    call
}

#[test]
fn a_call_of_one_action_is_read_from_its_own_members() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "action": "click", "coordinate": [0, 0],
        "button": "right", "intent": "open the menu"
    }));
    let click = Action::Click {
        at: Some(Point::new(0, 0).into()),
        button: Button::Right,
        count: ClickCount::Single,
        modifiers: vec![],
    };
    assert_eq!(call.actions, [click]);
    assert_eq!(call.coordinate(), Some(Point::new(0, 0)));
    assert_eq!(call.end_coordinate(), None);
    assert_eq!(call.intent.as_deref(), Some("open the menu"));
    assert_eq!(call.meta, Default::default());
}

#[test]
fn a_drag_has_the_records_two_coordinates() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "action": "drag", "coordinate": [1, 2],
        "end_coordinate": [3, 4]
    }));
    assert_eq!(call.coordinate(), Some(Point::new(1, 2)));
    assert_eq!(call.end_coordinate(), Some(Point::new(3, 4)));
    let from_the_pointer = Action::Drag {
        path: vec![Point::new(3, 4).into()],
        button: Button::Left,
        modifiers: vec![],
        duration: None,
    };
    assert_eq!(from_the_pointer.coordinate(), None);
    assert_eq!(from_the_pointer.end_coordinate(), Some(Point::new(3, 4)));
}

#[test]
fn an_absent_target_stays_absent_and_the_corner_stays_the_corner() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1",
        "actions": [{"action": "click"}, {"action": "click", "coordinate": [0, 0]}]
    }));
    assert_eq!(call.actions[0].target(), None);
    assert_eq!(
        call.actions[1].target(),
        Some(&Target::Point(Point::new(0, 0)))
    );
    assert_eq!(
        written(&call)["actions"],
        json!([
            {"action": "click", "button": "left"},
            {"action": "click", "coordinate": [0, 0], "button": "left"}
        ])
    );
}

#[test]
fn an_unknown_action_is_retained_completely() {
    let json = json!({
        "type": "computer_call", "call_id": "c1",
        "actions": [{"action": "juggle", "balls": 3, "coordinate": "anywhere"}]
    });
    let call = computer(json.clone());
    let Action::Other { name, args } = &call.actions[0] else {
        panic!("juggling is known")
    };
    assert_eq!((name.as_str(), args["balls"].as_u64()), ("juggle", Some(3)));
    assert_eq!(written(&Content::ComputerCall(call)), json);
}

/// Its members may even be named like its name member, or look like nested arguments.
#[test]
fn an_unknown_action_round_trips() {
    for args in [
        json!({"action": {"of": "a search"}}),
        json!({"action": "click", "coordinate": [1, 2]}),
        json!({"args": {"action": "click"}}),
        json!({"args": {"args": {"action": 1}}}),
        json!({"args": {"action": "click"}, "more": 1}),
        json!({"args": [1], "type": "click"}),
    ] {
        for name in ["juggle", ""] {
            let action = Action::Other {
                name: name.to_owned(),
                args: args.as_object().unwrap().clone(),
            };
            let call = ComputerCall::new("c1", vec![action.clone()]);
            let read = computer(written(&Content::ComputerCall(call)));
            assert_eq!(read.actions, [action]);
        }
    }
}

#[test]
fn an_unknown_single_action_keeps_its_members() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "action": "juggle", "coordinate": [1, 2],
        "audience": 5, "status": "completed"
    }));
    let json = written(&call);
    assert_eq!(
        json["actions"],
        json!([{"action": "juggle", "coordinate": [1, 2], "audience": 5}])
    );
    assert_eq!(json["status"], "completed");
}

#[test]
fn the_frameworks_computer_call_is_read() {
    let call = computer(json!({
        "type": "computer_tool_call", "id": "cu_1", "call_id": "c1", "status": "completed",
        "actions": [
            {"type": "click", "x": 1, "y": 2, "button": "left", "keys": null},
            {"type": "keypress", "keys": ["CTRL", "L"]},
            {"type": "scroll", "x": 5, "y": 6, "scroll_x": 0, "scroll_y": 100}
        ],
        "pending_safety_checks": [{"id": "sc_1", "code": "malicious_instructions", "message": "look"}],
        "user_input_request": true, "additional_properties": {}
    }));
    assert_eq!(call.item_id.as_deref(), Some("cu_1"));
    assert_eq!(call.actions.len(), 3);
    assert_eq!(call.actions[0].coordinate(), Some(Point::new(1, 2)));
    assert_eq!(call.pending_safety_checks[0].source, SafetySource::Openai);
    assert_eq!(call.meta.extra["user_input_request"], json!(true));
    let Action::Key { chord, .. } = &call.actions[1] else {
        panic!("a key")
    };
    assert_eq!(chord.keys()[1], Key::Char('L'));
}

#[test]
fn checks_are_read_under_the_other_name_too() {
    for review in [json!([{"id": "s"}]), json!({"id": "s"})] {
        let call = computer(json!({
            "type": "computer_call", "call_id": "c1", "action": "screenshot",
            "pending_safety_review": review
        }));
        assert_eq!(call.pending_safety_checks.len(), 1);
        assert_eq!(call.pending_safety_checks[0].id, "s");
    }
}

#[test]
fn an_action_object_is_a_single_action() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "id": "cu_2",
        "action": {"type": "double_click", "x": 3, "y": 4}
    }));
    assert_eq!(call.actions[0].name(), "double_click");
    assert_eq!(call.item_id.as_deref(), Some("cu_2"));
}

#[test]
fn a_class_of_action_with_a_call_id_is_a_call() {
    let call = computer(json!({
        "type": "left_mouse_click", "call_id": "c9", "xy": [7, 8], "environment": "browser"
    }));
    assert_eq!(call.call_id, CallId::from("c9"));
    assert_eq!(call.coordinate(), Some(Point::new(7, 8)));
    assert_eq!(
        written(&call)["actions"][0]["environment"],
        json!("browser")
    );
    let lone = json!({"type": "screenshot", "of": "something else"});
    assert!(matches!(read::<Content>(lone), Content::Other(_)));
}

#[test]
fn a_call_with_an_exception_needs_no_action() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "actions": [], "exception": "not JSON"
    }));
    assert_eq!(call.exception.as_deref(), Some("not JSON"));
}

#[test]
fn the_three_results_of_the_record() {
    let screen = || {
        Media::Data(telechir_protocol::DataContent::from_base64(
            "image/png",
            "iVBO",
        ))
    };
    let screenshot =
        json!({"type": "data", "uri": "data:image/png;base64,iVBO", "media_type": "image/png"});
    assert_eq!(
        written(&Content::ComputerResult(ComputerResult::ok("c", screen()))),
        json!({"type": "computer_result", "call_id": "c", "screenshot": screenshot})
    );
    assert_eq!(
        written(&ComputerResult::with_text("c", screen(), "X=1,Y=2")),
        json!({"call_id": "c", "screenshot": screenshot, "text_output": "X=1,Y=2"})
    );
    let failure = Failure::new(FailureKind::Stale, "label 7 is gone");
    assert_eq!(
        written(&ComputerResult::err("c", failure)),
        json!({"call_id": "c", "error": {"kind": "stale", "message": "label 7 is gone"}})
    );
}

#[test]
fn a_results_text_and_error_are_read_in_both_forms() {
    for text in [json!("seen"), json!({"type": "text", "text": "seen"})] {
        let result: ComputerResult = read(json!({"call_id": "c", "text_output": text}));
        assert_eq!(result.text_output.as_deref(), Some("seen"));
    }
    let result: ComputerResult = read(json!({"call_id": "c", "error": "no such window"}));
    assert_eq!(result.error.unwrap().message, "no such window");
}

#[test]
fn an_action_can_stand_where_a_tool_call_is_expected() {
    let call = computer(json!({
        "type": "computer_call", "call_id": "c1", "action": "move", "coordinate": [1, 2],
        "status": "completed"
    }));
    assert_eq!(call.actions[0].tool_name(), "move");
    assert_eq!(
        call.actions[0].arguments_as_str(),
        r#"{"coordinate":[1,2]}"#
    );
    assert_eq!(
        call.arguments_as_value().unwrap(),
        json!({"actions": [{"action": "move", "coordinate": [1, 2]}]})
    );
    assert!(call.requires_local_execution());
    assert_eq!(call.correlation_id(), Some(&CallId::from("c1")));
}

#[test]
fn the_initial_screenshot_goes_into_the_first_user_message() {
    let screen = || {
        Media::Data(telechir_protocol::DataContent::from_base64(
            "image/png",
            "iVBO",
        ))
    };
    let mut history = vec![
        Message::new(Role::System, vec![]),
        Message::new(Role::User, vec![Content::text("Buy milk")]),
        Message::new(Role::User, vec![Content::text("Today")]),
    ];
    Message::initial_screenshot(&mut history, screen());
    assert_eq!(history[1].contents.len(), 2);
    assert_eq!(
        (history[0].contents.len(), history[2].contents.len()),
        (0, 1)
    );
    let mut empty = Vec::new();
    Message::initial_screenshot(&mut empty, screen());
    assert_eq!(empty[0].role, Role::User);
}
