//! Whole requests and responses in every dialect, translated to every other.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at few kinds of contents and values"
)]

mod error_kinds;
mod errors;
mod hosted_tools;
mod instructions;
mod shared_settings;
mod streams;
mod thinking;
mod tools_together;
mod unknown_members;
mod vectors;

use serde_json::{Map, Value, json};
use telechir_protocol::Content;
use telechir_providers::{
    Dialect, Loss, ThinkingTranslation, TranslatedDocument, TranslationOptions,
};

/// One request of each dialect: instructions, a call and its result, tools, and settings.
const REQUESTS: &str = include_str!("envelope/requests.json");
/// One response of each dialect: a text and a call.
const RESPONSES: &str = include_str!("envelope/responses.json");

fn documents(text: &str) -> Vec<(Dialect, Value)> {
    let all: Map<String, Value> = serde_json::from_str(text).expect("JSON of documents");
    let named = all.into_iter().map(|(name, document)| {
        let dialect = name.parse().expect("the name of a dialect");
        (dialect, document)
    });
    named.collect()
}

fn document(text: &str, dialect: Dialect) -> Value {
    let mut all = documents(text).into_iter();
    all.find(|(name, _)| *name == dialect)
        .expect("a document")
        .1
}

fn translate(from: Dialect, to: Dialect, document: &Value) -> TranslatedDocument {
    translate_with(from, to, document, &TranslationOptions::default())
}

fn translate_with(
    from: Dialect,
    to: Dialect,
    document: &Value,
    options: &TranslationOptions,
) -> TranslatedDocument {
    let text = document.to_string();
    match from.translate(to, text.as_bytes(), options) {
        Ok(translated) => translated,
        Err(error) => panic!("{from} to {to}: {error}"),
    }
}

/// The pointers and values of all leaves.
fn leaves(value: &Value, pointer: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| leaves(value, &format!("{pointer}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, value)| leaves(value, &format!("{pointer}/{at}"), found)),
        leaf => found.push((pointer.to_owned(), leaf.clone())),
    }
}

fn is_reported(losses: &[Loss], pointer: &str) -> bool {
    losses.iter().any(|loss| {
        let path = loss.location.as_str();
        path.starts_with('/') && (pointer.starts_with(path) || path.starts_with(pointer))
    })
}

/// Settings whose values have other names elsewhere, checked by tests of their own.
const WORDS: [&str; 11] = [
    "type",
    "mode",
    "tool_choice",
    "effort",
    "thinkingLevel",
    "thinking_level",
    "reasoning_effort",
    "summary",
    "mime_type",
    "responseMimeType",
    "anthropic_version",
];

#[test]
fn every_setting_of_a_request_is_translated_or_reported() {
    let mut lost = Vec::new();
    for (from, request) in documents(REQUESTS) {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let translated = translate(from, to, &request);
            let mut settings = request.clone();
            for member in [
                "messages",
                "input",
                "inputs",
                "contents",
                "store",
                "inputText",
            ] {
                settings
                    .as_object_mut()
                    .expect("a request")
                    .shift_remove(member);
            }
            let (mut before, mut after) = (Vec::new(), Vec::new());
            leaves(&settings, "", &mut before);
            leaves(&translated.document, "", &mut after);
            let path = translated.path.clone().unwrap_or_default();
            for (pointer, value) in before {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                let is_word = WORDS.contains(&name) || value.is_boolean() || value.is_null();
                // A provider's own tool has its type as its name.
                let is_own_tool = name == "name" && (value == "bash" || value == "web_search");
                let is_schema =
                    is_own_tool || pointer.contains("chema") || pointer.contains("/parameters");
                let has = |wanted: &Value| {
                    let text = wanted.as_str().unwrap_or("\u{0}");
                    after.iter().any(|(_, found)| {
                        found == wanted
                            || found.as_f64().is_some_and(|f| Some(f) == wanted.as_f64())
                            || found.as_str().is_some_and(|found| found.contains(text))
                    }) || path.contains(text)
                };
                let survived = is_word || is_schema || has(&value);
                if !survived && !is_reported(&translated.report.losses, &pointer) {
                    lost.push(format!("{from} to {to}: {pointer} = {value}"));
                }
            }
        }
    }
    assert!(lost.is_empty(), "lost in silence:\n{}", lost.join("\n"));
}

#[test]
fn a_request_keeps_its_messages_and_functions() {
    for (from, request) in documents(REQUESTS) {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let translated = translate(from, to, &request);
            let text = translated.document.to_string();
            assert!(text.contains("Which weather?"), "{from} to {to}: {text}");
            if from == Dialect::BedrockAgents {
                continue;
            }
            assert!(
                text.contains("Oslo") && text.contains("rain"),
                "{from} to {to}: {text}"
            );
            // Neutral documents have no settings.
            let has_tools = !matches!(to, Dialect::BedrockAgents | Dialect::Neutral);
            assert!(
                to == Dialect::BedrockAgents || text.contains("Be brief."),
                "{from} to {to}: {text}"
            );
            if has_tools {
                assert!(text.contains("Be brief."), "{from} to {to}: {text}");
                assert!(text.contains("Weather of a city"), "{from} to {to}: {text}");
            }
            let decoded = to.decode_history(translated.document.to_string());
            assert!(decoded.is_ok(), "{from} to {to}: {decoded:?}");
        }
    }
}

#[test]
fn a_document_for_the_same_dialect_stays_as_it_is() {
    for (dialect, document) in documents(REQUESTS).into_iter().chain(documents(RESPONSES)) {
        let translated = translate(dialect, dialect, &document);
        assert_eq!(translated.document, document, "{dialect}");
        assert!(translated.report.is_lossless(), "{dialect}");
    }
}

#[test]
fn a_request_of_openai_becomes_one_of_anthropic() {
    let request = document(REQUESTS, Dialect::OpenaiResponses);
    let options = TranslationOptions {
        models: [("gpt-5.6-sol".to_owned(), "claude-opus-5-5".to_owned())].into(),
        ..TranslationOptions::default()
    };
    let (from, to) = (Dialect::OpenaiResponses, Dialect::AnthropicMessages);
    let translated = translate_with(from, to, &request, &options);
    let schema = &request["text"]["format"]["schema"];
    let expected = json!({
        "model": "claude-opus-5-5",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which weather?"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Oslo"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}]},
        ],
        "tools": [
            {"name": "get_weather", "description": "Weather of a city",
             "input_schema": request["tools"][0]["parameters"], "strict": true},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "web_search_20260318", "name": "web_search"},
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "output_config": {"effort": "medium", "format": {"type": "json_schema", "schema": schema}},
        "max_tokens": 2000,
        "stream": true,
        "temperature": 1.0,
        "top_p": 0.9,
    });
    assert_eq!(translated.document, expected);
    let version = ("anthropic-version".to_owned(), "2023-06-01".to_owned());
    assert_eq!(translated.headers, [version]);
    let lost: Vec<&str> = translated
        .report
        .losses
        .iter()
        .map(|loss| loss.location.as_str())
        .collect();
    let expected = [
        "/tools/2/search_context_size",
        "/text/format",
        "/reasoning/summary",
        "/temperature",
        "/metadata",
        "/text/verbosity",
        "call call_1",
    ];
    assert_eq!(lost, expected);
}

#[test]
fn a_response_keeps_its_contents_and_counts() {
    for (from, response) in documents(RESPONSES) {
        let (before, _) = from
            .decode_response(response.to_string())
            .expect("a response");
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let translated = translate(from, to, &response);
            let (after, _) = match to.decode_response(translated.document.to_string()) {
                Ok(decoded) => decoded,
                Err(error) => panic!("{from} to {to}: {error}\n{:#}", translated.document),
            };
            assert_eq!(
                texts(before.contents()),
                texts(after.contents()),
                "{from} to {to}"
            );
            assert_eq!(
                calls(before.contents()),
                calls(after.contents()),
                "{from} to {to}"
            );
            let has_counts =
                |dialect| !matches!(dialect, Dialect::BedrockAgents | Dialect::Neutral);
            let counts = [from, to].map(has_counts);
            // The neutral count of Anthropic's input and Converse's leaves out the cache.
            if counts == [true, true] {
                assert_eq!(
                    total(&response),
                    total(&translated.document),
                    "{from} to {to}"
                );
            }
        }
    }
}

fn texts(contents: &[Content]) -> Vec<String> {
    let texts = contents.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect()
}

fn calls(contents: &[Content]) -> Vec<(String, Value)> {
    let calls = contents.iter().filter_map(|content| match content {
        Content::FunctionCall(call) => {
            let json = serde_json::to_value(&call.arguments).expect("JSON");
            let parsed = json
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok());
            Some((call.name.clone(), parsed.unwrap_or(json)))
        }
        _ => None,
    });
    calls.collect()
}

/// All tokens of a response of any dialect.
fn total(response: &Value) -> u64 {
    let usage = ["usage", "usageMetadata", "usage_details"]
        .iter()
        .find_map(|name| response.get(*name))
        .expect("a usage");
    let number = |name: &str| usage.get(name).and_then(Value::as_u64);
    let totals = [
        "total_tokens",
        "totalTokens",
        "totalTokenCount",
        "total_token_count",
    ];
    totals
        .iter()
        .find_map(|name| number(name))
        .unwrap_or_else(|| {
            let parts = [
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ];
            parts.iter().filter_map(|name| number(name)).sum()
        })
}

#[test]
fn a_response_ends_for_the_same_reason() {
    use Dialect::{
        AnthropicMessages, BedrockConverse, Functions, GoogleGenerateContent, GoogleInteractions,
        MistralChat, OpenaiResponses,
    };
    let anthropic = |reason: &str| {
        json!({"id": "m", "type": "message", "role": "assistant", "model": "c",
               "content": [{"type": "text", "text": "So"}], "stop_reason": reason,
               "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let cases = [
        (
            anthropic("end_turn"),
            Functions,
            "/choices/0/finish_reason",
            "stop",
            true,
        ),
        (
            anthropic("max_tokens"),
            Functions,
            "/choices/0/finish_reason",
            "length",
            true,
        ),
        (
            anthropic("refusal"),
            Functions,
            "/choices/0/finish_reason",
            "content_filter",
            false,
        ),
        (
            anthropic("max_tokens"),
            OpenaiResponses,
            "/incomplete_details/reason",
            "max_output_tokens",
            true,
        ),
        (
            anthropic("max_tokens"),
            OpenaiResponses,
            "/status",
            "incomplete",
            true,
        ),
        (
            anthropic("end_turn"),
            OpenaiResponses,
            "/status",
            "completed",
            true,
        ),
        (
            anthropic("pause_turn"),
            GoogleInteractions,
            "/status",
            "requires_continuation",
            true,
        ),
        (
            anthropic("pause_turn"),
            BedrockConverse,
            "/stopReason",
            "end_turn",
            false,
        ),
        (
            anthropic("model_context_window_exceeded"),
            MistralChat,
            "/choices/0/finish_reason",
            "model_length",
            true,
        ),
        (
            anthropic("refusal"),
            GoogleGenerateContent,
            "/candidates/0/finishReason",
            "SAFETY",
            false,
        ),
    ];
    for (response, to, pointer, expected, is_same) in cases {
        check_end(AnthropicMessages, &response, to, pointer, expected, is_same);
    }
    let google = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]});
    let from = GoogleGenerateContent;
    check_end(
        from,
        &google,
        BedrockConverse,
        "/stopReason",
        "malformed_tool_use",
        true,
    );
    check_end(
        from,
        &google,
        AnthropicMessages,
        "/stop_reason",
        "end_turn",
        false,
    );
    let filtered = json!({"candidates": [{"finishReason": "SAFETY", "index": 0}]});
    check_end(
        from,
        &filtered,
        AnthropicMessages,
        "/stop_reason",
        "refusal",
        false,
    );
    check_end(
        from,
        &filtered,
        OpenaiResponses,
        "/incomplete_details/reason",
        "content_filter",
        true,
    );
}

fn check_end(
    from: Dialect,
    response: &Value,
    to: Dialect,
    pointer: &str,
    expected: &str,
    is_same: bool,
) {
    let translated = translate(from, to, response);
    let found = translated.document.pointer(pointer).and_then(Value::as_str);
    assert_eq!(found, Some(expected), "{to}: {:#}", translated.document);
    let losses = &translated.report.losses;
    let is_reported = losses.iter().any(|loss| loss.what.starts_with("end `"));
    assert_eq!(is_reported, !is_same, "{to}: {losses:?}");
}

#[test]
fn an_error_body_becomes_the_other_providers() {
    let error = json!({"type": "error", "request_id": "req_1",
        "error": {"type": "rate_limit_error", "message": "Too many requests"}});
    let cases = [
        (
            Dialect::OpenaiResponses,
            "/error/type",
            json!("rate_limit_exceeded"),
        ),
        (
            Dialect::Functions,
            "/error/type",
            json!("rate_limit_exceeded"),
        ),
        (
            Dialect::GoogleGenerateContent,
            "/error/status",
            json!("RESOURCE_EXHAUSTED"),
        ),
        (Dialect::GoogleInteractions, "/error/code", json!(429)),
        (
            Dialect::BedrockConverse,
            "/__type",
            json!("ThrottlingException"),
        ),
        (Dialect::MistralChat, "/type", json!("rate_limit_exceeded")),
    ];
    for (to, pointer, expected) in cases {
        let translated = translate(Dialect::AnthropicMessages, to, &error);
        assert_eq!(
            translated.document.pointer(pointer),
            Some(&expected),
            "{to}"
        );
        assert!(
            is_reported(&translated.report.losses, "/request_id"),
            "{to}"
        );
        let text = translated.document.to_string();
        assert!(text.contains("Too many requests"), "{to}: {text}");
        // Each is an error of its own provider, and comes back as the one it was.
        let back = translate(to, Dialect::AnthropicMessages, &translated.document);
        assert_eq!(back.document["error"], error["error"], "{to}");
    }
}

#[test]
fn thinking_becomes_text_by_an_option() {
    let response = document(RESPONSES, Dialect::AnthropicMessages);
    let options = TranslationOptions {
        thinking: ThinkingTranslation::Text,
        ..TranslationOptions::default()
    };
    for to in [
        Dialect::OpenaiResponses,
        Dialect::Functions,
        Dialect::GoogleGenerateContent,
    ] {
        let dropped = translate(Dialect::AnthropicMessages, to, &response);
        assert!(
            !dropped.document.to_string().contains("Look it up."),
            "{to}"
        );
        let retained = translate_with(Dialect::AnthropicMessages, to, &response, &options);
        let text = retained.document.to_string();
        assert!(
            text.contains("<thinking>\\nLook it up.\\n</thinking>"),
            "{to}: {text}"
        );
    }
}

#[test]
fn a_model_in_the_path_is_named_by_an_option() {
    let request = document(REQUESTS, Dialect::GoogleGenerateContent);
    let (from, to) = (Dialect::GoogleGenerateContent, Dialect::OpenaiResponses);
    let unnamed = translate(from, to, &request);
    assert!(unnamed.document.get("model").is_none());
    assert!(is_reported(&unnamed.report.losses, "/model"));
    let options = TranslationOptions {
        model: Some("gpt-5.6-sol".to_owned()),
        ..TranslationOptions::default()
    };
    let named = translate_with(from, to, &request, &options);
    assert_eq!(named.document["model"], "gpt-5.6-sol");
    assert!(!is_reported(&named.report.losses, "/model"));
    let request = document(REQUESTS, Dialect::OpenaiResponses);
    let translated = translate(to, from, &request);
    let path = translated.path.as_deref();
    assert_eq!(
        path,
        Some("/models/gpt-5.6-sol:streamGenerateContent?alt=sse")
    );
}

#[test]
fn settings_around_messages_are_one_line_and_no_loss() {
    for (from, request) in documents(REQUESTS) {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let (mut history, _) = from.decode_history(request.to_string()).expect("a history");
            let is_same_form = {
                let (mut again, _) = from.decode_history(request.to_string()).expect("a history");
                again.set_envelope_aside(to).is_none()
            };
            let aside = history.set_envelope_aside(to);
            assert_eq!(aside.is_none(), is_same_form);
            let (_, report) = to.encode_history(&history).expect("messages");
            let fields = report.losses.iter().filter(|loss| {
                loss.what.starts_with("field `") || loss.what.starts_with("member `")
            });
            let others: Vec<&Loss> = fields
                .filter(|loss| !loss.what.contains("system") && !loss.what.contains("nstruction"))
                .collect();
            assert!(others.is_empty(), "{from} to {to}: {others:?}");
        }
    }
}

#[test]
fn what_stands_around_a_response_is_translated_or_reported() {
    let mut lost = Vec::new();
    for (from, response) in documents(RESPONSES) {
        for to in Dialect::ALL.into_iter().filter(|to| *to != from) {
            let translated = translate(from, to, &response);
            let mut around = response.clone();
            let members = around.as_object_mut().expect("a response");
            for member in [
                "content",
                "output",
                "steps",
                "outputs",
                "messages",
                "completion",
            ] {
                members.shift_remove(member);
            }
            for list in ["choices", "candidates"] {
                if let Some(Value::Object(first)) = members.get_mut(list).map(|list| &mut list[0]) {
                    first.shift_remove("message");
                    first.shift_remove("content");
                }
            }
            let (mut before, mut after) = (Vec::new(), Vec::new());
            leaves(&around, "", &mut before);
            leaves(&translated.document, "", &mut after);
            for (pointer, value) in before {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                // Ends, totals and times have tests of their own; the rest is the same everywhere.
                let is_word = [
                    "type",
                    "role",
                    "object",
                    "status",
                    "stop_reason",
                    "stopReason",
                    "finishReason",
                    "finish_reason",
                    "index",
                    "tool_choice",
                    "parallel_tool_calls",
                    "created",
                    "created_at",
                ];
                let is_count = value.is_number() && pointer.to_lowercase().contains("token");
                if is_word.contains(&name) || is_count || value.is_null() {
                    continue;
                }
                let survived = after.iter().any(|(_, found)| *found == value);
                if !survived && !is_reported(&translated.report.losses, &pointer) {
                    lost.push(format!("{from} to {to}: {pointer} = {value}"));
                }
            }
        }
    }
    assert!(lost.is_empty(), "lost in silence:\n{}", lost.join("\n"));
}
