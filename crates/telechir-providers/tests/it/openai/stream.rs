//! Responses received as streams.

use serde_json::{Value, json};
use telechir_protocol::IncompleteCalls;
use telechir_providers::{Delta, StreamError};

use super::DIALECT;
use super::vectors::{of_kind, vector};
use crate::streams::{check_every_split, check_truncations_fail, receive, sse};

fn streams() -> Vec<(String, Vec<Value>)> {
    let list = |(file, document): (String, Value)| (file, document.as_array().unwrap().clone());
    of_kind(&["stream"]).into_iter().map(list).collect()
}

fn last(events: &[Value]) -> Value {
    events.last().unwrap()["response"].clone()
}

#[test]
fn every_stream_decodes_to_the_response_for_any_chunking() {
    for (file, events) in streams() {
        let (deltas, received) = check_every_split(DIALECT, &sse(&events), &file);
        let received = received.unwrap();
        assert_eq!(received.response, last(&events), "{file}");
        let complete = DIALECT
            .decode_response(last(&events).to_string().as_bytes())
            .unwrap();
        assert_eq!((received.turn.clone(), received.report), complete, "{file}");
        let mut calls = IncompleteCalls::default();
        let mut ends = 0;
        for delta in deltas {
            match delta {
                Delta::Call(piece) => calls.push(piece.into()).unwrap(),
                Delta::CallEnd { .. } => ends += 1,
                Delta::Text { .. } | Delta::Reasoning { .. } | Delta::Other { .. } => {}
            }
        }
        assert_eq!(
            calls.as_slice().len(),
            received.turn.calls().len(),
            "{file}"
        );
        assert_eq!(ends, calls.as_slice().len(), "{file}");
        // A call in the last file is incomplete.
        assert_eq!(
            calls.complete().is_err(),
            file == "stream.cut_short.json",
            "{file}"
        );
    }
}

#[test]
fn a_prefix_of_a_stream_is_not_a_response() {
    for (file, events) in streams() {
        check_truncations_fail(DIALECT, &events, &file);
    }
}

/// Some proxies omit items from the last event, or the entire response.
#[test]
fn fields_missing_in_the_last_event_come_from_earlier_events() {
    for (file, events) in streams() {
        let complete = last(&events);
        let mut outputs = vec![json!([]), Value::Null, json!([null])];
        outputs.push(json!([complete["output"][0]]));
        for output in outputs {
            let mut events = events.clone();
            let end = events.last_mut().unwrap();
            end["response"]["output"] = output;
            assert_eq!(
                receive(DIALECT, &sse(&events)).unwrap().response,
                complete,
                "{file}"
            );
        }
        let mut events = events.clone();
        let end = events.last_mut().unwrap().as_object_mut().unwrap();
        end.shift_remove("response");
        let response = receive(DIALECT, &sse(&events)).unwrap().response;
        assert_eq!(response["output"], complete["output"], "{file}");
        assert_eq!(response["status"], complete["status"], "{file}");
        assert_eq!(response["id"], complete["id"], "{file}");
    }
}

/// A proxy that assigns new item ids in every event.
#[test]
fn an_item_from_its_own_event_takes_precedence() {
    for (file, events) in streams() {
        let complete = last(&events);
        let mut events = events.clone();
        for (number, event) in events.iter_mut().enumerate() {
            let members = event.as_object_mut().unwrap();
            members.shift_remove("sequence_number");
            if members.contains_key("item_id") {
                members.insert("item_id".to_owned(), format!("id-{number}").into());
            }
            if event["type"] == "response.output_item.added" {
                event["item"]["id"] = format!("id-{number}").into();
            }
        }
        let items = events.last_mut().unwrap()["response"]["output"]
            .as_array_mut()
            .unwrap();
        for item in items {
            item["id"] = "another".into();
        }
        let response = receive(DIALECT, &sse(&events)).unwrap().response;
        assert_eq!(response["output"], complete["output"], "{file}");
    }
}

#[test]
fn incomplete_items_are_assembled_unless_they_are_calls() {
    for (file, events) in streams() {
        let complete = last(&events);
        for missing in 0..complete["output"].as_array().unwrap().len() {
            let is_end = |event: &Value| {
                event["type"] == "response.output_item.done" && event["output_index"] == missing
            };
            let mut events: Vec<Value> = events
                .iter()
                .filter(|event| !is_end(event))
                .cloned()
                .collect();
            // The last event contains it.
            let read = receive(DIALECT, &sse(&events)).unwrap().response;
            assert_eq!(read, complete, "{file}, item {missing}");
            // The last event omits it.
            let items = events.last_mut().unwrap()["response"]["output"]
                .as_array_mut()
                .unwrap();
            items.clear();
            let item = &complete["output"][missing];
            let is_hosted = item.get("call_id").is_none()
                || item["type"] == "shell_call_output"
                || item["environment"]["type"] == "container_reference";
            match receive(DIALECT, &sse(&events)) {
                Ok(received) => {
                    assert!(is_hosted, "{file}, item {missing}");
                    for member in ["content", "summary", "code", "arguments"] {
                        let received_value = &received.response["output"][missing][member];
                        assert_eq!(received_value, &item[member], "{file}, item {missing}");
                    }
                }
                Err(StreamError::Truncated { missing: why }) => {
                    assert!(!is_hosted, "{file}, item {missing}");
                    assert_eq!(why, format!("item {missing} is incomplete"));
                }
                Err(other) => panic!("{file}, item {missing}: {other}"),
            }
        }
    }
}

#[test]
fn a_repeated_event_changes_nothing() {
    for (file, events) in streams() {
        let twice: Vec<Value> = events
            .iter()
            .flat_map(|event| [event.clone(), event.clone()])
            .collect();
        let twice: Vec<Value> = twice.into_iter().chain([json!("[DONE]")]).collect();
        let mut bytes = sse(&twice[..twice.len() - 1]);
        bytes.extend_from_slice(b"data: [DONE]\n\n");
        assert_eq!(
            receive(DIALECT, &bytes).unwrap().response,
            last(&events),
            "{file}"
        );
    }
}

#[test]
fn both_error_forms_are_provider_errors() {
    let created =
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}});
    let forms = [
        (
            vector("events.error_flat.json"),
            "server_error: The server had an error.",
        ),
        (
            vector("events.error_nested.json"),
            "insufficient_quota: You exceeded your current quota.",
        ),
        (
            json!({"type": "error", "error": {"type": "overloaded", "message": "Busy"}, "status": 503}),
            "overloaded: Busy",
        ),
        (json!({"type": "error"}), "no error message"),
    ];
    for (form, wanted) in forms {
        let error = receive(DIALECT, &sse(&[created.clone(), form])).unwrap_err();
        let StreamError::Provider { message } = error else {
            panic!("{error}")
        };
        assert_eq!(message, wanted);
    }
    let failed = vector("events.end_states.json")
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let error = receive(DIALECT, &sse(&[failed])).unwrap_err().to_string();
    assert!(error.contains("rate_limit_exceeded: Slow down."), "{error}");
}

#[test]
fn invalid_events_are_reported_with_their_number() {
    let item =
        |kind: &str| json!({"type": kind, "id": "a", "call_id": "c", "name": "n", "arguments": ""});
    let added = |index: u64, kind: &str| json!({"type": "response.output_item.added", "output_index": index, "item": item(kind)});
    let text_delta = |index: u64, part: u64| json!({"type": "response.output_text.delta", "output_index": index, "content_index": part, "delta": "a"});
    let odd = [
        (vec![json!(3)], "event 1 of the stream: expected an object"),
        (
            vec![added(0, "function_call"), added(0, "shell_call")],
            "event 2 of the stream: item 0 starts twice",
        ),
        (
            vec![
                added(u64::MAX, "function_call"),
                json!({"type": "response.output_item.added", "item": {"type": "message", "id": "b"}}),
            ],
            "event 2 of the stream: item 18446744073709551615 starts twice",
        ),
        (
            vec![json!({"type": "response.output_text.delta", "item_id": "a", "delta": "b"})],
            "event 1 of the stream: it identifies no item",
        ),
        (
            vec![text_delta(2, 0), json!({"type": "response.completed"})],
            "item 2 has no start event",
        ),
        (
            vec![added(0, "message"), text_delta(0, 99)],
            "event 2 of the stream: item 0: part 99 arrived before part 0",
        ),
        (
            vec![added(0, "message"), text_delta(0, u64::MAX)],
            "arrived before part 0",
        ),
    ];
    for (events, wanted) in odd {
        let error = receive(DIALECT, &sse(&events)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error} instead of {wanted}");
    }
}

#[test]
fn deltas_without_an_index_are_matched_by_item_id() {
    let events = [
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "n", "arguments": ""}}),
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "n", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "{\"a\":"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_2", "delta": "{}"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "1}"}),
        json!({"type": "response.output_item.done", "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "n", "arguments": ""}}),
        json!({"type": "response.output_item.done", "item": {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "n", "arguments": "{}"}}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
    ];
    let output = receive(DIALECT, &sse(&events)).unwrap().response["output"].clone();
    assert_eq!(output[0]["arguments"], "{\"a\":1}");
    assert_eq!(output[1]["arguments"], "{}");
}

/// The single-event vectors in sequence, closed by an empty last event.
#[test]
fn every_known_event_is_read() {
    for (file, document) in of_kind(&["event[]"]) {
        let events = document.as_array().unwrap();
        let mut all: Vec<Value> = events
            .iter()
            .filter(|event| event["type"] != "response.failed")
            .cloned()
            .collect();
        let done = |event: &&Value| event["type"] == "response.output_item.done";
        let mut complete: Vec<Value> = events
            .iter()
            .filter(done)
            .map(|event| event["item"].clone())
            .collect();
        let mut output = Value::Null;
        if file == "events.code_interpreter.json" {
            // Its item has no start or end event; the last event contains it.
            complete.push(vector("output.code_interpreter_call.json")[0].clone());
            output = json!(complete);
        }
        all.push(json!({"type": "response.completed", "response": {"status": "completed", "output": output}}));
        let received =
            receive(DIALECT, &sse(&all)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(received.response["output"], json!(complete), "{file}");
    }
}

#[test]
fn a_call_id_may_change_between_the_events_of_a_call() {
    let item = |call_id: &str, status: &str, arguments: &str| {
        json!({
            "type": "function_call", "id": "fc_5", "call_id": call_id, "name": "look",
            "status": status, "arguments": arguments,
        })
    };
    let done = item("call_late", "completed", "{\"at\": 1}");
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_5", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("call_early", "in_progress", "")}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        json!({"type": "response.completed", "response": {"id": "resp_5", "status": "completed", "output": [done]}}),
    ];
    let received = receive(DIALECT, &sse(&events)).unwrap();
    assert_eq!(received.response["output"], json!([done]));
}

#[test]
fn parts_may_be_counted_from_any_number() {
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_6", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_6", "role": "assistant", "status": "in_progress", "content": []}}),
        json!({"type": "response.content_part.added", "output_index": 0, "content_index": 2, "part": {"type": "output_text", "text": "", "annotations": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 2, "delta": "Good "}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 2, "delta": "day."}),
        json!({"type": "response.completed", "response": {"id": "resp_6", "status": "completed"}}),
    ];
    let received = receive(DIALECT, &sse(&events)).unwrap();
    let content = &received.response["output"][0]["content"];
    assert_eq!(
        content,
        &json!([{"type": "output_text", "text": "Good day.", "annotations": []}])
    );
}

#[test]
fn a_streamed_call_of_an_unknown_type_is_answered_like_one_that_was_not_streamed() {
    let item =
        json!({"type": "hologram_call", "id": "hc_1", "call_id": "call_1", "status": "completed"});
    let response =
        json!({"id": "resp_1", "object": "response", "status": "completed", "output": [item]});
    let events = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ];
    let received = receive(DIALECT, &sse(&events)).unwrap();
    assert_eq!(received.turn.calls().len(), 1);
    let complete = DIALECT.decode_response(response.to_string()).unwrap();
    assert_eq!(received.turn, complete.0);
}
