//! Results, in the formats that the provider accepts.

use serde_json::{Value, json};
use telechir_protocol::{
    CommandOutput, ComputerResult, Content, EditResult, Failure, FailureKind, FunctionResult,
    InputRequest, InputRequestKind, SafetyCheck, SafetySource, ShellOutcome, ShellResult,
    StepOutcome, StepState, ToolResult,
};
use telechir_providers::{Dialect, EncodeError};

use super::vectors::vector;
use super::{DIALECT, IMAGE, answered, click, image, reply};

fn seen(call_id: &str) -> ComputerResult {
    ComputerResult {
        screenshot: Some(image()),
        ..ComputerResult::new(call_id)
    }
}

fn failed(call_id: &str) -> ComputerResult {
    let error = Some(Failure::new(FailureKind::Denied, "the policy forbids it"));
    ComputerResult {
        error,
        ..ComputerResult::new(call_id)
    }
}

fn answer(item: Value, result: ToolResult) -> Value {
    let reply = reply(json!([item]), vec![result]);
    assert_eq!(reply.items.len(), 1, "{:?}", reply.items);
    reply.items[0].clone()
}

#[test]
fn a_screenshot_answers_a_call() {
    let item = answer(click("call_a1"), ToolResult::Computer(seen("call_a1")));
    let mut expected = vector("input.computer_call_output.ga_detail.json");
    expected["output"]["image_url"] = IMAGE.into();
    assert_eq!(item, expected);
}

#[test]
fn a_preview_call_gets_no_detail() {
    let mut call = vector("output.computer_call.preview.json");
    call["pending_safety_checks"] = json!([]);
    let item = answer(call, ToolResult::Computer(seen("call_p1")));
    let expected = json!({
        "type": "computer_call_output", "call_id": "call_p1",
        "output": {"type": "computer_screenshot", "image_url": IMAGE},
    });
    assert_eq!(item, expected);
}

#[test]
fn only_checks_that_the_user_acknowledged_are_acknowledged() {
    let call = vector("output.computer_call.preview.json");
    let check = |id: &str, source| SafetyCheck {
        id: id.to_owned(),
        code: Some("malicious_instructions".to_owned()),
        message: None,
        source,
    };
    let policy = check("local", SafetySource::Policy);
    let given = vec![check("cu_sc_1", SafetySource::Openai), policy];
    let result = ComputerResult {
        acknowledged_safety_checks: given,
        ..seen("call_p1")
    };
    let item = answer(call.clone(), ToolResult::Computer(result));
    let expected = json!([{"id": "cu_sc_1", "code": "malicious_instructions"}]);
    assert_eq!(item["acknowledged_safety_checks"], expected);

    let silent = reply(json!([call]), vec![ToolResult::Computer(seen("call_p1"))]);
    assert_eq!(silent.items[0].get("acknowledged_safety_checks"), None);
    assert!(silent.report.losses[0].what.contains("cu_sc_1"));
}

#[test]
fn an_error_follows_the_outputs_as_text() {
    let step = |action: &str, state| StepOutcome {
        action: action.to_owned(),
        state,
        text: None,
        screenshot: None,
        duration_ms: None,
    };
    let error = Failure::new(FailureKind::InvalidInput, "no such key");
    let result = ComputerResult {
        error: Some(error.clone()),
        steps: vec![
            step("click", StepState::Delivered),
            step("key", StepState::Failed { failure: error }),
            step("type", StepState::NotStarted),
        ],
        ..seen("a")
    };
    let results = vec![
        ToolResult::Computer(result),
        ToolResult::Computer(seen("b")),
    ];
    let reply = reply(json!([click("a"), click("b")]), results);
    let kinds: Vec<&str> = reply
        .items
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["computer_call_output", "computer_call_output", "message"]
    );
    assert_eq!(reply.items[2]["role"], "user");
    let text = reply.items[2]["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "call a: Error: no such key (1 of 3 actions were executed, 1 not started.)"
    );
    assert_eq!(reply.report.losses[0].what, "error");
    assert!(reply.report.losses[0].preserved_as.is_some());
}

#[test]
fn a_success_without_a_screenshot_is_refused() {
    let turn = answered(
        json!([click("a")]),
        vec![ToolResult::Computer(ComputerResult::new("a"))],
    );
    let error = DIALECT.encode_results(&turn).unwrap_err();
    assert!(matches!(error, EncodeError::Missing { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("the output of call a requires a screenshot"),
        "{error}"
    );
}

#[test]
fn a_failure_without_a_screenshot_shows_another_of_the_turn() {
    let results = vec![
        ToolResult::Computer(failed("a")),
        ToolResult::Computer(seen("b")),
    ];
    let reply = reply(json!([click("a"), click("b")]), results);
    assert_eq!(reply.items[0]["output"]["image_url"], IMAGE);
    assert!(
        reply.items[2]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("the policy forbids it")
    );
}

#[test]
fn a_failure_without_any_screenshot_gets_a_placeholder() {
    let reply = reply(json!([click("a")]), vec![ToolResult::Computer(failed("a"))]);
    let image = reply.items[0]["output"]["image_url"].as_str().unwrap();
    assert!(image.starts_with("data:image/png;base64,"));
    let text = reply.items[1]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("a grey placeholder") && text.contains("the policy forbids it"),
        "{text}"
    );
}

#[test]
fn an_unreadable_call_can_be_answered() {
    let call = json!({"type": "computer_call", "call_id": "a", "actions": [{"type": "levitate"}]});
    let result = ComputerResult {
        screenshot: Some(image()),
        ..failed("a")
    };
    let reply = reply(json!([call]), vec![ToolResult::Computer(result)]);
    assert_eq!(reply.items[0]["type"], "computer_call_output");
}

#[test]
fn a_browser_call_is_answered_with_text_and_a_screenshot() {
    let result = ComputerResult {
        text_output: Some("Navigated.".to_owned()),
        current_url: Some("https://example.com/".to_owned()),
        ..seen("call_b1")
    };
    let call = vector("output.browser_call.json")[0].clone();
    let expected = json!({
        "type": "function_call_output", "call_id": "call_b1",
        "output": [
            {"type": "input_text", "text": "Navigated."},
            {"type": "input_text", "text": "page: https://example.com/"},
            {"type": "input_image", "image_url": IMAGE, "detail": "original"},
        ],
    });
    assert_eq!(answer(call, ToolResult::Computer(result)), expected);
}

fn output(outcome: ShellOutcome, exit_code: Option<i32>) -> CommandOutput {
    CommandOutput {
        stdout: "out".to_owned(),
        outcome,
        exit_code,
        ..CommandOutput::default()
    }
}

#[test]
fn each_command_has_its_entry() {
    let call = vector("output.shell_call.local.json");
    let outputs = vec![
        output(ShellOutcome::Success, Some(0)),
        output(ShellOutcome::Error, Some(2)),
    ];
    let item = answer(
        call,
        ToolResult::Shell(ShellResult::new("call_s1", outputs)),
    );
    let entry = |code: i32| json!({"stdout": "out", "stderr": "", "outcome": {"type": "exit", "exit_code": code}});
    let expected = json!({
        "type": "shell_call_output", "call_id": "call_s1", "max_output_length": 12000,
        "output": [entry(0), entry(2)], "caller": {"type": "direct"},
    });
    assert_eq!(item, expected);
}

#[test]
fn outcomes_without_an_equivalent_are_noted_in_stderr() {
    let call = vector("output.shell_call.local.json");
    for (outcome, expected, stderr) in [
        (ShellOutcome::Timeout, json!({"type": "timeout"}), ""),
        (
            ShellOutcome::Cancelled,
            json!({"type": "exit", "exit_code": 130}),
            "[cancelled before it ended]",
        ),
        (
            ShellOutcome::NotStarted,
            json!({"type": "exit", "exit_code": 1}),
            "[not started]",
        ),
        (
            ShellOutcome::AwaitingInput,
            json!({"type": "timeout"}),
            "[still running: it waits for input on its terminal; answer it with shell_session]",
        ),
        (
            ShellOutcome::Running,
            json!({"type": "timeout"}),
            "[running in the background]",
        ),
    ] {
        let outputs = vec![output(outcome, None)];
        let item = answer(
            call.clone(),
            ToolResult::Shell(ShellResult::new("call_s1", outputs)),
        );
        assert_eq!(item["output"][0]["outcome"], expected);
        assert_eq!(item["output"][0]["stderr"], stderr);
        // The second command of the call never ran.
        assert_eq!(item["output"][1]["stderr"], "[not started]");
    }
}

#[test]
fn a_signal_exits_with_128_plus_its_number() {
    let killed = CommandOutput {
        signal: Some(9),
        ..output(ShellOutcome::Error, None)
    };
    let result = ShellResult::new("call_s1", vec![killed]);
    let item = answer(
        vector("output.shell_call.live.json"),
        ToolResult::Shell(result),
    );
    assert_eq!(
        item["output"][0]["outcome"],
        json!({"type": "exit", "exit_code": 137})
    );
    assert_eq!(item.get("status"), None);
    assert_eq!(item.get("max_output_length"), None);
}

#[test]
fn a_refused_shell_call_exits_with_1_and_the_reason() {
    let error = Some(Failure::new(FailureKind::Denied, "the user declined"));
    let result = ShellResult {
        error,
        ..ShellResult::new("call_s1", Vec::new())
    };
    let item = answer(
        vector("output.shell_call.local.json"),
        ToolResult::Shell(result),
    );
    let refused = json!({"stdout": "", "stderr": "the user declined", "outcome": {"type": "exit", "exit_code": 1}});
    assert_eq!(item["output"], json!([refused, refused]));
}

#[test]
fn a_failure_is_attached_to_the_command_that_caused_it() {
    let check = |outputs: Vec<CommandOutput>, wanted: [&str; 3]| {
        let commands: Vec<_> = (0..3).map(|index| format!("make {index}")).collect();
        let call = json!({"type": "shell_call", "id": "sh_1", "call_id": "call_s1", "status": "completed",
            "action": {"commands": commands, "timeout_ms": null, "max_output_length": null}});
        let result = ShellResult {
            error: Some(Failure::new(FailureKind::Denied, "Because.")),
            ..ShellResult::new("call_s1", outputs)
        };
        let item = answer(call, ToolResult::Shell(result));
        let stderr = [0, 1, 2].map(|index| item["output"][index]["stderr"].as_str().unwrap());
        assert_eq!(stderr, wanted);
    };
    use ShellOutcome::{Cancelled, Error, NotStarted, Success};
    let none = "[not started]";
    let refused = [NotStarted, NotStarted, NotStarted].map(|outcome| output(outcome, None));
    let silent = |outputs: [CommandOutput; 3]| {
        outputs.map(|output| CommandOutput {
            stderr: String::new(),
            ..output
        })
    };
    check(
        silent(refused).to_vec(),
        ["Because.\n[not started]", none, none],
    );
    let interrupted = [(Error, Some(2)), (Cancelled, None), (NotStarted, None)];
    let interrupted = interrupted.map(|(outcome, code)| output(outcome, code));
    check(
        silent(interrupted).to_vec(),
        ["", "Because.\n[cancelled before it ended]", none],
    );
    let lost = [(Success, Some(0)), (Error, None), (NotStarted, None)];
    let lost = lost.map(|(outcome, code)| output(outcome, code));
    check(silent(lost).to_vec(), ["", "Because.", none]);
}

#[test]
fn a_local_shell_output_has_both_ids() {
    let call = vector("output.local_shell_call.json")[0].clone();
    let result = ShellResult::new("call_l1", vec![output(ShellOutcome::Error, Some(2))]);
    let item = answer(call, ToolResult::Shell(result));
    assert_eq!(
        (item["call_id"].as_str(), item["id"].as_str()),
        (Some("call_l1"), Some("lsh_a1"))
    );
    let decoded: CommandOutput = serde_json::from_str(item["output"].as_str().unwrap()).unwrap();
    assert_eq!(decoded, output(ShellOutcome::Error, Some(2)));
}

#[test]
fn a_patch_is_completed_or_failed() {
    let call = vector("output.apply_patch_call.json")[1].clone();
    let result = |text: Option<&str>, error: Option<&str>| {
        ToolResult::Edit(EditResult {
            call_id: "call_ap2".into(),
            text: text.map(str::to_owned),
            error: error.map(|error| Failure::new(FailureKind::Device, error)),
            meta: Default::default(),
        })
    };
    let expected = |status: &str, output: &str| {
        json!({
            "type": "apply_patch_call_output", "call_id": "call_ap2", "status": status,
            "output": output, "caller": {"type": "direct"},
        })
    };
    assert_eq!(
        answer(call.clone(), result(Some("Updated a.txt"), None)),
        expected("completed", "Updated a.txt")
    );
    assert_eq!(
        answer(call, result(None, Some("no such line"))),
        expected("failed", "no such line")
    );
}

#[test]
fn a_function_result_is_a_text_or_parts() {
    let call = vector("output.function_call.json")[1].clone();
    let result = |result: Option<Value>, items: Vec<Content>| {
        ToolResult::Function(FunctionResult {
            call_id: Some("call_f2".into()),
            name: None,
            items,
            result,
            error: None,
            meta: Default::default(),
        })
    };
    let caller = json!({"type": "program", "caller_id": "call_pg1"});
    let text = answer(call.clone(), result(Some(json!("built")), Vec::new()));
    assert_eq!(
        (&text["output"], &text["caller"]),
        (&json!("built"), &caller)
    );
    let value = answer(call.clone(), result(Some(json!({"ok": true})), Vec::new()));
    assert_eq!(value["output"], r#"{"ok":true}"#);
    let telechir_protocol::Media::Data(data) = image() else {
        panic!("no data")
    };
    let parts = answer(call, result(None, vec![Content::Data(data)]));
    assert_eq!(
        parts["output"],
        json!([{"type": "input_image", "image_url": IMAGE, "detail": "auto"}])
    );
}

#[test]
fn a_custom_tool_call_gets_a_custom_output() {
    let result = FunctionResult {
        call_id: Some("call_c1".into()),
        name: None,
        items: Vec::new(),
        result: Some("1 row".into()),
        error: None,
        meta: Default::default(),
    };
    let item = answer(
        vector("output.custom_tool_call.json"),
        ToolResult::Function(result),
    );
    assert_eq!(item, vector("input.custom_tool_call_output.json")[0]);
}

#[test]
fn results_are_read_back_unchanged() {
    let calls = json!([
        click("a"),
        vector("output.shell_call.local.json"),
        vector("output.browser_call.json")[0]
    ]);
    let outputs = vec![
        output(ShellOutcome::Success, Some(0)),
        output(ShellOutcome::Error, Some(2)),
    ];
    let results = vec![
        ToolResult::Computer(seen("a")),
        ToolResult::Shell(ShellResult::new("call_s1", outputs.clone())),
        ToolResult::Computer(seen("call_b1")),
    ];
    let mut items = calls.as_array().unwrap().clone();
    items.extend(reply(calls, results).items);
    let read = super::history(&json!(items));
    let contents: Vec<&Content> = read.messages[3..]
        .iter()
        .flat_map(|message| &message.contents)
        .collect();
    let [
        Content::ComputerResult(first),
        Content::ShellResult(shell),
        Content::ComputerResult(browser),
    ] = contents.as_slice()
    else {
        panic!("{contents:?}")
    };
    assert_eq!(first.group.as_deref(), Some("computer"));
    assert_eq!(shell.outputs, outputs);
    assert_eq!(
        (browser.group.as_deref(), browser.error.as_ref()),
        (Some("browser"), None)
    );
    assert!(first.screenshot.is_some() && browser.screenshot.is_some());
}

#[test]
fn the_output_names_what_a_command_waits_for() {
    let output = CommandOutput {
        outcome: ShellOutcome::AwaitingInput,
        awaiting: Some(InputRequest {
            kind: InputRequestKind::Hidden,
            prompt: "Password:".to_owned(),
        }),
        ..CommandOutput::default()
    };
    let call = json!({"type": "function_call", "call_id": "c", "name": "shell_session",
        "arguments": "{\"action\":\"send_text\",\"text\":\"x\"}"});
    let result = || ToolResult::Shell(ShellResult::new("c", vec![output.clone()]));
    let item = answer(call, result());
    assert_eq!(item["type"], "function_call_output");
    let text = item["output"].as_str().unwrap();
    assert!(
        text.contains("such as a password after \"Password:\""),
        "{text}"
    );
}

#[test]
fn an_exit_code_that_the_source_lacks_is_reported_as_assumed() {
    for (is_error, text, code) in [(false, "Low water.", 0), (true, "No tide table.", 1)] {
        let messages = json!([
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "tides"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": is_error, "content": text}]},
        ]);
        let (history, _) = Dialect::AnthropicMessages
            .decode_history(messages.to_string())
            .unwrap();
        let (items, report) = Dialect::OpenaiResponses.encode_history(&history).unwrap();
        assert_eq!(
            items[1]["output"][0]["outcome"]["exit_code"], code,
            "{items}"
        );
        let code = format!("exit code {code}");
        let mut losses = report.losses.iter();
        let is_assumed = losses.any(|loss| {
            let how = loss.preserved_as.as_deref().unwrap_or_default();
            how.contains(&code)
        });
        assert!(is_assumed, "{report:?}");
    }
}
