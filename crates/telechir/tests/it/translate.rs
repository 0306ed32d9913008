//! `decode`, `encode`, `translate`, `tools`: dialects from the command line.

use serde_json::{Value, json};

use crate::telechir::Telechir;

fn anthropic_history() -> Value {
    json!([
        {"role": "user", "content": "Search for penguin."},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer", "input": {"coordinate": [0, 0]}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {"command": "pwd"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [{"type": "text", "text": "Clicked."}]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "/root\n"},
        ]},
    ])
}

fn openai_history() -> Value {
    json!([
        {"role": "user", "content": "Search for penguin."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
        {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed", "actions": [
            {"type": "click", "button": "left", "x": 0, "y": 0, "keys": null}, {"type": "type", "text": "penguin"}]},
        {"type": "computer_call_output", "call_id": "call_1", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}},
        {"type": "shell_call", "id": "sh_1", "call_id": "call_2", "status": "completed", "action": {"commands": ["pwd", "ls"], "max_output_length": null, "timeout_ms": null}},
        {"type": "shell_call_output", "call_id": "call_2", "output": [
            {"stdout": "/\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}}]},
    ])
}

fn translate(from: &str, to: &str, history: &Value) -> Value {
    Telechir::new()
        .run(
            &["translate", "--from", from, "--to", to],
            &history.to_string(),
        )
        .json()
}

#[test]
fn the_same_dialect_is_the_identity() {
    for (dialect, history) in [
        ("anthropic-messages", anthropic_history()),
        ("openai-responses", openai_history()),
    ] {
        assert_eq!(translate(dialect, dialect, &history), history);
    }
}

#[test]
fn neutral_contents_round_trip() {
    let telechir = Telechir::new();
    for (dialect, history) in [
        ("anthropic-messages", anthropic_history()),
        ("openai-responses", openai_history()),
    ] {
        let neutral = telechir.run(&["decode", "--dialect", dialect], &history.to_string());
        assert_eq!(neutral.code, Some(0), "{}", neutral.stderr);
        let back = telechir.run(&["encode", "--dialect", dialect], &neutral.stdout);
        assert_eq!(back.json(), history, "{dialect}");
    }
}

#[test]
fn every_call_has_a_result_in_the_other_dialect() {
    let items = translate(
        "anthropic-messages",
        "openai-responses",
        &anthropic_history(),
    );
    let items = items.as_array().expect("items");
    let ids = |suffix: &str| -> Vec<String> {
        let wanted = items.iter().filter(|item| {
            item["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with(suffix))
        });
        wanted
            .map(|item| item["call_id"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(ids("_call").len(), 2);
    assert_eq!(ids("_call"), ids("_call_output"));

    let messages = translate("openai-responses", "anthropic-messages", &openai_history());
    let blocks = |kind: &str, member: &str| -> Vec<String> {
        let all = messages
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|m| m["content"].as_array())
            .flatten();
        all.filter(|b| b["type"] == kind)
            .map(|b| b[member].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert!(blocks("tool_use", "id").len() >= 3, "{messages}");
    assert_eq!(
        blocks("tool_use", "id"),
        blocks("tool_result", "tool_use_id")
    );
}

#[test]
fn a_loss_in_strict_mode_prints_nothing_and_exits_with_3() {
    let history = openai_history().to_string();
    let arguments = [
        "translate",
        "--from",
        "openai-responses",
        "--to",
        "anthropic-messages",
        "--strict",
    ];
    let ran = Telechir::new().run(&arguments, &history);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let first: Value = serde_json::from_str(ran.stderr.lines().next().expect("a report line"))
        .expect("a JSON line");
    assert!(
        first["what"].is_string() && first["where"].is_string() && first["why"].is_string(),
        "{first}"
    );
}

#[test]
fn tools_follow_the_model() {
    let telechir = Telechir::new();
    let tools = |arguments: &[&str]| {
        let mut all = vec!["tools", "--dialect"];
        all.extend(arguments);
        telechir.run(&all, "").json()
    };
    let newest = tools(&[
        "anthropic-messages",
        "--model",
        "claude-opus-5-5",
        "--shell",
    ]);
    assert_eq!(
        newest["tools"][0],
        json!({"type": "computer_toolset_20260801"})
    );
    assert_eq!(
        newest["tools"][1],
        json!({"type": "bash_20250124", "name": "bash"})
    );
    // An additional tool covers what the native bash tool cannot.
    assert_eq!(newest["tools"][2]["name"], "shell_session");
    let older = tools(&[
        "anthropic-messages",
        "--model",
        "claude-sonnet-4-5",
        "--display",
        "1280x800",
    ]);
    assert_eq!(older["tools"][0]["type"], "computer_20250124");
    assert_eq!(older["tools"][0]["display_width_px"], 1280);
    assert_eq!(
        older["headers"]["anthropic-beta"],
        "computer-use-2025-01-24"
    );
    assert_eq!(
        tools(&["openai-responses", "--model", "gpt-5.6-sol"])["tools"],
        json!([{"type": "computer"}])
    );
    let no_size = telechir.run(
        &[
            "tools",
            "--dialect",
            "anthropic-messages",
            "--model",
            "claude-sonnet-4-5",
        ],
        "",
    );
    no_size.fails(1, &["display"]);
}

#[test]
fn a_shell_is_declared_without_a_computer_and_without_losses() {
    let telechir = Telechir::new();
    let tools = |arguments: &str| {
        let all: Vec<&str> = ["tools", "--dialect"]
            .into_iter()
            .chain(arguments.split(' '))
            .collect();
        telechir.run(&all, "")
    };
    let alone = tools("bedrock-converse --no-computer --shell");
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    assert!(!alone.stdout.contains("computer"), "{}", alone.stdout);
    tools("bedrock-converse --no-computer").fails(2, &["--page-tool", "--shell"]);
    for dialect in ["functions", "anthropic-messages", "google-generate-content"] {
        let page = tools(&format!("{dialect} --no-computer --page-tool"));
        assert_eq!(page.code, Some(0), "{dialect}: {}", page.stderr);
        assert_eq!(page.stdout.matches("\"execute_browser\"").count(), 1);
        assert!(!page.stdout.contains("screenshot"), "{}", page.stdout);
    }
    for (arguments, reported) in [
        ("openai-responses", 0),
        ("openai-responses --environment linux", 1),
        ("google-interactions", 0),
    ] {
        let stderr = tools(arguments).stderr;
        assert_eq!(stderr.lines().count(), reported, "{arguments}: {stderr}");
    }
}

#[test]
fn an_unknown_excluded_action_is_named() {
    let arguments = [
        "tools",
        "--dialect",
        "anthropic-messages",
        "--exclude",
        "zoom,levitate",
    ];
    Telechir::new()
        .run(&arguments, "")
        .fails(2, &["levitate", "expected one of", "screenshot"]);
}

/// A response of two calls as server-sent events, complete only with the last event.
fn events() -> String {
    let response = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}", "status": "completed"}]});
    [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": "{}"}),
        json!({"type": "response.completed", "response": response}),
    ]
    .iter()
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type")))
    .collect()
}

fn stream(bytes: &str) -> crate::telechir::Ran {
    let arguments = ["decode", "--dialect", "openai-responses", "--stream"];
    Telechir::new().run(&arguments, bytes)
}

#[test]
fn a_stream_prints_one_line_per_delta_and_then_the_turn() {
    let ran = stream(&events());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON in every line"))
        .collect();
    assert_eq!(lines[0]["type"], "call");
    let last = lines.last().expect("a line");
    assert_eq!(last["type"], "turn");
    assert_eq!(last["contents"][0]["type"], "function_call");
    assert_eq!(last["report"], json!([]));
}

#[test]
fn a_truncated_stream_fails() {
    let events = events();
    let end = events
        .find("event: response.completed")
        .expect("the last event");
    let ran = stream(&events[..end]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("to its end"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("\"turn\""), "{}", ran.stdout);
}

#[test]
fn a_dialect_without_streaming_is_refused() {
    let arguments = ["decode", "--dialect", "agent-framework", "--stream"];
    Telechir::new()
        .run(&arguments, "")
        .fails(2, &["agent-framework"]);
}

#[test]
fn every_dialect_declares_tools_and_reports_losses() {
    for dialect in telechir_providers::Dialect::ALL {
        let ran = Telechir::new().run(
            &[
                "tools",
                "--dialect",
                dialect.name(),
                "--display",
                "1280x800",
                "--shell",
            ],
            "",
        );
        let tools = ran.json()["tools"].as_array().map(Vec::len);
        assert!(tools > Some(0), "{dialect}: {}", ran.stdout);
    }
}

/// The providers' own tests cover every pair; this tests each dialect from the command line.
#[test]
fn every_dialect_round_trips() {
    for dialect in telechir_providers::Dialect::ALL {
        let there = translate("anthropic-messages", dialect.name(), &anthropic_history());
        let back = translate(dialect.name(), "anthropic-messages", &there);
        assert!(
            back.as_array().is_some_and(|back| back.len() > 2),
            "{dialect}: {back}"
        );
    }
}

#[test]
fn instructions_do_not_make_a_strict_translation_fail() {
    let request = json!({"model": "claude-opus-5-5", "max_tokens": 99, "system": "Be brief.",
        "messages": [{"role": "user", "content": "Is it late?"}]});
    for to in ["functions", "google-generate-content", "openai-responses"] {
        let arguments = [
            "translate",
            "--from",
            "anthropic-messages",
            "--to",
            to,
            "--strict",
        ];
        let ran = Telechir::new().run(&arguments, &request.to_string());
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.stderr);
        assert!(ran.stdout.contains("Be brief."), "{to}: {}", ran.stdout);
        assert!(ran.stderr.contains("`max_tokens`"), "{to}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_model_is_listed_as_the_newest_with_similar_names() {
    let ran = Telechir::new().run(&["tools", "--model", "gpt-5.6-sun"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("openai-responses"), "{}", ran.stdout);
    assert!(ran.stderr.contains("gpt-5.6-sol"), "{}", ran.stderr);
    let known = Telechir::new().run(&["tools", "--model", "gpt-5.6-sol"], "");
    assert_eq!(known.stderr, "");
    assert_eq!(known.stdout, ran.stdout);
}

fn losses(ran: &crate::telechir::Ran) -> Vec<Value> {
    let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

#[test]
fn values_around_the_messages_do_not_make_a_strict_translation_fail() {
    let request = r#"{"model": "m", "max_tokens": 5, "max_tokens" : 7, "metadata": {"n": 123456789012345678901},
        "messages": [{"role": "user", "content": "Is it late?"}]}"#;
    let arguments = "translate --from anthropic-messages --to functions --strict";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let ran = Telechir::new().run(&arguments, request);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = losses(&ran);
    let has = |pointer: &str| lines.iter().any(|line| line["where"] == pointer);
    assert!(has("/max_tokens") && has("/metadata/n"), "{lines:?}");
    // The same of a message is a loss.
    let message = r#"{"max_tokens": 5, "messages": [{"role": "user", "content": "One.", "content": "Two."}]}"#;
    let ran = Telechir::new().run(&arguments, message);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let lines = losses(&ran);
    let lost = lines.last().expect("a loss");
    assert_eq!(lost["where"], "/messages/0/content");
}

/// Asserts that the command line was refused.
#[track_caller]
fn refused(ran: &crate::telechir::Ran, fragments: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for fragment in fragments {
        assert!(ran.stderr.contains(fragment), "{}", ran.stderr);
    }
}

#[test]
fn an_option_without_effect_is_refused_or_named() {
    let request = json!({"model": "gpt-5.6-sol", "input": "Is it late?"}).to_string();
    let run = |more: &[&str], input: &str| {
        let mut arguments = vec![
            "translate",
            "--from",
            "openai-responses",
            "--to",
            "functions",
        ];
        arguments.extend(more);
        Telechir::new().run(&arguments, input)
    };
    for option in ["--model=m", "--model-map=a=b", "--model-map-file=/dev/null"] {
        let name = option.split('=').next().expect("a name");
        refused(&run(&[option], &request), &["--envelope", "--stream", name]);
    }
    let unused = |ran: &crate::telechir::Ran| -> Vec<String> {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let lines = losses(ran).into_iter();
        let options = lines.filter(|line| line["where"] == "the command line");
        options
            .map(|line| line["what"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let text = "--thinking=text";
    assert_eq!(
        unused(&run(&[text], &request)),
        ["option `--thinking text`"]
    );
    let both = ["--model-map=other=n", "--model-map=gpt-5.6-sol=m", text];
    let mut complete = vec!["--envelope"];
    complete.extend(both);
    let expected = ["option `--model-map other=n`", "option `--thinking text`"];
    assert_eq!(unused(&run(&complete, &request)), expected);
    let events = events().replace("\"model\":\"m\"", "\"model\":\"gpt-5.6-sol\"");
    let mut stream = vec!["--stream"];
    stream.extend(both);
    assert_eq!(unused(&run(&stream, &events)), expected);
}

#[test]
fn a_model_has_a_name() {
    for arguments in [
        "tools --dialect anthropic-messages --model",
        "doctor --model",
        "translate --from functions --to neutral --envelope --model",
    ] {
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        arguments.push(" ");
        let ran = Telechir::new().run(&arguments, "");
        refused(&ran, &["--model", "the name of a model"]);
    }
}

#[test]
fn the_tools_of_an_unknown_model_are_assumed_and_reported() {
    let run = |dialect: &str, model: &str| {
        let arguments = ["tools", "--dialect", dialect, "--model", model];
        Telechir::new().run(&arguments, "")
    };
    let ran = run("openai-responses", "gpt-5.6-sun");
    assert_eq!(ran.json()["tools"], json!([{"type": "computer"}]));
    let [line] = &losses(&ran)[..] else {
        panic!("{}", ran.stderr);
    };
    assert_eq!(line["what"], "model `gpt-5.6-sun`");
    assert_eq!(line["kept"], "with the tools of version 5.6");
    let why = line["why"].as_str().unwrap_or_default();
    assert!(why.contains("gpt-5.6-sol"), "{why}");
    // What the line says is what is declared.
    let ran = run("anthropic-messages", "claude-sonet-5");
    assert_eq!(losses(&ran)[0]["kept"], "with the tools of version 5");
    let known = run("anthropic-messages", "claude-sonnet-5");
    assert_eq!(ran.json(), known.json());
    assert_eq!(run("functions", "our-model").stderr, "");
}
