//! Errors of the HTTP API as problem details (RFC 9457).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// What went wrong, by which clients continue differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    BadRequest,
    Unauthorized,
    Forbidden,
    Denied,
    ForbiddenHost,
    ForbiddenOrigin,
    NotFound,
    MethodNotAllowed,
    BodyTimeout,
    SessionBusy,
    /// A session uses the browser context.
    ContextInUse,
    NotAnswered,
    NoScreenshot,
    NoPage,
    RecordingUnreadable,
    AnswerRefused,
    CallIdReused,
    NotAcceptable,
    LengthRequired,
    TooLarge,
    UnsupportedMedia,
    Unreadable,
    KeyReused,
    TooMany,
    Internal,
    Unavailable,
    SessionLost,
    NotStarted,
}

impl ProblemKind {
    /// Every kind, for the OpenAPI document.
    pub(super) const ALL: [Self; 28] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::Denied,
        Self::ForbiddenHost,
        Self::ForbiddenOrigin,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::SessionBusy,
        Self::ContextInUse,
        Self::NotAnswered,
        Self::NoScreenshot,
        Self::NoPage,
        Self::RecordingUnreadable,
        Self::AnswerRefused,
        Self::CallIdReused,
        Self::NotAcceptable,
        Self::LengthRequired,
        Self::TooLarge,
        Self::UnsupportedMedia,
        Self::Unreadable,
        Self::KeyReused,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::SessionLost,
        Self::NotStarted,
    ];

    /// The last part of the problem's type, its status and its title.
    const fn describe(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::BadRequest => (
                "bad-request",
                StatusCode::BAD_REQUEST,
                "The request is invalid",
            ),
            Self::Unauthorized => (
                "unauthorized",
                StatusCode::UNAUTHORIZED,
                "A valid bearer token is required",
            ),
            Self::Forbidden => (
                "forbidden",
                StatusCode::FORBIDDEN,
                "The role of this token does not permit this",
            ),
            Self::Denied => (
                "denied",
                StatusCode::FORBIDDEN,
                "The policy of the session, or its user, denied this",
            ),
            Self::ForbiddenHost => (
                "forbidden-host",
                StatusCode::FORBIDDEN,
                "This server does not serve this host",
            ),
            Self::ForbiddenOrigin => (
                "forbidden-origin",
                StatusCode::FORBIDDEN,
                "Requests of web pages are refused",
            ),
            Self::NotFound => ("not-found", StatusCode::NOT_FOUND, "Not found"),
            Self::MethodNotAllowed => (
                "method-not-allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "This path has no such method",
            ),
            Self::BodyTimeout => (
                "body-timeout",
                StatusCode::REQUEST_TIMEOUT,
                "The body of the request did not arrive in time",
            ),
            Self::SessionBusy => (
                "session-busy",
                StatusCode::CONFLICT,
                "The session executes other calls",
            ),
            Self::ContextInUse => (
                "context-in-use",
                StatusCode::CONFLICT,
                "A session uses the browser context",
            ),
            Self::NotAnswered => (
                "not-answered",
                StatusCode::CONFLICT,
                "The session did not answer the calls",
            ),
            Self::NoScreenshot => (
                "no-screenshot",
                StatusCode::CONFLICT,
                "The screen of the session could not be captured",
            ),
            Self::NoPage => (
                "no-page",
                StatusCode::CONFLICT,
                "The page of the session could not be read",
            ),
            Self::RecordingUnreadable => (
                "recording-unreadable",
                StatusCode::CONFLICT,
                "The recording cannot be read",
            ),
            Self::AnswerRefused => (
                "answer-refused",
                StatusCode::CONFLICT,
                "The answer does not count",
            ),
            Self::CallIdReused => (
                "call-id-reused",
                StatusCode::CONFLICT,
                "The id belongs to an earlier, different call",
            ),
            Self::NotAcceptable => (
                "not-acceptable",
                StatusCode::NOT_ACCEPTABLE,
                "The client must accept the media types of the answer",
            ),
            Self::LengthRequired => (
                "length-required",
                StatusCode::LENGTH_REQUIRED,
                "A body needs a Content-Length",
            ),
            Self::TooLarge => (
                "too-large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The body of the request is too large",
            ),
            Self::UnsupportedMedia => (
                "unsupported-media",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The body of the request must be application/json",
            ),
            Self::Unreadable => (
                "unreadable",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The body of the request cannot be read",
            ),
            Self::KeyReused => (
                "key-reused",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The Idempotency-Key belongs to another request",
            ),
            Self::TooMany => (
                "too-many",
                StatusCode::TOO_MANY_REQUESTS,
                "A limit of this server is reached",
            ),
            Self::Internal => (
                "internal",
                StatusCode::INTERNAL_SERVER_ERROR,
                "The server failed",
            ),
            Self::Unavailable => (
                "unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The server cannot do this now",
            ),
            Self::SessionLost => (
                "session-lost",
                StatusCode::BAD_GATEWAY,
                "The session ended during the request",
            ),
            Self::NotStarted => (
                "not-started",
                StatusCode::BAD_GATEWAY,
                "The session could not be started",
            ),
        }
    }

    pub(super) const fn slug(self) -> &'static str {
        self.describe().0
    }

    pub(super) const fn status(self) -> StatusCode {
        self.describe().1
    }

    pub(super) const fn title(self) -> &'static str {
        self.describe().2
    }
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: ProblemKind,
    detail: String,
    retry_after_seconds: Option<u64>,
    closes_connection: bool,
    members: Vec<(&'static str, Value)>,
}

impl Problem {
    /// A problem with a sentence about this occurrence.
    pub(super) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            retry_after_seconds: None,
            closes_connection: false,
            members: Vec::new(),
        }
    }

    /// The sentence about this occurrence.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// The client may try again after this time.
    pub(super) fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after_seconds: Some(seconds),
            ..self
        }
    }

    /// Adds a member to the document.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// The problem as JSON.
    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "type": format!("urn:telechir:problem:{}", self.kind.slug()),
            "title": self.kind.title(),
            "status": self.kind.status().as_u16(),
            "detail": self.detail,
        });
        if let Some(seconds) = self.retry_after_seconds {
            document["retry_after_ms"] = (seconds * 1000).into();
        }
        for (name, value) in &self.members {
            document[*name] = value.clone();
        }
        document
    }

    /// What follows on the connection cannot be trusted.
    pub(super) fn closing(self) -> Self {
        Self {
            closes_connection: true,
            ..self
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let content_type = HeaderValue::from_static("application/problem+json");
        let body = self.document().to_string();
        let mut response = (
            self.kind.status(),
            [(header::CONTENT_TYPE, content_type)],
            body,
        )
            .into_response();
        let mut set = |name: HeaderName, value: HeaderValue| {
            response.headers_mut().insert(name, value);
        };
        if self.kind == ProblemKind::Unauthorized {
            set(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_seconds {
            set(header::RETRY_AFTER, seconds.into());
        }
        if self.closes_connection {
            set(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
