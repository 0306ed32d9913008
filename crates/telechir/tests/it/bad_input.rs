//! Invalid input: one clear message, an exit code, and no side effects.

use std::fs;
use std::io::Write;

use serde_json::json;
use telechir_providers::Dialect;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::telechir::Telechir;

fn exec(telechir: &Telechir, more: &[&str], input: &str) -> crate::telechir::Ran {
    let mut arguments = vec!["exec", "--dialect", "anthropic-messages"];
    arguments.extend(more);
    telechir.run(&arguments, input)
}

fn message(content: &serde_json::Value) -> String {
    json!({"type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use"}).to_string()
}

#[test]
fn empty_input_is_refused() {
    exec(&Telechir::new(), &[], "\n").fails(1, &["stdin is empty"]);
}

#[test]
fn invalid_json_is_reported_with_its_line() {
    exec(&Telechir::new(), &[], "{\"type\": \"message\",\n oops}").fails(1, &["JSON", "line 2"]);
}

#[test]
fn the_wrong_dialect_is_named() {
    let response = json!({"object": "response", "output": []}).to_string();
    exec(&Telechir::new(), &[], &response).fails(1, &["anthropic-messages", "openai-responses"]);
}

#[test]
fn an_unknown_dialect_is_a_usage_error() {
    let ran = Telechir::new().run(&["exec", "--dialect", "latin"], "{}");
    assert_eq!(ran.code, Some(2));
    for dialect in Dialect::ALL {
        assert!(ran.stderr.contains(dialect.name()), "{}", ran.stderr);
    }
}

#[test]
fn a_first_page_that_is_no_url_is_a_usage_error() {
    for page in ["http://", "https://host:port/", "[::"] {
        let ran = exec(&Telechir::new(), &[&format!("--browser={page}")], "{}");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("is not a URL"), "{}", ran.stderr);
    }
}

#[test]
fn of_two_calls_with_one_id_the_first_is_executed() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let workspace = telechir.folder().join("work");
    fs::create_dir(&workspace).expect("a folder");
    let policy = telechir.permissive_policy();
    let workspace_text = workspace.to_str().expect("a path");
    let run = |dialect: &str, input: &str| {
        let shell = [
            "--shell",
            "--workspace",
            workspace_text,
            "--policy",
            &policy,
        ];
        let mut arguments = vec!["exec", "--dialect", dialect];
        arguments.extend(shell);
        let ran = telechir.run(&arguments, input);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let items: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).expect("results");
        (items, ran.stderr)
    };
    let command = "echo once >> made";
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}});
    let (items, report) = run("anthropic-messages", &message(&json!([call, call])));
    // The service rejects a second result of one id.
    assert_eq!(items.len(), 1, "{items:?}");
    assert_ne!(items[0]["is_error"], true, "{items:?}");
    assert!(report.contains("a further call toolu_1"), "{report}");

    let arguments = json!({ "command": command }).to_string();
    let call = json!({"id": "call_0", "type": "function", "function": {"name": "shell", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call, call]});
    let response =
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let (items, _) = run("functions", &response.to_string());
    let ids: Vec<_> = items.iter().map(|item| &item["tool_call_id"]).collect();
    assert_eq!(ids, ["call_0", "call_0"], "{items:?}");
    let second = items[1]["content"].as_str().expect("a text");
    assert!(second.contains("id call_0"), "{second}");
    let made = fs::read_to_string(workspace.join("made")).expect("the first call's file");
    assert_eq!(made, "once\nonce\n");
}

#[test]
fn a_call_without_an_id_is_refused() {
    let call = json!({"type": "tool_use", "name": "bash", "input": {"command": "true"}});
    exec(&Telechir::new(), &[], &message(&json!([call]))).fails(1, &["id"]);
}

#[test]
fn a_policy_typo_is_reported_with_its_line() {
    let telechir = Telechir::new();
    let file = telechir.folder().join("policy.toml");
    fs::write(&file, "# Rules.\n\n[[shell]]\nverdikt = \"allow\"\n").expect("a file");
    let file = file.to_str().expect("a path");
    exec(&telechir, &["--policy", file], &message(&json!([])))
        .fails(1, &["policy.toml, line 4", "verdikt"]);
}

#[test]
fn a_missing_policy_is_reported() {
    exec(
        &Telechir::new(),
        &["--policy", "/nowhere/policy.toml"],
        &message(&json!([])),
    )
    .fails(1, &["/nowhere/policy.toml"]);
}

#[test]
fn a_provider_s_error_is_reported() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
            .to_string();
    exec(&Telechir::new(), &[], &error).fails(1, &["Overloaded"]);
}

#[test]
fn a_missing_display_is_reported() {
    exec(&Telechir::new(), &["--desktop=:4242"], &message(&json!([]))).fails(1, &[":4242"]);
}

#[test]
fn a_termination_signal_leaves_nothing_behind() {
    require(Component::Sandbox);
    require(Component::XServer);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "echo started > mark; sleep 1000"}});
    let workspace = telechir.folder().join("work");
    fs::create_dir(&workspace).expect("a folder");
    let workspace_text = workspace.to_str().expect("a path").to_owned();
    let mut child = telechir
        .command(&[
            "exec",
            "--dialect",
            "anthropic-messages",
            "--desktop",
            "--shell",
            "--workspace",
            &workspace_text,
            "--policy",
            &policy,
        ])
        .spawn()
        .expect("the binary starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(message(&json!([call])).as_bytes())
        .expect("input");
    let mark = workspace.join("mark");
    assert_eventually_blocking!(mark.exists(), "the command starts");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(
        output.status.code(),
        Some(143),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    telechir.assert_nothing_left();
}

/// Runs the binary with `hidden` paths masked, as on a machine without them.
fn without(telechir: &Telechir, hidden: &[&str], arguments: &[&str]) -> (Option<i32>, String) {
    let binary = env!("CARGO_BIN_EXE_telechir");
    let mut command = std::process::Command::new("/usr/bin/bwrap");
    command.args(["--dev-bind", "/", "/"]);
    for path in hidden {
        if std::path::Path::new(path).is_dir() {
            command.args(["--tmpfs", path]);
        } else if std::path::Path::new(path).exists() {
            command.args(["--bind", "/dev/null", path]);
        }
    }
    command
        .arg(binary)
        .args(arguments)
        .env("TMPDIR", telechir.folder());
    let input = fs::File::open(telechir.folder().join("input.json")).expect("the input");
    let output = command.stdin(input).output().expect("bubblewrap runs");
    telechir.assert_nothing_left();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[track_caller]
fn reports_the_missing_package(hidden: &[&str], flag: &str, package: &str) {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    fs::write(telechir.folder().join("input.json"), message(&json!([]))).expect("the input");
    let (code, output) = without(
        &telechir,
        hidden,
        &["exec", "--dialect", "anthropic-messages", flag],
    );
    assert_eq!(code, Some(1), "{output}");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 1, "{output}");
    assert!(
        output.contains(&format!("install the package `{package}`")),
        "{output}"
    );
}

#[test]
fn a_missing_x_server_is_reported() {
    reports_the_missing_package(&["/usr/bin/Xvfb"], "--desktop", "xvfb");
}

#[test]
fn a_missing_chromium_is_reported() {
    let paths = [
        "/usr/lib/chromium",
        "/usr/bin/chromium",
        "/usr/bin/chromium-headless-shell",
        "/usr/bin/google-chrome",
    ];
    reports_the_missing_package(&paths, "--browser", "chromium");
}

#[test]
fn a_missing_bubblewrap_is_reported() {
    reports_the_missing_package(&["/usr/bin/bwrap"], "--shell", "bubblewrap");
    reports_the_missing_package(&["/usr/bin/bwrap"], "--desktop", "bubblewrap");
}
