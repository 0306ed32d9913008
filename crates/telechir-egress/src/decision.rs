//! What was decided about one connection: what a record of a session shows.

use std::fmt;
use std::net::IpAddr;

use telechir_policy::{Client, Remote, RuleReason};

/// What stands for a rule where the proxy itself says no.
pub(crate) const PROXY: &str = "proxy";

/// One connection or request, and what became of it. Holds no path and no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whose it was.
    pub client: Client,
    /// The host as it was judged; what was asked for, escaped, when it names no host.
    pub host: String,
    /// The port; none when what was asked for names none.
    pub port: Option<u16>,
    /// The address it was connected with.
    pub address: Option<IpAddr>,
    /// Whether it passed.
    pub passed: bool,
    /// The rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
}

impl Decision {
    /// One that passed by this ground.
    pub(crate) fn passed(client: Client, remote: &Remote, ground: RuleReason) -> Self {
        Self {
            client,
            host: remote.host(),
            port: Some(remote.port()),
            address: None,
            passed: true,
            rule: ground.rule,
            reason: ground.reason,
        }
    }

    /// One that did not.
    pub(crate) fn refused(client: Client, remote: &Remote, rule: &str, reason: String) -> Self {
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

    /// One whose place could not be read.
    pub(crate) fn unreadable(client: Client, place: &str, reason: String) -> Self {
        Self {
            client,
            host: place.escape_default().to_string(),
            port: None,
            address: None,
            passed: false,
            rule: PROXY.to_owned(),
            reason,
        }
    }
}

impl fmt::Display for Decision {
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
