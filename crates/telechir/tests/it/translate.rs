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
fn the_same_dialect_gives_back_the_same_history() {
    for (dialect, history) in [
        ("anthropic-messages", anthropic_history()),
        ("openai-responses", openai_history()),
    ] {
        assert_eq!(translate(dialect, dialect, &history), history);
    }
}

#[test]
fn neutral_contents_come_back_as_the_same_history() {
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
fn every_call_is_answered_in_the_other_dialect() {
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
        newest["tools"],
        json!([{"type": "computer_toolset_20260801"}, {"type": "bash_20250124", "name": "bash"}])
    );
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
fn an_excluded_action_that_does_not_exist_is_named() {
    let arguments = [
        "tools",
        "--dialect",
        "anthropic-messages",
        "--exclude",
        "zoom,levitate",
    ];
    Telechir::new()
        .run(&arguments, "")
        .fails(2, &["levitate", "there are", "screenshot"]);
}
