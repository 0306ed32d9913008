//! Limits of a proxy and its connections.

use std::time::Duration;

/// Limits of a proxy, per session unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Maximum number of concurrent connections; further ones are refused.
    pub max_connections: usize,
    /// Maximum size of a request's first line and headers, in bytes.
    pub max_header_bytes: usize,
    /// Time limit for a request's headers, and for an idle connection between requests.
    pub header_timeout: Duration,
    /// Time limit for name resolution.
    pub resolve_timeout: Duration,
    /// Time limit for connecting to one address.
    pub connect_timeout: Duration,
    /// Time after which a connection without traffic is closed.
    pub idle_timeout: Duration,
    /// Maximum number of bytes of the session, both directions together.
    pub max_total_bytes: u64,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            max_connections: 256,
            max_header_bytes: 64 * 1024,
            header_timeout: seconds(30),
            resolve_timeout: seconds(5),
            connect_timeout: seconds(10),
            idle_timeout: seconds(300),
            max_total_bytes: 64 << 30,
        }
    }
}
