//! How each dialect reports a step that a kill interrupted.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::{ComputerResult, DataContent, Failure, FailureKind, Media, ToolResult};
use telechir_providers::Dialect;
use telechir_testkit::gate::{Component, require};

use super::victim::Victim;
use crate::telechir::Telechir;

/// Kills a run after its first command has had its effect and before it ends, then sends the
/// response again.
fn killed_and_sent_again(dialect: &str, response: &Value) -> Value {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let workspace = telechir.folder().join("workspace");
    fs::create_dir(&workspace).expect("a workspace");
    let recording = telechir.folder().join("recording");
    let arguments = [
        "exec",
        "--dialect",
        dialect,
        "--shell",
        "--workspace",
        workspace.to_str().expect("a path"),
        "--policy",
        &policy,
        "--record",
        recording.to_str().expect("a path"),
        "--run",
        "job",
    ];
    let effect = workspace.join("effect");
    let mut victim = Victim::start(&telechir, &arguments, &response.to_string());
    while !effect.exists() {
        assert!(victim.runs_after(Duration::from_millis(1)));
    }
    let (reply, _) = victim.kill(&telechir);
    assert_eq!(reply, None);
    fs::remove_file(&effect).expect("the effect");
    let reply = Victim::start(&telechir, &arguments, &response.to_string()).finish();
    assert!(!effect.exists(), "the command ran again");
    reply
}

#[test]
fn anthropic_gets_an_interrupted_command_as_an_error() {
    let response = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "touch effect; sleep 60"}}],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let reply = killed_and_sent_again("anthropic-messages", &response);
    assert_eq!(reply[0]["is_error"], true);
    let text = reply[0]["content"].to_string();
    assert!(text.contains("its effect is unknown"), "{text}");
}

#[test]
fn openai_gets_an_interrupted_command_in_stderr_with_an_exit_code() {
    let call = json!({"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed",
        "action": {"commands": ["touch effect; sleep 60", "echo never"], "timeout_ms": null, "max_output_length": null}});
    let response = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": [call]});
    let reply = killed_and_sent_again("openai-responses", &response);
    let outputs = &reply[0]["output"];
    assert_eq!(
        outputs[0]["outcome"],
        json!({"type": "exit", "exit_code": 130})
    );
    let text = outputs[0]["stderr"].as_str().expect("stderr");
    assert!(text.contains("its effect is unknown"), "{text}");
    assert_eq!(
        outputs[1]["outcome"],
        json!({"type": "exit", "exit_code": 1})
    );
    assert_eq!(outputs[1]["stdout"], "");
}

/// The reply to a computer call with an interrupted action and a current screenshot.
fn interrupted(dialect: Dialect, response: &Value, descendants: Option<&str>) -> Vec<Value> {
    let (turn, _) = dialect
        .decode_response(response.to_string().as_bytes())
        .expect("a response");
    let id = turn.calls()[0].call_id().expect("an id").clone();
    let mut result = ComputerResult::new(id);
    result.group = descendants.map(str::to_owned);
    result.screenshot = Some(Media::Data(DataContent::from_base64("image/png", "aGk=")));
    let message = "A crash came between.";
    result.error = Some(Failure::new(FailureKind::Interrupted, message));
    let answered = turn
        .answer(vec![ToolResult::Computer(result)])
        .expect("an answered turn");
    dialect.encode_results(&answered).expect("a reply").items
}

#[test]
fn anthropic_gets_an_interrupted_click_as_an_error() {
    let response = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer", "input": {"coordinate": [1, 1]}}],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let items = interrupted(Dialect::AnthropicMessages, &response, Some("computer"));
    assert_eq!(items[0]["is_error"], true);
    assert!(
        items[0]["content"]
            .to_string()
            .contains("A crash came between.")
    );
}

#[test]
fn openai_gets_an_interrupted_click_after_the_screenshot() {
    let call = json!({"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
        "actions": [{"type": "click", "x": 1, "y": 1, "button": "left"}]});
    let response = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": [call]});
    let items = interrupted(Dialect::OpenaiResponses, &response, None);
    assert_eq!(items[0]["type"], "computer_call_output");
    assert_eq!(items[1]["type"], "message");
    assert!(items[1].to_string().contains("A crash came between."));
}
