//! What no table of a dialect names arrives or is reported: members that nobody knows, words that
//! are not in a list, and values that another value replaces.

use serde_json::{Value, json};
use telechir_providers::{Dialect, Loss, StreamTranslation, TranslationOptions};

use super::{is_reported, translate};

/// Whether the translation to every other dialect has the text, or an entry names one of `names`.
fn check(from: Dialect, document: &Value, text: &str, names: &[&str]) {
    // Towards neutral documents only messages are translated, and other members reported as such.
    let others = [from, Dialect::Neutral];
    for to in Dialect::ALL.into_iter().filter(|to| !others.contains(to)) {
        let translated = translate(from, to, document);
        let named = |loss: &Loss| {
            let is_named =
                |name: &&str| loss.what.contains(*name) || loss.location.ends_with(*name);
            loss.what.contains(text) || names.iter().any(is_named)
        };
        let is_written = translated.document.to_string().contains(text);
        assert!(
            is_written || translated.report.losses.iter().any(named),
            "{from} to {to}: {text}: {:?} {}",
            translated.report,
            translated.document
        );
    }
}

#[test]
fn settings_of_a_request_without_a_counterpart_are_reported() {
    let request = json!({"model": "m", "input": "Count the gulls.",
        "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "concise"}});
    check(
        Dialect::OpenaiResponses,
        &request,
        "reasoning.encrypted_content",
        &["include"],
    );
    check(Dialect::OpenaiResponses, &request, "concise", &[]);
}

#[test]
fn members_of_tools_and_messages_that_nobody_knows_are_reported() {
    let request = json!({"model": "m",
        "messages": [
            {"role": "system", "content": "Be brief.", "tide_level": "spring-flood"},
            {"role": "user", "content": "Count the gulls.", "mood": "curious-today"}],
        "tools": [{"type": "function", "audience": "harbour-crew",
            "function": {"name": "count", "parameters": {"type": "object", "properties": {}}}}]});
    let from = Dialect::Functions;
    check(from, &request, "spring-flood", &["tide_level"]);
    check(from, &request, "curious-today", &["mood"]);
    check(from, &request, "harbour-crew", &["audience"]);
}

#[test]
fn a_choice_among_tools_that_are_no_functions_is_reported() {
    let request = json!({"model": "m", "input": "Count.",
        "tools": [{"type": "function", "name": "count", "parameters": {"type": "object", "properties": {}}}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [
            {"type": "function", "name": "count"},
            {"type": "mcp", "server_label": "bird-register"}]}});
    check(
        Dialect::OpenaiResponses,
        &request,
        "bird-register",
        &["server_label"],
    );
}

#[test]
fn an_end_that_nobody_knows_is_reported() {
    let response = json!({"id": "resp_5", "object": "response", "status": "incomplete", "model": "m",
        "incomplete_details": {"reason": "low_tide"}, "output": []});
    check(Dialect::OpenaiResponses, &response, "low_tide", &[]);
}

#[test]
fn the_time_and_the_total_of_a_response_arrive_or_are_reported() {
    let response = json!({"responseId": "r5", "modelVersion": "m",
        "createTime": "2026-05-04T03:02:01.987654Z",
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 3, "totalTokenCount": 4321},
        "candidates": [{"index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": "Nine."}]}}]});
    let from = Dialect::GoogleGenerateContent;
    check(
        from,
        &response,
        "2026-05-04T03:02:01.987654Z",
        &["createTime"],
    );
    check(from, &response, "4321", &["totalTokenCount"]);
}

#[test]
fn members_beside_the_instructions_are_reported() {
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "Count."}]}],
        "systemInstruction": {"role": "harbour-master", "parts": [{"text": "Be brief.", "accent": "nordic-soft"}]}});
    let from = Dialect::GoogleGenerateContent;
    check(from, &request, "harbour-master", &["role"]);
    check(from, &request, "nordic-soft", &["accent"]);
}

#[test]
fn a_member_of_an_action_that_nobody_knows_is_reported() {
    let request = json!({"model": "m", "max_tokens": 9,
        "tools": [{"type": "computer_20250124", "name": "computer", "display_width_px": 800, "display_height_px": 600}],
        "messages": [{"role": "user", "content": "Click."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_8", "name": "computer",
                "input": {"action": "left_click", "coordinate": [4, 5], "urgency": "before-the-ebb"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_8", "content": "Done."}]}]});
    check(
        Dialect::AnthropicMessages,
        &request,
        "before-the-ebb",
        &["urgency"],
    );
}

#[test]
fn earlier_values_of_a_repeated_key_are_reported() {
    let request = br#"{"model": "m", "temperature": 0.25, "temperature": 0.5,
        "messages": [{"role": "user", "content": "Count.", "content": "Do not count."}]}"#;
    for to in Dialect::ALL {
        let translated = Dialect::Functions.translate(to, request, &TranslationOptions::default());
        let losses = translated.expect("a translation").report.losses;
        for pointer in ["/temperature", "/messages/0/content"] {
            let found = losses.iter().filter(|loss| loss.location == pointer);
            let found: Vec<&str> = found.map(|loss| loss.what.as_str()).collect();
            assert!(
                found
                    .iter()
                    .any(|what| what.starts_with("an earlier value of")),
                "{to}: {pointer}: {losses:?}"
            );
        }
    }
    let (_, report) = Dialect::Functions
        .decode_history(request)
        .expect("a history");
    assert_eq!(report.losses.len(), 2, "{report:?}");
}

/// Sends the events to a translation at once.
fn stream(from: Dialect, to: Dialect, events: &[Value]) -> Vec<Loss> {
    let bytes: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let translation = from.translate_stream(to, TranslationOptions::default());
    let mut translation: StreamTranslation = translation.expect("a stream");
    translation.push(bytes.as_bytes()).expect("events");
    let (_, translated) = translation.finish().expect("a response");
    translated.report.losses
}

#[test]
fn members_of_events_that_the_response_lacks_are_reported() {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_5", "type": "message", "role": "assistant",
            "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "ebb": "slow-and-late",
            "delta": {"type": "text_delta", "text": "Nine."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let streamed = Dialect::ALL.into_iter().filter(|to| to.stream().is_some());
    for to in streamed.filter(|to| *to != Dialect::AnthropicMessages) {
        let losses = stream(Dialect::AnthropicMessages, to, &events);
        let named: Vec<&Loss> = losses
            .iter()
            .filter(|loss| loss.location == "the stream's events")
            .collect();
        assert_eq!(named.len(), 1, "{to}: {losses:?}");
        assert_eq!(named[0].what, "`ebb`");
    }
}

#[test]
fn a_request_of_a_stored_prompt_alone_is_a_request() {
    let request = json!({"model": "gpt-5.4", "max_output_tokens": 90, "prompt": {"id": "pmpt_7", "version": "2"}});
    let (from, to) = (Dialect::OpenaiResponses, Dialect::AnthropicMessages);
    let translated = translate(from, to, &request);
    assert_eq!(translated.document["max_tokens"], 90);
    assert_eq!(translated.document["messages"], json!([]));
    let losses = &translated.report.losses;
    assert!(is_reported(losses, "/prompt"), "{losses:?}");
}

#[test]
fn a_strictness_that_is_no_boolean_is_reported() {
    for strict in [json!("half-strict"), json!(["half-strict"])] {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "Count the gulls."}],
            "tools": [{"type": "function", "function": {"name": "count", "strict": strict,
                "parameters": {"type": "object", "properties": {"hour": {"type": "integer"}}}}}]});
        check(Dialect::Functions, &request, "half-strict", &["strict"]);
    }
}

#[test]
fn members_of_a_schema_without_arguments_are_reported() {
    let open = json!({"type": "object", "properties": {}, "additionalProperties": ["ebb-only"]});
    let required = json!({"type": "object", "properties": {}, "required": ["ebb-only"]});
    for (schema, name) in [(open, "additionalProperties"), (required, "required")] {
        let request = json!({"messages": [{"role": "user", "content": [{"text": "Count the gulls."}]}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "count", "inputSchema": {"json": schema}}}]}});
        check(
            Dialect::BedrockConverse,
            &request,
            "ebb-only",
            &[name, "/toolConfig/tools"],
        );
    }
}

#[test]
fn a_strict_function_stays_strict_where_the_service_has_strict_functions() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "Count the gulls."}],
        "tools": [{"type": "function", "function": {"name": "count", "strict": true,
            "parameters": {"type": "object", "properties": {"hour": {"type": "integer"}}}}}]});
    for (to, pointer) in [
        (Dialect::AnthropicMessages, "/tools/0/strict"),
        (Dialect::BedrockInvoke, "/tools/0/strict"),
        (
            Dialect::BedrockConverse,
            "/toolConfig/tools/0/toolSpec/strict",
        ),
        (Dialect::OpenaiResponses, "/tools/0/strict"),
    ] {
        let translated = translate(Dialect::Functions, to, &request);
        let strict = translated.document.pointer(pointer);
        assert_eq!(strict, Some(&json!(true)), "{to}: {}", translated.document);
        let losses = &translated.report.losses;
        assert!(
            !is_reported(losses, "/tools/0/function/strict"),
            "{to}: {losses:?}"
        );
    }
}
