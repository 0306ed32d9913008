//! A password typed at a hidden prompt is in no file of the recording, in every dialect.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::provider::{ModelServer, Script, ServedPage};

use crate::telechir::{Ran, Telechir};

const PASSWORD: &str = "hunter2hunter2";
const PROMPTS: &str = "read -s -p 'Password: ' p; echo; echo ${#p} letters";

/// A response that runs a command with a password prompt and types a password.
fn response(dialect: &str) -> Value {
    let typed = json!({"action": "send_text", "text": format!("{PASSWORD}\n")});
    let text = typed.to_string();
    match dialect {
        "anthropic-messages" => json!({"type": "message", "role": "assistant",
            "stop_reason": "tool_use", "content": [
            {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": PROMPTS}},
            {"type": "tool_use", "id": "c2", "name": "shell_session", "input": typed}]}),
        "openai-responses" => json!({"object": "response", "status": "completed", "output": [
            {"type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed",
                "action": {"commands": [PROMPTS]}},
            {"type": "function_call", "id": "fc_2", "call_id": "c2", "status": "completed",
                "name": "shell_session", "arguments": text}]}),
        "agent-framework" => json!({"messages": [{"type": "message", "role": "assistant",
            "contents": [
            {"type": "shell_tool_call", "call_id": "c1", "commands": [PROMPTS]},
            {"type": "function_call", "call_id": "c2", "name": "shell_session",
                "arguments": text}]}]}),
        "functions" => json!({"object": "chat.completion", "choices": [{"index": 0,
            "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "shell",
                "arguments": json!({"command": PROMPTS}).to_string()}},
            {"id": "c2", "type": "function", "function": {"name": "shell", "arguments": text}}]}}]}),
        other => panic!("no response of {other}"),
    }
}

/// Collects the files below a folder that contain these bytes.
pub(crate) fn holding(folder: &Path, bytes: &[u8], found: &mut Vec<String>, count: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            holding(&path, bytes, found, count);
            continue;
        }
        *count += 1;
        let content = fs::read(&path).unwrap_or_default();
        if content.windows(bytes.len()).any(|part| part == bytes) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_password_at_a_hidden_prompt_is_in_no_file_of_the_recording() {
    require(Component::Sandbox);
    for dialect in [
        "anthropic-messages",
        "openai-responses",
        "agent-framework",
        "functions",
    ] {
        let telechir = Telechir::new();
        let policy = telechir.permissive_policy();
        let record = telechir.folder().join("record");
        let named = record.to_string_lossy();
        let arguments = [
            "exec",
            "--dialect",
            dialect,
            "--shell",
            "--policy",
            &policy,
            "--record",
            &named,
        ];
        let ran = telechir.run(&arguments, &response(dialect).to_string());
        // The command received it: it printed its length.
        let reply = ran.json().to_string();
        assert!(reply.contains("14 letters"), "{dialect}: {}", ran.stderr);
        assert!(!ran.stderr.contains(PASSWORD), "{dialect}: {}", ran.stderr);
        let (mut found, mut count) = (Vec::new(), 0);
        holding(&record, PASSWORD.as_bytes(), &mut found, &mut count);
        assert!(count > 0, "{dialect}: nothing was recorded");
        assert_eq!(found, Vec::<String>::new(), "{dialect}");
    }
}

#[test]
fn a_password_that_a_streamed_response_repeats_is_not_shown() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    let typed = json!({"action": "send_text", "text": format!("{PASSWORD}\n")});
    let script = json!({"dialect": "anthropic-messages", "turns": [
        {"with": {"stop_reason": "tool_use"}, "say": [text("I look first."),
            call("t1", "bash", json!({"command": PROMPTS}))]},
        {"with": {"stop_reason": "tool_use"}, "say": [text(&format!("I type {PASSWORD} now.")),
            call("t2", "shell_session", typed)]},
        {"expect": [{"call": "t2", "contains": "14 letters"}], "say": [text("Typed.")]},
    ]});
    let script = Script::from_json(&script.to_string()).expect("a script");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = ModelServer::start(script, ServedPage::default(), Vec::new());
    let server = runtime.block_on(server).expect("a server");
    let mut command = telechir.command(&[
        "run",
        "log in",
        "--provider",
        "anthropic",
        "--model",
        "claude-sonnet-4-5",
        "--base-url",
        &server.base_url(),
        "--shell",
        "--policy",
        &policy,
        "--json",
        "--stream",
        "always",
    ]);
    command.env("ANTHROPIC_API_KEY", "sk-test");
    let ran = Ran::of(&mut command, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(server.report().is_clean(), "{:?}", server.report());
    assert_eq!(server.report().streamed, 3);
    for (shown, name) in [(&ran.stdout, "stdout"), (&ran.stderr, "stderr")] {
        assert!(!shown.contains(PASSWORD), "{name}: {shown}");
        assert!(shown.contains("I type (hidden) now."), "{name}: {shown}");
    }
    // The other responses are shown as they arrive.
    assert!(
        ran.stdout.contains("assistant_message_delta"),
        "{}",
        ran.stdout
    );
    telechir.assert_nothing_left();
}
