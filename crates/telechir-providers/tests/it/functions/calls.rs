//! Calls of our functions, as models make them.

use serde_json::json;
use telechir_protocol::{Action, Command, Content, EditTool, ShellAction};

use super::{DIALECT, call, calls, response, turn_of};

#[test]
fn a_function_is_the_call_it_stands_for() {
    let Content::ComputerCall(screen) =
        call("computer", json!({"action": "click", "x": 3, "y": 4}))
    else {
        panic!("no computer call")
    };
    assert!(matches!(screen.actions[..], [Action::Click { .. }]));
    assert_eq!(
        (screen.group.as_deref(), screen.target),
        (Some("computer"), None)
    );
    let Content::ComputerCall(page) = call("browser", json!({"action": "back"})) else {
        panic!("no computer call")
    };
    assert_eq!(page.group.as_deref(), Some("browser"));
    let Content::ShellCall(shell) = call("shell", json!({"command": "ls"})) else {
        panic!("no shell call")
    };
    assert_eq!(shell.commands, [Command::Line("ls".to_owned())]);
    let edit = json!({"command": "view", "path": "/tmp/a"});
    let Content::EditCall(edit) = call("str_replace_based_edit_tool", edit) else {
        panic!("no edit call")
    };
    assert_eq!(edit.tool, EditTool::Editor);
    let Content::FunctionCall(other) = call("weather", json!({"city": "Oslo"})) else {
        panic!("no function call")
    };
    assert_eq!((other.name.as_str(), other.exception), ("weather", None));
}

#[test]
fn every_action_of_a_shell_is_understood() {
    let action = |arguments| {
        let Content::ShellCall(call) = call("shell", arguments) else {
            panic!("no shell call")
        };
        assert_eq!(call.exception, None);
        call.action
    };
    let expected = [
        (json!({"command": "ls"}), ShellAction::Execute),
        (
            json!({"action": "run", "command": "ls"}),
            ShellAction::Execute,
        ),
        (
            json!({"action": "start", "command": "make"}),
            ShellAction::Start,
        ),
        (
            json!({"action": "send_text", "text": "y\n"}),
            ShellAction::SendText("y\n".to_owned()),
        ),
        (
            json!({"action": "send_key", "key": "ctrl+c"}),
            ShellAction::SendKey("ctrl+c".to_owned()),
        ),
        (json!({"action": "close_input"}), ShellAction::CloseInput),
        (json!({"action": "interrupt"}), ShellAction::Interrupt),
        (json!({"action": "list"}), ShellAction::List),
        (
            json!({"action": "read", "job": "1"}),
            ShellAction::Read("1".to_owned()),
        ),
        (
            json!({"action": "stop", "job": "1"}),
            ShellAction::Stop("1".to_owned()),
        ),
        (json!({"action": "restart"}), ShellAction::Restart),
        (
            json!({"action": "fly"}),
            ShellAction::Other("fly".to_owned()),
        ),
    ];
    for (arguments, expected) in expected {
        assert_eq!(action(arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn what_cannot_be_understood_says_why_and_is_still_answered() {
    let exception = |name, arguments| {
        let document = calls(&[("call_a", name, arguments)]);
        let turn = turn_of(DIALECT, &document);
        assert_eq!(turn.calls().len(), 1, "{document}");
        let said = serde_json::to_value(&turn.contents()[0]).unwrap();
        said["exception"].as_str().unwrap().to_owned()
    };
    for (name, arguments, says) in [
        ("computer", json!("{\"action\": \"cl"), "not JSON"),
        ("computer", json!("[1, 2]"), "no object"),
        ("computer", json!({"coordinate": [1, 2]}), "no `action`"),
        ("computer", json!({"action": "fly"}), "no action `fly`"),
        (
            "computer",
            json!({"action": "click", "coordinate": "x"}),
            "coordinate",
        ),
        (
            "computer",
            json!({"action": "type", "text": "a", "dy": 3}),
            "`dy`",
        ),
        ("browser", json!(""), "no `action`"),
        ("shell", json!({}), "`command`"),
        ("shell", json!({"command": {"a": 1}}), "`command`"),
        ("shell", json!({"commands": ["ls", 1]}), "`command`"),
        ("weather", json!("Oslo"), "not JSON"),
        ("", json!({}), "no function"),
    ] {
        let said = exception(name, arguments);
        assert!(said.contains(says), "{name}: {said}");
    }
}

#[test]
fn members_that_say_nothing_do_not_spoil_a_call() {
    let filled = json!({
        "action": "screenshot", "coordinate": [0, 0], "button": "left", "modifiers": [],
        "text": "", "dx": 0, "dy": 0.0, "key": null, "duration": 0, "region": [],
    });
    let Content::ComputerCall(call) = call("computer", filled) else {
        panic!("no computer call")
    };
    assert_eq!(
        (call.actions, call.exception),
        (vec![Action::Screenshot], None)
    );
}

#[test]
fn a_click_at_the_upper_left_corner_is_one() {
    let Content::ComputerCall(call) = call(
        "computer",
        json!({"action": "click", "coordinate": [0, 0], "text": ""}),
    ) else {
        panic!("no computer call")
    };
    let point = call.coordinate().unwrap();
    assert_eq!((point.x, point.y, call.exception), (0.0, 0.0, None));
}

#[test]
fn a_response_that_was_cut_off_carries_nothing_out() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "shell", "arguments": "{\"command\":\"rm -r b\"}"}},
    ]});
    for finish in ["length", "content_filter", "model_length"] {
        let turn = turn_of(DIALECT, &response(&message, finish));
        let Content::ShellCall(call) = &turn.contents()[0] else {
            panic!("no shell call")
        };
        let exception = call.exception.as_deref().unwrap();
        assert!(exception.contains(finish), "{exception}");
        assert!(matches!(turn.contents()[1], Content::Error(_)));
    }
}

#[test]
fn only_the_first_of_several_answers_is_the_turn() {
    let text = |text: &str| json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let document = json!({"choices": [text("one"), text("two")]});
    let (turn, report) = DIALECT
        .decode_response(document.to_string().as_bytes())
        .unwrap();
    assert_eq!(turn.contents(), [Content::text("one")]);
    assert_eq!(report.losses[0].place, "choices[1]");
}
