//! The neutral dialect from the command line: contents in, results out.

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir};

fn exec(telechir: &Telechir, dialect: &str, flags: &[&str], response: &Value) -> Ran {
    let policy = telechir.permissive_policy();
    let fixed = ["exec", "--dialect", dialect, "--shell", "--policy", &policy];
    telechir.run(&[&fixed, flags].concat(), &response.to_string())
}

/// The JSON lines on stderr.
fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stderr.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn calls_in_and_results_out_with_functions_left_to_the_caller() {
    require(Component::Sandbox);
    let response = json!([
        {"type": "shell_call", "call_id": "s1", "commands": ["echo $((6 * 7))", "exit 3"]},
        {"type": "function_call", "call_id": "f1", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "computer_call", "call_id": "c1", "action": "zoom"},
        {"type": "shell_call", "call_id": "s2", "commands": 5},
    ]);
    let ran = exec(&Telechir::new(), "neutral", &[], &response);
    let reply = ran.json();
    let ids: Vec<&Value> = reply
        .as_array()
        .expect("results")
        .iter()
        .map(|result| &result["call_id"])
        .collect();
    assert_eq!(ids, ["s1", "c1", "s2"]);
    assert_eq!(reply[0]["type"], "shell_result");
    assert_eq!(reply[0]["outputs"][0]["stdout"], "42\n");
    assert_eq!(reply[0]["outputs"][1]["exit_code"], 3);
    assert!(reply[1]["error"]["message"].is_string(), "{reply}");
    assert!(
        reply[2]["error"]["message"]
            .to_string()
            .contains("commands"),
        "{reply}"
    );
    let left = lines(&ran);
    assert_eq!(left, [json!({"left_to_caller": response[1]})]);
}

#[test]
fn functions_are_left_by_the_flag_or_by_default() {
    require(Component::Sandbox);
    let neutral =
        json!([{"type": "function_call", "call_id": "f1", "name": "weather", "arguments": {}}]);
    let anthropic = json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [
            {"type": "tool_use", "id": "f1", "name": "weather", "input": {}},
            {"type": "tool_use", "id": "b1", "name": "bash", "input": {"command": "echo here"}}]});
    let framework = json!({"type": "message", "role": "assistant", "contents": [
        {"type": "function_call", "call_id": "f1", "name": "weather", "arguments": "{}"}]});
    let telechir = Telechir::new();
    let counts = |dialect: &str, flags: &[&str], response: &Value| {
        let ran = exec(&telechir, dialect, flags, response);
        let results = ran.json().as_array().expect("results").len();
        let left = lines(&ran)
            .iter()
            .filter(|line| line.get("left_to_caller").is_some())
            .count();
        (results, left)
    };
    assert_eq!(counts("neutral", &[], &neutral), (0, 1));
    assert_eq!(
        counts("neutral", &["--leave-functions=false"], &neutral),
        (1, 0)
    );
    assert_eq!(counts("agent-framework", &[], &framework), (0, 1));
    assert_eq!(counts("anthropic-messages", &[], &anthropic), (2, 0));
    assert_eq!(
        counts("anthropic-messages", &["--leave-functions"], &anthropic),
        (1, 1)
    );
}

#[test]
fn a_session_leaves_functions_to_the_caller_too() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let runtime = telechir.folder().join("run");
    fs::create_dir(&runtime).expect("a folder for sockets");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&runtime, private).expect("permissions");
    let response = json!([
        {"type": "function_call", "call_id": "f1", "name": "weather", "arguments": {}},
        {"type": "shell_call", "call_id": "s1", "commands": ["pwd"]},
    ]);
    let policy = telechir.permissive_policy();
    let command = |arguments: &[&str]| {
        let mut command = telechir.command(arguments);
        command.env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    let exec = [
        "exec",
        "--dialect",
        "neutral",
        "--session",
        "n",
        "--shell",
        "--policy",
        &policy,
    ];
    let ran = Ran::of(&mut command(&exec), &response.to_string());
    let reply = ran.json();
    assert_eq!(reply[0]["call_id"], "s1");
    assert_eq!(reply[0]["outputs"][0]["exit_code"], 0);
    assert_eq!(lines(&ran)[0]["left_to_caller"]["call_id"], "f1");
    let closed = Ran::of(&mut command(&["sessions", "close", "n"]), "");
    assert_eq!(closed.code, Some(0), "{closed:?}");
    telechir.assert_nothing_left();
}

#[test]
fn an_approval_mode_is_stricter_than_the_policy_and_never_looser() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let tools = |mode: &str| {
        let file = telechir.folder().join("tools.json");
        let tools = json!([{"type": "ShellTool", "approval_mode": mode}]);
        fs::write(&file, tools.to_string()).expect("a file");
        file.to_string_lossy().into_owned()
    };
    let response = json!([{"type": "shell_call", "call_id": "s1", "commands": ["echo done"]},
        {"type": "shell_call", "call_id": "s2", "action": "restart"}]);
    // Nobody can answer the question, so the answer is no.
    let denied = exec(
        &telechir,
        "neutral",
        &["--tools-from", &tools("always")],
        &response,
    )
    .json();
    for result in denied.as_array().expect("results") {
        assert_eq!(result["error"]["kind"], "denied", "{result}");
    }
    for mode in ["never", "policy"] {
        let reply = exec(
            &telechir,
            "neutral",
            &["--tools-from", &tools(mode)],
            &response,
        )
        .json();
        assert_eq!(reply[0]["outputs"][0]["stdout"], "done\n", "{mode}");
    }
    let file = telechir.folder().join("deny.toml");
    let deny = "[[shell]]\nwords = [\"echo\"]\nverdict = \"deny\"\nreason = \"No echoes.\"\n\
                examples = { match = [\"echo\"], not_match = [\"ls\"] }\n";
    fs::write(&file, deny).expect("a policy");
    let flags = [
        "exec",
        "--dialect",
        "neutral",
        "--shell",
        "--policy",
        &file.to_string_lossy(),
        "--tools-from",
        &tools("never"),
    ]
    .map(str::to_owned);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let reply = telechir.run(&flags, &response.to_string()).json();
    assert_eq!(reply[0]["error"]["kind"], "denied", "{reply}");
}

#[test]
fn neutral_is_a_dialect_of_every_command() {
    let telechir = Telechir::new();
    let history = json!([
        {"role": "user", "contents": [{"type": "text", "text": "List it."}]},
        {"role": "assistant", "contents": [{"type": "shell_call", "call_id": "s1", "commands": ["ls"]}]},
        {"role": "user", "contents": [{"type": "shell_result", "call_id": "s1", "stdout": "a\n", "exit_code": 0}]},
    ]);
    let run = |arguments: &[&str], input: &str| telechir.run(arguments, input).json();
    let translate = |from: &str, to: &str, document: &Value| {
        run(
            &["translate", "--from", from, "--to", to, "--strict"],
            &document.to_string(),
        )
    };
    assert_eq!(translate("neutral", "neutral", &history), history);
    let items = translate("neutral", "openai-responses", &history);
    assert_eq!(items[1]["type"], "shell_call");
    assert_eq!(items[2]["output"][0]["stdout"], "a\n");
    let back = translate("openai-responses", "neutral", &items);
    assert_eq!(back[1]["contents"][0]["commands"], json!(["ls"]));
    let decoded = run(&["decode", "--dialect", "neutral"], &history.to_string());
    let encoded = run(
        &["encode", "--dialect", "neutral"],
        &decoded["messages"].to_string(),
    );
    assert_eq!(encoded, history);
    let tools = run(&["tools", "--dialect", "neutral", "--shell"], "");
    assert_eq!(tools["tools"][1]["type"], "shell");
}

#[test]
fn encode_keeps_the_history_around_an_invalid_content_and_explains_an_invalid_form() {
    let telechir = Telechir::new();
    let history = json!([
        {"role": "user", "contents": [{"type": "text", "text": "Closer."}]},
        {"role": "assistant", "contents": [{"type": "computer_call", "call_id": "z", "action": "zoom"}]},
        {"role": "user", "contents": [{"type": "computer_result", "call_id": "z", "text_output": "no"}]},
    ]);
    let encode = ["encode", "--dialect", "anthropic-messages"];
    let messages = telechir.run(&encode, &history.to_string()).json();
    assert_eq!(messages.as_array().map(Vec::len), Some(3), "{messages}");
    assert_eq!(messages[1]["content"][0]["type"], "tool_use");
    let wrong = json!([{"role": "robot", "contents": []}]).to_string();
    telechir
        .run(&encode, &wrong)
        .fails(1, &["`role` is \"robot\"", "expected system"]);
}

#[test]
fn tools_come_from_a_file_or_stdin_in_any_spelling() {
    let telechir = Telechir::new();
    let tools = json!({"tools": [
        {"type": "ComputerUseTool", "environment": "linux", "display_width": 1024, "display_height": 768},
        {"type": "BashTool"},
        {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}},
        {"type": "HostedWebSearchTool", "additional_properties": {"search_context_size": "low"}},
        {"type": "local_shell"},
    ]});
    let from = ["tools", "--dialect", "openai-responses", "--from", "-"];
    let ran = telechir.run(&from, &tools.to_string());
    let output = ran.json();
    let types: Vec<&Value> = output["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| &tool["type"])
        .collect();
    assert_eq!(
        types,
        [
            "computer",
            "shell",
            "function",
            "function",
            "web_search",
            "local_shell"
        ]
    );
    assert_eq!(output["tools"][4]["search_context_size"], "low");
    let anthropic = ["tools", "--dialect", "anthropic-messages", "--from", "-"];
    let ran = telechir.run(&anthropic, &tools.to_string());
    assert!(
        lines(&ran)
            .iter()
            .any(|line| line["what"] == "tool `local_shell`"),
        "{}",
        ran.stderr
    );
    let wrong = json!([{"type": "ShellTool", "approval_mode": "sometimes"}]).to_string();
    telechir
        .run(&from, &wrong)
        .fails(1, &["tools[0]", "approval_mode"]);
    telechir.run(&from, "[]").fails(2, &["--from", "no tools"]);
}

#[test]
fn the_tools_of_a_model_are_a_table() {
    let telechir = Telechir::new();
    for command in [
        ["tools", "--model", "gpt-5.6-sol"],
        ["doctor", "--model", "gpt-5.6-sol"],
    ] {
        let ran = telechir.run(&command, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let has = |words: &[&str]| {
            let mut lines = ran.stdout.lines();
            lines.any(|line| {
                line.split_whitespace()
                    .take(words.len())
                    .eq(words.iter().copied())
            })
        };
        assert!(
            has(&["openai-responses", "computer_use", "computer"]),
            "{}",
            ran.stdout
        );
        assert!(
            has(&["functions", "image_generation", "-"]),
            "{}",
            ran.stdout
        );
    }
}
