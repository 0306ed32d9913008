//! Errors that abort a run. The ways in which a model ends a run are not errors.

use std::time::Duration;

use telechir_providers::{DecodeError, Dialect, EncodeError, NotAService, StreamError};
use telechir_runtime::RuntimeError;

use crate::HttpError;

/// Why a run was aborted. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The dialect is a format without a service.
    #[error(transparent)]
    NoService(#[from] NotAService),
    /// The dialect has no default endpoint.
    #[error("call a model with {dialect}: it has no default endpoint; pass --base-url")]
    NoEndpoint {
        /// The dialect without an endpoint.
        dialect: Dialect,
    },
    /// No complete HTTP response arrived.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The provider rejected the request.
    #[error("get a response: the provider rejected the request with {status}{}: {message}{}", in_brackets(kind), id_of(request_id.as_deref()))]
    Refused {
        /// The HTTP status code.
        status: u16,
        /// The provider's error type; empty if it sent none.
        kind: String,
        /// The provider's message, or the start of the body without one.
        message: String,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// The body is not a provider's response: for example an HTML page, empty, or truncated.
    #[error("decode the response: expected {dialect}, found {what}; check the base URL")]
    NotAResponse {
        /// Description of the body.
        what: &'static str,
        /// Name of the expected dialect.
        dialect: &'static str,
    },
    /// The provider reports that the model failed.
    #[error("get a response: the model failed{}: {message}", in_brackets(code))]
    ModelFailed {
        /// The provider's error code.
        code: String,
        /// The provider's error message.
        message: String,
    },
    /// All attempts of a request failed.
    #[error("get a response in {attempts} attempts over {} s: the last attempt failed to {last}", waited.as_secs())]
    GaveUp {
        /// Number of attempts made.
        attempts: u32,
        /// Time from the first attempt to the last failure.
        waited: Duration,
        /// The error of the last attempt.
        last: Box<Self>,
    },
    /// The response does not conform to its dialect.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The response arrived as a stream that is incomplete, or has an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The dialect cannot represent the results.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The request could not be serialized.
    #[error("write the request as JSON")]
    Json(#[from] serde_json::Error),
    /// The session could not execute or record a turn.
    #[error(transparent)]
    Session(#[from] RuntimeError),
    /// A recorded conversation cannot be continued.
    #[error("resume the run: {why}")]
    NotResumable {
        /// Why not, and what to do about it.
        why: String,
    },
    /// A session in another process could not execute a turn.
    #[error("execute the calls: {message}")]
    RemoteSession {
        /// Why not, as a sentence.
        message: String,
    },
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" ({text})")
    }
}

fn id_of(request_id: Option<&str>) -> String {
    request_id.map_or_else(String::new, |id| format!(" (request {id})"))
}
