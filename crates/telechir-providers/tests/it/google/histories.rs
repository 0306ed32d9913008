//! Histories of other dialects, encoded in these and decoded again.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, Button, CallId, Chord, ClickCount, CommandOutput, ComputerCall, ComputerResult,
    Content, DataContent, Failure, FailureKind, Message, Modifier, Point, Role, SafetyCheck,
    SafetySource, ScrollUnit, ShellCall, ShellResult, StepOutcome, StepState, Target,
};
use telechir_providers::{Dialect, Envelope, History};

use super::{PARTS, PNG, STEPS, history, image, written};

const PLACEHOLDER: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

fn of(messages: Vec<Message>) -> History {
    History {
        messages,
        envelope: Envelope::List,
    }
}

fn assistant(content: Content) -> Message {
    Message::new(Role::Assistant, vec![content])
}

fn tool(content: Content) -> Message {
    Message::new(Role::Tool, vec![content])
}

fn click(x: u32, y: u32, modifiers: Vec<Modifier>) -> Action {
    Action::Click {
        at: Some(Target::Point(Point::new(x, y))),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers,
    }
}

fn computer(id: &str, actions: Vec<Action>) -> Content {
    let mut call = ComputerCall::new(id, actions);
    call.group = Some("computer".to_owned());
    Content::ComputerCall(call)
}

fn seen(id: &str) -> Content {
    Content::ComputerResult(ComputerResult::ok(id, image()))
}

fn contents(value: &Value) -> Vec<Value> {
    let parts = |content: &Value| content["parts"].as_array().unwrap().clone();
    let list = value.as_array().unwrap();
    if list.iter().all(|content| content.get("parts").is_some()) {
        list.iter().flat_map(parts).collect()
    } else {
        list.clone()
    }
}

/// Decodes a document without raw representations, content by content.
fn again(dialect: Dialect, value: &Value) -> Vec<Content> {
    let read = history(dialect, value);
    let bare = telechir_providers::conform::without_raw(&read).unwrap();
    bare.messages
        .into_iter()
        .flat_map(|message| message.contents)
        .collect()
}

#[test]
fn a_call_of_another_provider_gets_a_placeholder_signature_that_decoding_drops() {
    let screenshot = vec![Action::Screenshot];
    let foreign = of(vec![
        Message::new(Role::User, vec![Content::text("Go.")]),
        assistant(computer("call_1", screenshot.clone())),
        tool(seen("call_1")),
    ]);
    let (value, report) = written(PARTS, &foreign);
    assert!(report.is_lossless(), "{report:?}");
    let image = json!([{"inlineData": {"mimeType": "image/png", "data": PNG}}]);
    let expected = json!([
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "call_1", "name": "take_screenshot", "args": {}}, "thoughtSignature": PLACEHOLDER}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "call_1", "name": "take_screenshot", "response": {"url": ""}, "parts": image}}]},
    ]);
    assert_eq!(value, expected);
    assert_eq!(
        again(PARTS, &value)[1],
        computer("call_1", screenshot.clone())
    );
    // The same in steps: the placeholder is a thought before the call.
    let (value, report) = written(STEPS, &foreign);
    assert!(report.is_lossless(), "{report:?}");
    assert_eq!(
        value[1],
        json!({"type": "thought", "signature": PLACEHOLDER})
    );
    assert_eq!(value[2]["id"], "call_1");
    let read = again(STEPS, &value);
    assert_eq!(read.len(), 3);
    assert_eq!(read[1], computer("call_1", screenshot));
    // It is encoded unchanged.
    let (same, report) = written(STEPS, &history(STEPS, &value));
    assert_eq!((same, report.is_lossless()), (value, true));
}

#[test]
fn a_batch_is_split_into_one_call_per_action_and_joined_again() {
    let actions = vec![
        Action::Screenshot,
        Action::Type {
            text: "hi".to_owned(),
            at: None,
            clear_first: false,
            submit: true,
        },
        Action::Key {
            chord: Chord::parse("ctrl+s").unwrap(),
            repeat: 1,
        },
    ];
    let mut result = ComputerResult::ok("call_1", image());
    let step = |action: &str, state| StepOutcome {
        action: action.to_owned(),
        state,
        text: None,
        screenshot: None,
        duration_ms: None,
    };
    result.error = Some(Failure::new(FailureKind::Device, "No keyboard."));
    result.steps = vec![
        step("screenshot", StepState::Delivered),
        step(
            "type",
            StepState::Failed {
                failure: Failure::new(FailureKind::Device, "No keyboard."),
            },
        ),
        step("key", StepState::NotStarted),
    ];
    let foreign = of(vec![
        assistant(computer("call_1", actions.clone())),
        tool(Content::ComputerResult(result.clone())),
    ]);
    for dialect in [PARTS, STEPS] {
        let (value, _) = written(dialect, &foreign);
        let text = value.to_string();
        for id in ["call_1-1of3", "call_1-2of3", "call_1-3of3"] {
            assert_eq!(text.matches(id).count(), 2, "{dialect}: {text}");
        }
        assert_eq!(text.matches("No keyboard.").count(), 1, "{text}");
        assert_eq!(text.matches("not_executed").count(), 1, "{text}");
        let read = again(dialect, &value);
        assert_eq!(read[0], computer("call_1", actions.clone()), "{dialect}");
        let Content::ComputerResult(back) = &read[1] else {
            panic!("{read:?}");
        };
        assert_eq!(back.call_id, CallId::from("call_1"));
        assert_eq!(back.error, result.error);
        assert_eq!(back.screenshot, result.screenshot);
        let states: Vec<_> = back.steps.iter().map(|step| step.state.clone()).collect();
        let expected: Vec<_> = result.steps.iter().map(|step| step.state.clone()).collect();
        assert_eq!(states, expected, "{dialect}");
        // The decoded history is encoded unchanged.
        assert_eq!(written(dialect, &history(dialect, &value)).0, value);
    }
}

#[test]
fn an_action_without_a_predefined_function_survives_as_our_function() {
    let hold = Action::HoldKey {
        chord: Chord::parse("shift").unwrap(),
        duration: std::time::Duration::from_millis(1500),
    };
    let scroll = Action::Scroll {
        at: None,
        dx: 3.0,
        dy: 4.0,
        unit: ScrollUnit::Clicks,
        modifiers: vec![Modifier::Ctrl],
    };
    for actions in [
        vec![click(3, 2, vec![Modifier::Ctrl])],
        vec![hold],
        vec![scroll, Action::Screenshot],
        vec![Action::CursorPosition],
    ] {
        let foreign = of(vec![
            assistant(computer("call_1", actions.clone())),
            tool(seen("call_1")),
        ]);
        for dialect in [PARTS, STEPS] {
            let (value, report) = written(dialect, &foreign);
            assert_eq!(report.losses.len(), 1, "{report:?}");
            assert!(report.losses[0].preserved_as.is_some());
            let read = again(dialect, &value);
            assert_eq!(
                read[0],
                computer("call_1", actions.clone()),
                "{dialect}: {value}"
            );
            assert!(
                matches!(&read[1], Content::ComputerResult(result) if result.screenshot.is_some())
            );
        }
    }
}

#[test]
fn pixels_are_thousandths_of_the_newest_image() {
    // The image has 8 by 6 pixels.
    let foreign = of(vec![
        Message::new(Role::User, vec![Content::from(image())]),
        assistant(computer("call_1", vec![click(4, 3, Vec::new())])),
        tool(seen("call_1")),
    ]);
    let (value, report) = written(PARTS, &foreign);
    let call = &contents(&value)[1]["functionCall"];
    assert_eq!(
        *call,
        json!({"id": "call_1", "name": "click", "args": {"x": 500, "y": 500}})
    );
    assert_eq!(report.losses.len(), 1);
    assert_eq!(
        report.losses[0].preserved_as.as_deref(),
        Some("as the nearest thousandths")
    );
    // A point off the screenshot has no thousandths.
    let off = of(vec![
        Message::new(Role::User, vec![Content::from(image())]),
        assistant(computer("call_1", vec![click(8, 3, Vec::new())])),
    ]);
    let (value, _) = written(PARTS, &off);
    assert_eq!(contents(&value)[1]["functionCall"]["name"], "computer");
    // Without a screenshot, pixels cannot be converted.
    let blind = of(vec![assistant(computer(
        "call_1",
        vec![click(4, 3, Vec::new())],
    ))]);
    let (value, _) = written(PARTS, &blind);
    assert_eq!(contents(&value)[0]["functionCall"]["name"], "computer");
}

#[test]
fn results_follow_their_calls_in_the_same_order() {
    let shell = |id: &str| {
        Content::ShellCall(ShellCall::execute(
            id,
            vec![telechir_protocol::Command::Line("ls".to_owned())],
        ))
    };
    let ran = |id: &str| Content::ShellResult(ShellResult::new(id, vec![CommandOutput::default()]));
    let foreign = of(vec![
        assistant(shell("a")),
        assistant(Content::text("And the second.")),
        assistant(shell("b")),
        assistant(shell("c")),
        Message::new(Role::User, vec![Content::text("Wait.")]),
        tool(ran("b")),
        tool(ran("a")),
        Message::new(Role::User, vec![Content::text("Go on.")]),
        assistant(Content::text("Done.")),
    ]);
    let (value, report) = written(PARTS, &foreign);
    let roles: Vec<&str> = value
        .as_array()
        .unwrap()
        .iter()
        .map(|content| content["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["model", "user", "model"]);
    let parts = value[1]["parts"].as_array().unwrap();
    let ids: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["functionResponse"]["id"].as_str())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(parts[3], json!({"text": "Wait."}));
    assert_eq!(
        parts[2]["functionResponse"]["response"]["error"],
        "The result is unknown."
    );
    let missing = report
        .losses
        .iter()
        .filter(|loss| loss.what == "a missing result");
    assert_eq!(missing.count(), 1);
    // Only the first call of the turn has a signature.
    let signed = value[0]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part.get("thoughtSignature").is_some());
    assert_eq!(signed.count(), 1);
    let (steps, _) = written(STEPS, &foreign);
    let kinds: Vec<&str> = steps
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "thought",
            "function_call",
            "model_output",
            "function_call",
            "function_call",
            "function_result",
            "function_result",
            "function_result",
            "user_input",
            "model_output",
        ]
    );
}

#[test]
fn keeps_a_last_call_without_a_result() {
    let foreign = of(vec![assistant(computer(
        "call_1",
        vec![Action::Screenshot],
    ))]);
    for dialect in [PARTS, STEPS] {
        let (value, report) = written(dialect, &foreign);
        assert!(report.is_lossless());
        assert!(!value.to_string().contains("is unknown"), "{value}");
    }
}

#[test]
fn a_changed_neutral_value_takes_precedence_over_the_original_json() {
    let document = json!([
        {"role": "model", "parts": [
            {"functionCall": {"id": "c1", "name": "click", "args": {"x": 1, "y": 2, "intent": "Go."}}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "click", "response": {"url": "https://a.example/"}}}]},
    ]);
    let mut history = history(PARTS, &document);
    let Content::ComputerCall(call) = &mut history.messages[0].contents[0] else {
        panic!();
    };
    call.actions = vec![Action::Screenshot];
    let Content::ComputerResult(result) = &mut history.messages[1].contents[0] else {
        panic!();
    };
    result.current_url = Some("https://b.example/".to_owned());
    let (value, report) = written(PARTS, &history);
    assert!(report.is_lossless(), "{report:?}");
    let parts = contents(&value);
    assert_eq!(
        parts[0],
        json!({
            "functionCall": {"id": "c1", "name": "take_screenshot", "args": {"intent": "Go."}}, "thoughtSignature": "c2ln",
        })
    );
    assert_eq!(
        parts[1]["functionResponse"],
        json!({
            "id": "c1", "name": "take_screenshot", "response": {"url": "https://b.example/"},
        })
    );
}

#[test]
fn encodes_a_check_of_another_provider_only_if_it_was_approved() {
    let check = SafetyCheck {
        id: "sc_1".to_owned(),
        code: Some("malicious_instructions".to_owned()),
        message: Some("Careful.".to_owned()),
        source: SafetySource::Openai,
    };
    let mut call = ComputerCall::new("call_1", vec![Action::Screenshot]);
    call.pending_safety_checks = vec![check.clone()];
    let mut agreed = ComputerResult::ok("call_1", image());
    agreed.acknowledged_safety_checks = vec![check];
    let denied = ComputerResult::err("call_1", Failure::new(FailureKind::Denied, "No."));
    let of_both = |result: ComputerResult| {
        of(vec![
            assistant(Content::ComputerCall(call.clone())),
            tool(Content::ComputerResult(result)),
        ])
    };
    let (value, report) = written(PARTS, &of_both(agreed));
    let parts = contents(&value);
    assert_eq!(
        parts[0]["functionCall"]["args"]["safety_decision"],
        json!({"decision": "require_confirmation", "explanation": "Careful."})
    );
    assert_eq!(
        parts[1]["functionResponse"]["response"]["safety_acknowledgement"],
        "true"
    );
    assert!(report.losses.iter().all(|loss| loss.preserved_as.is_some()));
    let (value, report) = written(PARTS, &of_both(denied));
    assert!(!value.to_string().contains("safety_decision"));
    assert!(report.losses.iter().any(|loss| loss.preserved_as.is_none()));
}

#[test]
fn a_history_of_another_provider_survives_a_round_trip() {
    let anthropic = json!([
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "tool_use", "id": "toolu_1", "name": "screenshot", "toolset_name": "computer", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {"command": "ls"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "a"},
        ]},
    ]);
    let read = history(Dialect::AnthropicMessages, &anthropic);
    for dialect in [PARTS, STEPS] {
        let (value, report) = written(dialect, &read);
        let lost: Vec<&str> = report
            .losses
            .iter()
            .filter(|loss| loss.preserved_as.is_none())
            .map(|loss| loss.what.as_str())
            .collect();
        assert_eq!(
            lost.iter()
                .filter(|what| what.contains("reasoning"))
                .count(),
            1,
            "{lost:?}"
        );
        let (back, _) = written(Dialect::AnthropicMessages, &history(dialect, &value));
        let text = back.to_string();
        for expected in ["toolu_1", "toolu_2", "screenshot", "\"bash\"", PNG] {
            assert!(
                text.contains(expected),
                "{dialect}: {expected} is not in {text}"
            );
        }
        assert!(
            !text.contains(PLACEHOLDER) && !text.contains("gemini-"),
            "{text}"
        );
    }
}

#[test]
fn reports_and_drops_contents_of_other_providers() {
    let openai = json!([
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"], "results": null},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "Here.", "annotations": [{"type": "file_citation", "file_id": "f", "filename": "a", "index": 0}]}]},
    ]);
    let read = history(Dialect::OpenaiResponses, &openai);
    for dialect in [PARTS, STEPS] {
        let (value, report) = written(dialect, &read);
        let text = value.to_string();
        assert!(
            text.contains("Here.") && !text.contains("file_search") && !text.contains("citation"),
            "{text}"
        );
        let lost = report
            .losses
            .iter()
            .filter(|loss| loss.preserved_as.is_none());
        assert!(lost.count() >= 2, "{report:?}");
    }
}

#[test]
fn instructions_in_a_list_become_a_reported_user_message() {
    let foreign = of(vec![
        Message::new(Role::System, vec![Content::text("Be brief.")]),
        Message::new(Role::User, vec![Content::text("Go.")]),
    ]);
    for dialect in [PARTS, STEPS] {
        let (value, report) = written(dialect, &foreign);
        assert!(value.to_string().contains("Be brief."), "{value}");
        assert_eq!(report.losses.len(), 1);
        assert_eq!(
            report.losses[0].preserved_as.as_deref(),
            Some("as a user message")
        );
    }
}

#[test]
fn rejects_a_list_of_tools_as_a_history() {
    let tools = json!([{"computerUse": {}}]);
    let error = PARTS
        .decode_history(tools.to_string().as_bytes())
        .unwrap_err();
    assert!(error.to_string().contains("contents[0]"), "{error}");
}

#[test]
fn decodes_url_safe_base64() {
    let document = json!([{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "_-8="}}]}]);
    let read = history(PARTS, &document);
    let expected = DataContent::from_base64("image/png", "/+8=");
    let Content::Data(data) = &read.messages[0].contents[0] else {
        panic!();
    };
    assert_eq!(data.uri, expected.uri);
    assert_eq!(written(PARTS, &read).0, document);
}

/// A user message between a call and its result is moved after the result, which is reported.
#[test]
fn reports_moving_a_result_directly_after_its_call() {
    let text = json!({"type": "user_input", "content": [{"type": "text", "text": "Go."}]});
    let call = json!({
        "type": "function_call", "id": "call_1", "name": "roll", "arguments": {"sides": 6}
    });
    let answer = json!({
        "type": "function_result", "call_id": "call_1", "name": "roll",
        "result": [{"type": "text", "text": "4"}]
    });
    let steps = json!([text, call, text, answer]);
    let (read, _) = STEPS.decode_history(steps.to_string()).unwrap();
    let (sent, report) = STEPS.encode_history(&read).unwrap();
    assert_eq!(sent, json!([text, call, answer, text]));
    assert!(!report.is_lossless(), "{report:?}");
}

/// An undecodable call is encoded unchanged; its result keeps its position.
#[test]
fn keeps_the_original_order_of_results() {
    let call =
        |id| json!({"type": "function_call", "id": id, "name": "roll", "arguments": {"sides": 6}});
    let answer = |id| {
        json!({
            "type": "function_result", "call_id": id, "name": "roll",
            "result": [{"type": "text", "text": "4"}]
        })
    };
    let mut unreadable = call("call_1");
    unreadable["type"] = json!({});
    for (first, ids) in [
        (unreadable, ["call_1", "call_2"]),
        (call("call_1"), ["call_2", "call_1"]),
    ] {
        let steps = json!([first, call("call_2"), answer(ids[0]), answer(ids[1])]);
        let (read, _) = STEPS.decode_history(steps.to_string()).unwrap();
        let (sent, report) = STEPS.encode_history(&read).unwrap();
        assert_eq!(sent, steps);
        assert!(report.is_lossless(), "{report:?}");
    }
}

#[test]
fn a_stream_may_end_each_of_its_pieces() {
    let chunk = |part: Value, end: Option<&str>| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        if let Some(end) = end {
            candidate["finishReason"] = end.into();
        }
        format!("data: {}\r\n\r\n", json!({"candidates": [candidate]}))
    };
    let code = chunk(
        json!({"executableCode": {"language": "PYTHON", "code": "6 * 7"}}),
        Some("STOP"),
    );
    let output = chunk(
        json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}}),
        None,
    );
    let text = chunk(json!({"text": "It is 42."}), Some("STOP"));
    let receive =
        |stream: &str| crate::streams::receive(Dialect::GoogleGenerateContent, stream.as_bytes());
    let complete = receive(&format!("{code}{output}{text}")).unwrap();
    assert_eq!(
        complete.response["candidates"][0]["content"]["parts"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let error = receive(&format!("{code}{output}")).unwrap_err().to_string();
    assert!(error.contains("finish reason"), "{error}");
}
