//! Why a request is not carried out, as the program that asked is told.

use std::io;

use hyper::StatusCode;
use telechir_policy::{RemoteError, RuleReason};

/// What a program gets instead of a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The policy says no.
    #[error("telechir does not let this through.\nHost: {host}\nRule: {}\nReason: {}", ground.rule, ground.reason)]
    Policy { host: String, ground: RuleReason },
    /// A rule asks, and nobody was asked.
    #[error(
        "telechir asks a person before this host is reached, and nobody was asked: only going there by a call is a question.\nHost: {host}\nRule: {}\nReason: {}",
        ground.rule, ground.reason
    )]
    Unasked { host: String, ground: RuleReason },
    /// What was asked for is no place.
    #[error("telechir failed to {0}.")]
    Unreadable(#[from] RemoteError),
    /// What was asked for is nothing that a proxy does.
    #[error("telechir's proxy does not understand this request: {0}.")]
    Request(&'static str),
    /// Somebody else's program.
    #[error("telechir's proxy serves one session, and this program is not of it.")]
    Stranger,
    /// There are too many.
    #[error("telechir's proxy has {0} connections, and no more than that at once.")]
    TooMany(usize),
    /// The name has no address.
    #[error("telechir found no address of {host}: {why}.")]
    Unresolved { host: String, why: String },
    /// None of the addresses answered.
    #[error("telechir could not connect with {host}: {source}.")]
    Unreachable { host: String, source: io::Error },
    /// The other side did not keep to HTTP.
    #[error("telechir got no answer of {host}: {why}.")]
    NoAnswer { host: String, why: String },
    /// The session used up what it may.
    #[error("telechir lets this session move {0} bytes, and they are used up.")]
    UsedUp(u64),
}

impl Refusal {
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::Policy { .. } | Self::Unasked { .. } | Self::Stranger => StatusCode::FORBIDDEN,
            Self::Unreadable(_) | Self::Request(_) => StatusCode::BAD_REQUEST,
            Self::TooMany(_) | Self::UsedUp(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unresolved { .. } | Self::Unreachable { .. } | Self::NoAnswer { .. } => {
                StatusCode::BAD_GATEWAY
            }
        }
    }

    /// The ground of the policy's, when it is its refusal.
    pub(crate) const fn ground(&self) -> Option<&RuleReason> {
        match self {
            Self::Policy { ground, .. } | Self::Unasked { ground, .. } => Some(ground),
            Self::Unreadable(_)
            | Self::Request(_)
            | Self::Stranger
            | Self::TooMany(_)
            | Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::UsedUp(_) => None,
        }
    }

    /// The same for a machine: an error of RFC 9209.
    pub(crate) const fn proxy_status(&self) -> &'static str {
        match self {
            Self::Policy { .. } | Self::Unasked { .. } | Self::Stranger => {
                "telechir; error=http_request_denied"
            }
            Self::Unreadable(_) | Self::Request(_) => "telechir; error=http_request_error",
            Self::TooMany(_) | Self::UsedUp(_) => "telechir; error=proxy_internal_error",
            Self::Unresolved { .. } => "telechir; error=dns_error",
            Self::Unreachable { .. } => "telechir; error=destination_unavailable",
            Self::NoAnswer { .. } => "telechir; error=http_protocol_error",
        }
    }
}
