//! Translations from this dialect to another and back.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_protocol::{Content, Media, Role};
use telechir_providers::{Dialect, History, Loss, Report};

use super::vectors::vector;
use super::{DIALECT, IMAGE};

const OTHER: Dialect = Dialect::AnthropicMessages;

fn read(dialect: Dialect, value: &Value) -> History {
    dialect
        .decode_history(value.to_string().as_bytes())
        .unwrap()
        .0
}

fn translated(from: Dialect, to: Dialect, value: &Value) -> (Value, Report) {
    to.encode_history(&read(from, value)).unwrap()
}

/// The calls and texts of a history, without provider-specific parts.
fn summary(history: &History) -> Vec<String> {
    let contents = history
        .messages
        .iter()
        .flat_map(|message| &message.contents);
    contents.map(in_short).collect()
}

fn in_short(content: &Content) -> String {
    if let Content::ComputerCall(call) = content {
        let actions: Vec<Value> = call
            .actions
            .iter()
            .map(|action| Value::Object(action.to_json()))
            .collect();
        format!(
            "{} {} {}",
            call.call_id,
            call.group.as_deref().unwrap_or_default(),
            Value::from(actions)
        )
    } else if let Content::ComputerResult(result) = content {
        let error = result
            .error
            .as_ref()
            .map(|failure| failure.message.as_str());
        format!(
            "{} screenshot {} error {error:?}",
            result.call_id,
            result.screenshot.is_some()
        )
    } else if let Content::ShellCall(call) = content {
        format!("{} {:?}", call.call_id, call.commands)
    } else if let Content::ShellResult(result) = content {
        format!("{} {:?}", result.call_id, result.stdout())
    } else if let Content::Text(text) = content {
        text.text.clone()
    } else {
        format!("{content:?}")
    }
}

fn anthropic(calls: &[(&str, &str, Value)]) -> Value {
    let call = |(id, name, input): &(&str, &str, Value)| json!({"type": "tool_use", "id": id, "name": name, "toolset_name": "computer", "input": input});
    let image = json!({
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": IMAGE.split_once(',').unwrap().1},
    });
    let result = |(id, _, _): &(&str, &str, Value)| json!({"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": [image]});
    json!([
        {"role": "user", "content": "Open the menu."},
        {"role": "assistant", "content": calls.iter().map(call).collect::<Vec<_>>()},
        {"role": "user", "content": calls.iter().map(result).collect::<Vec<_>>()},
    ])
}

#[test]
fn an_overlong_id_is_replaced_in_call_and_result_and_reported() {
    let long = "t".repeat(65);
    let history = anthropic(&[(long.as_str(), "screenshot", json!({}))]);
    let (items, report) = translated(OTHER, DIALECT, &history);
    let ids: Vec<&str> = items
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["call_id"].as_str())
        .collect();
    assert_eq!(ids.len(), 2, "{items}");
    assert!(ids[0] == ids[1] && ids[0].len() <= 64, "{ids:?}");
    let is_reported = |loss: &Loss| {
        loss.what.contains(&long) && loss.preserved_as.as_deref() == Some(&format!("as {}", ids[0]))
    };
    assert!(report.losses.iter().any(is_reported), "{report:?}");

    let own = json!([{"type": "function_call", "call_id": long, "name": "f", "arguments": "{}"}]);
    let (unchanged, _) = translated(DIALECT, DIALECT, &own);
    assert_eq!(unchanged, own, "items of this dialect keep their ids");
}

#[test]
fn calls_of_the_toolset_become_items_and_come_back() {
    let history = anthropic(&[
        ("t1", "screenshot", json!({})),
        (
            "t2",
            "left_click",
            json!({"coordinate": [10, 20], "text": "ctrl"}),
        ),
        ("t3", "double_click", json!({"coordinate": [0, 0]})),
        ("t4", "type", json!({"text": "héllo"})),
        ("t5", "key", json!({"text": "ctrl+shift+t"})),
        ("t6", "mouse_move", json!({"coordinate": [3, 4]})),
        (
            "t7",
            "left_click_drag",
            json!({"start_coordinate": [1, 2], "coordinate": [3, 4]}),
        ),
        ("t8", "zoom", json!({"region": [0, 0, 100, 100]})),
        ("t9", "hold_key", json!({"text": "shift", "duration": 2})),
        ("t10", "left_mouse_down", json!({})),
        ("t11", "cursor_position", json!({})),
    ]);
    let (items, _) = translated(OTHER, DIALECT, &history);
    let kinds: Vec<&str> = items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    let mut expected = vec!["message"];
    expected.extend([["computer_call"; 7].as_slice(), &["function_call"; 4]].concat());
    expected.extend(
        [
            ["computer_call_output"; 7].as_slice(),
            &["function_call_output"; 4],
        ]
        .concat(),
    );
    assert_eq!(kinds, expected);

    let before = summary(&read(OTHER, &history));
    assert_eq!(summary(&read(DIALECT, &items)), before);
    let (back, _) = translated(DIALECT, OTHER, &items);
    assert_eq!(summary(&read(OTHER, &back)), before);
}

#[test]
fn a_translation_reports_its_changes() {
    let history = anthropic(&[
        ("t1", "triple_click", json!({"coordinate": [1, 2]})),
        (
            "t2",
            "scroll",
            json!({"coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 3}),
        ),
        ("t3", "wait", json!({"duration": 5})),
        ("t4", "zoom", json!({"region": [0, 0, 10, 10]})),
    ]);
    let (items, report) = translated(OTHER, DIALECT, &history);
    let what: Vec<&str> = report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect();
    let expected = [
        "triple_click of the left button",
        "clicks of scroll",
        "duration of wait",
        "call of zoom",
    ];
    assert_eq!(what, expected);
    assert_eq!(items[2]["actions"][0]["scroll_y"], -300);
}

#[test]
fn calls_of_bash_become_shell_calls_and_come_back() {
    let history = json!([
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls -la"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "notes.txt\n"},
        ]},
    ]);
    let (items, _) = translated(OTHER, DIALECT, &history);
    assert_eq!(items[0]["action"]["commands"], json!(["ls -la"]));
    let entry =
        json!({"stdout": "notes.txt\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}});
    assert_eq!(items[1]["output"], json!([entry]));
    let (back, _) = translated(DIALECT, OTHER, &items);
    assert_eq!(
        summary(&read(OTHER, &back)),
        summary(&read(OTHER, &history))
    );
}

#[test]
fn a_batch_survives_the_other_dialect() {
    let items = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Search."}]},
        vector("output.computer_call.ga.json"),
        {
            "type": "computer_call_output", "call_id": "call_a1",
            "output": {"type": "computer_screenshot", "image_url": IMAGE},
        },
    ]);
    let (messages, _) = translated(DIALECT, OTHER, &items);
    let history = read(OTHER, &messages);
    let contents: Vec<&Content> = history
        .messages
        .iter()
        .flat_map(|message| &message.contents)
        .collect();
    let names: Vec<&str> = contents
        .iter()
        .filter_map(|content| {
            if let Content::ComputerCall(call) = content {
                Some(call)
            } else {
                None
            }
        })
        .flat_map(|call| call.actions.iter().map(|action| action.name()))
        .collect();
    assert_eq!(names, ["click", "key", "type", "key", "wait", "screenshot"]);
    let images = contents.iter().filter(|content| {
        matches!(content, Content::ComputerResult(result) if matches!(result.screenshot, Some(Media::Data(_))))
    });
    assert_eq!(images.count(), 1);
}

#[test]
fn instructions_of_another_request_are_a_message() {
    let request = json!({
        "model": "claude-opus-5-5", "max_tokens": 1000, "system": "Use the browser only.",
        "messages": [{"role": "user", "content": "Go."}],
    });
    let (items, report) = translated(OTHER, DIALECT, &request);
    assert_eq!(items[0]["role"], "system");
    assert_eq!(items[0]["content"][0]["text"], "Use the browser only.");
    let what: Vec<(&str, bool)> = report
        .losses
        .iter()
        .map(|loss| (loss.what.as_str(), loss.preserved_as.is_some()))
        .collect();
    assert_eq!(
        what,
        [("member `model`", false), ("member `max_tokens`", false)]
    );
}

#[test]
fn instructions_of_a_request_are_translated() {
    let (messages, _) = translated(DIALECT, OTHER, &vector("request.shell_local.json"));
    let history = read(OTHER, &messages);
    assert_eq!(history.messages[0].role, Role::System);
    assert!(summary(&history).contains(&"You are on Linux.".to_owned()));
}

/// The vectors of a dialect that are histories.
fn histories(dialect: Dialect) -> Vec<(String, Value)> {
    let short = dialect.name().split('-').next().unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(short);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let document = conversation(serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
        let is_about_files = name == "index.json" || name == "manifest.json";
        let read = dialect.decode_history(document.to_string().as_bytes());
        if !is_about_files && read.is_ok() {
            found.push((name, document));
        }
    }
    assert!(found.len() > 15, "{} histories of {dialect}", found.len());
    found
}

/// An exchange is a turn with its reply; a request may be stored with its headers.
fn conversation(document: Value) -> Value {
    match (
        document.get("assistant"),
        document.get("user"),
        document.get("body"),
    ) {
        (Some(call), Some(result), _) => json!([
            {"role": "assistant", "content": call}, {"role": "user", "content": result},
        ]),
        (_, _, Some(body)) => body.clone(),
        _ => document,
    }
}

/// Each output has its call, and if all calls of a history are answered, each call has one output.
#[test]
fn every_anthropic_vector_becomes_consistent_items() {
    for (name, document) in histories(OTHER) {
        let Ok((items, _)) = DIALECT.encode_history(&read(OTHER, &document)) else {
            panic!("{name} cannot be translated")
        };
        let again = read(DIALECT, &items);
        assert_eq!(super::written(&again).0, items, "{name}");
        let ids = |suffix: &str| -> Vec<&str> {
            let of = |item: &&Value| item["type"].as_str().unwrap_or_default().ends_with(suffix);
            items
                .as_array()
                .unwrap()
                .iter()
                .filter(of)
                .filter_map(|item| item["call_id"].as_str())
                .collect()
        };
        let mut outputs = ids("_output");
        outputs.sort_unstable();
        outputs.dedup();
        assert_eq!(
            outputs.len(),
            ids("_output").len(),
            "{name}: two outputs of one call"
        );
    }
}

#[test]
fn every_openai_vector_can_be_translated_to_anthropic() {
    for (name, document) in histories(DIALECT) {
        let history = read(DIALECT, &document);
        match OTHER.encode_history(&history) {
            Ok((messages, _)) => {
                let again = OTHER.decode_history(messages.to_string().as_bytes());
                assert!(again.is_ok(), "{name}: {again:?}");
            }
            Err(refused) => panic!("{name}: {refused}"),
        }
    }
}

#[test]
fn significant_settings_of_another_provider_are_reported() {
    let caller = json!({"type": "code_execution_20260120", "tool_id": "srvtoolu_1"});
    let call = |caller: &Value| json!({"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": caller});
    let messages = |block: Value| json!([{"role": "assistant", "content": [block]}]);
    let lost = |messages: Value| {
        let bytes = messages.to_string();
        let history = Dialect::AnthropicMessages
            .decode_history(bytes.as_bytes())
            .unwrap()
            .0;
        let report = DIALECT.encode_history(&history).unwrap().1;
        let lost = report.losses.into_iter().map(|loss| loss.what);
        lost.collect::<Vec<_>>()
    };
    assert_eq!(
        lost(messages(call(&caller))),
        ["settings of anthropic: caller.tool_id `srvtoolu_1`"]
    );
    assert!(lost(messages(call(&json!({"type": "direct"})))).is_empty());
}
