//! Error bodies of every provider, translated to every other: each value arrives, is the kind in the
//! other provider's words, or is reported by its name.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{leaves, translate};

/// Error bodies as the services write them, with everything that their SDKs have types for.
fn errors() -> Vec<(Dialect, Value)> {
    let anthropic = |kind: &str, details: Value| {
        let body = json!({"type": "error", "request_id": "req_77",
            "error": {"type": kind, "message": "It was not accepted.", "details": details}});
        (Dialect::AnthropicMessages, body)
    };
    vec![
        anthropic("overloaded_error", Value::Null),
        anthropic(
            "invalid_request_error",
            json!({"error_code": "image_dimensions_too_large", "max_side_length_pixels": 8123,
                "paths": ["messages.0.content.1", "messages.4.content.0"]}),
        ),
        anthropic(
            "invalid_request_error",
            json!({"error_code": "request_body_timeout"}),
        ),
        anthropic(
            "sandbox_error",
            json!({"error_code": "sandbox_egress_restricted", "host": "example.com"}),
        ),
        (
            Dialect::OpenaiResponses,
            json!({"error": {"message": "Too long.", "type": "invalid_request_error",
                "param": "input", "code": "context_length_exceeded"}}),
        ),
        (
            Dialect::Functions,
            json!({"error": {"message": "No such picture.", "type": "image_generation_user_error",
                "param": null, "code": "image_parse_error"}, "status": 400}),
        ),
        (
            Dialect::GoogleGenerateContent,
            json!({"error": {"code": 429, "message": "Later.", "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"},
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT",
                 "metadata": {"service": "generativelanguage.googleapis.com"}}]}}),
        ),
        (
            Dialect::BedrockConverse,
            json!({"__type": "com.amazon.coral.service#ThrottlingException", "message": "Slower.",
                "originalStatusCode": 424, "resourceName": "model-8"}),
        ),
        (
            Dialect::MistralChat,
            json!({"object": "error", "message": "No access.", "type": "invalid_model",
                "param": null, "code": "1500", "raw_status_code": 400}),
        ),
    ]
}

#[test]
fn every_value_of_an_error_arrives_or_is_reported() {
    let mut lost = Vec::new();
    for (from, body) in errors() {
        for to in Dialect::ALL {
            if to == from || to == Dialect::Neutral {
                continue;
            }
            let translated = translate(from, to, &body);
            let mut values = Vec::new();
            leaves(&translated.document, "", &mut values);
            let mut before = Vec::new();
            leaves(&body, "", &mut before);
            for (pointer, value) in before {
                let name = pointer.rsplit('/').find(|step| step.parse::<u8>().is_err());
                let name = name.expect("a name");
                let is_named = translated
                    .report
                    .losses
                    .iter()
                    .any(|loss| loss.what.contains(name));
                let has_arrived = values.iter().any(|(_, written)| *written == value);
                // Each provider has its own words for a kind; a code has none.
                let is_kind = matches!(name, "type" | "status" | "__type" | "object")
                    || (name == "code" && value.is_number());
                if !(value.is_null() || is_named || has_arrived || is_kind) {
                    lost.push(format!("{from} to {to}: {pointer} {value}"));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_code_goes_over_where_the_other_error_has_one() {
    let (from, body) = errors().swap_remove(1);
    for (to, pointer) in [
        (Dialect::OpenaiResponses, "/error/code"),
        (Dialect::Functions, "/error/code"),
        (Dialect::MistralChat, "/code"),
    ] {
        let written = translate(from, to, &body).document;
        let code = written.pointer(pointer);
        assert_eq!(code, Some(&json!("image_dimensions_too_large")), "{to}");
    }
}

#[test]
fn a_type_that_others_know_counts_although_its_code_is_unknown() {
    let body = json!({"error": {"message": "No.", "type": "authentication_error", "code": "key_of_another_region"}});
    let written = translate(Dialect::Functions, Dialect::AnthropicMessages, &body).document;
    assert_eq!(written["error"]["type"], "authentication_error");
}
