//! `telechir exec`: executes a response on real devices and prints the provider's reply.

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, Privilege, lacks, require};

use crate::telechir::{Telechir, png_size, webp_size};
use telechir_testkit::assert_eventually_blocking;

pub(crate) fn anthropic(calls: &[Value]) -> String {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": calls, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    message.to_string()
}

pub(crate) fn member(id: &str, group: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": group, "input": input})
}

pub(crate) fn bash(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}})
}

fn openai(items: &[Value]) -> String {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": items}).to_string()
}

fn computer_call(id: &str, actions: Value) -> Value {
    json!({"type": "computer_call", "id": format!("cu_{id}"), "call_id": id, "status": "completed", "actions": actions})
}

/// The screenshot of an Anthropic result.
fn anthropic_screenshot(result: &Value) -> &str {
    let blocks = result["content"].as_array().expect("blocks");
    let image = blocks
        .iter()
        .find(|block| block["type"] == "image")
        .expect("an image block");
    assert_eq!(image["source"]["media_type"], "image/webp");
    image["source"]["data"].as_str().expect("base64")
}

fn openai_screenshot(item: &Value) -> &str {
    let url = item["output"]["image_url"].as_str().expect("an image");
    url.strip_prefix("data:image/png;base64,").expect("a PNG")
}

#[test]
fn anthropic_gets_a_webp_of_the_desktop() {
    require(Component::XServer);
    let response = anthropic(&[member("toolu_1", "computer", "screenshot", json!({}))]);
    let ran = Telechir::new().run(
        &["exec", "--dialect", "anthropic-messages", "--desktop"],
        &response,
    );
    let reply = ran.json();
    assert_eq!(reply[0]["type"], "tool_result");
    assert_eq!(reply[0]["tool_use_id"], "toolu_1");
    assert_eq!(reply[0]["toolset_name"], "computer");
    assert_eq!(webp_size(anthropic_screenshot(&reply[0])), (1280, 800));
}

#[test]
fn openai_gets_a_png_of_the_desktop() {
    require(Component::XServer);
    let response = openai(&[computer_call("call_1", json!([{"type": "screenshot"}]))]);
    let ran = Telechir::new().run(
        &[
            "exec",
            "--dialect",
            "openai-responses",
            "--desktop",
            "--display",
            "1024x768",
        ],
        &response,
    );
    let reply = ran.json();
    assert_eq!(reply.as_array().map(Vec::len), Some(1));
    assert_eq!(reply[0]["type"], "computer_call_output");
    assert_eq!(reply[0]["call_id"], "call_1");
    assert_eq!(png_size(openai_screenshot(&reply[0])), (1024, 768));
}

#[test]
fn openai_gets_a_png_of_the_browser() {
    require(Component::XServer);
    require(Component::Chromium);
    let response = openai(&[computer_call("call_1", json!([{"type": "screenshot"}]))]);
    let ran = Telechir::new().run(
        &["exec", "--dialect", "openai-responses", "--browser"],
        &response,
    );
    assert_eq!(png_size(openai_screenshot(&ran.json()[0])), (1280, 800));
}

#[test]
fn anthropic_gets_a_webp_of_the_browser() {
    require(Component::XServer);
    require(Component::Chromium);
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let ran = Telechir::new().run(
        &["exec", "--dialect", "anthropic-messages", "--browser"],
        &response,
    );
    let reply = ran.json();
    assert_eq!(reply[0]["toolset_name"], "browser");
    assert_eq!(webp_size(anthropic_screenshot(&reply[0])), (1280, 800));
}

#[test]
fn a_headless_browser_gives_its_own_png_unless_the_user_chose_a_format() {
    require(Component::Chromium);
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let source = |format: &[&str]| {
        let exec = [
            "exec",
            "--dialect",
            "anthropic-messages",
            "--browser",
            "--headless",
        ];
        let reply = Telechir::new()
            .run(&[&exec, format].concat(), &response)
            .json();
        let mut blocks = reply[0]["content"].as_array().into_iter().flatten();
        let image = blocks.find(|block| block["type"] == "image");
        image.expect("an image block")["source"].clone()
    };
    let data = |source: &Value| source["data"].as_str().expect("base64").to_owned();
    let own = source(&[]);
    assert_eq!(own["media_type"], "image/png");
    assert_eq!(png_size(&data(&own)), (1280, 800));
    let chosen = source(&["--screenshot-format", "webp"]);
    assert_eq!(chosen["media_type"], "image/webp");
    assert_eq!(webp_size(&data(&chosen)), (1280, 800));
}

#[test]
fn the_shell_keeps_state_between_calls() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let response = anthropic(&[
        bash("toolu_1", "cd /tmp && x=41 && f() { echo $((x + 1)); }"),
        bash(
            "toolu_2",
            "pwd; f; echo oops >&2; exit_code() { return 3; }; exit_code",
        ),
    ]);
    let ran = telechir.run(
        &[
            "exec",
            "--dialect",
            "anthropic-messages",
            "--shell",
            "--policy",
            &policy,
        ],
        &response,
    );
    let reply = ran.json();
    let text = reply[1]["content"].to_string();
    for wanted in ["/tmp", "42", "oops", "3"] {
        assert!(text.contains(wanted), "`{wanted}` is not in {text}");
    }
}

#[test]
fn openai_gets_one_output_per_command() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let call = json!({"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed",
        "action": {"commands": ["echo one", "echo two >&2; false", "sleep 60"], "timeout_ms": 1500, "max_output_length": 1000}});
    let ran = telechir.run(
        &[
            "exec",
            "--dialect",
            "openai-responses",
            "--shell",
            "--policy",
            &policy,
        ],
        &openai(&[call]),
    );
    let reply = ran.json();
    assert_eq!(reply[0]["max_output_length"], 1000);
    let output = reply[0]["output"].as_array().expect("entries");
    assert_eq!(
        output[0],
        json!({"stdout": "one\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}})
    );
    assert_eq!(output[1]["stderr"], "two\n");
    assert_eq!(
        output[1]["outcome"],
        json!({"type": "exit", "exit_code": 1})
    );
    assert_eq!(output[2]["outcome"], json!({"type": "timeout"}));
}

#[test]
fn time_and_output_of_commands_are_limited() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let call = json!({"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed",
        "action": {"commands": ["yes line | head -c 90000", "sleep 60"], "max_output_length": 80000}});
    let arguments = [
        "exec",
        "--dialect",
        "openai-responses",
        "--shell",
        "--command-timeout",
        "2",
        "--max-output-bytes",
        "51200",
        "--policy",
        &policy,
    ];
    let reply = telechir.run(&arguments, &openai(&[call])).json();
    let output = reply[0]["output"].as_array().expect("entries");
    let stdout = output[0]["stdout"].as_str().expect("a text");
    let (head, rest) = stdout
        .split_once("\n[")
        .expect("a line that reports the omission");
    let (omission, tail) = rest.split_once("]\n").expect("the end of that line");
    assert_eq!(head.len() + tail.len(), 51_200);
    assert!(omission.starts_with("38800 bytes left out"), "{omission}");
    assert_eq!(output[1]["outcome"], json!({"type": "timeout"}));
}

#[test]
fn without_a_terminal_the_answer_is_no() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let workspace = telechir.folder().join("work");
    std::fs::create_dir(&workspace).expect("the workspace");
    let workspace = workspace.to_str().expect("a path");
    let response = anthropic(&[bash("toolu_1", "touch made; ls")]);
    let shell = ["exec", "--dialect", "anthropic-messages", "--shell"];
    let ran = telechir.run(
        &[&shell[..], &["--workspace", workspace]].concat(),
        &response,
    );
    assert_eq!(ran.json()[0]["is_error"], true);
    // In a folder of its own and without a network, nothing of anybody's is in reach.
    let ran = telechir.run(&shell, &response);
    assert_ne!(ran.json()[0]["is_error"], true, "{}", ran.stdout);
    // A network is of somebody else.
    let policy = telechir.folder().join("network.toml");
    let rule = "[[network]]\nhost = ['a.example']\nverdict = 'allow'\nreason = 'A host.'";
    std::fs::write(&policy, rule).expect("the policy");
    let policy = policy.to_str().expect("a path");
    let ran = telechir.run(&[&shell[..], &["--policy", policy]].concat(), &response);
    assert_eq!(ran.json()[0]["is_error"], true, "{}", ran.stdout);
}

#[test]
fn a_failure_stops_only_its_tool_group() {
    require(Component::XServer);
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let response = anthropic(&[
        member(
            "toolu_1",
            "computer",
            "left_click",
            json!({"coordinate": [5000, 5]}),
        ),
        bash("toolu_2", "echo still"),
        member("toolu_3", "computer", "type", json!({"text": "never"})),
    ]);
    let ran = telechir.run(
        &[
            "exec",
            "--dialect",
            "anthropic-messages",
            "--desktop",
            "--shell",
            "--policy",
            &policy,
        ],
        &response,
    );
    let reply = ran.json();
    assert_eq!(reply[0]["is_error"], true);
    assert!(
        reply[0]["content"].to_string().contains("5000"),
        "{}",
        reply[0]
    );
    assert!(
        reply[1]["content"].to_string().contains("still"),
        "{}",
        reply[1]
    );
    assert_eq!(reply[2]["is_error"], true);
    assert!(
        reply[2]["content"]
            .to_string()
            .contains("Not executed: an earlier computer action in this turn failed.")
    );
}

#[test]
fn a_call_for_a_missing_device_is_answered() {
    let response = anthropic(&[
        member("toolu_1", "browser", "screenshot", json!({})),
        bash("toolu_2", "true"),
    ]);
    let ran = Telechir::new().run(&["exec", "--dialect", "anthropic-messages"], &response);
    let reply = ran.json();
    assert!(
        reply[0]["content"].to_string().contains("--browser"),
        "{}",
        reply[0]
    );
    assert!(
        reply[1]["content"].to_string().contains("--shell"),
        "{}",
        reply[1]
    );
}

#[test]
fn an_unknown_action_is_answered_and_its_batch_does_not_run() {
    require(Component::XServer);
    let actions = json!([{"type": "move", "x": 10, "y": 10}, {"type": "levitate", "height": 3}]);
    let response = openai(&[computer_call("call_1", actions)]);
    let ran = Telechir::new().run(
        &["exec", "--dialect", "openai-responses", "--desktop"],
        &response,
    );
    let reply = ran.json();
    assert_eq!(reply[0]["type"], "computer_call_output");
    assert_eq!(png_size(openai_screenshot(&reply[0])), (1280, 800));
    assert!(
        reply.to_string().contains("levitate"),
        "the reason is reported: {}",
        ran.stdout.len()
    );
}

#[test]
fn a_recording_is_written_and_verifies() {
    require(Component::XServer);
    let telechir = Telechir::new();
    let recording = telechir.folder().join("recording");
    let recording = recording.to_str().expect("a path");
    let response = anthropic(&[member(
        "toolu_1",
        "computer",
        "left_click",
        json!({"coordinate": [10, 10]}),
    )]);
    let ran = telechir.run(
        &[
            "exec",
            "--dialect",
            "anthropic-messages",
            "--desktop",
            "--record",
            recording,
        ],
        &response,
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        telechir.run(&["audit", "verify", recording], "").code,
        Some(0)
    );
    let page = telechir.folder().join("report.html");
    let made = telechir.run(
        &["report", recording, "--out", page.to_str().expect("a path")],
        "",
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let html = std::fs::read_to_string(page).expect("a page");
    assert!(html.contains("click"), "the report lacks the call");
    assert!(
        html.contains("data:image/webp;base64,"),
        "the report lacks the screenshot"
    );
}

#[test]
fn existing_workspace_files_are_writable() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let workspace = telechir.folder().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    std::fs::write(workspace.join("note"), "before\n").expect("a file");
    let workspace_text = workspace.to_str().expect("a path");
    let response = anthropic(&[bash("toolu_1", "echo after >> note")]);
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell",
        "--workspace",
        workspace_text,
        "--policy",
        &policy,
    ];
    let ran = telechir.run(&arguments, &response);
    assert_ne!(ran.json()[0]["is_error"], true, "{}", ran.stdout);
    let note = std::fs::read_to_string(workspace.join("note")).expect("the file");
    assert_eq!(note, "before\nafter\n");
}

#[test]
fn a_session_with_a_refused_page_closes_cleanly() {
    require(Component::Chromium);
    let telechir = Telechir::new();
    let recording = telechir.folder().join("recording");
    let recording = recording.to_str().expect("a path");
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--browser=http://nowhere.invalid/",
        "--headless",
        "--record",
        recording,
    ];
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let ran = telechir.run(&arguments, &response);
    ran.fails(1, &["--browser=http://nowhere.invalid/"]);
    let page = telechir.folder().join("report.html");
    let page = page.to_str().expect("a path");
    let made = telechir.run(&["report", recording, "--out", page], "");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let html = std::fs::read_to_string(page).expect("a page");
    assert!(html.contains(">closed</td>"), "the report lacks the close");
}

#[test]
fn a_page_that_does_not_load_can_be_interrupted() {
    use std::os::unix::process::ExitStatusExt as _;
    require(Component::Chromium);
    let telechir = Telechir::new();
    // Accepts a connection and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    silent.set_nonblocking(true).expect("a non-blocking socket");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let flag = format!("--browser={url}");
    let policy = telechir.folder().join("policy.toml");
    let rule = "[[url]]\nhost = [\"127.0.0.1\"]\nverdict = \"allow\"\nreason = \"A test.\"\n";
    std::fs::write(&policy, rule).expect("a policy");
    let policy = policy.to_string_lossy();
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        &flag,
        "--headless",
        "--policy",
        &policy,
    ];
    let mut child = telechir
        .command(&arguments)
        .spawn()
        .expect("the binary starts");
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, response.as_bytes()).expect("the response is written");
    drop(stdin);
    let mut is_requested = || {
        let ended = child.try_wait().expect("a child");
        assert_eq!(ended, None, "the run ended early");
        silent.accept().is_ok()
    };
    assert_eventually_blocking!(is_requested(), "a request for the page arrives");
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a number"), rustix::process::Signal::TERM)
        .expect("a running program");
    let ended = child.wait_with_output().expect("an exit status");
    let omission = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        ended.status.signal(),
        None,
        "killed by a signal: {omission}"
    );
    assert_eq!(ended.status.code(), Some(128 + 15), "{omission}");
    telechir.assert_nothing_left();
}

#[test]
fn a_workspace_has_the_same_user_in_every_session() {
    use std::os::unix::fs::MetadataExt as _;
    require(Component::Sandbox);
    if lacks(Privilege::Root, telechir_process::is_root()) {
        return;
    }
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let workspace = telechir.folder().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    let before = telechir_process::Identity::unprivileged(3_777).expect("a user");
    std::os::unix::fs::chown(&workspace, Some(before.uid), Some(before.gid)).expect("its owner");
    let workspace_text = workspace.to_str().expect("a path");
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell",
        "--workspace",
        workspace_text,
        "--policy",
        &policy,
    ];
    let ran = telechir.run(&arguments, &anthropic(&[bash("toolu_1", "touch made")]));
    assert_ne!(ran.json()[0]["is_error"], true, "{}", ran.stdout);
    for path in [workspace.clone(), workspace.join("made")] {
        let owner = std::fs::metadata(&path).expect("the file exists").uid();
        assert_eq!(owner, before.uid, "{}", path.display());
    }
}
