//! Error bodies: the same kind of error in each provider's words.

use serde_json::{Value, json};

use super::api::Api;
use crate::provider_error::ProviderError;
use crate::{Loss, Report};

/// The name of a kind of error at one provider.
#[derive(Clone, Copy)]
enum KindName {
    /// The provider's own name of the kind.
    Own(&'static str),
    /// The nearest kind of a provider that does not have this one.
    Nearest(&'static str),
}

use KindName::{Nearest, Own};

impl KindName {
    const fn name(self) -> &'static str {
        match self {
            Own(name) | Nearest(name) => name,
        }
    }

    fn is_own(self, text: &str) -> bool {
        matches!(self, Own(name) if name == text)
    }
}

/// One kind of error: its HTTP status and the names of each provider.
struct ErrorKind {
    status: u16,
    anthropic: KindName,
    openai: KindName,
    google: KindName,
    aws: KindName,
}

const fn kind(
    status: u16,
    anthropic: KindName,
    openai: KindName,
    google: KindName,
    aws: KindName,
) -> ErrorKind {
    ErrorKind {
        status,
        anthropic,
        openai,
        google,
        aws,
    }
}

const ERRORS: [ErrorKind; 11] = [
    kind(
        400,
        Own("invalid_request_error"),
        Own("invalid_request_error"),
        Own("INVALID_ARGUMENT"),
        Own("ValidationException"),
    ),
    kind(
        401,
        Own("authentication_error"),
        Own("authentication_error"),
        Own("UNAUTHENTICATED"),
        Own("UnrecognizedClientException"),
    ),
    kind(
        402,
        Own("billing_error"),
        Own("insufficient_quota"),
        Nearest("FAILED_PRECONDITION"),
        Nearest("AccessDeniedException"),
    ),
    kind(
        403,
        Own("permission_error"),
        Own("permission_error"),
        Own("PERMISSION_DENIED"),
        Own("AccessDeniedException"),
    ),
    kind(
        404,
        Own("not_found_error"),
        Own("not_found_error"),
        Own("NOT_FOUND"),
        Own("ResourceNotFoundException"),
    ),
    kind(
        409,
        Own("conflict_error"),
        Nearest("invalid_request_error"),
        Own("ABORTED"),
        Own("ConflictException"),
    ),
    kind(
        413,
        Own("request_too_large"),
        Nearest("invalid_request_error"),
        Nearest("INVALID_ARGUMENT"),
        Nearest("ValidationException"),
    ),
    kind(
        429,
        Own("rate_limit_error"),
        Own("rate_limit_exceeded"),
        Own("RESOURCE_EXHAUSTED"),
        Own("ThrottlingException"),
    ),
    kind(
        500,
        Own("api_error"),
        Own("server_error"),
        Own("INTERNAL"),
        Own("InternalServerException"),
    ),
    kind(
        504,
        Own("timeout_error"),
        Own("timeout"),
        Own("DEADLINE_EXCEEDED"),
        Own("ModelTimeoutException"),
    ),
    kind(
        529,
        Own("overloaded_error"),
        Own("server_overloaded"),
        Own("UNAVAILABLE"),
        Own("ServiceUnavailableException"),
    ),
];

/// Other names of the same kinds.
const OTHER_NAMES: [(&str, u16); 15] = [
    ("invalid_prompt", 400),
    ("context_length_exceeded", 400),
    ("invalid_api_key", 401),
    ("billing_hard_limit_reached", 402),
    ("model_not_found", 404),
    ("ALREADY_EXISTS", 409),
    ("RequestEntityTooLargeException", 413),
    ("rate_limit_error", 429),
    ("ServiceQuotaExceededException", 429),
    ("ModelNotReadyException", 529),
    ("ModelErrorException", 500),
    ("ModelStreamErrorException", 500),
    ("server_is_overloaded", 529),
    ("UNKNOWN", 500),
    ("503", 529),
];

impl ErrorKind {
    fn names(&self) -> [KindName; 4] {
        [self.anthropic, self.openai, self.google, self.aws]
    }

    fn with_name(name: &str) -> Option<&'static Self> {
        let named = ERRORS
            .iter()
            .find(|kind| kind.names().iter().any(|own| own.is_own(name)));
        named.or_else(|| {
            let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
            let status = other
                .map(|(_, status)| *status)
                .or_else(|| name.parse().ok())?;
            ERRORS.iter().find(|kind| kind.status == status)
        })
    }

    /// Whether a name or an HTTP status is that of this kind, at any provider.
    fn has_name(&self, name: &str) -> bool {
        let is_status = name.parse() == Ok(self.status) || (self.status == 529 && name == "503");
        is_status || self.names().iter().any(|own| own.is_own(name))
    }

    /// The name of the kind in an API's error bodies.
    const fn name_in(&self, api: Api) -> KindName {
        match api {
            Api::Anthropic => self.anthropic,
            Api::Generate | Api::Interactions => self.google,
            Api::Converse | Api::Agents | Api::Invoke => self.aws,
            Api::Mistral | Api::Conversations | Api::Responses | Api::Chat | Api::Framework => {
                self.openai
            }
        }
    }
}

/// Where error bodies have the names of their kind, the most specific one first.
const KINDS: [&str; 8] = [
    "/error/details/error_code",
    "/error/code",
    "/error/type",
    "/error/status",
    "/__type",
    "/code",
    "/type",
    "/status",
];

/// Translates an error body to the API's own form. A kind without a counterpart keeps its name; one
/// that becomes the nearest kind is reported.
pub(super) fn translate(api: Api, error: &ProviderError, document: &Value) -> (Value, Report) {
    let names = || {
        KINDS
            .iter()
            .filter_map(|pointer| Some((*pointer, name_at(document, pointer)?)))
    };
    let found = ErrorKind::with_name(&error.kind);
    let found = found.or_else(|| names().find_map(|(_, name)| ErrorKind::with_name(&name)));
    let is_word = |name: &str| name.parse::<u16>().is_err() && name != "error";
    let kind = found.map(|kind| kind.name_in(api));
    let unknown = || names().map(|(_, name)| name).find(|name| is_word(name));
    let name = match kind {
        Some(kind) => kind.name().to_owned(),
        None => unknown().unwrap_or_else(|| default_kind(api).to_owned()),
    };
    // A name that is more specific than the kind.
    let code = names().map(|(_, name)| name).find(|code| {
        let is_kind = found.is_some_and(|kind| kind.has_name(code)) || *code == name;
        !is_kind && is_word(code)
    });
    let written = match own_fields(api, document) {
        Some(fields) => fields,
        None => write(api, error, &name, code.as_deref()),
    };
    let mut report = Report::default();
    let is_named = |(_, name): &(&str, String)| found.is_some_and(|kind| kind.has_name(name));
    if let (Some(Nearest(nearest)), Some((pointer, name))) = (kind, names().find(is_named))
        && !has_text(&written, &name)
    {
        report.preserved(
            format!("kind `{name}` of the error"),
            pointer,
            "the target has no such kind of error",
            format!("as `{nearest}`"),
        );
    }
    report_lost(document, &written, found, error, &mut report);
    (written, report)
}

fn name_at(document: &Value, pointer: &str) -> Option<String> {
    match document.pointer(pointer)? {
        Value::String(name) => Some(ProviderError::aws_kind(name).to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The kind of an error that no name says anything about.
const fn default_kind(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "api_error",
        Api::Generate | Api::Interactions => "INTERNAL",
        Api::Converse | Api::Agents | Api::Invoke => "InternalServerException",
        Api::Mistral | Api::Conversations | Api::Responses | Api::Chat | Api::Framework => {
            "server_error"
        }
    }
}

/// The HTTP status that Google states beside a kind.
fn google_status(kind: &str) -> u16 {
    match ErrorKind::with_name(kind) {
        Some(kind) if kind.status == 529 => 503,
        Some(kind) => kind.status,
        None if matches!(kind, "FAILED_PRECONDITION" | "OUT_OF_RANGE") => 400,
        None => 500,
    }
}

/// The error of an API whose errors have the members of OpenAI's, for another such API: kind, code
/// and parameter stay.
fn own_fields(api: Api, document: &Value) -> Option<Value> {
    let is_flat = matches!(api, Api::Mistral | Api::Conversations);
    let is_nested = matches!(api, Api::Responses | Api::Chat | Api::Framework);
    let flat = document
        .get("object")
        .is_some_and(|object| object == "error");
    let error = match document.get("error") {
        // Anthropic's bodies have a type beside the error, Google's a status in it.
        Some(error) if document.get("type").is_none() && error.get("status").is_none() => error,
        None if flat => document,
        Some(_) | None => return None,
    };
    let (message, kind) = (error.get("message")?, error.get("type")?);
    if !(is_flat || is_nested) || !message.is_string() || !kind.is_string() {
        return None;
    }
    let field = |name: &str| error.get(name).cloned().unwrap_or_default();
    let fields = json!({"message": message, "type": kind, "param": field("param"),
        "code": field("code")});
    Some(match (is_flat, fields) {
        (true, Value::Object(fields)) => {
            let object = ("object".to_owned(), Value::from("error"));
            Value::Object(std::iter::once(object).chain(fields).collect())
        }
        (_, fields) => json!({ "error": fields }),
    })
}

fn write(api: Api, error: &ProviderError, kind: &str, code: Option<&str>) -> Value {
    let message = error.message.as_str();
    match api {
        Api::Anthropic => {
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Api::Generate | Api::Interactions => {
            let status = google_status(kind);
            json!({"error": {"code": status, "message": message, "status": kind}})
        }
        Api::Mistral | Api::Conversations => {
            json!({"object": "error", "message": message, "type": kind, "param": null, "code": code})
        }
        Api::Converse | Api::Agents | Api::Invoke => {
            json!({"message": message, "__type": kind})
        }
        Api::Responses | Api::Chat | Api::Framework => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
    }
}

fn has_text(document: &Value, text: &str) -> bool {
    let mut values = Vec::new();
    scalars(document, "", &mut values);
    values.iter().any(|(_, value)| value == text)
}

/// Reports each value of an error body that the written one lacks, by its name.
fn report_lost(
    document: &Value,
    written: &Value,
    kind: Option<&ErrorKind>,
    error: &ProviderError,
    report: &mut Report,
) {
    let mut values = Vec::new();
    scalars(written, "", &mut values);
    let arrived: Vec<String> = values.into_iter().map(|(_, text)| text).collect();
    let mut found = Vec::new();
    scalars(document, "", &mut found);
    for (pointer, text) in found {
        let name = name_of(&pointer);
        let is_structure = matches!(pointer.as_str(), "/type" | "/object") && text == "error";
        let is_kind = KINDS.contains(&pointer.as_str())
            && kind.is_some_and(|kind| kind.has_name(ProviderError::aws_kind(&text)));
        let is_message = text == error.message || error.message.contains(&text) && text.len() > 8;
        if is_structure || is_kind || is_message || arrived.contains(&text) {
            continue;
        }
        let what = format!("`{name}` of the error");
        let is_named = |loss: &Loss| loss.what == what || loss.location == pointer;
        if !report.losses.iter().any(is_named) {
            let why = "the target's error has only a kind and a message";
            report.lost(what, pointer, why);
        }
    }
}

/// The member's name after those around it, without positions in lists.
fn name_of(pointer: &str) -> String {
    let is_position =
        |step: &&str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let steps = pointer.split('/').skip(1);
    let names: Vec<&str> = steps.filter(|step| !is_position(step)).collect();
    names.join("/")
}

/// The texts, numbers and flags with their pointers.
fn scalars(value: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::String(text) => found.push((pointer.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) => found.push((pointer.to_owned(), value.to_string())),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                scalars(item, &format!("{pointer}/{at}"), found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                scalars(value, &format!("{pointer}/{name}"), found);
            }
        }
    }
}
