//! What no encoder expected to lose has an entry in the report, too, under its own name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use telechir_providers::{Dialect, Report};

/// The report of a translation that keeps the raw representations.
fn report(from: &str, document: &Value, to: &str) -> Report {
    let from: Dialect = from.parse().unwrap();
    let (history, mut report) = from.decode_history(document.to_string()).unwrap();
    let to: Dialect = to.parse().unwrap();
    let (_, losses) = to.encode_history(&history).unwrap();
    report.absorb(losses);
    report
}

fn names(report: &Report, word: &str) -> bool {
    report.losses.iter().any(|loss| loss.what.contains(word))
}

fn signed_text() -> Value {
    json!({"contents": [
        {"role": "user", "parts": [{"text": "What is the weather in Oslo?"}]},
        {"role": "model", "parts": [{
            "text": "I look at the forecast.",
            "thoughtSignature": "c2lnbmF0dXJlLW9mLXRoZS1mb3JlY2FzdA==",
        }]},
    ]})
}

#[test]
fn a_signature_of_a_part_is_named() {
    for to in ["anthropic-messages", "bedrock-converse", "bedrock-agents"] {
        let report = report("google-generate-content", &signed_text(), to);
        assert!(names(&report, "thought_signature"), "{to}: {report:?}");
    }
}

#[test]
fn a_field_that_nobody_knows_is_named() {
    let document = json!([{"role": "model", "parts": [
        {"text": "The film is ready.", "futureHint": {"mood": "cheerful-and-bright"}},
    ]}]);
    for to in [
        "anthropic-messages",
        "bedrock-converse",
        "google-interactions",
    ] {
        let report = report("google-generate-content", &document, to);
        assert!(names(&report, "mood"), "{to}: {report:?}");
    }
}

#[test]
fn a_letter_in_the_text_is_not_the_session() {
    let bytes = "VGhpcyBpcyBhIHBsYW4gZm9yIEIgYW5kIDIgY2Fycy4=";
    assert_eq!(
        String::from_utf8(STANDARD.decode(bytes).unwrap()).unwrap(),
        "This is a plan for B and 2 cars."
    );
    let document = json!({
        "completion": [{"chunk": {"bytes": bytes}}],
        "contentType": "B", "memoryId": "plan", "sessionId": "a",
    });
    for to in ["anthropic-messages", "openai-responses", "functions"] {
        let report = report("bedrock-agents", &document, to);
        for field in ["`contentType`", "`memoryId` plan", "`sessionId` a"] {
            assert!(names(&report, field), "{to}: {field}: {report:?}");
        }
    }
    let entries = json!([
        {"type": "message.input", "role": "user", "content": "Two plans for 2 cars."},
        {"type": "tool.execution", "id": "te_1", "name": "web_search", "arguments": "{}",
            "info": {"tries": 2}},
    ]);
    for to in ["anthropic-messages", "functions", "google-interactions"] {
        let report = report("mistral-conversations", &entries, to);
        assert!(names(&report, "tries"), "{to}: {report:?}");
    }
}

#[test]
fn fields_of_screenshots_and_addresses_of_generated_images_are_named() {
    let document = json!([
        {"type": "computer_tool_call", "call_id": "call_1", "actions": [{"type": "screenshot"}]},
        {"type": "computer_tool_result", "call_id": "call_1", "screenshot": {
            "type": "data", "uri": "data:image/png;base64,iVBORw0KGgo=", "media_type": "image/png",
            "additional_properties": {"camera": "left"},
        }},
        {"type": "image_generation_tool_call", "image_id": "ig_sunset"},
        {"type": "image_generation_tool_result", "image_id": "ig_sunset", "outputs": {
            "type": "uri", "uri": "https://example.org/sunset.png", "media_type": "image/png",
        }},
    ]);
    for to in ["anthropic-messages", "openai-responses", "functions"] {
        let report = report("agent-framework", &document, to);
        assert!(names(&report, "camera"), "{to}: {report:?}");
    }
    // The image is an image of the user, or named.
    let address = "https://example.org/sunset.png";
    let (history, _) = Dialect::AgentFramework
        .decode_history(document.to_string())
        .unwrap();
    for to in Dialect::ALL {
        let (written, report) = to.encode_history(&history).unwrap();
        let is_written = written.to_string().contains(address);
        let is_named = names(&report, address) || names(&report, "a generated image ig_sunset");
        assert!(is_written || is_named, "{to}: {report:?}");
        assert!(
            is_written || to != Dialect::OpenaiResponses,
            "{to}: {written}"
        );
    }
    for to in ["anthropic-messages", "google-generate-content"] {
        let report = report("agent-framework", &document, to);
        assert!(names(&report, "call ig_sunset"), "{to}: {report:?}");
    }
}

#[test]
fn a_result_without_its_call_is_named_by_its_id() {
    let document = json!([
        {"type": "function_call_output", "call_id": "call_orphan", "output": "It rains."},
    ]);
    for to in ["google-generate-content", "google-interactions"] {
        let report = report("openai-responses", &document, to);
        assert!(names(&report, "call_orphan"), "{to}: {report:?}");
    }
}

#[test]
fn values_that_arrive_have_no_entry() {
    let document = json!([
        {"role": "user", "content": [{"type": "text", "text": "List the open tickets."}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_9", "name": "tickets", "input": {"state": "open", "limit": 30}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_9", "content": "Printer jam in room 4"},
        ]},
    ]);
    for to in Dialect::ALL {
        let report = report("anthropic-messages", &document, to.name());
        assert!(!names(&report, "fields"), "{to}: {report:?}");
    }
}

#[test]
fn an_item_id_that_becomes_the_id_of_the_call_has_no_entry() {
    let document = json!({"outputs": [
        {"type": "tool.execution", "id": "exec_of_search", "name": "web_search",
         "arguments": "{\"query\": \"height of the tower\"}"},
        {"type": "message.output", "role": "assistant", "content": "330 metres"},
    ]});
    for to in ["google-generate-content", "google-interactions"] {
        let report = report("mistral-conversations", &document, to);
        assert!(!names(&report, "item id"), "{to}: {report:?}");
    }
}

#[test]
fn a_failed_result_keeps_what_stands_beside_its_error() {
    let document = json!([
        {"role": "user", "content": "Search."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_4", "name": "archive", "input": {"year": 1999}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_4", "is_error": true, "content": [
                {"type": "text", "text": "The index is stale."},
                {"type": "search_result", "source": "https://example.com/a", "title": "Annals of the harbour",
                 "content": [{"type": "text", "text": "A ship arrived."}]},
            ]}]},
    ]);
    let (history, _) = Dialect::AnthropicMessages
        .decode_history(document.to_string())
        .unwrap();
    for to in Dialect::ALL {
        let (written, report) = to.encode_history(&history).unwrap();
        let is_written = written.to_string().contains("Annals of the harbour");
        assert!(
            is_written || names(&report, "search_result") || names(&report, "title"),
            "{to}: {report:?}"
        );
    }
}

#[test]
fn a_failed_function_keeps_its_output() {
    let document = json!([
        {"role": "assistant", "contents": [
            {"type": "function_call", "call_id": "c5", "name": "convert", "arguments": {"file": "a"}}]},
        {"role": "tool", "contents": [
            {"type": "function_result", "call_id": "c5", "result": "12 of 30 pages are converted",
             "error": {"kind": "device", "message": "The disk is full."}}]},
    ]);
    for to in ["anthropic-messages", "bedrock-converse", "bedrock-invoke"] {
        let (history, _) = Dialect::Neutral
            .decode_history(document.to_string())
            .unwrap();
        let to: Dialect = to.parse().unwrap();
        let (written, _) = to.encode_history(&history).unwrap();
        let written = written.to_string();
        assert!(
            written.contains("12 of 30 pages") && written.contains("The disk is full."),
            "{to}: {written}"
        );
    }
}

/// What nobody converts must be named: the status of a hosted call, an index that is no position.
#[test]
fn converted_fields_are_named_where_nothing_converts_them() {
    let cases = [
        (
            Dialect::OpenaiResponses,
            json!([{"type": "code_interpreter_call", "id": "ci_4", "container_id": "cntr_4", "status": "failed",
                "code": "print(harvest)", "outputs": null}]),
            Dialect::AnthropicMessages,
            "status",
        ),
        (
            Dialect::MistralChat,
            json!([{"role": "user", "content": "Go."},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "callA1b2c", "index": 7,
                    "function": {"name": "open_valve", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "callA1b2c", "content": "Open."}]),
            Dialect::AnthropicMessages,
            "index",
        ),
    ];
    for (from, document, to, field) in cases {
        let (history, _) = from.decode_history(document.to_string()).unwrap();
        let (written, report) = to.encode_history(&history).unwrap();
        let is_named = report.losses.iter().any(|loss| loss.what.contains(field));
        assert!(is_named, "{from} to {to}: {field}: {report:?} {written}");
    }
}

#[test]
fn the_name_of_a_tool_that_others_name_differently_is_no_loss() {
    let arguments = json!({"command": "ls /tmp"}).to_string();
    let chat = json!([
        {"role": "assistant", "name": "night-watch", "content": null, "tool_calls": [{"id": "call_1",
            "type": "function", "function": {"name": "shell", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a\nb\n"},
    ]);
    let google = json!([
        {"role": "model", "parts": [{"functionCall": {"id": "g1", "name": "take_screenshot", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "g1", "name": "take_screenshot",
            "response": {"error": "No display."}}}]},
    ]);
    for to in ["openai-responses", "anthropic-messages", "bedrock-converse"] {
        let lines = report("functions", &chat, to);
        // The name of a message's author has no field elsewhere.
        assert!(names(&lines, "name"), "{to}: {lines:?}");
        let mut unnamed = chat.clone();
        unnamed[0].as_object_mut().unwrap().shift_remove("name");
        let lines = report("functions", &unnamed, to);
        assert!(!names(&lines, "name"), "{to}: {lines:?}");
        let lines = report("google-generate-content", &google, to);
        assert!(!names(&lines, "`name`"), "{to}: {lines:?}");
    }
}

#[test]
fn an_outcome_that_nobody_knows_is_named() {
    for (outcome, is_named) in [
        ("OUTCOME_MELTED", true),
        ("MELTED", true),
        ("OUTCOME_FAILED", false),
    ] {
        let document = json!([
            {"role": "user", "parts": [{"text": "Compute it."}]},
            {"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": outcome, "output": "1"}},
            ]},
        ]);
        let report = report("google-generate-content", &document, "google-interactions");
        assert_eq!(names(&report, outcome), is_named, "{report:?}");
    }
}

#[test]
fn a_safety_acknowledgement_that_is_false_is_written_or_named() {
    let document = json!([
        {"type": "function_call", "id": "c1", "name": "click_at", "arguments": {"x": 1, "y": 2}},
        {"type": "function_result", "call_id": "c1", "name": "click_at", "safety_acknowledgement": false,
            "result": {"url": "https://example.org"}},
    ]);
    let (history, _) = Dialect::GoogleInteractions
        .decode_history(document.to_string())
        .unwrap();
    for to in Dialect::ALL {
        let (written, report) = to.encode_history(&history).unwrap();
        let field = "safety_acknowledgement";
        let is_written = written.to_string().contains(field);
        assert!(is_written || names(&report, field), "{to}: {report:?}");
    }
}

#[test]
fn the_type_of_an_object_around_messages_is_named() {
    let message = json!({"role": "user", "contents": [{"type": "text", "text": "Good morning."}]});
    let document = json!({"type": "stored_thread", "messages": [message]});
    let (history, _) = Dialect::AgentFramework
        .decode_history(document.to_string())
        .unwrap();
    for to in Dialect::ALL {
        let (_, report) = to.encode_history(&history).unwrap();
        let is_own = to == Dialect::AgentFramework;
        assert_eq!(names(&report, "member `type`"), !is_own, "{to}: {report:?}");
    }
}
