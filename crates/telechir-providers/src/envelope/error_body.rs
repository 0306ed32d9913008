//! Error bodies: the same kind of error in each provider's words.

use serde_json::{Value, json};

use super::api::Api;
use super::members::Members;
use crate::Report;
use crate::provider_error::ProviderError;

/// One kind of error: the HTTP status, Anthropic's type, OpenAI's type, Google's status, AWS's
/// exception.
type ErrorRow = (u16, &'static str, &'static str, &'static str, &'static str);

const ERRORS: [ErrorRow; 10] = [
    (
        400,
        "invalid_request_error",
        "invalid_request_error",
        "INVALID_ARGUMENT",
        "ValidationException",
    ),
    (
        401,
        "authentication_error",
        "authentication_error",
        "UNAUTHENTICATED",
        "UnrecognizedClientException",
    ),
    (
        402,
        "billing_error",
        "insufficient_quota",
        "FAILED_PRECONDITION",
        "ServiceQuotaExceededException",
    ),
    (
        403,
        "permission_error",
        "permission_error",
        "PERMISSION_DENIED",
        "AccessDeniedException",
    ),
    (
        404,
        "not_found_error",
        "not_found_error",
        "NOT_FOUND",
        "ResourceNotFoundException",
    ),
    (
        413,
        "request_too_large",
        "request_too_large",
        "OUT_OF_RANGE",
        "RequestEntityTooLargeException",
    ),
    (
        429,
        "rate_limit_error",
        "rate_limit_exceeded",
        "RESOURCE_EXHAUSTED",
        "ThrottlingException",
    ),
    (
        500,
        "api_error",
        "server_error",
        "INTERNAL",
        "InternalServerException",
    ),
    (
        504,
        "timeout_error",
        "timeout",
        "DEADLINE_EXCEEDED",
        "ModelTimeoutException",
    ),
    (
        529,
        "overloaded_error",
        "server_overloaded",
        "UNAVAILABLE",
        "ServiceUnavailableException",
    ),
];

/// Other names of the same kinds.
const OTHER_NAMES: [(&str, u16); 7] = [
    ("invalid_prompt", 400),
    ("invalid_api_key", 401),
    ("model_not_found", 404),
    ("context_length_exceeded", 400),
    ("rate_limit_error", 429),
    ("ModelNotReadyException", 529),
    ("ModelErrorException", 500),
];

fn row(kind: &str) -> Option<&'static ErrorRow> {
    let named = ERRORS.iter().find(|(_, anthropic, openai, google, aws)| {
        [anthropic, openai, google, aws]
            .iter()
            .any(|name| **name == kind)
    });
    named.or_else(|| {
        let status = OTHER_NAMES.iter().find(|(name, _)| *name == kind);
        let status = status
            .map(|(_, status)| *status)
            .or_else(|| kind.parse().ok())?;
        ERRORS.iter().find(|(other, ..)| *other == status)
    })
}

/// The error in the provider's own form. A kind without a counterpart keeps its name.
pub(super) fn write(api: Api, error: &ProviderError) -> Value {
    let row = row(&error.kind);
    let kind = |name: fn(&ErrorRow) -> &'static str, default: &'static str| -> String {
        match row {
            Some(row) => name(row).to_owned(),
            None if error.kind.is_empty() => default.to_owned(),
            None => error.kind.clone(),
        }
    };
    let message = error.message.as_str();
    match api {
        Api::Anthropic => {
            let kind = kind(|row| row.1, "api_error");
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Api::Generate | Api::Interactions => {
            let status = row.map_or(500, |row| if row.0 == 529 { 503 } else { row.0 });
            let name = kind(|row| row.3, "INTERNAL");
            json!({"error": {"code": status, "message": message, "status": name}})
        }
        Api::Mistral | Api::Conversations => {
            let kind = kind(|row| row.2, "server_error");
            json!({"object": "error", "message": message, "type": kind, "param": null, "code": null})
        }
        Api::Converse | Api::Agents | Api::Invoke => {
            json!({"message": message, "__type": kind(|row| row.4, "InternalServerException")})
        }
        Api::Responses | Api::Chat | Api::Framework => {
            let kind = kind(|row| row.2, "server_error");
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
    }
}

/// What an error body holds besides its kind and its message.
pub(super) fn report(document: &Value) -> Report {
    const READ: [&str; 11] = [
        "/type",
        "/object",
        "/message",
        "/Message",
        "/__type",
        "/code",
        "/status",
        "/error/type",
        "/error/code",
        "/error/status",
        "/error/message",
    ];
    let mut members = Members::new(document.clone());
    READ.iter().for_each(|pointer| {
        members.take(pointer);
    });
    let mut report = Report::default();
    for pointer in members.left() {
        let inner = document.pointer(&pointer).and_then(Value::as_object);
        let names: Vec<String> = match inner {
            Some(inner) if pointer == "/error" => inner
                .keys()
                .map(|name| format!("/error/{name}"))
                .filter(|name| !READ.contains(&name.as_str()))
                .collect(),
            _ => vec![pointer],
        };
        for pointer in names {
            let name = pointer.trim_start_matches('/').to_owned();
            report.lost(
                format!("`{name}` of the error"),
                pointer,
                "the target's error has only a kind and a message",
            );
        }
    }
    report
}
