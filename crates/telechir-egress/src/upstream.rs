//! An upstream proxy, for networks that are only reachable through one.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use hyper::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Maximum size of its response headers, in bytes.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// A proxy that supports `CONNECT`. It gets judged addresses, never names, so that it cannot
/// resolve a name to another address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    host: String,
    port: u16,
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = || "expected http://HOST:PORT".to_owned();
        let uri: Uri = text.parse().map_err(|_| wanted())?;
        let authority = uri.authority().ok_or_else(wanted)?;
        if authority.as_str().contains('@') {
            return Err(
                "proxy authentication is not supported; expected http://HOST:PORT".to_owned(),
            );
        }
        let is_plain =
            uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none();
        match authority.port_u16() {
            Some(port) if is_plain => Ok(Self {
                host: authority.host().to_owned(),
                port,
            }),
            _ => Err(wanted()),
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl Upstream {
    /// Connects to an address through the proxy.
    pub(crate) async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let Self { host, port } = self;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let reached = TcpStream::connect((bare, *port)).await;
        let mut stream = reached.map_err(|error| self.failed(&error.to_string()))?;
        let request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: the bytes after the headers belong to the tunnel.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == MAX_HEAD_BYTES {
                return Err(self.failed("its response headers are too long"));
            }
            let byte = stream.read_u8().await;
            head.push(byte.map_err(|_| self.failed("it closed the connection"))?);
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let status = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status {
            [b'2', _, _] => Ok(stream),
            _ => Err(self.failed(&format!("it responded {}", line.escape_ascii()))),
        }
    }

    fn failed(&self, why: &str) -> io::Error {
        io::Error::other(format!("the proxy {self}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_proxy_urls_are_refused() {
        for good in [
            "http://proxy.example:3128",
            "http://10.0.0.1:80/",
            "http://[::1]:3128",
        ] {
            let read: Upstream = good.parse().unwrap();
            assert_eq!(read.to_string(), good.trim_end_matches('/'));
        }
        for bad in [
            "",
            "proxy",
            "proxy:3128",
            "https://proxy:1",
            "http://proxy",
            "http://p:1/x",
            "http://a:b@p:1",
        ] {
            assert!(bad.parse::<Upstream>().is_err(), "{bad}");
        }
    }
}
