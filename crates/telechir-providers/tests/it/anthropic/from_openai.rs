//! OpenAI histories encoded in this dialect, and back.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, CommandOutput, ComputerCall, Content, Message, Role, ShellCall, ShellOutcome,
    ShellResult,
};
use telechir_providers::{Dialect, Envelope, History, Report};

use super::{PNG, history, image, image_media, written};

fn from_openai(items: Value) -> (Value, Report) {
    let read = Dialect::OpenaiResponses
        .decode_history(items.to_string().as_bytes())
        .unwrap()
        .0;
    let (messages, report) = written(&read).unwrap();
    // The encoded messages round-trip in this dialect.
    assert_eq!(written(&history(&messages)).unwrap().0, messages);
    (messages, report)
}

fn reported(report: &Report) -> Vec<&str> {
    report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect()
}

fn data_uri() -> String {
    format!("data:image/png;base64,{PNG}")
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn screenshot_of(call_id: &str) -> Value {
    json!({"type": "computer_call_output", "call_id": call_id, "output": {"type": "computer_screenshot", "image_url": data_uri()}})
}

#[test]
fn a_batch_becomes_one_block_per_action_and_is_joined_again() {
    let batch = json!([
        {"type": "click", "button": "left", "x": 10, "y": 20, "keys": ["SHIFT"]},
        {"type": "type", "text": "cats"},
        {"type": "keypress", "keys": ["ENTER"]},
    ]);
    let items = json!([
        user("search"),
        {"type": "computer_call", "call_id": "call_1", "status": "completed", "actions": batch},
        screenshot_of("call_1"),
        {"role": "assistant", "content": "Done."},
    ]);
    let (messages, report) = from_openai(items.clone());
    let block = |id: &str, name: &str, input: Value| super::member(id, "computer", name, input);
    let result = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": content});
    let later =
        json!([{"type": "text", "text": "Answered together with the last action of this batch."}]);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "search"}]},
        {"role": "assistant", "content": [
            block("call_1-1of3", "left_click", json!({"coordinate": [10, 20], "text": "shift"})),
            block("call_1-2of3", "type", json!({"text": "cats"})),
            block("call_1-3of3", "key", json!({"text": "Return"})),
        ]},
        {"role": "user", "content": [
            result("call_1-1of3", later.clone()),
            result("call_1-2of3", later),
            result("call_1-3of3", json!([image()])),
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]);
    assert_eq!(messages, expected);
    assert_eq!(reported(&report), Vec::<&str>::new());

    let (back, _) = Dialect::OpenaiResponses
        .encode_history(&history(&messages))
        .unwrap();
    let calls: Vec<&Value> = back
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "computer_call")
        .collect();
    assert_eq!(calls.len(), 1, "{back}");
    assert_eq!(calls[0]["call_id"], "call_1");
    let names: Vec<&Value> = calls[0]["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| &action["type"])
        .collect();
    assert_eq!(names, ["click", "type", "keypress"]);
}

#[test]
fn every_call_has_its_result_first_in_the_next_message() {
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    let items = json!([
        call("a"),
        call("b"),
        user("and?"),
        output("b"),
        call("c"),
        user("now"),
        output("a")
    ]);
    let (messages, report) = from_openai(items);
    let roles: Vec<&Value> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["role"])
        .collect();
    assert_eq!(roles, ["assistant", "user", "assistant", "user"]);
    let ids = |message: &Value| {
        message["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["tool_use_id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&messages[1]), [json!("a"), json!("b"), Value::Null]);
    assert_eq!(ids(&messages[3]), [json!("c"), Value::Null]);
    assert_eq!(messages[3]["content"][0]["is_error"], true);
    assert_eq!(reported(&report), ["a missing result"]);
}

#[test]
fn a_final_call_needs_no_result() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let (messages, report) = from_openai(json!([user("go"), call]));
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert!(report.is_lossless());
}

#[test]
fn commands_with_separate_outputs_are_separate_calls() {
    let commands = json!({"commands": ["cd /tmp", "false"]});
    let items = json!([
        {"type": "shell_call", "call_id": "call_1", "action": commands},
        {"type": "shell_call_output", "call_id": "call_1", "output": [
            {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "no\n", "outcome": {"type": "exit", "exit_code": 1}},
        ]},
    ]);
    let (messages, _) = from_openai(items);
    let inputs: Vec<&Value> = messages[0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["input"])
        .collect();
    assert_eq!(
        inputs,
        [&json!({"command": "cd /tmp"}), &json!({"command": "false"})]
    );
    let content: Vec<&Value> = messages[1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["content"])
        .collect();
    assert_eq!(content, ["[exit code 0]", "[stderr]\nno\n[exit code 1]"]);
    let Content::ShellCall(call) = &history(&messages).messages[0].contents[0] else {
        panic!()
    };
    assert_eq!((call.call_id.as_str(), call.commands.len()), ("call_1", 2));
    let Content::ShellResult(result) = &history(&messages).messages[1].contents[0] else {
        panic!()
    };
    assert_eq!((result.outputs.len(), result.exit_code()), (2, Some(1)));
}

#[test]
fn commands_with_a_combined_output_are_one_script() {
    let call = ShellCall::execute(
        "c",
        vec!["cd /tmp", "ls"]
            .into_iter()
            .map(|line| telechir_protocol::Command::Line(line.into()))
            .collect(),
    );
    let output = CommandOutput {
        stdout: "a\n".into(),
        exit_code: Some(0),
        outcome: ShellOutcome::Success,
        ..CommandOutput::default()
    };
    let messages = vec![
        Message::new(Role::Assistant, vec![Content::ShellCall(call)]),
        Message::new(
            Role::Tool,
            vec![Content::ShellResult(ShellResult::new("c", vec![output]))],
        ),
    ];
    let (messages, report) = written(&History {
        messages,
        envelope: Envelope::List,
    })
    .unwrap();
    assert_eq!(messages[0]["content"][0]["input"]["command"], "cd /tmp\nls");
    assert_eq!(reported(&report), ["a list of commands"]);
}

#[test]
fn unsupported_values_are_reported() {
    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"type": "computer_call", "id": "cu_1", "call_id": "call:1", "status": "completed",
         "pending_safety_checks": [{"id": "sc_1", "code": "malicious_instructions", "message": "?"}],
         "actions": [{"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 250, "keys": []}]},
        {"type": "computer_call_output", "call_id": "call:1", "acknowledged_safety_checks": [{"id": "sc_1"}],
         "output": {"type": "computer_screenshot", "image_url": data_uri()}},
    ]);
    let (messages, report) = from_openai(items);
    let content = reported(&report).join("\n");
    for expected in [
        "reasoning rs_1",
        "item id cu_1",
        "safety check sc_1",
        "acknowledged safety check sc_1",
        "scroll distance in pixels",
        "id call:1",
    ] {
        assert!(content.contains(expected), "{expected} in {content}");
    }
    let block = &messages[0]["content"][0];
    assert_eq!(
        block["input"],
        json!({"coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3})
    );
    let id = block["id"].as_str().unwrap();
    assert!(
        id.chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
        "{id}"
    );
    assert_eq!(messages[1]["content"][0]["tool_use_id"], id);
}

#[test]
fn an_unsupported_action_becomes_a_function_and_round_trips() {
    let call = ComputerCall::new(
        "c",
        vec![Action::KeyDown {
            chord: telechir_protocol::Chord::parse("ctrl").unwrap(),
        }],
    );
    let messages = vec![Message::new(
        Role::Assistant,
        vec![Content::ComputerCall(call.clone())],
    )];
    let (messages, report) = written(&History {
        messages,
        envelope: Envelope::List,
    })
    .unwrap();
    assert_eq!(messages[0]["content"][0]["name"], "computer_action");
    assert_eq!(reported(&report), ["computer call key_down"]);
    let Content::ComputerCall(again) = &history(&messages).messages[0].contents[0] else {
        panic!()
    };
    assert_eq!(again.actions, call.actions);
}

#[test]
fn a_drag_along_many_points_becomes_single_moves() {
    let path = json!([{"x": 1, "y": 1}, {"x": 2, "y": 2}, {"x": 3, "y": 3}]);
    let items = json!([
        {"type": "computer_call", "call_id": "c", "actions": [{"type": "drag", "path": path, "keys": null}, {"type": "screenshot"}]},
        screenshot_of("c"),
    ]);
    let (messages, report) = from_openai(items);
    let names: Vec<&Value> = messages[0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["name"])
        .collect();
    assert_eq!(
        names,
        [
            "mouse_move",
            "left_mouse_down",
            "mouse_move",
            "mouse_move",
            "left_mouse_up",
            "screenshot"
        ]
    );
    assert_eq!(messages[1]["content"][5]["content"], json!([image()]));
    assert_eq!(reported(&report), ["drag path"]);
}

#[test]
fn the_request_determines_the_tool_version() {
    let request = |tools: Value, model: &str| {
        let value = json!({"model": model, "max_tokens": 1, "tools": tools, "messages": [{"role": "user", "content": "go"}]});
        let mut history = history(&value);
        let call = ComputerCall::new("c", vec![Action::Screenshot]);
        history.messages.push(Message::new(
            Role::Assistant,
            vec![Content::ComputerCall(call)],
        ));
        written(&history).unwrap().0["messages"][1]["content"][0].clone()
    };
    let older = json!({"type": "tool_use", "id": "c", "name": "computer", "input": {"action": "screenshot"}});
    assert_eq!(request(json!([]), "claude-sonnet-4-5-20250929"), older);
    let tool = json!([{"type": "computer_20251124", "name": "computer", "display_width_px": 1, "display_height_px": 1}]);
    assert_eq!(request(tool, "claude-opus-5"), older);
    assert_eq!(
        request(json!([]), "claude-opus-5"),
        super::member("c", "computer", "screenshot", json!({}))
    );
}

#[test]
fn own_calls_accept_results_without_raw_json() {
    let call = super::member("toolu_1", "computer", "screenshot", json!({}));
    let mut turn =
        super::turn(&json!([{"type": "thinking", "thinking": "", "signature": "s"}, call]))
            .contents()
            .to_vec();
    let mut result = telechir_protocol::ComputerResult::new("toolu_1");
    result.screenshot = Some(image_media());
    let mut read = history(&json!([{"role": "user", "content": "look"}]));
    read.messages
        .push(Message::new(Role::Assistant, std::mem::take(&mut turn)));
    read.messages.push(Message::new(
        Role::User,
        vec![Content::ComputerResult(result)],
    ));
    let (messages, report) = written(&read).unwrap();
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer", "content": [image()]});
    let expected = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}, call]},
        {"role": "user", "content": [result]},
    ]);
    assert_eq!(messages, expected);
    assert!(report.is_lossless(), "{report:?}");
}

#[test]
fn every_openai_vector_can_be_encoded() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/openai");
    let files = std::fs::read_dir(folder)
        .map(|files| files.flatten().map(|file| file.path()).collect::<Vec<_>>());
    let mut read = 0;
    for file in files.unwrap_or_default() {
        let bytes = std::fs::read(&file).unwrap();
        let Ok((history, _)) = Dialect::OpenaiResponses.decode_history(&bytes) else {
            continue;
        };
        if let Err(error) = written(&history) {
            panic!("{}: {error}", file.display());
        }
        read += 1;
    }
    assert!(read > 0, "no history among the vectors");
}
