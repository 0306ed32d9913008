//! An envelope that cannot be read or written. A bad call is no such error: it is answered.

use telechir_protocol::InvalidTurn;

use crate::Report;

/// Why bytes are not what their dialect says. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// No JSON at all.
    #[error("read the input as JSON: {source}; give a provider's JSON whole, as it came")]
    NotJson {
        /// What the parser met.
        #[from]
        source: serde_json::Error,
    },
    /// JSON of another shape; the likeliest dialect is named when one fits.
    #[error("read the input as {dialect}: {problem}{}", hint(*looks_like))]
    WrongShape {
        /// The dialect that was asked for.
        dialect: &'static str,
        /// What is missing or odd, with its place.
        problem: String,
        /// The dialect it looks like.
        looks_like: Option<&'static str>,
    },
    /// The provider says an error instead of a turn.
    #[error(
        "read a turn: the provider answered with an error, so there is nothing to carry out: {message}"
    )]
    ProviderError {
        /// The provider's words.
        message: String,
    },
    /// Calls that could not be told apart.
    #[error(transparent)]
    InvalidTurn(#[from] InvalidTurn),
}

/// Why values cannot be said in a dialect.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// Something the dialect demands is not there.
    #[error("write {dialect}: {problem}")]
    Missing {
        /// The dialect.
        dialect: &'static str,
        /// What it demands and where.
        problem: String,
    },
    /// Strict mode refuses losses.
    #[error("translate without loss: {} thing(s) could not be said", report.losses.len())]
    Lossy {
        /// What they are.
        report: Report,
    },
}

fn hint(looks_like: Option<&'static str>) -> String {
    looks_like.map_or_else(String::new, |dialect| {
        format!("; it looks like {dialect}, which --dialect {dialect} reads")
    })
}
