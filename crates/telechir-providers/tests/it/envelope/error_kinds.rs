//! The kind of an error in another provider's words: none changes without an entry of the report.

use serde_json::{Value, json};
use telechir_providers::{Dialect, Loss, TranslationOptions};

fn translated(from: Dialect, to: Dialect, body: &Value) -> (Value, Vec<Loss>) {
    let options = TranslationOptions::default();
    let translated = from
        .translate(to, body.to_string().as_bytes(), &options)
        .unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
    (translated.document, translated.report.losses)
}

/// The dialects whose errors have the members of OpenAI's.
const OPENAI_FORM: [Dialect; 5] = [
    Dialect::OpenaiResponses,
    Dialect::Functions,
    Dialect::FunctionsInline,
    Dialect::MistralChat,
    Dialect::MistralConversations,
];

#[test]
fn kind_code_and_parameter_stay_between_apis_with_the_same_members() {
    let bodies = [
        json!({"message": "The key is wrong.", "type": "invalid_request_error", "param": null,
            "code": "invalid_api_key"}),
        json!({"message": "Slow down.", "type": "tokens", "param": null, "code": "rate_limit_exceeded"}),
        json!({"message": "No such field.", "type": "invalid_request_error", "param": "input[2].colour",
            "code": "unknown_parameter"}),
    ];
    for from in [Dialect::OpenaiResponses, Dialect::Functions] {
        for to in OPENAI_FORM.into_iter().filter(|to| *to != from) {
            for body in &bodies {
                let (document, losses) = translated(from, to, &json!({ "error": body }));
                let error = document.get("error").unwrap_or(&document);
                for name in ["message", "type", "param", "code"] {
                    assert_eq!(error[name], body[name], "{from} to {to}: {document}");
                }
                assert_eq!(losses, [], "{from} to {to}");
            }
        }
    }
    let mistral = json!({"object": "error", "message": "Tool call id is too long.",
        "type": "invalid_request_message_order", "param": null, "code": "3230"});
    let (document, losses) = translated(Dialect::MistralChat, Dialect::Functions, &mistral);
    assert_eq!(document["error"]["type"], mistral["type"]);
    assert_eq!(document["error"]["code"], mistral["code"]);
    assert_eq!(losses, []);
}

#[test]
fn a_kind_that_the_target_lacks_becomes_the_nearest_and_is_reported() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "No."}});
    let from = Dialect::AnthropicMessages;
    for (kind, to, pointer, nearest) in [
        (
            "request_too_large",
            Dialect::OpenaiResponses,
            "/error/type",
            "invalid_request_error",
        ),
        (
            "request_too_large",
            Dialect::GoogleGenerateContent,
            "/error/status",
            "INVALID_ARGUMENT",
        ),
        (
            "request_too_large",
            Dialect::BedrockConverse,
            "/__type",
            "ValidationException",
        ),
        (
            "billing_error",
            Dialect::GoogleInteractions,
            "/error/status",
            "FAILED_PRECONDITION",
        ),
        (
            "conflict_error",
            Dialect::Functions,
            "/error/type",
            "invalid_request_error",
        ),
    ] {
        let (document, losses) = translated(from, to, &error(kind));
        let written = document.pointer(pointer).and_then(Value::as_str);
        assert_eq!(written, Some(nearest), "{to}: {document}");
        let reported = losses.iter().find(|loss| loss.location == "/error/type");
        let reported = reported.unwrap_or_else(|| panic!("{to}: {losses:?}"));
        assert!(reported.what.contains(kind), "{reported:?}");
        assert_eq!(reported.preserved_as, Some(format!("as `{nearest}`")));
    }
}

#[test]
fn every_common_kind_has_a_counterpart_or_an_entry() {
    for kind in [
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "rate_limit_error",
        "timeout_error",
        "api_error",
        "overloaded_error",
        "conflict_error",
    ] {
        let body = json!({"type": "error", "error": {"type": kind, "message": "No."}});
        let from = Dialect::AnthropicMessages;
        for to in Dialect::ALL
            .into_iter()
            .filter(|to| *to != Dialect::Neutral)
        {
            let (document, losses) = translated(from, to, &body);
            let (back, _) = translated(to, from, &document);
            let returns = back["error"]["type"] == kind;
            let is_reported = losses.iter().any(|loss| loss.what.contains(kind));
            assert!(
                returns != is_reported,
                "{kind} to {to}: {document} {losses:?}"
            );
        }
    }
}

#[test]
fn google_states_the_status_of_the_kind() {
    for (kind, status, name) in [
        ("invalid_request_error", 400, "INVALID_ARGUMENT"),
        ("request_too_large", 400, "INVALID_ARGUMENT"),
        ("billing_error", 400, "FAILED_PRECONDITION"),
        ("conflict_error", 409, "ABORTED"),
        ("overloaded_error", 503, "UNAVAILABLE"),
    ] {
        let body = json!({"type": "error", "error": {"type": kind, "message": "No."}});
        let to = Dialect::GoogleGenerateContent;
        let (document, _) = translated(Dialect::AnthropicMessages, to, &body);
        let error = json!({"code": status, "message": "No.", "status": name});
        assert_eq!(document["error"], error, "{kind}");
    }
}

#[test]
fn an_unknown_kind_keeps_its_name_and_not_its_number() {
    let body = json!({"error": {"code": 499, "message": "Gone.", "status": "CANCELLED"}});
    let from = Dialect::GoogleGenerateContent;
    let (document, losses) = translated(from, Dialect::AnthropicMessages, &body);
    assert_eq!(document["error"]["type"], "CANCELLED", "{document}");
    let lost: Vec<&str> = losses.iter().map(|loss| loss.location.as_str()).collect();
    assert_eq!(lost, ["/error/code"]);
    let body = json!({"error": {"code": 599, "message": "Odd."}});
    let (document, _) = translated(from, Dialect::AnthropicMessages, &body);
    assert_eq!(document["error"]["type"], "api_error", "{document}");
}
