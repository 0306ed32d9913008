//! Why a run broke off. A model that ends by its own choice, or at a limit, is no error.

use std::time::Duration;

use telechir_providers::{DecodeError, Dialect, EncodeError, NotAService};
use telechir_runtime::RuntimeError;

use crate::HttpError;

/// Why a run broke off. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The dialect is no service's own.
    #[error(transparent)]
    NoService(#[from] NotAService),
    /// Everybody has another address of this service.
    #[error("ask a model in {dialect}: its service has no one address; give yours with --base-url")]
    NoAddress {
        /// The dialect.
        dialect: Dialect,
    },
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The provider refused the request.
    #[error("get an answer: the provider refused with {status}{}: {message}{}", in_brackets(kind), id_of(request_id.as_deref()))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's sort of error; empty when it gave none.
        kind: String,
        /// The provider's sentence, or what came instead of one.
        message: String,
        /// The provider's name of the exchange.
        request_id: Option<String>,
    },
    /// An answer that no provider gives: a page, nothing, half of something.
    #[error(
        "read the answer: it is {what}, where {dialect} was expected; is the base address right?"
    )]
    NotAnAnswer {
        /// What it is.
        what: &'static str,
        /// What was expected.
        dialect: &'static str,
    },
    /// The model failed on the provider's side.
    #[error("get an answer: the model failed{}: {message}", in_brackets(code))]
    ModelFailed {
        /// The provider's code.
        code: String,
        /// The provider's sentence.
        message: String,
    },
    /// All attempts failed.
    #[error("get an answer in {attempts} attempts over {} s: the last one failed to {last}", waited.as_secs())]
    GaveUp {
        /// How many.
        attempts: u32,
        /// Time from first to last.
        waited: Duration,
        /// The last failure.
        last: Box<Self>,
    },
    /// The answer is not what its dialect says.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The answers cannot be said in the dialect.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The request could not be written.
    #[error("write the request as JSON")]
    Json(#[from] serde_json::Error),
    /// The session broke.
    #[error(transparent)]
    Session(#[from] RuntimeError),
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
