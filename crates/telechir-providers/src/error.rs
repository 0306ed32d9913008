//! Errors of decoding and encoding documents. An invalid call is not such an error: it gets an
//! error result.

use telechir_protocol::InvalidTurn;

use crate::Report;

/// Why a document cannot be decoded. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The input is not JSON.
    #[error("read the input as JSON: {source}; pass the provider's JSON complete and unchanged")]
    NotJson {
        /// The parser's error, with line and column.
        #[from]
        source: serde_json::Error,
    },
    /// JSON that is not of the expected dialect.
    #[error("read the input as {dialect}: {problem}{}", hint(dialect, *looks_like))]
    WrongShape {
        /// The dialect it was decoded as.
        dialect: &'static str,
        /// What is missing or unexpected, with its path.
        problem: String,
        /// The dialect that the document resembles, if any.
        looks_like: Option<&'static str>,
    },
    /// The provider sent an error instead of a turn.
    #[error("read a turn: the provider sent an error instead: {message}")]
    ProviderError {
        /// The provider's error message.
        message: String,
    },
    /// A call has no id.
    #[error(transparent)]
    InvalidTurn(#[from] InvalidTurn),
}

impl DecodeError {
    /// A document that is not of this dialect and resembles no other.
    pub(crate) fn wrong_shape(dialect: &'static str, problem: impl Into<String>) -> Self {
        Self::WrongShape {
            dialect,
            problem: problem.into(),
            looks_like: None,
        }
    }
}

/// Why values cannot be encoded. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// Something that the dialect requires is missing.
    #[error("write {dialect}: {problem}")]
    Missing {
        /// The dialect it was encoded as.
        dialect: &'static str,
        /// What is required, and where.
        problem: String,
    },
    /// There were losses, and strict mode permits none.
    #[error("translate without loss: {} loss(es) reported", report.losses.len())]
    Lossy {
        /// All losses of the translation.
        report: Report,
    },
}

impl EncodeError {
    /// A requirement of the dialect that the values do not meet.
    pub(crate) fn missing(dialect: &'static str, problem: impl Into<String>) -> Self {
        Self::Missing {
            dialect,
            problem: problem.into(),
        }
    }
}

fn hint(dialect: &str, looks_like: Option<&'static str>) -> String {
    let another = looks_like.filter(|looks_like| *looks_like != dialect);
    another.map_or_else(String::new, |dialect| {
        format!("; it looks like {dialect}; name that dialect instead")
    })
}
