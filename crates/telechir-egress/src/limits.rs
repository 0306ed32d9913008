//! What a proxy and each of its connections end at.

use std::time::Duration;

/// What one session may use of the network, and for how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections from programs at once; one more is refused.
    pub connections: usize,
    /// Bytes of a request's first line and headers.
    pub header_bytes: usize,
    /// For those to arrive, and for a client that asks nothing more.
    pub header: Duration,
    /// For finding a host's addresses.
    pub resolve: Duration,
    /// For connecting with one address.
    pub connect: Duration,
    /// For a connection on which nothing moves.
    pub idle: Duration,
    /// Bytes of the whole session, both ways together.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 256,
            header_bytes: 64 * 1024,
            header: seconds(30),
            resolve: seconds(5),
            connect: seconds(10),
            idle: seconds(300),
            bytes: 64 << 30,
        }
    }
}
