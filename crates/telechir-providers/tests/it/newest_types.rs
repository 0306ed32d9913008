//! Types that the newest versions of the providers' SDKs have: unchanged in their own dialect, and
//! nothing of them lost in silence in any other.

use serde_json::{Value, json};
use telechir_providers::survival::{Fault, follow};
use telechir_providers::{Dialect, TranslationOptions};

/// Fails unless the document comes back unchanged and each value arrives or is named.
fn check(from: Dialect, document: &Value) {
    let (history, _) = from.decode_history(document.to_string()).unwrap();
    let (written, _) = from.encode_history(&history).unwrap();
    assert_eq!(&written, document, "{from}");
    for translation in follow(from, document, &Dialect::ALL).unwrap() {
        let silent = translation.findings.iter();
        let silent: Vec<_> = silent
            .filter(|finding| finding.fault == Fault::SilentLoss && !finding.in_envelope)
            .collect();
        let to = translation.to;
        assert!(silent.is_empty(), "{from} to {to}: {silent:#?}");
    }
}

#[test]
fn a_search_for_functions_by_google() {
    let document = json!({"model": "gemini-3.8-flash", "steps": [
        {"type": "user_input", "content": [{"type": "text", "text": "Water the plants."}]},
        {"type": "tool_search_call", "id": "search_1", "signature": "c2VhcmNo",
         "arguments": {"function_names": ["open_valve"]}},
        {"type": "tool_search_result", "call_id": "search_1", "signature": "Zm91bmQ=", "result": [
            {"type": "function", "name": "open_valve", "description": "Opens a valve for some minutes.",
             "defer_loading": true, "short_description": "Opens a valve."}]},
        {"type": "function_call", "id": "call_9", "name": "open_valve", "arguments": {"minutes": 12}},
        {"type": "function_result", "call_id": "call_9", "name": "open_valve", "result": "It is open."},
    ]});
    check(Dialect::GoogleInteractions, &document);
}

#[test]
fn a_function_result_with_contents_of_every_kind() {
    let document = json!({"input": [
        {"type": "function_call", "id": "call_3", "name": "gather", "arguments": {"topic": "harbour"}},
        {"type": "function_result", "call_id": "call_3", "name": "gather", "result": [
            {"type": "text", "text": "Four sources were found."},
            {"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgoAAAAN", "resolution": "low"},
            {"type": "document", "mime_type": "application/pdf", "uri": "https://example.com/harbour.pdf",
             "processing": {"type": "static", "page_options": {"start_page": 3, "end_page": 17}}},
            {"type": "function", "name": "tide_table", "description": "Lists the tides of a day.",
             "defer_loading": true},
        ]},
    ]});
    check(Dialect::GoogleInteractions, &document);
}

#[test]
fn a_function_response_with_parts() {
    let document = json!({"contents": [
        {"role": "model", "parts": [
            {"functionCall": {"id": "c7", "name": "photograph", "args": {"room": "cellar"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c7", "name": "photograph", "response": {"note": "It is dark down there."},
             "parts": [
                {"inlineData": {"mimeType": "image/jpeg", "data": "/9j/4AAQSkZJRgABAQAAAQABAAD", "displayName": "cellar.jpg"}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/plan-of-the-house.pdf"}}]}}]},
    ]});
    check(Dialect::GoogleGenerateContent, &document);
}

#[test]
fn tools_that_join_and_leave_a_conversation() {
    let document = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "Send the invoices."},
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {
                "name": "send_invoice", "description": "Sends one invoice by post.",
                "input_schema": {"type": "object", "properties": {"number": {"type": "integer"}}}}}},
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "draft_invoice"}},
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "I send them now."}]},
    ]);
    check(Dialect::AnthropicMessages, &document);
}

/// The `detail` or `mediaResolution` of the only image.
fn image_with(level: &str) -> Value {
    json!([{"role": "user", "parts": [
        {"text": "What is on the label?"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAAN"},
         "mediaResolution": {"level": level}},
    ]}])
}

#[test]
fn a_resolution_of_google_is_the_detail_of_openai() {
    for (level, detail) in [
        ("MEDIA_RESOLUTION_LOW", "low"),
        ("MEDIA_RESOLUTION_HIGH", "high"),
    ] {
        let document = image_with(level);
        let google = Dialect::GoogleGenerateContent;
        let (history, _) = google.decode_history(document.to_string()).unwrap();
        let (items, report) = Dialect::OpenaiResponses.encode_history(&history).unwrap();
        assert_eq!(items[0]["content"][1]["detail"], detail);
        assert!(report.is_lossless(), "{report:?}");
        let (messages, report) = Dialect::Functions.encode_history(&history).unwrap();
        let image = &messages[0]["content"][1]["image_url"];
        assert_eq!(image["detail"], detail);
        assert!(report.is_lossless(), "{report:?}");
        check(google, &document);
    }
    check(
        Dialect::GoogleGenerateContent,
        &image_with("MEDIA_RESOLUTION_MEDIUM"),
    );
}

#[test]
fn the_outcome_of_code_that_google_ran_is_named() {
    let document = json!([{"role": "model", "parts": [
        {"executableCode": {"language": "PYTHON", "code": "print(harvest / 0)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError: division by zero"}},
        {"text": "The harvest is empty."},
    ]}]);
    check(Dialect::GoogleGenerateContent, &document);
}

#[test]
fn the_limit_of_an_image_at_anthropic_is_named() {
    let document = json!([{"role": "user", "content": [
        {"type": "text", "text": "Read the sign."},
        {"type": "image", "source": {"type": "file", "file_id": "file_0sign"},
         "transformations": {"oversized_image": "error"}},
    ]}]);
    check(Dialect::AnthropicMessages, &document);
}

/// A request with an image by address, which Bedrock does not fetch.
fn image_by_address() -> Value {
    json!({"max_tokens": 512, "anthropic_version": "bedrock-2023-05-31", "messages": [
    {"role": "user", "content": [
        {"type": "text", "text": "Which bird is this?"},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/wagtail.png"},
         "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]}]})
}

#[test]
fn a_text_for_an_image_by_address_is_cached_like_the_image() {
    let mut document = image_by_address();
    document["model"] = "claude-opus-5".into();
    check(Dialect::AnthropicMessages, &document);
    let (history, _) = Dialect::AnthropicMessages
        .decode_history(document.to_string())
        .unwrap();
    let (written, _) = Dialect::BedrockMessages.encode_history(&history).unwrap();
    let block = &written["messages"][0]["content"][1];
    assert_eq!(block["type"], "text");
    assert_eq!(block["cache_control"]["ttl"], "1h");
}

#[test]
fn a_tool_with_a_text_as_input_becomes_a_function_with_the_calls_that_fit_it() {
    let tool = json!({"type": "custom", "name": "play_notes", "description": "Plays a melody.",
        "format": {"type": "grammar", "syntax": "regex", "definition": "[A-G ]+"}});
    let request = json!({"model": "gpt-6", "tools": [tool], "input": [
        {"role": "user", "content": "Play something."},
        {"type": "custom_tool_call", "call_id": "call_5", "name": "play_notes", "input": "C E G"},
        {"type": "custom_tool_call_output", "call_id": "call_5", "output": "It sounded well."},
    ]});
    let from = Dialect::OpenaiResponses;
    let options = TranslationOptions::default();
    let pointers = [
        (
            Dialect::AnthropicMessages,
            "/tools/0/input_schema",
            "/messages/1/content/0/input",
        ),
        (
            Dialect::GoogleGenerateContent,
            "/tools/0/functionDeclarations/0/parametersJsonSchema",
            "/contents/1/parts/0/functionCall/args",
        ),
    ];
    for (to, schema, input) in pointers {
        let text = request.to_string();
        let translated = from.translate(to, text.as_bytes(), &options).unwrap();
        let document = &translated.document;
        let schema = document.pointer(schema).unwrap();
        assert_eq!(
            schema["properties"]["arguments"]["type"], "string",
            "{to}: {document:#}"
        );
        assert_eq!(
            document.pointer(input),
            Some(&json!({"arguments": "C E G"})),
            "{to}"
        );
        let mut losses = translated.report.losses.iter();
        assert!(
            losses.any(|loss| loss.what.contains("format")),
            "{to}: {:?}",
            translated.report
        );
    }
}
