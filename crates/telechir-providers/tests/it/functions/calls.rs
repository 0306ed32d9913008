//! Calls of our functions, in the forms that models produce.

use serde_json::json;
use telechir_protocol::{Action, Command, Content, EditTool, ShellAction};

use super::{DIALECT, call, calls, response, turn_of};

#[test]
fn a_function_call_decodes_to_its_neutral_call() {
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
fn every_shell_action_is_decoded() {
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
fn invalid_calls_carry_the_reason_and_can_be_answered() {
    let exception = |name, arguments| {
        let document = calls(&[("call_a", name, arguments)]);
        let turn = turn_of(DIALECT, &document);
        assert_eq!(turn.calls().len(), 1, "{document}");
        let content = serde_json::to_value(&turn.contents()[0]).unwrap();
        content["exception"].as_str().unwrap().to_owned()
    };
    for (name, arguments, expected) in [
        ("computer", json!("{\"action\": \"cl"), "not JSON"),
        ("computer", json!("[1, 2]"), "not an object"),
        ("computer", json!({"coordinate": [1, 2]}), "no `action`"),
        ("computer", json!({"action": "fly"}), "unknown action `fly`"),
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
        ("", json!({}), "function name is missing"),
    ] {
        let exception = exception(name, arguments);
        assert!(exception.contains(expected), "{name}: {exception}");
    }
}

#[test]
fn members_with_default_values_are_ignored() {
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
fn a_click_at_the_origin_is_valid() {
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
fn calls_of_a_truncated_response_are_not_executed() {
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
fn only_the_first_choice_is_the_turn() {
    let text = |text: &str| json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let document = json!({"choices": [text("one"), text("two")]});
    let (turn, report) = DIALECT
        .decode_response(document.to_string().as_bytes())
        .unwrap();
    assert_eq!(turn.contents(), [Content::text("one")]);
    assert_eq!(report.losses[0].location, "choices[1]");
}
