//! Encoded results: failures, approvals, batches, shells, other functions.

use serde_json::{Value, json};
use telechir_protocol::{
    CommandOutput, ComputerCall, ComputerResult, Content, Failure, FailureKind, FunctionResult,
    Meta, ModelTurn, SafetySource, ShellOutcome, ShellResult, TabState, ToolCall, ToolResult,
};

use super::{PARTS, STEPS, call, history, image, reply, turn, turn_of_steps};

fn answer(name: &str, args: Value, result: ToolResult) -> Value {
    let turn = turn(&json!([{"functionCall": {"id": "c1", "name": name, "args": args}}]));
    let reply = reply(PARTS, turn, vec![result]);
    assert_eq!(reply.items.len(), 1);
    reply.items[0]["functionResponse"].clone()
}

fn failed(kind: FailureKind, message: &str) -> ToolResult {
    ToolResult::Computer(ComputerResult::err("c1", Failure::new(kind, message)))
}

fn confirmation() -> Value {
    json!({"decision": "require_confirmation", "explanation": "Buying."})
}

fn computer(content: Content) -> ComputerCall {
    match content {
        Content::ComputerCall(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_has_an_error_a_kind_and_a_url() {
    let table = [
        (FailureKind::Device, json!({"url": "", "error": "No."})),
        (
            FailureKind::Denied,
            json!({"url": "", "error": "No.", "error_kind": "denied"}),
        ),
        (
            FailureKind::NotExecuted,
            json!({"url": "", "error": "No.", "error_kind": "not_executed"}),
        ),
    ];
    for (kind, expected) in table {
        let encoded = answer("click", json!({"x": 1, "y": 2}), failed(kind, "No."));
        assert_eq!(encoded["response"], expected);
        assert_eq!(encoded.get("parts"), None);
    }
    let encoded = answer(
        "click",
        json!({"x": 1, "y": 2}),
        failed(FailureKind::Denied, " "),
    );
    assert_eq!(encoded["response"]["error"], "It failed.");
}

#[test]
fn a_failed_step_is_marked_as_error() {
    let steps = json!([{"type": "function_call", "id": "c1", "name": "click", "arguments": {"x": 1, "y": 2}}]);
    let reply = reply(
        STEPS,
        turn_of_steps(&steps),
        vec![failed(FailureKind::Denied, "No.")],
    );
    assert_eq!(reply.items[0]["is_error"], true);
    let text = reply.items[0]["result"][0]["text"].as_str().unwrap();
    let encoded: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        encoded,
        json!({"url": "", "error": "No.", "error_kind": "denied"})
    );
}

#[test]
fn encodes_text_tabs_and_url() {
    let mut result = ComputerResult::with_text("c1", image(), "Here.");
    result.current_url = Some("https://example.com/".to_owned());
    result.tabs = vec![TabState {
        tab_id: "1".to_owned(),
        title: "Example".to_owned(),
        url: "https://example.com/".to_owned(),
        active: true,
    }];
    let encoded = answer(
        "take_screenshot",
        json!({}),
        ToolResult::Computer(result.clone()),
    );
    assert_eq!(encoded["response"]["output"], "Here.");
    assert_eq!(encoded["response"]["url"], "https://example.com/");
    assert_eq!(encoded["response"]["tabs"][0]["title"], "Example");
    // Decode it again.
    let contents = json!([
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "take_screenshot", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": encoded}]},
    ]);
    let Content::ComputerResult(read) = history(PARTS, &contents).messages[1].contents[0].clone()
    else {
        panic!();
    };
    assert_eq!(
        (read.tabs, read.text_output, read.current_url),
        (result.tabs, result.text_output, result.current_url)
    );
    assert_eq!(read.screenshot, Some(image()));
}

#[test]
fn a_required_confirmation_is_a_safety_check_and_only_an_approval_is_encoded() {
    let call = computer(call(
        "click",
        json!({"x": 1, "y": 2, "safety_decision": confirmation()}),
    ));
    let [check] = call.pending_safety_checks.as_slice() else {
        panic!("{call:?}");
    };
    assert_eq!(check.source, SafetySource::Google);
    assert_eq!(check.message.as_deref(), Some("Buying."));
    assert_eq!(call.exception, None);
    let args = json!({"x": 1, "y": 2, "safety_decision": confirmation()});
    let mut agreed = ComputerResult::ok("c1", image());
    agreed.acknowledged_safety_checks = vec![check.clone()];
    let encoded = answer("click", args.clone(), ToolResult::Computer(agreed.clone()));
    assert_eq!(
        encoded["response"],
        json!({"url": "", "safety_acknowledgement": "true"})
    );
    // A step has it in both positions.
    let steps = json!([{"type": "function_call", "id": "c1", "name": "click", "arguments": args}]);
    let reply_of = reply(
        STEPS,
        turn_of_steps(&steps),
        vec![ToolResult::Computer(agreed)],
    );
    assert_eq!(reply_of.items[0]["safety_acknowledgement"], true);
    let text = reply_of.items[0]["result"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"safety_acknowledgement\":true"), "{text}");
    // A denial cannot be encoded, which is reported.
    let parts = json!([{"functionCall": {"id": "c1", "name": "click", "args": args}}]);
    let refused = reply(
        PARTS,
        turn(&parts),
        vec![failed(FailureKind::Denied, "No.")],
    );
    assert!(!refused.items[0].to_string().contains("acknowledgement"));
    assert!(
        refused.report.losses[0]
            .why
            .contains("rejects the next request")
    );
}

#[test]
fn never_executes_a_blocked_call() {
    for decision in [
        json!({"decision": "blocked", "explanation": "Never."}),
        json!({"decision": "sometimes"}),
        json!({}),
        json!("blocked"),
    ] {
        let args = json!({"x": 1, "y": 2, "safety_decision": decision});
        let call = computer(call("click", args));
        assert!(call.exception.is_some(), "{decision}");
    }
    for decision in ["regular", "allowed"] {
        let args = json!({"x": 1, "y": 2, "safety_decision": {"decision": decision}});
        let call = computer(call("click", args));
        assert_eq!(
            (call.exception, call.pending_safety_checks),
            (None, Vec::new())
        );
    }
}

#[test]
fn rejects_a_confirmation_for_a_call_that_cannot_carry_one() {
    for (name, args) in [
        (
            "shell",
            json!({"command": "ls", "safety_decision": confirmation()}),
        ),
        (
            "run_shell_command",
            json!({"command": "ls", "safety_decision": confirmation()}),
        ),
        (
            "get_weather",
            json!({"city": "Basel", "safety_decision": confirmation()}),
        ),
    ] {
        let exception = match call(name, args) {
            Content::ShellCall(call) => call.exception,
            Content::FunctionCall(call) => call.exception,
            other => panic!("{other:?}"),
        };
        assert!(exception.unwrap().contains("Buying."), "{name}");
    }
}

fn shell_calls(turn: &ModelTurn) -> usize {
    let calls = turn.calls();
    calls
        .iter()
        .filter(|call| matches!(call, ToolCall::Shell(_)))
        .count()
}

#[test]
fn a_shell_result_survives_a_round_trip_as_text() {
    let parts = json!([
        {"functionCall": {"id": "c1", "name": "shell", "args": {"command": "ls"}}},
        {"functionCall": {"id": "c2", "name": "run_shell_command", "args": {"command": "pwd", "dir_path": "src", "description": "Look."}}},
    ]);
    let turn = turn(&parts);
    assert_eq!(shell_calls(&turn), 2);
    let output = CommandOutput {
        stdout: "a\n".to_owned(),
        stderr: "b".to_owned(),
        exit_code: Some(2),
        outcome: ShellOutcome::Error,
        ..CommandOutput::default()
    };
    let first = ShellResult::new("c1", vec![output.clone()]);
    let mut second = ShellResult::new("c2", Vec::new());
    second.error = Some(Failure::new(FailureKind::Denied, "Not there."));
    let results = vec![ToolResult::Shell(first), ToolResult::Shell(second.clone())];
    let encoded = reply(PARTS, turn, results);
    assert!(encoded.report.is_lossless(), "{:?}", encoded.report);
    assert!(encoded.items[1]["functionResponse"]["response"]["error"].is_string());
    let contents =
        json!([{"role": "model", "parts": parts}, {"role": "user", "parts": encoded.items}]);
    let read = history(PARTS, &contents);
    let Content::ShellResult(back) = &read.messages[1].contents[0] else {
        panic!();
    };
    assert_eq!(back.outputs, [output]);
    let Content::ShellResult(back) = &read.messages[1].contents[1] else {
        panic!();
    };
    assert_eq!(back.error, second.error);
}

#[test]
fn encodes_function_results_of_every_type() {
    let result = |result, items, error| FunctionResult {
        call_id: Some("c1".into()),
        name: None,
        items,
        result,
        error,
        meta: Meta::default(),
    };
    let table = [
        (
            result(Some(json!({"t": 20})), Vec::new(), None),
            json!({"t": 20}),
        ),
        (
            result(Some(json!("sunny")), Vec::new(), None),
            json!({"output": "sunny"}),
        ),
        (
            result(Some(json!([1])), Vec::new(), None),
            json!({"output": [1]}),
        ),
        (
            result(Some(json!({"output": 1})), Vec::new(), None),
            json!({"output": {"output": 1}}),
        ),
        (
            result(None, vec![Content::text("sunny")], None),
            json!({"output": "sunny"}),
        ),
        (
            result(
                None,
                Vec::new(),
                Some(Failure::new(FailureKind::Timeout, "Late.")),
            ),
            json!({"error": "Late.", "error_kind": "timeout"}),
        ),
        (result(None, Vec::new(), None), json!({})),
    ];
    for (result, expected) in table {
        let encoded = answer(
            "get_weather",
            json!({"city": "Basel"}),
            ToolResult::Function(result),
        );
        assert_eq!(encoded["response"], expected);
    }
    let shown = result(None, vec![Content::from(image())], None);
    let encoded = answer(
        "get_weather",
        json!({"city": "Basel"}),
        ToolResult::Function(shown),
    );
    assert_eq!(encoded["parts"][0]["inlineData"]["data"], super::PNG);
}

#[test]
fn only_an_approval_acknowledges_a_safety_check() {
    for (value, is_approval) in [
        (json!("true"), true),
        (json!(true), true),
        (json!("false"), false),
        (json!("the user declined"), false),
        (json!(false), false),
    ] {
        let document = json!([
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "click",
                "args": {"x": 1, "y": 2, "safety_decision": confirmation()}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "click",
                "response": {"url": "", "safety_acknowledgement": value}}}]},
        ]);
        let (history, _) = PARTS.decode_history(document.to_string()).unwrap();
        let (steps, _) = STEPS.encode_history(&history).unwrap();
        let flag = &steps[2]["safety_acknowledgement"];
        let expected = if is_approval {
            json!(true)
        } else {
            Value::Null
        };
        assert_eq!(flag, &expected, "{value}: {steps}");
        let text = steps[2]["result"][0]["text"].as_str().unwrap();
        let response: Value = serde_json::from_str(text).unwrap();
        let sent = if is_approval { json!(true) } else { value };
        assert_eq!(response["safety_acknowledgement"], sent);
    }
}
