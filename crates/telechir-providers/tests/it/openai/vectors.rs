//! Every document of `tests/vectors/openai`, according to its index.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_protocol::{Action, Content, RawTool, Tool};
use telechir_providers::{DecodeError, ToolOffer};

use super::{DIALECT, history, turn, written};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/openai")
}

pub(crate) fn vector(file: &str) -> Value {
    serde_json::from_slice(&fs::read(folder().join(file)).unwrap()).unwrap()
}

/// The documents of these kinds, with their names. A kind with `[]` is a list of such documents.
pub(crate) fn of_kind(kinds: &[&str]) -> Vec<(String, Value)> {
    let index = vector("index.json");
    let entries = index["vectors"].as_array().unwrap();
    let wanted = entries
        .iter()
        .filter(|entry| kinds.contains(&entry["kind"].as_str().unwrap()));
    let found: Vec<(String, Value)> = wanted
        .map(|entry| {
            let file = entry["file"].as_str().unwrap();
            (file.to_owned(), vector(file))
        })
        .collect();
    assert!(!found.is_empty(), "no vector is of {kinds:?}");
    found
}

#[test]
fn every_history_round_trips() {
    let kinds = [
        "output_item",
        "output_item[]",
        "input_item",
        "input_item[]",
        "request",
        "response",
    ];
    for (file, document) in of_kind(&kinds) {
        let (back, report) = written(&history(&document));
        assert_eq!(back, document, "{file}");
        assert!(report.is_lossless(), "{file}: {report:?}");
    }
}

#[test]
fn every_single_item_round_trips() {
    for (file, document) in of_kind(&["output_item[]", "input_item[]"]) {
        let named = |item: &&Value| item.get("type").is_some() || item.get("role").is_some();
        for item in document.as_array().unwrap().iter().filter(named) {
            assert_eq!(written(&history(item)).0, *item, "{file}");
        }
    }
}

#[test]
fn every_item_except_opaque_ones_has_a_neutral_value() {
    let opaque = [
        "web_search_call",
        "mcp_call",
        "mcp_list_tools",
        "program",
        "program_output",
        "compaction",
        "compaction_trigger",
        "configuration_update",
        "additional_tools",
        "item_reference",
    ];
    for (file, document) in of_kind(&["output_item", "output_item[]", "input_item", "input_item[]"])
    {
        let items = document
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![document.clone()]);
        for item in items {
            let read = history(&json!([item]));
            let unknown = read.messages[0]
                .contents
                .iter()
                .any(|content| matches!(content, Content::Other(_)));
            let reference = if item.get("role").is_some() {
                "message"
            } else {
                "item_reference"
            };
            let kind = item["type"].as_str().unwrap_or(reference);
            assert_eq!(unknown, opaque.contains(&kind), "{file}: {item}");
        }
    }
}

#[test]
fn every_output_item_is_read_as_part_of_a_response() {
    for (file, document) in of_kind(&["output_item", "output_item[]"]) {
        let items = document
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![document.clone()]);
        let contents = turn(json!(items)).contents().len();
        assert!(
            contents >= items.len(),
            "{file}: {contents} contents of {} items",
            items.len()
        );
    }
}

#[test]
fn every_response_is_a_turn_or_the_provider_s_error() {
    for (file, document) in of_kind(&["response"]) {
        let read = DIALECT.decode_response(document.to_string().as_bytes());
        let failed = matches!(read, Err(DecodeError::ProviderError { .. }));
        assert_eq!(failed, document["status"] == "failed", "{file}: {read:?}");
    }
}

#[test]
fn the_last_event_of_a_stream_contains_the_response() {
    let read = |event: &Value| DIALECT.decode_response(event.to_string().as_bytes());
    for (file, document) in of_kind(&["event[]"]) {
        for event in document.as_array().unwrap() {
            let expected = match event["type"].as_str().unwrap() {
                "response.completed" | "response.incomplete" => "turn",
                "response.failed" => "error",
                _ => "none",
            };
            let met = match read(event) {
                Ok(_) => "turn",
                Err(DecodeError::ProviderError { .. }) => "error",
                Err(_) => "none",
            };
            assert_eq!(met, expected, "{file}: {event}");
        }
    }
}

#[test]
fn an_error_body_is_the_provider_s_error() {
    let documents = of_kind(&["http_error[]"])
        .into_iter()
        .flat_map(|(_, list)| list.as_array().cloned().unwrap());
    let events = of_kind(&["event"]).into_iter().map(|(_, event)| event);
    for document in documents.chain(events) {
        let error = DIALECT
            .decode_response(document.to_string().as_bytes())
            .unwrap_err();
        assert!(
            matches!(error, DecodeError::ProviderError { .. }),
            "{document}: {error}"
        );
    }
}

#[test]
fn a_raw_tool_is_declared_unchanged() {
    for (file, document) in of_kind(&["tool", "tool[]"]) {
        for json in document
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![document.clone()])
        {
            let raw = RawTool {
                dialect: DIALECT.name().to_owned(),
                json: json.clone(),
            };
            let offer = ToolOffer {
                tools: vec![Tool::Raw(raw)],
                model: None,
            };
            let (declaration, report) = DIALECT.declare(&offer).unwrap();
            assert_eq!(declaration.tools, [json], "{file}");
            assert!(report.is_lossless());
        }
    }
}

/// The actions of a vector as neutral JSON.
fn actions(file: &str) -> Vec<Value> {
    let call = json!({"type": "computer_call", "call_id": "c", "actions": vector(file)});
    let Content::ComputerCall(call) = super::content(call) else {
        panic!("no computer call")
    };
    assert_eq!(call.exception, None);
    call.actions
        .iter()
        .map(|action: &Action| Value::Object(action.to_json()))
        .collect()
}

#[test]
fn every_action_decodes_to_its_neutral_value() {
    let click =
        |button: &str| json!({"action": "click", "coordinate": [405, 157], "button": button});
    let expected = [
        (
            "action.click.json",
            vec![
                click("left"),
                click("right"),
                click("middle"),
                click("back"),
                click("forward"),
                json!({"action": "click", "coordinate": [0, 0], "button": "left", "modifiers": ["shift", "ctrl"]}),
            ],
        ),
        (
            "action.double_click.json",
            vec![
                json!({"action": "double_click", "coordinate": [405, 157], "button": "left"}),
                json!({"action": "double_click", "coordinate": [405, 157], "button": "left", "modifiers": ["shift"]}),
            ],
        ),
        (
            "action.double_click.without_keys.json",
            vec![json!({"action": "double_click", "coordinate": [1, 2], "button": "left"})],
        ),
        (
            "action.drag.json",
            vec![
                json!({"action": "drag", "path": [[100, 200], [150, 240], [300, 400]], "button": "left"}),
                json!({"action": "drag", "path": [[1, 1], [9, 9]], "button": "left", "modifiers": ["alt"]}),
            ],
        ),
        (
            "action.keypress.json",
            [
                "ctrl+a",
                "Enter",
                "shift+Tab",
                "PageDown",
                "/",
                "XF86AudioMute",
            ]
            .map(|key| json!({"action": "key", "key": key}))
            .to_vec(),
        ),
        (
            "action.move.json",
            vec![json!({"action": "move", "coordinate": [426, 87]})],
        ),
        (
            "action.screenshot.json",
            vec![json!({"action": "screenshot"})],
        ),
        (
            "action.scroll.json",
            vec![
                json!({"action": "scroll", "coordinate": [10, 20], "dx": 0, "dy": 300, "unit": "pixels"}),
                json!({
                    "action": "scroll", "coordinate": [10, 20], "dx": -120, "dy": -50, "unit": "pixels",
                    "modifiers": ["ctrl"],
                }),
            ],
        ),
        (
            "action.type.json",
            vec![json!({"action": "type", "text": "héllo, wörld\n\tdone ✓"})],
        ),
        ("action.wait.json", vec![json!({"action": "wait"})]),
    ];
    for (file, expected) in expected {
        assert_eq!(actions(file), expected, "{file}");
    }
}

/// Where traffic differs from the vendor's declared types, traffic is right.
#[test]
fn every_known_deviation_from_the_declared_types_is_decoded() {
    let response = |members: Value| {
        let mut body = vector("response.computer.json");
        body.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        body
    };
    let screenshot = json!({"type": "computer_screenshot", "file_id": "f", "detail": "original"});
    let custom = json!({
        "type": "custom_tool_call", "id": "ctc_1", "status": "completed", "call_id": "c", "name": "sql", "input": "",
    });
    let local = json!({"type": "local_shell_call_output", "call_id": "c", "output": "a"});
    let preview = json!([{"type": "computer-use-preview-2025-03-11", "display_width": 1}]);
    let deviations = [
        (
            "a call without safety checks",
            json!([vector("output.computer_call.ga_live.json")]),
        ),
        ("a shell output with a call id", json!([local])),
        (
            "a screenshot with detail",
            json!([{"type": "computer_call_output", "call_id": "c", "output": screenshot}]),
        ),
        ("a custom call with a status", json!([custom])),
        (
            "members of a response",
            response(
                json!({"store": true, "billing": {}, "frequency_penalty": 0.0, "presence_penalty": 0.0}),
            ),
        ),
        (
            "another error code",
            vector("response.failed.live_code.json"),
        ),
        (
            "usage without cache writes",
            vector("response.no_cache_write_tokens.json"),
        ),
        (
            "echoes of tools",
            response(json!({"tools": preview, "tool_choice": null})),
        ),
        (
            "a time with a fraction",
            response(json!({"created_at": 1785729478.25})),
        ),
    ];
    for (deviation, document) in deviations {
        let read = history(&document);
        let unknown = |content: &Content| matches!(content, Content::Other(_));
        let contents = read.messages.iter().flat_map(|message| &message.contents);
        assert!(!contents.into_iter().any(unknown), "{deviation}");
        assert_eq!(written(&read).0, document, "{deviation}");
    }
}
