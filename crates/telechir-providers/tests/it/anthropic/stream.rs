//! Messages streamed as events.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, IncompleteCalls};
use telechir_providers::{Delta, StreamError};

use super::DIALECT;
use super::vectors::documents;
use crate::streams::{check_every_split, check_truncations_fail, receive, sse};

fn events(document: &Value) -> Vec<Value> {
    document["events"].as_array().unwrap().clone()
}

/// The expected messages omit fields that are null.
fn without_nulls(response: &Value) -> Map<String, Value> {
    let members = response.as_object().unwrap().clone();
    members
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .collect()
}

#[test]
fn every_stream_decodes_to_its_message_for_every_chunking() {
    for (file, document) in documents(&["stream", "beta_stream"]) {
        let bytes = sse(&events(&document));
        let (deltas, received) = check_every_split(DIALECT, &bytes, &file);
        let received = received.unwrap();
        assert_eq!(
            without_nulls(&received.response),
            *document["expect"].as_object().unwrap(),
            "{file}"
        );
        let decoded = DIALECT
            .decode_response(received.response.to_string().as_bytes())
            .unwrap();
        assert_eq!((received.turn.clone(), received.report), decoded, "{file}");
        let mut calls = IncompleteCalls::default();
        for delta in deltas {
            if let Delta::Call(piece) = delta {
                calls.push(piece.into()).unwrap();
            }
        }
        let calls = calls.complete().unwrap().len();
        assert_eq!(calls, received.turn.calls().len(), "{file}");
    }
}

#[test]
fn a_partial_stream_is_not_a_message() {
    for (file, document) in documents(&["stream", "beta_stream"]) {
        check_truncations_fail(DIALECT, &events(&document), &file);
    }
}

#[test]
fn an_error_event_is_a_provider_error() {
    for (file, document) in documents(&["sse"]) {
        let bytes = document["raw"].as_str().unwrap().as_bytes();
        let (deltas, received) = check_every_split(DIALECT, bytes, &file);
        assert!(deltas.is_empty(), "the only push failed: {deltas:?}");
        let error = received.unwrap_err();
        assert!(error.contains("overloaded_error: Overloaded"), "{error}");
    }
}

fn message_start() -> Value {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 1}});
    json!({"type": "message_start", "message": message})
}

fn block_start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn text_start(index: u64) -> Value {
    block_start(index, json!({"type": "text", "text": ""}))
}

fn click_start(index: u64) -> Value {
    block_start(
        index,
        json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": "left_click",
            "toolset_name": "computer", "input": {}}),
    )
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text_delta(index: u64, text_delta: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text_delta}))
}

fn input_delta(index: u64, part: &str) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": part}),
    )
}

fn block_stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn message_end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 5, "input_tokens": null}}),
        json!({"type": "message_stop"}),
    ]
}

fn message(events: &[Value], reason: &str) -> Result<Value, StreamError> {
    let mut all = vec![message_start()];
    all.extend_from_slice(events);
    all.extend(message_end(reason));
    receive(DIALECT, &sse(&all)).map(|received| received.response)
}

#[test]
fn interleaved_and_unordered_blocks_are_ordered() {
    let events = [
        click_start(1),
        text_start(0),
        input_delta(1, "{\"coordinate\""),
        text_delta(0, "Cli"),
        input_delta(1, ": [1, 2]}"),
        text_delta(0, "ck"),
        block_stop(1),
        block_stop(0),
    ];
    let message = message(&events, "tool_use").unwrap();
    assert_eq!(message["content"][0]["text"], "Click");
    assert_eq!(
        message["content"][1]["input"],
        json!({"coordinate": [1, 2]})
    );
    assert_eq!(
        message["usage"],
        json!({"input_tokens": 9, "output_tokens": 5})
    );
}

#[test]
fn every_kind_of_block_accepts_deltas() {
    let citation = json!({"type": "char_location", "cited_text": "a", "document_index": 0});
    let listing = json!({"type": "mcp_tool_listing", "items": [1]});
    let events = [
        block_start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "."})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
        block_stop(0),
        block_start(1, json!({"type": "text", "text": "", "citations": null})),
        text_delta(1, "cited"),
        delta(1, json!({"type": "citations_delta", "citation": citation})),
        delta(1, json!({"type": "citations_delta", "citation": citation})),
        block_stop(1),
        block_start(2, json!({"type": "compaction", "content": null})),
        delta(
            2,
            json!({"type": "compaction_delta", "content": "so far", "encrypted_content": "gAAA"}),
        ),
        block_stop(2),
        block_start(3, listing),
        delta(
            3,
            json!({"type": "listing_delta", "items": [2], "note": "x"}),
        ),
        block_stop(3),
        block_start(4, json!({"type": "redacted_thinking", "data": "AAAA"})),
        block_stop(4),
        block_start(
            5,
            json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {}}),
        ),
        input_delta(5, "{\"a\": 1}"),
        block_stop(5),
    ];
    let message = message(&events, "end_turn").unwrap();
    let expected = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"},
        {"type": "text", "text": "cited", "citations": [citation, citation]},
        {"type": "compaction", "content": "so far", "encrypted_content": "gAAA"},
        {"type": "mcp_tool_listing", "items": [1, 2], "note": "x"},
        {"type": "redacted_thinking", "data": "AAAA"},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {"a": 1}},
    ]);
    assert_eq!(message["content"], expected);
}

#[test]
fn message_delta_adds_fields_of_the_message() {
    let change = json!({"type": "message_delta",
        "delta": {"stop_reason": "refusal", "stop_sequence": null, "stop_details": {"type": "refusal", "category": "cyber"},
            "container": {"id": "container_1", "expires_at": "2026-11-20T00:00:00Z"}},
        "usage": {"output_tokens": 7, "server_tool_use": {"web_search_requests": 1}},
        "context_management": {"applied_edits": []}, "input_transformations": [{"type": "thinking_dropped"}]});
    let events = [message_start(), change, json!({"type": "message_stop"})];
    let response = receive(DIALECT, &sse(&events)).unwrap().response;
    let expected = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": "refusal", "stop_sequence": null,
        "usage": {"input_tokens": 9, "output_tokens": 7, "server_tool_use": {"web_search_requests": 1}},
        "stop_details": {"type": "refusal", "category": "cyber"},
        "container": {"id": "container_1", "expires_at": "2026-11-20T00:00:00Z"},
        "context_management": {"applied_edits": []}, "input_transformations": [{"type": "thinking_dropped"}]});
    assert_eq!(response, expected);
}

#[test]
fn repeated_events_are_ignored_and_invalid_ones_are_errors() {
    let repeated = [
        message_start(),
        text_start(0),
        text_start(0),
        text_delta(0, "a"),
        block_stop(0),
    ];
    let response = message(&repeated, "end_turn").unwrap();
    assert_eq!(response["content"], json!([{"type": "text", "text": "a"}]));
    let other = json!({"type": "message_start", "message": {"id": "msg_2"}});
    let odd = [
        (vec![other], "event 2 of the stream: another message starts"),
        (
            vec![text_start(0), text_delta(0, "a"), text_start(0)],
            "event 4 of the stream: block 0 starts twice",
        ),
        (
            vec![text_delta(0, "a")],
            "event 2 of the stream: block 0 has not started",
        ),
        (
            vec![text_start(0), block_stop(0), text_delta(0, "a")],
            "event 4 of the stream: block 0 has ended",
        ),
        (
            vec![text_start(0), block_stop(0), block_stop(0)],
            "event 4 of the stream: block 0 has ended",
        ),
        (
            vec![json!({"type": "content_block_start", "index": -1, "content_block": {}})],
            "event 2 of the stream: it has no `index`",
        ),
        (
            vec![json!({"type": "content_block_start", "index": 0})],
            "event 2 of the stream: it has no `content_block`",
        ),
        (
            vec![json!([])],
            "event 2 of the stream: it is not an object",
        ),
        (vec![text_start(0)], "block 0 has no end"),
    ];
    for (events, wanted) in odd {
        let error = message(&events, "end_turn").unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let headless = [text_start(0)];
    let error = receive(DIALECT, &sse(&headless)).unwrap_err().to_string();
    assert!(
        error.contains("event 1 of the stream: no message has started"),
        "{error}"
    );
}

#[test]
fn unknown_events_are_reported_and_ignored() {
    let mut all = vec![
        message_start(),
        json!({"type": "weather", "sky": "clear"}),
        json!({"type": "ping"}),
    ];
    all.extend(message_end("end_turn"));
    all.push(text_start(0));
    let mut stream = DIALECT.stream().unwrap();
    let deltas = stream.push(&sse(&all)).unwrap();
    let weather = Delta::Other {
        event: "weather".to_owned(),
        json: json!({"type": "weather", "sky": "clear"}),
    };
    assert_eq!(deltas, [weather]);
    assert_eq!(stream.finish().unwrap().response["content"], json!([]));
}

/// A click without a point clicks at the pointer: a truncated call must not become one.
#[test]
fn an_incomplete_input_is_a_call_with_an_exception() {
    let cut = [
        ("{\"coordinate\": [64", "tool_use"),
        ("[1, 2]", "tool_use"),
        ("{\"coordinate\": 1e999}", "tool_use"),
        ("", "max_tokens"),
        ("{\"coordinate\": [1, 2]}", "max_tokens"),
        ("{\"coordinate\": [1, 2]}", "model_context_window_exceeded"),
    ];
    for (part, reason) in cut {
        let mut all = vec![
            message_start(),
            click_start(0),
            input_delta(0, part),
            block_stop(0),
        ];
        all.extend(message_end(reason));
        let received = receive(DIALECT, &sse(&all)).unwrap();
        let Content::ComputerCall(call) = &received.turn.contents()[0] else {
            panic!("{part}: no call")
        };
        assert!(call.exception.is_some(), "{part}, {reason}");
        assert!(received.response["content"][0]["input"].is_object());
        // It round-trips nevertheless.
        let decoded = DIALECT
            .decode_history(received.response.to_string().as_bytes())
            .unwrap();
        assert_eq!(
            DIALECT.encode_history(&decoded.0).unwrap().0,
            received.response
        );
    }
}

#[test]
fn a_complete_input_in_the_start_event_needs_no_deltas() {
    let caller = json!({"type": "code_execution_20260120", "tool_id": "srvtoolu_1"});
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {"die": 6}, "caller": caller});
    let events = [
        block_start(0, block.clone()),
        input_delta(0, ""),
        block_stop(0),
    ];
    let response = message(&events, "tool_use").unwrap();
    assert_eq!(response["content"], json!([block]));
}
