//! Calls of the predefined functions of both vocabularies.

use std::time::Duration;

use serde_json::json;
use telechir_protocol::{
    Action, Button, Chord, ClickCount, ComputerCall, ComputerResult, Content, Point, ScrollUnit,
    Target, ToolResult,
};

use crate::streams::check_every_split;

use super::{PARTS, STEPS, call, image, reply, turn, turn_of_steps};

fn computer(name: &str, args: serde_json::Value) -> ComputerCall {
    match call(name, args) {
        Content::ComputerCall(call) => call,
        other => panic!("{other:?}"),
    }
}

fn at(x: u32, y: u32) -> Target {
    Target::Point(Point::thousandths(x, y))
}

fn click(button: Button, count: ClickCount) -> Action {
    Action::Click {
        at: Some(at(5, 6)),
        button,
        count,
        modifiers: Vec::new(),
    }
}

fn scroll(at_target: Option<Target>, dx: f64, dy: f64, unit: ScrollUnit) -> Action {
    Action::Scroll {
        at: at_target,
        dx,
        dy,
        unit,
        modifiers: Vec::new(),
    }
}

fn typed(text: &str, at_target: Option<Target>, clear_first: bool, submit: bool) -> Action {
    Action::Type {
        text: text.to_owned(),
        at: at_target,
        clear_first,
        submit,
    }
}

fn key(text: &str) -> Action {
    Action::Key {
        chord: Chord::parse(text).unwrap(),
        repeat: 1,
    }
}

fn drag() -> Action {
    Action::Drag {
        path: vec![at(1, 2), at(3, 4)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
    }
}

#[test]
fn decodes_every_function_of_both_vocabularies() {
    use Button::{Left, Middle, Right};
    use ClickCount::{Double, Single, Triple};
    use ScrollUnit::{Clicks, Thousandths};
    let xy = || json!({"x": 5, "y": 6});
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let table = [
        // The legacy vocabulary.
        (
            "open_web_browser",
            json!({}),
            Action::OpenBrowser { url: None },
        ),
        (
            "wait_5_seconds",
            json!({}),
            Action::Wait {
                duration: seconds(5),
            },
        ),
        ("go_back", json!({}), Action::Back { tab: None }),
        ("go_forward", json!({}), Action::Forward { tab: None }),
        ("search", json!({}), Action::Search { query: None }),
        (
            "navigate",
            json!({"url": "a.b"}),
            Action::Navigate {
                url: "a.b".to_owned(),
                tab: None,
            },
        ),
        ("click_at", xy(), click(Left, Single)),
        ("hover_at", xy(), Action::Hover { at: at(5, 6) }),
        ("move_to", xy(), Action::Move { at: at(5, 6) }),
        (
            "type_text_at",
            json!({"x": 5, "y": 6, "text": "t"}),
            typed("t", Some(at(5, 6)), true, true),
        ),
        (
            "type_text_at",
            json!({"x": 5, "y": 6, "text": "t", "press_enter": false, "clear_before_typing": false}),
            typed("t", Some(at(5, 6)), false, false),
        ),
        (
            "key_combination",
            json!({"keys": "Control+A"}),
            key("ctrl+a"),
        ),
        (
            "scroll_document",
            json!({"direction": "down"}),
            scroll(None, 0.0, 800.0, Thousandths),
        ),
        (
            "scroll_document",
            json!({"direction": "up", "magnitude": 999}),
            scroll(None, 0.0, -999.0, Thousandths),
        ),
        (
            "scroll_at",
            json!({"x": 5, "y": 6, "direction": "left"}),
            scroll(Some(at(5, 6)), -800.0, 0.0, Thousandths),
        ),
        (
            "drag_and_drop",
            json!({"x": 1, "y": 2, "destination_x": 3, "destination_y": 4}),
            drag(),
        ),
        // The current vocabulary.
        ("click", xy(), click(Left, Single)),
        ("double_click", xy(), click(Left, Double)),
        ("triple_click", xy(), click(Left, Triple)),
        ("middle_click", xy(), click(Middle, Single)),
        ("right_click", xy(), click(Right, Single)),
        (
            "mouse_down",
            xy(),
            Action::MouseDown {
                at: Some(at(5, 6)),
                button: Left,
            },
        ),
        (
            "mouse_up",
            xy(),
            Action::MouseUp {
                at: Some(at(5, 6)),
                button: Left,
            },
        ),
        ("move", xy(), Action::Move { at: at(5, 6) }),
        ("type", json!({"text": "t"}), typed("t", None, false, false)),
        (
            "type",
            json!({"text": "t", "press_enter": true}),
            typed("t", None, false, true),
        ),
        (
            "drag_and_drop",
            json!({"start_x": 1, "start_y": 2, "end_x": 3, "end_y": 4}),
            drag(),
        ),
        ("wait", json!({}), Action::Wait { duration: None }),
        (
            "wait",
            json!({"seconds": 2.5}),
            Action::Wait {
                duration: Some(Duration::from_millis(2500)),
            },
        ),
        ("press_key", json!({"key": "enter"}), key("Enter")),
        (
            "key_down",
            json!({"key": "shift"}),
            Action::KeyDown {
                chord: Chord::parse("shift").unwrap(),
            },
        ),
        (
            "key_up",
            json!({"key": "shift"}),
            Action::KeyUp {
                chord: Chord::parse("shift").unwrap(),
            },
        ),
        ("hotkey", json!({"keys": ["ctrl", "S"]}), key("ctrl+s")),
        ("take_screenshot", json!({}), Action::Screenshot),
        (
            "scroll",
            json!({"x": 5, "y": 6, "direction": "down"}),
            scroll(Some(at(5, 6)), 0.0, 300.0, Thousandths),
        ),
        (
            "scroll",
            json!({"x": 5, "y": 6, "direction": "right", "magnitude_in_pixels": 7}),
            scroll(Some(at(5, 6)), 7.0, 0.0, Thousandths),
        ),
        (
            "scroll",
            json!({"x": 5, "y": 6, "direction": "up", "magnitude_in_wheel_clicks": 3}),
            scroll(Some(at(5, 6)), 0.0, -3.0, Clicks),
        ),
        (
            "long_press",
            xy(),
            Action::LongPress {
                at: at(5, 6),
                duration: None,
            },
        ),
        (
            "open_app",
            json!({"app_name": "Clock"}),
            Action::OpenApp {
                name: "Clock".to_owned(),
            },
        ),
        // Aliases and arguments that models use.
        (
            "left_click",
            json!({"coordinate": [5, 6]}),
            click(Left, Single),
        ),
        (
            "mouse_move",
            json!({"point": {"x": 5, "y": 6}}),
            Action::Move { at: at(5, 6) },
        ),
        ("screenshot", json!({}), Action::Screenshot),
        ("key", json!({"text": "ctrl+c"}), key("ctrl+c")),
        ("hotkey", json!({"keys": "ctrl+c"}), key("ctrl+c")),
        (
            "wait",
            json!({"duration": 1}),
            Action::Wait {
                duration: seconds(1),
            },
        ),
        (
            "drag_and_drop",
            json!({"source_x": 1, "source_y": 2, "target_x": 3, "target_y": 4}),
            drag(),
        ),
    ];
    for (name, args, expected) in table {
        let call = computer(name, args.clone());
        assert_eq!(call.actions, [expected], "{name} {args}");
        assert_eq!(call.exception, None, "{name} {args}");
        assert_eq!(call.group.as_deref(), Some("computer"));
    }
}

#[test]
fn an_invalid_call_has_the_reason() {
    let table = [
        ("click", json!({"x": 5}), "`y` is missing"),
        ("click", json!({"x": "left", "y": 6}), "`x` is \"left\""),
        (
            "scroll",
            json!({"x": 5, "y": 6, "direction": "in"}),
            "`direction` is \"in\"",
        ),
        ("type", json!({"intent": "?"}), "`text` is missing"),
        ("hotkey", json!({"keys": []}), "`keys` is []"),
        ("wait", json!({"seconds": -1}), "`seconds` is -1"),
        ("click", json!("x=5"), "expected an object"),
    ];
    for (name, args, problem) in table {
        let call = computer(name, args.clone());
        let exception = call.exception.unwrap_or_default();
        assert!(exception.contains(problem), "{name} {args}: {exception}");
        assert!(call.actions.is_empty());
    }
}

#[test]
fn a_function_with_other_arguments_is_a_custom_function() {
    for (name, args) in [
        ("search", json!({"query": "cats"})),
        ("get_weather", json!({"city": "Basel"})),
        ("click", json!({"selector": "#go"})),
    ] {
        let Content::FunctionCall(call) = call(name, args) else {
            panic!("{name}");
        };
        assert_eq!(call.name, name);
        assert_eq!(call.exception, None);
    }
}

#[test]
fn a_computer_result_has_the_url_and_the_image() {
    let turn = turn(&json!([
        {"functionCall": {"id": "c1", "name": "click", "args": {"x": 5, "y": 6, "intent": "Go."}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "take_screenshot", "args": {}}},
    ]));
    let ids: Vec<String> = turn
        .calls()
        .iter()
        .map(|call| call.call_id().unwrap().to_string())
        .collect();
    assert_eq!(ids, ["c1", "gemini-r1-1"]);
    let mut first = ComputerResult::ok("c1", image());
    first.current_url = Some("https://example.com/".to_owned());
    let second = ComputerResult::ok("gemini-r1-1", image());
    let results = vec![ToolResult::Computer(first), ToolResult::Computer(second)];
    let reply = reply(PARTS, turn, results);
    let parts = json!([{"inlineData": {"mimeType": "image/png", "data": super::PNG}}]);
    let expected = json!([
        {"functionResponse": {"id": "c1", "name": "click", "response": {"url": "https://example.com/"}, "parts": parts}},
        {"functionResponse": {"name": "take_screenshot", "response": {"url": ""}, "parts": parts}},
    ]);
    assert_eq!(json!(reply.items), expected);
    assert!(reply.report.is_lossless());
}

#[test]
fn a_result_refers_to_its_step_by_call_id() {
    let turn = turn_of_steps(&json!([
        {"type": "thought", "signature": "c2ln"},
        {"type": "function_call", "id": "61nz", "name": "click", "arguments": {"x": 5, "y": 6}},
    ]));
    let mut result = ComputerResult::ok("61nz", image());
    result.current_url = Some("https://example.com/".to_owned());
    let reply = reply(STEPS, turn, vec![ToolResult::Computer(result)]);
    let expected = json!([{
        "type": "function_result", "call_id": "61nz", "name": "click",
        "result": [
            {"type": "text", "text": "{\"url\":\"https://example.com/\"}"},
            {"type": "image", "data": super::PNG, "mime_type": "image/png"},
        ],
    }]);
    assert_eq!(json!(reply.items), expected);
    assert!(reply.report.is_lossless());
}

#[test]
fn decodes_the_first_candidate_and_keeps_and_reports_the_others() {
    let candidate = |index: u32| {
        let call =
            json!({"functionCall": {"name": "click", "args": {"x": index, "y": 2, "intent": "i"}}});
        json!({"content": {"role": "model", "parts": [call]}, "finishReason": "STOP", "index": index})
    };
    let response =
        json!({"candidates": [candidate(0), candidate(1), candidate(2)], "responseId": "r"});
    let (turn, report) = PARTS.decode_response(response.to_string()).unwrap();
    assert_eq!(turn.calls().len(), 1);
    let loss = &report.losses[0];
    assert_eq!(
        (loss.what.as_str(), loss.location.as_str()),
        ("2 other candidates", "candidates[1]")
    );
    assert!(loss.preserved_as.is_some(), "{loss:?}");
    let (history, _) = PARTS.decode_history(response.to_string()).unwrap();
    assert_eq!(PARTS.encode_history(&history).unwrap().0, response);
}

#[test]
fn ignores_white_space_before_a_stream() {
    let chunk = json!({
        "candidates": [{
            "content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"
        }],
        "modelVersion": "gemini-3.8-flash", "responseId": "r1"
    });
    for bytes in [format!(" \n\tdata: {chunk}\n\n"), format!("\n \t[{chunk}]")] {
        let (_, received) = check_every_split(PARTS, bytes.as_bytes(), &bytes);
        assert_eq!(received.unwrap().response["responseId"], "r1", "{bytes}");
    }
}
