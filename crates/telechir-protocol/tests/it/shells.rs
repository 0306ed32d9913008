//! Shell calls and results in all their input forms.

use serde_json::json;
use telechir_protocol::{
    Command, CommandExecution, CommandOutput, Content, HostedCall, ShellAction, ShellCall,
    ShellOutcome, ShellResult,
};

use crate::{read, written};

fn call(json: serde_json::Value) -> ShellCall {
    let Content::ShellCall(call) = read(json) else {
        panic!("no shell call")
    };
    call
}

fn result(json: serde_json::Value) -> ShellResult {
    let Content::ShellResult(result) = read(json) else {
        panic!("no shell result")
    };
    result
}

#[test]
fn execute_is_the_default_action() {
    let call = call(json!({"type": "shell_call", "call_id": "s", "commands": ["ls", "pwd"]}));
    assert_eq!(call.action, ShellAction::Execute);
    assert_eq!(
        call.commands,
        ["ls", "pwd"].map(|line| Command::Line(line.to_owned()))
    );
}

#[test]
fn restart_needs_no_commands() {
    let json = json!({"type": "shell_call", "call_id": "s", "action": "restart"});
    let call = call(json.clone());
    assert_eq!(
        (&call.action, call.commands.len()),
        (&ShellAction::Restart, 0)
    );
    assert_eq!(written(&Content::ShellCall(call)), json);
}

#[test]
fn the_frameworks_call_is_read() {
    let call = call(json!({
        "type": "shell_tool_call", "call_id": "s", "id": "sh_1", "commands": ["ls"],
        "timeout_ms": 5000, "max_output_length": 900, "status": "completed"
    }));
    assert_eq!((call.timeout_ms, call.max_output), (Some(5000), Some(900)));
    assert_eq!(call.item_id.as_deref(), Some("sh_1"));
}

#[test]
fn an_argument_list_stays_a_list() {
    let call = call(json!({"type": "shell_call", "call_id": "s", "command": ["echo", "a b"]}));
    assert_eq!(call.commands[0].to_line(), "echo 'a b'");
    assert_eq!(written(&call)["commands"], json!([["echo", "a b"]]));
}

#[test]
fn the_records_flat_result_is_one_output() {
    let result = result(json!({
        "type": "shell_result", "call_id": "s", "stdout": {"type": "text", "text": "a\n"},
        "stderr": "no", "exit_code": 2, "outcome": "error"
    }));
    assert_eq!(result.outputs.len(), 1);
    assert_eq!(
        (result.stdout(), result.stderr()),
        ("a\n".to_owned(), "no".to_owned())
    );
    assert_eq!(
        (result.exit_code(), result.outcome()),
        (Some(2), ShellOutcome::Error)
    );
}

#[test]
fn a_missing_outcome_follows_from_the_exit_code() {
    let table = [
        (
            json!({"stdout": "", "exit_code": 0}),
            ShellOutcome::Success,
            Some(0),
        ),
        (
            json!({"stdout": "", "exit_code": 3}),
            ShellOutcome::Error,
            Some(3),
        ),
        (
            json!({"stdout": "", "timed_out": true}),
            ShellOutcome::Timeout,
            None,
        ),
        (
            json!({"outcome": {"type": "exit", "exit_code": 1}}),
            ShellOutcome::Error,
            Some(1),
        ),
        (
            json!({"outcome": {"type": "timeout"}}),
            ShellOutcome::Timeout,
            None,
        ),
        (
            json!({"outcome": "cancelled"}),
            ShellOutcome::Cancelled,
            None,
        ),
        (
            json!({"outcome": "melted"}),
            ShellOutcome::Other("melted".to_owned()),
            None,
        ),
        (json!({"stdout": "only"}), ShellOutcome::Success, None),
    ];
    for (output, outcome, exit_code) in table {
        let result = result(json!({"type": "shell_result", "call_id": "s", "outputs": [output]}));
        assert_eq!(
            (&result.outputs[0].outcome, result.exit_code()),
            (&outcome, exit_code)
        );
    }
}

#[test]
fn the_single_view_shows_the_first_failure() {
    let output = |code: i32, outcome| CommandOutput {
        stdout: format!("{code}\n"),
        exit_code: Some(code),
        outcome,
        ..CommandOutput::default()
    };
    let outputs = vec![
        output(0, ShellOutcome::Success),
        output(4, ShellOutcome::Error),
        output(0, ShellOutcome::Success),
    ];
    let result = ShellResult::new("s", outputs);
    assert_eq!(result.stdout(), "0\n4\n0\n");
    assert_eq!(
        (result.exit_code(), result.outcome()),
        (Some(4), ShellOutcome::Error)
    );
}

#[test]
fn an_output_as_text_is_readable() {
    let failed = CommandOutput {
        stdout: "a".to_owned(),
        stderr: "b\n".to_owned(),
        exit_code: Some(1),
        outcome: ShellOutcome::Error,
        ..CommandOutput::default()
    };
    assert_eq!(failed.to_text(), "a\n[no newline]\n[stderr]\nb\n[exit 1]");
    let late = CommandOutput {
        outcome: ShellOutcome::Timeout,
        ..CommandOutput::default()
    };
    assert_eq!(late.to_text(), "[timeout]");
    let fine = CommandOutput {
        stdout: "ok\n".to_owned(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    assert_eq!(fine.to_text(), "ok\n");
}

#[test]
fn output_that_imitates_trailers_is_escaped() {
    let sly = CommandOutput {
        stdout: "[stderr]\nfake\n[exit 0]".to_owned(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    let text = sly.to_text();
    assert_eq!(text, "[stderr]\nfake\n[exit 0]\n[no newline']\n[exit 0']");
    assert_eq!(CommandOutput::from_text(&text), sly);
}

#[test]
fn a_call_and_its_result_are_one_text() {
    let call = ShellCall::execute(
        "s",
        vec![Command::Line("ls".into()), Command::Line("no".into())],
    );
    let fine = CommandOutput {
        stdout: "a\n".into(),
        exit_code: Some(0),
        ..CommandOutput::default()
    };
    let failed = CommandOutput {
        stderr: "not found\n".into(),
        exit_code: Some(127),
        outcome: ShellOutcome::Error,
        ..CommandOutput::default()
    };
    let result = ShellResult::new("s", vec![fine, failed]);
    let both = CommandExecution {
        call: &call,
        result: Some(&result),
    };
    assert_eq!(
        both.to_text(),
        "$ ls\na\n$ no\n[stderr]\nnot found\n[exit 127]\n"
    );
}

#[test]
fn a_foreign_command_call_becomes_a_shell_call_when_it_is_text() {
    let foreign: Content = read(json!({
        "type": "command_call", "call_id": "x", "inputs": [{"type": "text", "text": "ls"}]
    }));
    let Content::CommandCall(command) = foreign else {
        panic!("a command call")
    };
    let call = ShellCall::from_command_call(&command).unwrap();
    assert_eq!(
        call,
        ShellCall::execute("x", vec![Command::Line("ls".to_owned())])
    );
    assert_eq!(ShellCall::from_command_call(&HostedCall::default()), None);
}
