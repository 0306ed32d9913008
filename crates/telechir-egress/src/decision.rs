//! The decision about one connection, as recorded in a session.

use std::fmt;
use std::net::IpAddr;

use telechir_policy::{NetworkClient, Remote, RuleReason};

/// Rule name of refusals by the proxy itself.
pub(crate) const PROXY: &str = "proxy";

/// A judged connection or request. Contains no path and no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionDecision {
    /// The kind of program that connected.
    pub client: NetworkClient,
    /// The host as judged; if the target has no valid host, its escaped text.
    pub host: String,
    /// The port; `None` if the target has no valid port.
    pub port: Option<u16>,
    /// The address of the connection; `None` if there is no connection.
    pub address: Option<IpAddr>,
    /// Whether the policy allowed it.
    pub passed: bool,
    /// Name of the deciding rule, or `proxy` for a refusal by the proxy itself.
    pub rule: String,
    /// The reason, as a sentence.
    pub reason: String,
}

impl ConnectionDecision {
    /// An allowed connection, with the rule that allows it.
    pub(crate) fn passed(client: NetworkClient, remote: &Remote, reason: RuleReason) -> Self {
        Self {
            client,
            host: remote.host(),
            port: Some(remote.port()),
            address: None,
            passed: true,
            rule: reason.rule,
            reason: reason.reason,
        }
    }

    /// A refused connection, with the rule that refuses it.
    pub(crate) fn refused(
        client: NetworkClient,
        remote: &Remote,
        rule: &str,
        reason: String,
    ) -> Self {
        Self {
            client,
            host: remote.host(),
            port: Some(remote.port()),
            address: None,
            passed: false,
            rule: rule.to_owned(),
            reason,
        }
    }

    /// A request whose target could not be parsed.
    pub(crate) fn invalid_target(client: NetworkClient, target: &str, reason: String) -> Self {
        Self {
            client,
            host: target.escape_default().to_string(),
            port: None,
            address: None,
            passed: false,
            rule: PROXY.to_owned(),
            reason,
        }
    }
}

impl fmt::Display for ConnectionDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, host) = (self.client.name(), &self.host);
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let end = if self.passed { "passed" } else { "refused" };
        write!(
            f,
            "{client} to {host}{port} {end} by {}: {}",
            self.rule, self.reason
        )
    }
}
