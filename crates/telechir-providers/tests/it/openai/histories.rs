//! Histories: edits, envelopes, and content from other dialects.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, Command, ComputerCall, ComputerResult, Content, Failure, FailureKind, Message,
    ReasoningContent, Role, ShellAction, ShellCall, TextContent,
};
use telechir_providers::{Envelope, History, Report};

use super::vectors::vector;
use super::{DIALECT, IMAGE, history, image, written};

fn list(messages: Vec<Message>) -> History {
    History {
        messages,
        envelope: Envelope::List,
    }
}

fn text(value: &str) -> Content {
    Content::Text(TextContent {
        text: value.to_owned(),
        meta: Default::default(),
    })
}

/// Encodes a screen call of these actions by a model of another provider.
fn encoded(actions: Vec<Value>) -> (Vec<Value>, Report) {
    let action = |value: Value| -> Action { serde_json::from_value(value).unwrap() };
    let call = ComputerCall::new("t1", actions.into_iter().map(action).collect());
    let message = Message::new(Role::Assistant, vec![Content::ComputerCall(call)]);
    let (items, report) = written(&list(vec![message]));
    (items.as_array().unwrap().clone(), report)
}

#[test]
fn an_edited_text_overrides_the_raw_json() {
    let mut read = history(&vector("output.message.json"));
    let Content::Text(text) = &mut read.messages[0].contents[0] else {
        panic!("no text")
    };
    text.text = "I will open the other form.".to_owned();
    let mut expected = vector("output.message.json");
    expected[0]["content"][0] = json!({"type": "output_text", "text": "I will open the other form.", "annotations": [], "logprobs": []});
    assert_eq!(written(&read).0, expected);
}

#[test]
fn an_edited_action_overrides_the_raw_json() {
    let mut read = history(&vector("output.computer_call.ga_live.json"));
    let Content::ComputerCall(call) = &mut read.messages[0].contents[0] else {
        panic!("no call")
    };
    call.actions = vec![Action::Screenshot];
    let (back, report) = written(&read);
    let expected = json!({
        "type": "computer_call", "id": "cu_a2", "call_id": "call_a2", "status": "completed",
        "pending_safety_checks": [], "actions": [{"type": "screenshot"}],
    });
    assert_eq!(back, expected);
    assert!(report.is_lossless());
}

#[test]
fn instructions_are_a_message_and_return_to_their_member() {
    let mut read = history(&vector("request.shell_local.json"));
    assert_eq!(read.messages[0].role, Role::System);
    assert_eq!(read.messages[0].contents, [text("You are on Linux.")]);
    read.messages[0].contents = vec![text("You are on Debian.")];
    read.messages
        .push(Message::new(Role::User, vec![text("And count them.")]));
    let (back, _) = written(&read);
    assert_eq!(back["instructions"], "You are on Debian.");
    let expected = json!([
        {"type": "message", "role": "user", "content": "List the files."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And count them."}]},
    ]);
    assert_eq!(back["input"], expected);
    assert_eq!(back["tools"], vector("request.shell_local.json")["tools"]);
}

#[test]
fn a_conversation_list_keeps_its_envelope() {
    let page = json!({"object": "list", "data": [{"type": "reasoning", "id": "rs_1", "summary": []}], "has_more": false});
    assert_eq!(written(&history(&page)).0, page);
}

#[test]
fn actions_of_other_providers_become_the_closest_item() {
    let (items, report) = encoded(vec![
        json!({"action": "triple_click", "coordinate": [3, 4]}),
    ]);
    let click = json!({"type": "click", "button": "left", "x": 3, "y": 4, "keys": null});
    assert_eq!(items[0]["actions"], json!([click, click, click]));
    assert_eq!(report.losses[0].what, "triple_click of the left button");

    let scroll = json!({"action": "scroll", "coordinate": [3, 4], "scroll_direction": "down", "scroll_amount": 5});
    let (items, report) = encoded(vec![scroll]);
    assert_eq!(
        (
            &items[0]["actions"][0]["scroll_y"],
            &items[0]["actions"][0]["scroll_x"]
        ),
        (&json!(500), &json!(0))
    );
    assert_eq!(report.losses.len(), 1);

    let (items, report) = encoded(vec![json!({"action": "wait", "duration": 1000})]);
    assert_eq!(items[0]["actions"], json!([{"type": "wait"}]));
    assert_eq!(report.losses[0].preserved_as, None);

    let (items, report) = encoded(vec![
        json!({"action": "key", "key": "ctrl+shift+Return", "repeat": 2}),
    ]);
    let press = json!({"type": "keypress", "keys": ["CTRL", "SHIFT", "ENTER"]});
    assert_eq!(items[0]["actions"], json!([press, press]));
    assert_eq!(report.losses.len(), 1);
}

#[test]
fn an_action_at_the_pointer_uses_the_last_point() {
    let steps = vec![
        json!({"action": "move", "coordinate": [3, 4]}),
        json!({"action": "click"}),
    ];
    let (items, report) = encoded(steps);
    assert_eq!(
        (&items[0]["actions"][1]["x"], &items[0]["actions"][1]["y"]),
        (&json!(3), &json!(4))
    );
    assert!(report.losses[0].what.contains("pointer"));
}

#[test]
fn unsupported_computer_actions_become_function_calls_and_back() {
    for action in [
        json!({"action": "zoom", "region": [0, 0, 10, 10]}),
        json!({"action": "cursor_position"}),
        json!({"action": "mouse_down", "button": "left"}),
        json!({"action": "hold_key", "key": "shift", "duration": 1000}),
        json!({"action": "click", "coordinate": {"ref": "ref_7"}}),
        json!({"action": "click", "button": "left"}),
        json!({"action": "navigate", "url": "https://example.com/"}),
    ] {
        let (items, report) = encoded(vec![action.clone()]);
        assert_eq!(
            (&items[0]["type"], &items[0]["name"]),
            (&json!("function_call"), &json!("computer_action"))
        );
        assert!(report.losses[0].preserved_as.is_some(), "{report:?}");
        let Content::ComputerCall(call) = &history(&json!(items)).messages[0].contents[0] else {
            panic!("{action}")
        };
        let expected: Action = serde_json::from_value(action).unwrap();
        assert_eq!(
            (call.actions.as_slice(), call.exception.as_ref()),
            ([expected].as_slice(), None)
        );
    }
}

#[test]
fn a_result_without_a_screenshot_shows_the_last_one_before_it() {
    let call = |id: &str| Content::ComputerCall(ComputerCall::new(id, vec![Action::Screenshot]));
    let result = |id: &str, image| {
        let text_output = Some("Clicked.".to_owned()).filter(|_| image);
        let screenshot = (!image).then(super::image);
        Content::ComputerResult(ComputerResult {
            screenshot,
            text_output,
            ..ComputerResult::new(id)
        })
    };
    let messages = vec![
        Message::new(Role::Assistant, vec![call("a"), call("b")]),
        Message::new(
            Role::User,
            vec![result("a", false), result("b", true), text("Go on.")],
        ),
    ];
    let (items, report) = written(&list(messages));
    let kinds: Vec<&str> = items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    let expected = [
        "computer_call",
        "computer_call",
        "computer_call_output",
        "computer_call_output",
        "message",
        "message",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(items[3]["output"]["image_url"], IMAGE);
    assert_eq!(items[4]["content"][0]["text"], "call b: Clicked.");
    assert_eq!(items[5]["content"][0]["text"], "Go on.");
    assert_eq!(report.losses.len(), 2);
}

#[test]
fn a_result_before_the_first_screenshot_shows_the_next_one() {
    let call = |id: &str| Content::ComputerCall(ComputerCall::new(id, vec![Action::Screenshot]));
    let result = |id: &str, screenshot| {
        Content::ComputerResult(ComputerResult {
            screenshot,
            ..ComputerResult::new(id)
        })
    };
    let messages = vec![
        Message::new(Role::Assistant, vec![call("a"), call("b")]),
        Message::new(
            Role::User,
            vec![result("a", None), result("b", Some(image()))],
        ),
    ];
    let (items, report) = written(&list(messages));
    assert_eq!(items[2]["output"]["image_url"], IMAGE);
    let how = report.losses[0].preserved_as.as_deref();
    assert_eq!(how, Some("with the next screenshot after it"));
}

#[test]
fn thinking_of_another_provider_is_dropped_and_reported() {
    let thought = ReasoningContent {
        text: Some("Hm.".to_owned()),
        ..ReasoningContent::default()
    };
    let message = Message::new(
        Role::Assistant,
        vec![Content::Reasoning(thought), text("Yes.")],
    );
    let (items, report) = written(&list(vec![message]));
    assert_eq!(
        items,
        json!([{"type": "message", "role": "assistant", "content": "Yes."}])
    );
    assert_eq!(report.losses[0].what, "thinking");
    assert_eq!(report.losses[0].location, "messages[0].contents[0]");
}

#[test]
fn a_shell_call_of_another_provider_is_a_shell_call() {
    let restart = ShellCall {
        action: ShellAction::Restart,
        ..ShellCall::execute("t2", Vec::new())
    };
    let contents = vec![
        Content::ShellCall(ShellCall::execute(
            "t1",
            vec![Command::Line("ls".to_owned())],
        )),
        Content::ShellCall(restart),
    ];
    let (items, report) = written(&list(vec![Message::new(Role::Assistant, contents)]));
    let action = json!({"commands": ["ls"], "timeout_ms": null, "max_output_length": null});
    let expected = json!([
        {"type": "shell_call", "call_id": "t1", "status": "completed", "action": action},
        {"type": "function_call", "call_id": "t2", "name": "shell_session", "arguments": "{\"action\":\"restart\"}"},
    ]);
    assert_eq!(items, expected);
    assert_eq!(report.losses.len(), 1);
}

#[test]
fn an_error_of_a_call_written_as_a_function_is_read_back() {
    let call = ComputerCall::new("t1", vec![Action::CursorPosition]);
    let error = Some(Failure::new(FailureKind::Device, "no pointer"));
    let result = ComputerResult {
        error: error.clone(),
        screenshot: Some(image()),
        ..ComputerResult::new("t1")
    };
    let messages = vec![
        Message::new(Role::Assistant, vec![Content::ComputerCall(call)]),
        Message::new(Role::Tool, vec![Content::ComputerResult(result)]),
    ];
    let (items, _) = written(&list(messages));
    let Content::ComputerResult(read) = &history(&items).messages[1].contents[0] else {
        panic!("no result")
    };
    assert_eq!(read.error, error);
    assert!(read.screenshot.is_some());
}

#[test]
fn a_response_is_a_history_too() {
    let (read, report) = DIALECT
        .decode_history(vector("response.shell_hosted.json").to_string().as_bytes())
        .unwrap();
    assert!(report.is_lossless());
    assert_eq!(read.messages.len(), 2);
}

#[test]
fn a_request_with_a_stored_prompt_needs_no_items() {
    let request = json!({"model": "gpt-5.4", "prompt": {"id": "pmpt_9", "version": "3"}, "instructions": "Be brief."});
    let read = history(&request);
    assert_eq!(read.messages.len(), 1);
    assert_eq!(written(&read).0, request);
}
