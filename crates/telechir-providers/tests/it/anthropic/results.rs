//! Results: one block for each call, in a format that the provider accepts and that round-trips.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use telechir_protocol::{
    CommandOutput, ComputerResult, Content, DataContent, EditResult, Failure, FailureKind,
    FunctionResult, InputRequest, InputRequestKind, Media, Meta, ShellOutcome, ShellResult,
    StepOutcome, StepState, TabState, ToolResult,
};

use super::{DIALECT, history, image, image_media, member, reply, turn};

fn with_screenshot(id: &str) -> ComputerResult {
    ComputerResult {
        screenshot: Some(image_media()),
        ..ComputerResult::new(id)
    }
}

fn failed(id: &str, kind: FailureKind, why: &str) -> ComputerResult {
    ComputerResult {
        error: Some(Failure::new(kind, why)),
        ..ComputerResult::new(id)
    }
}

/// The block that encodes the result of a call, without losses.
fn encoded_result(call: Value, result: ToolResult) -> Value {
    let reply = reply(&json!([call]), vec![result]).unwrap();
    assert!(reply.report.is_lossless(), "{:?}", reply.report);
    assert_eq!(reply.items.len(), 1);
    reply.items[0].clone()
}

fn rejection(call: Value, result: ComputerResult) -> String {
    reply(&json!([call]), vec![ToolResult::Computer(result)])
        .unwrap_err()
        .to_string()
}

fn click(id: &str) -> Value {
    member(id, "computer", "left_click", json!({"coordinate": [1, 2]}))
}

fn bash() -> Value {
    json!({"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "x"}})
}

#[test]
fn a_toolset_result_names_its_toolset_and_a_legacy_result_does_not() {
    let block = encoded_result(click("t"), ToolResult::Computer(ComputerResult::new("t")));
    let expected = json!({"type": "tool_result", "tool_use_id": "t", "toolset_name": "computer", "content": [{"type": "text", "text": "Clicked."}]});
    assert_eq!(block, expected);
    let older = json!({"type": "tool_use", "id": "t", "name": "computer", "input": {"action": "left_click"}});
    let block = encoded_result(older, ToolResult::Computer(with_screenshot("t")));
    assert_eq!(
        block,
        json!({"type": "tool_result", "tool_use_id": "t", "content": [image()]})
    );
}

#[test]
fn text_precedes_the_screenshot_but_follows_a_requested_image() {
    let mut result = with_screenshot("t");
    result.text_output = Some("X=1,Y=2".into());
    let cursor = member("t", "computer", "cursor_position", json!({}));
    let text = json!({"type": "text", "text": "X=1,Y=2"});
    assert_eq!(
        encoded_result(cursor, ToolResult::Computer(result.clone()))["content"],
        json!([text, image()])
    );
    let zoom = member("t", "computer", "zoom", json!({"region": [0, 0, 1, 1]}));
    assert_eq!(
        encoded_result(zoom, ToolResult::Computer(result))["content"],
        json!([image(), text])
    );
}

#[test]
fn a_zoom_result_contains_its_own_image() {
    let gif = Media::Data(DataContent::from_base64(
        "image/gif",
        "R0lGODlhAwAFAIAAAP///wAAACwAAAAAAwAFAAACA4SPBQA7",
    ));
    let mut result = ComputerResult::new("t");
    let step = StepOutcome {
        action: "zoom".into(),
        state: StepState::Confirmed,
        text: None,
        screenshot: Some(gif),
        duration_ms: None,
    };
    result.steps = vec![step];
    let zoom = member("t", "computer", "zoom", json!({"region": [0, 0, 1, 1]}));
    let block = encoded_result(zoom, ToolResult::Computer(result));
    assert_eq!(block["content"][0]["source"]["media_type"], "image/gif");
}

#[test]
fn after_a_failure_each_toolset_has_its_fixed_text() {
    let browser = |id: &str| member(id, "browser", "type", json!({"text": "x"}));
    let calls = json!([click("a"), browser("b"), click("c"), browser("d")]);
    let results = vec![
        ToolResult::Computer(failed("a", FailureKind::Device, "the screen is gone")),
        ToolResult::Computer(failed("b", FailureKind::Stale, "ref_3 is stale")),
        ToolResult::Computer(failed("c", FailureKind::NotExecuted, "")),
        ToolResult::Computer(failed("d", FailureKind::NotExecuted, "")),
    ];
    let items = reply(&calls, results).unwrap().items;
    let contents: Vec<&Value> = items.iter().map(|item| &item["content"]).collect();
    assert_eq!(
        contents,
        [
            "the screen is gone",
            "ref_3 is stale",
            "Not executed: an earlier computer action in this turn failed.",
            "Not executed: an earlier action in this turn failed.",
        ]
    );
    assert!(items.iter().all(|item| item["is_error"] == true));
    let toolsets: Vec<&Value> = items.iter().map(|item| &item["toolset_name"]).collect();
    assert_eq!(toolsets, ["computer", "browser", "computer", "browser"]);
}

#[test]
fn a_call_without_an_action_gets_an_error_result() {
    let odd = json!({"type": "tool_use", "id": "t", "name": "computer", "input": {"actions": "left_click 10 10"}});
    let block = encoded_result(
        odd,
        ToolResult::Computer(failed(
            "t",
            FailureKind::InvalidInput,
            "the call names no action",
        )),
    );
    let expected = json!({"type": "tool_result", "tool_use_id": "t", "content": "the call names no action", "is_error": true});
    assert_eq!(block, expected);
}

#[test]
fn an_error_contains_text_and_no_image() {
    let mut result = failed("t", FailureKind::Device, " ");
    result.screenshot = Some(image_media());
    let reply = reply(&json!([click("t")]), vec![ToolResult::Computer(result)]).unwrap();
    assert_eq!(reply.items[0]["content"], "It failed.");
    assert_eq!(reply.report.losses.len(), 1);
}

#[test]
fn rejects_results_that_the_provider_rejects() {
    let screenshot = || member("t", "computer", "screenshot", json!({}));
    assert!(
        rejection(screenshot(), ComputerResult::new("t"))
            .contains("call t (screenshot) requires a screenshot")
    );
    let bmp = Media::Data(DataContent::from_base64("image/bmp", "Qk0="));
    assert!(
        rejection(
            screenshot(),
            ComputerResult {
                screenshot: Some(bmp),
                ..ComputerResult::new("t")
            }
        )
        .contains("image/bmp")
    );
    // The PNG header has the size 4000 by 3000.
    let large = "iVBORw0KGgoAAAANSUhEUgAAD6AAAAu4CAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let large = Media::Data(DataContent::from_base64("image/png", large));
    let error = rejection(
        screenshot(),
        ComputerResult {
            screenshot: Some(large),
            ..ComputerResult::new("t")
        },
    );
    assert!(error.contains("is 4000 by 3000"), "{error}");
}

#[test]
fn unknown_tabs_are_an_error() {
    let list = || member("t", "browser", "list_tabs", json!({}));
    let expected = "Done, but the open tabs are unknown.";
    let block = encoded_result(list(), ToolResult::Computer(ComputerResult::new("t")));
    assert_eq!(
        (block["content"].as_str(), &block["is_error"]),
        (Some(expected), &json!(true))
    );
    let two = ["a", "b"].map(|id| TabState {
        tab_id: id.into(),
        title: String::new(),
        url: String::new(),
        active: true,
    });
    let result = ComputerResult {
        tabs: two.to_vec(),
        ..ComputerResult::new("t")
    };
    let reply = reply(&json!([list()]), vec![ToolResult::Computer(result)]).unwrap();
    assert_eq!(reply.items[0]["content"], expected);
    assert_eq!(reply.report.losses.len(), 1);
}

#[test]
fn tabs_are_a_browser_state_and_a_new_tab_is_a_change() {
    let tab = |id: &str, active| TabState {
        tab_id: id.into(),
        title: "T\u{7}".into(),
        url: "https://e.org/".into(),
        active,
    };
    let mut result = ComputerResult::new("t");
    result.tabs = vec![tab("1", false), tab("2", true)];
    let reply = reply(
        &json!([member("t", "browser", "new_tab", json!({}))]),
        vec![ToolResult::Computer(result)],
    )
    .unwrap();
    let expected = json!([{"type": "browser_state", "tabs": [
        {"tab_id": "1", "title": "T", "url": "https://e.org/"},
        {"tab_id": "2", "title": "T", "url": "https://e.org/", "active": true},
    ], "state_changes": [{"type": "tab_opened", "tab_id": "2"}]}]);
    assert_eq!(reply.items[0]["content"], expected);
    assert_eq!(
        reply.report.losses.len(),
        2,
        "two removed control characters"
    );
}

#[test]
fn our_browser_function_lists_the_tabs_as_text() {
    let call =
        json!({"type": "tool_use", "id": "t", "name": "browser", "input": {"action": "list_tabs"}});
    let mut result = ComputerResult::new("t");
    result.tabs = vec![TabState {
        tab_id: "1".into(),
        title: "T".into(),
        url: "https://e.org/".into(),
        active: true,
    }];
    let block = encoded_result(call, ToolResult::Computer(result));
    assert_eq!(
        block["content"],
        json!([{"type": "text", "text": "Tabs:\n1 (active): T https://e.org/"}])
    );
    assert_eq!(block.get("toolset_name"), None);
}

#[test]
fn function_and_edit_results_are_their_text() {
    let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    let mut result = FunctionResult {
        call_id: Some("t".into()),
        name: None,
        items: Vec::new(),
        result: Some(json!({"a": 1})),
        error: None,
        meta: Meta::default(),
    };
    assert_eq!(
        encoded_result(call.clone(), ToolResult::Function(result.clone()))["content"],
        r#"{"a":1}"#
    );
    result.error = Some(Failure::new(FailureKind::Unsupported, "no such tool"));
    assert_eq!(
        encoded_result(call, ToolResult::Function(result))["is_error"],
        true
    );
    let call = json!({"type": "tool_use", "id": "t", "name": "memory", "input": {"command": "view", "path": "/memories"}});
    let result = EditResult {
        call_id: "t".into(),
        text: Some("empty".into()),
        error: None,
        meta: Meta::default(),
    };
    assert_eq!(
        encoded_result(call, ToolResult::Edit(result))["content"],
        "empty"
    );
}

#[test]
fn a_shell_result_is_its_output_and_status() {
    let output = |stdout: &str, stderr: &str, code| CommandOutput {
        stdout: stdout.into(),
        stderr: stderr.into(),
        exit_code: Some(code),
        outcome: if code == 0 {
            ShellOutcome::Success
        } else {
            ShellOutcome::Error
        },
        ..CommandOutput::default()
    };
    let table = [
        (output("a\nb\n", "", 0), "a\nb\n[exit code 0]", None),
        (
            output("", "no\n", 2),
            "[stderr]\nno\n[exit code 2]",
            Some(true),
        ),
        (
            output("a\n", "no\n", 1),
            "a\n[stderr]\nno\n[exit code 1]",
            Some(true),
        ),
        (output("", "", 0), "[exit code 0]", None),
        // Without a final newline the status line has byte counts.
        (
            output("a", "", 0),
            "a\n[exit code 0; stdout 1 bytes; stderr 0 bytes]",
            None,
        ),
    ];
    for (output, text, is_error) in table {
        let block = encoded_result(
            bash(),
            ToolResult::Shell(ShellResult::new("t", vec![output])),
        );
        assert_eq!(block["content"], text);
        assert_eq!(
            block.get("is_error").and_then(Value::as_bool),
            is_error,
            "{text}"
        );
    }
}

#[test]
fn a_requested_stop_is_not_an_error() {
    let stop = json!({"type": "tool_use", "id": "t", "name": "shell_session", "input": {"action": "stop", "job": "job1"}});
    let ended = CommandOutput {
        signal: Some(15),
        outcome: ShellOutcome::Cancelled,
        ..CommandOutput::default()
    };
    let block = encoded_result(
        stop,
        ToolResult::Shell(ShellResult::new("t", vec![ended.clone()])),
    );
    let expected =
        json!({"type": "tool_result", "tool_use_id": "t", "content": "[signal 15; cancelled]"});
    assert_eq!(block, expected);
    let block = encoded_result(
        bash(),
        ToolResult::Shell(ShellResult::new("t", vec![ended])),
    );
    assert_eq!(block["is_error"], true);
}

#[test]
fn timeouts_and_denials_are_errors() {
    let timeout = CommandOutput {
        stdout: "so far\n".into(),
        outcome: ShellOutcome::Timeout,
        ..CommandOutput::default()
    };
    let block = encoded_result(
        bash(),
        ToolResult::Shell(ShellResult::new("t", vec![timeout])),
    );
    assert_eq!(
        (block["content"].as_str(), &block["is_error"]),
        (Some("so far\n[timed out]"), &json!(true))
    );
    let mut denied = ShellResult::new("t", vec![]);
    denied.error = Some(Failure::new(FailureKind::Denied, "The policy denies it."));
    let block = encoded_result(bash(), ToolResult::Shell(denied));
    assert_eq!(
        (block["content"].as_str(), &block["is_error"]),
        (
            Some("The policy denies it.\n[failed: denied]"),
            &json!(true)
        )
    );
}

fn any_output() -> impl Strategy<Value = CommandOutput> {
    let lines = prop::sample::select(vec![
        "",
        "a",
        "\n",
        "[stderr]\n",
        "[exit code 0]\n",
        "é",
        "b\n",
        "[",
        "]",
        "; ",
    ]);
    let text = vec(lines, 0..4).prop_map(|lines| lines.concat());
    let outcome = prop_oneof![
        Just(ShellOutcome::Success),
        Just(ShellOutcome::Error),
        Just(ShellOutcome::Timeout),
        Just(ShellOutcome::Cancelled),
        Just(ShellOutcome::NotStarted),
        Just(ShellOutcome::AwaitingInput),
        Just(ShellOutcome::Running),
        Just(ShellOutcome::Other("odd; \"word\"]".into())),
    ];
    let option = |numbers: std::ops::Range<i32>| prop::option::of(numbers);
    (
        text.clone(),
        text,
        option(-2..140),
        option(1..20),
        outcome,
        0..3_u64,
        prop::option::of(0..9_u64),
        prop::option::of((
            prop::sample::select(vec![InputRequestKind::Line, InputRequestKind::Hidden]),
            "[a-z?\"\n; \\]\\[]{0,6}",
        )),
    )
        .prop_map(
            |(stdout, stderr, exit_code, signal, outcome, truncated_bytes, duration_ms, prompt)| {
                CommandOutput {
                    stdout,
                    stderr,
                    exit_code,
                    signal,
                    outcome,
                    truncated_bytes,
                    duration_ms,
                    awaiting: prompt.map(|(kind, prompt)| InputRequest { kind, prompt }),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_shell_result_round_trips(
        outputs in vec(any_output(), 0..3),
        cwd in prop::option::of("[a-z/\"; \\]\\[]{0,8}"),
        error in prop::option::of("[a-z\n\\[\\]]{0,12}"),
    ) {
        let mut result = ShellResult::new("t", outputs);
        result.cwd = cwd;
        result.error = error.map(|why| Failure::new(FailureKind::Denied, why));
        let answered = turn(&json!([bash()])).answer(vec![ToolResult::Shell(result.clone())]).unwrap();
        let items = DIALECT.encode_results(&answered).unwrap().items;
        let read = history(&json!([{"role": "assistant", "content": [bash()]}, {"role": "user", "content": items}]));
        let Content::ShellResult(mut again) = read.messages[1].contents[0].clone() else { panic!("{items:?}") };
        again.meta = Meta::default();
        prop_assert_eq!(again, result);
    }
}

#[test]
fn foreign_shell_text_is_combined_output() {
    let messages = json!([
        {"role": "assistant", "content": [bash()]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "/root\n"}]},
    ]);
    let Content::ShellResult(result) = history(&messages).messages[1].contents[0].clone() else {
        panic!()
    };
    assert!(result.combined);
    assert_eq!(
        (
            result.stdout().as_str(),
            result.outcome(),
            result.exit_code()
        ),
        ("/root\n", ShellOutcome::Success, None)
    );
}
