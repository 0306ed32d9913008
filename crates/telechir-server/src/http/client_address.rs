//! The address of a client, also behind proxies that are trusted to name it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;

use super::connections::ConnectionUse;

/// Longest list of addresses that is read.
const MAX_FORWARDED: usize = 32;

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// A process of this user, over a Unix socket.
    Local,
    /// A client, by its address.
    Client(IpAddr),
    /// A trusted proxy, and all that are.
    Proxy(IpAddr, Arc<[IpAddr]>),
}

/// A connection as its requests know it.
#[derive(Clone, Debug)]
pub(super) struct ConnectionInfo {
    pub(super) peer: Peer,
    pub(super) usage: ConnectionUse,
}

impl Peer {
    /// The client's address; none on a Unix socket. Each proxy adds the address of its peer to
    /// `X-Forwarded-For`, so the last one that is no trusted proxy is the client; what a client wrote
    /// itself stands before it.
    pub(super) fn client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let (proxy, proxies) = match self {
            Self::Local => return None,
            Self::Client(address) => return Some(*address),
            Self::Proxy(proxy, proxies) => (proxy, proxies),
        };
        let lines = headers.get_all("x-forwarded-for").iter();
        let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        let named = lines.iter().rev().flat_map(|line| line.rsplit(','));
        let mut nearest = *proxy;
        for name in named.take(MAX_FORWARDED) {
            let Some(address) = address(name.trim()) else {
                break;
            };
            nearest = address;
            if !proxies.contains(&address) {
                break;
            }
        }
        Some(nearest)
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let parsed = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let with_port = || Some(text.parse::<SocketAddr>().ok()?.ip());
    Some(parsed.or_else(with_port)?.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn forwarded(lines: &[&'static str]) -> HeaderMap {
        let values = lines.iter().map(|line| HeaderValue::from_static(line));
        values
            .map(|value| ("x-forwarded-for".parse().unwrap(), value))
            .collect()
    }

    #[test]
    fn only_a_trusted_proxy_names_the_client() {
        let client = Peer::Client(ip("192.0.2.7"));
        assert_eq!(
            client.client(&forwarded(&["10.0.0.9"])),
            Some(ip("192.0.2.7"))
        );
        assert_eq!(Peer::Local.client(&forwarded(&["10.0.0.9"])), None);
        let proxies: Arc<[IpAddr]> = [ip("10.0.0.1"), ip("10.0.0.2")].into();
        let proxy = Peer::Proxy(ip("10.0.0.1"), proxies);
        for (lines, expected) in [
            (&[][..], "10.0.0.1"),
            (&["192.0.2.7"], "192.0.2.7"),
            // What the client wrote itself comes first.
            (&["127.0.0.1, 192.0.2.7"], "192.0.2.7"),
            (&["127.0.0.1", "192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            (&["10.0.0.2,10.0.0.1"], "10.0.0.2"),
            (&["192.0.2.7, nonsense"], "10.0.0.1"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["[2001:db8::1]:80"], "2001:db8::1"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
        ] {
            assert_eq!(
                proxy.client(&forwarded(lines)),
                Some(ip(expected)),
                "{lines:?}"
            );
        }
    }
}
