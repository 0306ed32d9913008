//! Every document of `tests/vectors/anthropic`, by its kind.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_protocol::{Content, Meta, Size, ToolResult};
use telechir_providers::{DecodeError, Report, ToolOffer};

use super::{DIALECT, history, turn, written};

struct Vector {
    file: String,
    kind: String,
    is_valid: bool,
    json: Value,
}

fn vectors(kinds: &[&str]) -> Vec<Vector> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/anthropic");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let manifest = read("manifest.json");
    let entries = manifest["files"].as_array().unwrap();
    let found: Vec<Vector> = entries
        .iter()
        .filter(|entry| kinds.contains(&entry["kind"].as_str().unwrap()))
        .map(|entry| Vector {
            file: entry["file"].as_str().unwrap().to_owned(),
            kind: entry["kind"].as_str().unwrap().to_owned(),
            is_valid: entry["expect"] == "valid",
            json: read(entry["file"].as_str().unwrap()),
        })
        .collect();
    assert!(!found.is_empty(), "no vectors of {kinds:?}");
    found
}

/// The documents of these kinds, with their file names.
pub(crate) fn documents(kinds: &[&str]) -> Vec<(String, Value)> {
    let named = |vector: Vector| (vector.file, vector.json);
    vectors(kinds).into_iter().map(named).collect()
}

/// The valid documents of these kinds, with their file names.
pub(crate) fn accepted(kinds: &[&str]) -> Vec<(String, Value)> {
    let named = |vector: Vector| (vector.file, vector.json);
    let valid = vectors(kinds).into_iter().filter(|vector| vector.is_valid);
    valid.map(named).collect()
}

fn identical(value: &Value, file: &str) {
    let (again, report) =
        written(&history(value)).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(again, *value, "{file}");
    assert_eq!(report, Report::default(), "{file}");
}

fn rejected(value: &Value, file: &str) {
    let read = DIALECT.decode_history(value.to_string().as_bytes());
    let is_rejected = read.map_or(true, |(history, _)| written(&history).is_err());
    assert!(is_rejected, "{file} was accepted");
}

fn check(value: &Value, vector: &Vector) {
    if vector.is_valid {
        identical(value, &vector.file)
    } else {
        rejected(value, &vector.file)
    }
}

#[test]
fn requests_and_tools_round_trip() {
    for vector in vectors(&["request", "beta_request", "tool", "tools", "beta_tools"]) {
        let tools = |tools: Value| {
            let messages = json!([{"role": "user", "content": "go"}]);
            json!({"model": "claude-opus-5-5", "max_tokens": 1, "tools": tools, "messages": messages})
        };
        let value = match vector.kind.as_str() {
            "request" => vector.json.clone(),
            "beta_request" => vector.json["body"].clone(),
            "tool" => tools(json!([vector.json])),
            _ => tools(vector.json.clone()),
        };
        // Our declaration adds the required header, so it is valid here.
        if vector.file == "invalid__tool__legacy_computer_in_ga_namespace.json" {
            identical(&value, &vector.file);
        } else {
            check(&value, &vector);
        }
    }
}

#[test]
fn messages_round_trip() {
    for vector in vectors(&["message", "beta_message"]) {
        check(&vector.json, &vector);
        let turn = DIALECT
            .decode_response(vector.json.to_string().as_bytes())
            .unwrap()
            .0;
        let uses = vector.json["content"].as_array().unwrap().iter();
        let uses = uses.filter(|block| block["type"] == "tool_use").count();
        assert_eq!(turn.calls().len(), uses, "{}", vector.file);
    }
}

#[test]
fn stream_results_decode_to_turns() {
    for vector in vectors(&["stream", "beta_stream"]) {
        identical(&vector.json["expect"], &vector.file);
        DIALECT
            .decode_response(vector.json["expect"].to_string().as_bytes())
            .unwrap();
    }
}

#[test]
fn calls_and_results_without_a_message_round_trip() {
    for vector in vectors(&[
        "computer_blocks",
        "browser_blocks",
        "legacy_calls",
        "tool_results",
    ]) {
        let blocks = vector.json.get("blocks").unwrap_or(&vector.json).clone();
        if vector.is_valid || vector.kind == "tool_results" {
            check(&blocks, &vector);
        }
        if vector.kind == "tool_results" {
            continue;
        }
        let turn = turn(&blocks);
        let exceptions = turn.contents().iter().filter(|content| match content {
            Content::ComputerCall(call) => call.exception.is_some(),
            other => panic!("{}: {other:?}", vector.file),
        });
        assert_eq!(exceptions.count() == 0, vector.is_valid, "{}", vector.file);
    }
}

#[test]
fn exchanges_round_trip_and_their_results_encode_the_same() {
    for vector in vectors(&["exchange"]) {
        let messages = json!([
            {"role": "assistant", "content": vector.json["assistant"]},
            {"role": "user", "content": vector.json["user"]},
        ]);
        check(&messages, &vector);
        if vector.is_valid {
            let results = history(&messages).messages[1]
                .contents
                .iter()
                .map(device_result)
                .collect();
            let answered = turn(&vector.json["assistant"]).answer(results).unwrap();
            let reply = DIALECT.encode_results(&answered).unwrap();
            assert_eq!(
                Value::from(reply.items),
                vector.json["user"],
                "{}",
                vector.file
            );
            assert!(reply.report.is_lossless(), "{}", vector.file);
        }
    }
}

/// A result as a device returns it: without raw JSON.
fn device_result(content: &Content) -> ToolResult {
    let bare = |meta: &mut Meta| meta.raw_representation = None;
    match content.clone() {
        Content::ComputerResult(mut result) => {
            bare(&mut result.meta);
            ToolResult::Computer(result)
        }
        Content::ShellResult(mut result) => {
            bare(&mut result.meta);
            ToolResult::Shell(result)
        }
        Content::EditResult(mut result) => {
            bare(&mut result.meta);
            ToolResult::Edit(result)
        }
        Content::FunctionResult(mut result) => {
            bare(&mut result.meta);
            ToolResult::Function(result)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn provider_errors_are_recognized() {
    for vector in vectors(&["errors"]) {
        for error in vector.json.as_array().unwrap() {
            let kind = error["body"]["error"]["type"].as_str().unwrap();
            let bytes = error["body"].to_string();
            for read in [
                DIALECT.decode_response(bytes.as_bytes()).map(|_| ()),
                DIALECT.decode_history(bytes.as_bytes()).map(|_| ()),
            ] {
                let Err(DecodeError::ProviderError { message }) = read else {
                    panic!("{bytes}")
                };
                assert!(message.starts_with(kind), "{message}");
            }
        }
    }
}

#[test]
fn images_are_sized_as_documented() {
    let table = [
        ("claude-sonnet-4-5", (1920, 1080), (1456, 819)),
        ("claude-opus-5-5", (3840, 2160), (2576, 1449)),
        ("claude-sonnet-4-5", (2000, 1500), (1269, 952)),
    ];
    for (model, (width, height), (sent_width, sent_height)) in table {
        let sent = DIALECT.screenshot_size(Some(model), Size::new(width, height));
        assert_eq!(sent, Size::new(sent_width, sent_height), "{model}");
    }
}

#[test]
fn a_raw_tool_brings_its_header() {
    let json = json!({"type": "computer_20251124", "name": "computer", "display_width_px": 1, "display_height_px": 1});
    let raw = json!({"type": "raw", "dialect": "anthropic-messages", "json": json});
    let tools = vec![serde_json::from_value(raw).unwrap()];
    let (declaration, _) = DIALECT.declare(&ToolOffer { tools, model: None }).unwrap();
    let beta = (
        "anthropic-beta".to_owned(),
        "computer-use-2025-11-24".to_owned(),
    );
    assert!(declaration.headers.contains(&beta));
}
