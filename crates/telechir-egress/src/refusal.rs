//! Refusals of requests, as responses to the program.

use std::io;

use hyper::StatusCode;
use telechir_policy::{RemoteError, RuleReason};

/// The response to a program instead of a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyRefusal {
    /// A policy rule denies it.
    #[error("telechir refused this connection.\nHost: {host}\nRule: {}\nReason: {}", reason.rule, reason.reason)]
    Policy { host: String, reason: RuleReason },
    /// A rule requires approval, which a request of a program cannot obtain.
    #[error(
        "Access to this host requires approval, and page requests cannot ask for it. Navigate to the host explicitly to be prompted.\nHost: {host}\nRule: {}\nReason: {}",
        reason.rule, reason.reason
    )]
    NotApproved { host: String, reason: RuleReason },
    /// The target is not a valid host and port.
    #[error("telechir failed to {0}.")]
    InvalidTarget(#[from] RemoteError),
    /// The request is not a proxy request.
    #[error("telechir's proxy cannot process this request: {0}.")]
    NotAProxyRequest(&'static str),
    /// The program belongs to another user.
    #[error("telechir's proxy serves a single session, and this program does not belong to it.")]
    OtherUser,
    /// The limit of concurrent connections is reached.
    #[error("telechir's proxy has reached its limit of {0} concurrent connections.")]
    TooManyConnections(usize),
    /// The host name cannot be resolved.
    #[error("telechir failed to resolve {host}: {why}.")]
    Unresolved { host: String, why: String },
    /// No address accepted a connection.
    #[error("telechir failed to connect to {host}: {source}.")]
    Unreachable { host: String, source: io::Error },
    /// The host's response is not valid HTTP.
    #[error("telechir received no valid response from {host}: {why}.")]
    NoAnswer { host: String, why: String },
    /// The session's byte limit is exceeded.
    #[error("This session's limit of {0} bytes is exceeded.")]
    QuotaExceeded(u64),
}

impl ProxyRefusal {
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::Policy { .. } | Self::NotApproved { .. } | Self::OtherUser => {
                StatusCode::FORBIDDEN
            }
            Self::InvalidTarget(_) | Self::NotAProxyRequest(_) => StatusCode::BAD_REQUEST,
            Self::TooManyConnections(_) | Self::QuotaExceeded(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unresolved { .. } | Self::Unreachable { .. } | Self::NoAnswer { .. } => {
                StatusCode::BAD_GATEWAY
            }
        }
    }

    /// The policy's reason, if the policy refused.
    pub(crate) const fn reason(&self) -> Option<&RuleReason> {
        match self {
            Self::Policy { reason, .. } | Self::NotApproved { reason, .. } => Some(reason),
            Self::InvalidTarget(_)
            | Self::NotAProxyRequest(_)
            | Self::OtherUser
            | Self::TooManyConnections(_)
            | Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::QuotaExceeded(_) => None,
        }
    }

    /// The `Proxy-Status` header of RFC 9209.
    pub(crate) const fn proxy_status(&self) -> &'static str {
        match self {
            Self::Policy { .. } | Self::NotApproved { .. } | Self::OtherUser => {
                "telechir; error=http_request_denied"
            }
            Self::InvalidTarget(_) | Self::NotAProxyRequest(_) => {
                "telechir; error=http_request_error"
            }
            Self::TooManyConnections(_) | Self::QuotaExceeded(_) => {
                "telechir; error=proxy_internal_error"
            }
            Self::Unresolved { .. } => "telechir; error=dns_error",
            Self::Unreachable { .. } => "telechir; error=destination_unavailable",
            Self::NoAnswer { .. } => "telechir; error=http_protocol_error",
        }
    }
}
