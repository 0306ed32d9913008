//! Calls: which are executed locally, and which are invalid.

use serde_json::{Value, json};
use telechir_protocol::{
    Command, ComputerCall, Content, InvalidTurn, SafetySource, ShellAction, ShellEnvironment,
    ToolCall,
};
use telechir_providers::DecodeError;

use super::vectors::vector;
use super::{DIALECT, click, content, turn};

fn computer(item: Value) -> ComputerCall {
    let content = content(item);
    let Content::ComputerCall(call) = content else {
        panic!("no computer call: {content:?}")
    };
    call
}

/// Checks that an invalid call is kept and carries the reason.
#[track_caller]
fn cannot_be_run(item: Value, why: &str) {
    let call = computer(item);
    let exception = call.exception.unwrap();
    assert!(exception.contains(why), "{exception}");
}

fn with_actions(actions: Value) -> Value {
    json!({"type": "computer_call", "call_id": "c", "actions": actions})
}

#[test]
fn a_call_without_safety_checks_member_is_accepted() {
    let call = computer(vector("output.computer_call.ga_live.json"));
    assert_eq!(
        (call.exception, call.pending_safety_checks.len()),
        (None, 0)
    );
    assert_eq!(call.group.as_deref(), Some("computer"));
    assert_eq!(call.item_id.as_deref(), Some("cu_a2"));
}

#[test]
fn a_preview_call_keeps_its_safety_checks() {
    let call = computer(vector("output.computer_call.preview.json"));
    assert_eq!(call.actions.len(), 1);
    let check = &call.pending_safety_checks[0];
    assert_eq!(
        (check.id.as_str(), check.source),
        ("cu_sc_1", SafetySource::Openai)
    );
    assert_eq!(check.code.as_deref(), Some("malicious_instructions"));
}

#[test]
fn refuses_both_forms_at_once() {
    let screenshot = json!({"type": "screenshot"});
    for (action, actions) in [
        (screenshot.clone(), json!([screenshot])),
        (Value::Null, json!([screenshot])),
        (screenshot.clone(), Value::Null),
    ] {
        let item =
            json!({"type": "computer_call", "call_id": "c", "action": action, "actions": actions});
        cannot_be_run(item, "both `action` and `actions`");
    }
}

#[test]
fn refuses_null_empty_and_missing_actions() {
    cannot_be_run(with_actions(Value::Null), "`actions` is null");
    cannot_be_run(with_actions(json!([])), "`actions` is empty");
    cannot_be_run(with_actions(json!("click")), "`actions` is not a list");
    cannot_be_run(
        json!({"type": "computer_call", "call_id": "c", "action": null}),
        "`action` is null",
    );
    cannot_be_run(
        json!({"type": "computer_call", "call_id": "c"}),
        "neither `action` nor `actions`",
    );
}

#[test]
fn refuses_a_call_that_was_not_finished() {
    let mut item = click("c");
    item["status"] = "in_progress".into();
    cannot_be_run(item, "in_progress");
    cannot_be_run(
        vector("output.computer_call.ga_in_progress.json"),
        "neither",
    );
}

#[test]
fn one_unknown_action_stops_its_batch() {
    let batch = with_actions(json!([{"type": "screenshot"}, {"type": "levitate", "height": 3}]));
    let call = computer(batch.clone());
    let names: Vec<&str> = call.actions.iter().map(|action| action.name()).collect();
    assert_eq!(names, ["screenshot", "levitate"]);
    cannot_be_run(batch, "action 2 of 2 (`levitate`)");
}

#[test]
fn an_incomplete_or_invalid_action_stops_its_batch() {
    for (action, why) in [
        (json!({"type": "click", "button": "left", "x": 1}), "`y`"),
        (
            json!({"type": "click", "button": "middle", "x": 1, "y": 1}),
            "`middle`",
        ),
        (json!({"type": "click", "x": 1, "y": 1}), "`button`"),
        (
            json!({"type": "click", "button": "left", "x": 1, "y": 1, "keys": ["Q"]}),
            "not a modifier",
        ),
        (
            json!({"type": "drag", "path": [{"x": 1, "y": 1}]}),
            "two points",
        ),
        (
            json!({"type": "drag", "path": [[1, 1], [2, 2]]}),
            "not an object",
        ),
        (json!({"type": "keypress", "keys": []}), "no valid key"),
        (json!({"type": "keypress"}), "no valid key"),
        (json!({"type": "type"}), "`text`"),
        (json!({"x": 1}), "no `type`"),
        (json!("click"), "not an object"),
    ] {
        cannot_be_run(with_actions(json!([action])), why);
    }
}

#[test]
fn safety_checks_that_cannot_be_read_stop_the_call() {
    let mut item = click("c");
    item["pending_safety_checks"] = json!([{"code": "no id"}]);
    cannot_be_run(item, "pending_safety_checks");
}

#[test]
fn modifiers_of_a_move_are_pressed_before_and_released_after() {
    let call = computer(with_actions(
        json!([{"type": "move", "x": 1, "y": 2, "keys": ["SHIFT"]}]),
    ));
    let names: Vec<&str> = call.actions.iter().map(|action| action.name()).collect();
    assert_eq!(names, ["key_down", "move", "key_up"]);
}

#[test]
fn a_call_without_an_id_is_refused() {
    for kind in [
        "computer_call",
        "shell_call",
        "local_shell_call",
        "apply_patch_call",
        "function_call",
    ] {
        let body = json!({"output": [{"type": kind, "id": "x"}]}).to_string();
        let error = DIALECT.decode_response(body.as_bytes()).unwrap_err();
        assert!(
            matches!(
                error,
                DecodeError::InvalidTurn(InvalidTurn::MissingCallId { .. })
            ),
            "{kind}: {error}"
        );
    }
}

#[test]
fn a_shell_call_without_environment_is_local() {
    let calls = turn(json!([vector("output.shell_call.live.json")])).calls();
    let [ToolCall::Shell(call)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(call.commands, [Command::Line("ls -la".to_owned())]);
    assert_eq!((call.timeout_ms, call.max_output), (None, None));
}

#[test]
fn a_shell_call_in_a_container_is_hosted() {
    let turn = turn(json!([vector("output.shell_call.container.json")]));
    let Content::ShellCall(call) = &turn.contents()[0] else {
        panic!("no shell call")
    };
    assert_eq!(
        call.environment,
        ShellEnvironment::Hosted {
            container_id: Some("cntr_a1".to_owned())
        }
    );
    assert!(turn.calls().is_empty());
}

#[test]
fn a_shell_call_answered_in_its_own_response_is_hosted() {
    let body = vector("response.shell_hosted.json").to_string();
    let (turn, _) = DIALECT.decode_response(body.as_bytes()).unwrap();
    assert!(turn.calls().is_empty());
    let Content::ShellCall(call) = &turn.contents()[0] else {
        panic!("no shell call")
    };
    assert_eq!(
        call.environment,
        ShellEnvironment::Hosted { container_id: None }
    );
}

#[test]
fn a_local_shell_call_keeps_its_argument_list() {
    let calls = turn(vector("output.local_shell_call.json")).calls();
    let [ToolCall::Shell(first), ToolCall::Shell(_)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(
        first.commands,
        [Command::Argv(
            ["bash", "-lc", "ls"].map(str::to_owned).to_vec()
        )]
    );
    assert_eq!(
        (first.timeout_ms, first.cwd.as_deref()),
        (Some(10_000), Some("/tmp"))
    );
}

#[test]
fn a_call_of_browser_is_a_computer_call() {
    let call = computer(vector("output.browser_call.json")[0].clone());
    assert_eq!(call.group.as_deref(), Some("browser"));
    assert_eq!(
        call.target.as_ref().map(|target| target.as_str()),
        Some("browser")
    );
    assert_eq!(call.actions[0].name(), "navigate");
    assert_eq!(call.exception, None);
}

#[test]
fn an_invalid_browser_call_carries_the_reason() {
    for (arguments, why) in [
        (r#"{"action":"teleport"}"#, "teleport"),
        (r#"{"action":"navigate"}"#, "url"),
        (r#"{"action":"reload","speed":3}"#, "speed"),
    ] {
        let item = json!({"type": "function_call", "call_id": "c", "name": "browser", "arguments": arguments});
        cannot_be_run(item, why);
    }
}

#[test]
fn other_functions_stay_functions() {
    for (name, arguments) in [
        ("browser", "{}"),
        ("browser", "not json"),
        ("other", r#"{"action":"click"}"#),
    ] {
        let item =
            json!({"type": "function_call", "call_id": "c", "name": name, "arguments": arguments});
        assert!(
            matches!(content(item), Content::FunctionCall(_)),
            "{name} {arguments}"
        );
    }
}

#[test]
fn an_incomplete_response_has_an_error_and_usage() {
    let body = vector("response.incomplete.json").to_string();
    let (turn, _) = DIALECT.decode_response(body.as_bytes()).unwrap();
    let [Content::Error(error), Content::Usage(usage)] = turn.contents() else {
        panic!("{turn:?}")
    };
    assert!(error.message.contains("max_output_tokens"));
    assert_eq!(
        (usage.input_token_count, usage.total_token_count),
        (Some(1990), Some(2140))
    );
}

#[test]
fn a_failed_response_is_the_provider_s_error() {
    let body = vector("response.failed.live_code.json").to_string();
    let error = DIALECT
        .decode_response(body.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("insufficient_quota: You exceeded"),
        "{error}"
    );
}

#[test]
fn documents_other_than_responses_are_rejected() {
    let refused = |body: Value| {
        DIALECT
            .decode_response(body.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    };
    let anthropic = json!({
        "type": "message", "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "computer", "input": {}}],
    });
    assert!(refused(anthropic.clone()).contains("looks like anthropic-messages"));
    assert!(refused(json!({"messages": [anthropic]})).contains("looks like anthropic-messages"));
    assert!(refused(json!({"model": "m", "input": "hi"})).contains("`input`"));
    assert!(refused(json!({"candidates": []})).contains("candidates"));
    assert!(refused(json!(3)).contains("expected an object or a list"));
    assert!(refused(json!({"output": [3]})).contains("item 0"));
    assert!(refused(json!({"status": "in_progress", "output": []})).contains("in_progress"));
    let error = DIALECT
        .decode_response(b"{\"output\": [")
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn an_unknown_member_is_reported() {
    let item =
        with_actions(json!([{"type": "click", "button": "left", "x": 1, "y": 1, "pressure": 5}]));
    let (_, report) = DIALECT
        .decode_response(json!({"output": [item]}).to_string().as_bytes())
        .unwrap();
    assert_eq!(report.losses[0].what, "member `pressure` of click");
    assert_eq!(report.losses[0].location, "output[0].actions[0]");
    assert!(report.losses[0].preserved_as.is_some());
}

#[test]
fn a_call_of_shell_session_is_a_shell_call() {
    let call = |arguments: Value| {
        let item = json!({
            "type": "function_call", "call_id": "c", "name": "shell_session",
            "arguments": arguments.to_string(),
        });
        let calls = turn(json!([item])).calls();
        match calls.first() {
            Some(ToolCall::Shell(call)) => call.clone(),
            other => panic!("{other:?}"),
        }
    };
    let decoded = call(json!({"action": "send_text", "text": "yes\n", "job": "job2"}));
    assert_eq!(decoded.action, ShellAction::SendText("yes\n".into()));
    assert_eq!(decoded.job.as_deref(), Some("job2"));
    let decoded = call(json!({"action": "start", "command": "npm run dev"}));
    assert_eq!(decoded.action, ShellAction::Start);
    assert_eq!(decoded.commands, [Command::Line("npm run dev".into())]);
    let decoded = call(json!({"action": "read", "job": "job1"}));
    assert_eq!(decoded.action, ShellAction::Read("job1".into()));
    assert_eq!(decoded.exception, None);
    let decoded = call(json!({"action": "stop"}));
    assert!(decoded.exception.unwrap().contains("requires `job`"));
}
