//! Another proxy behind this one: the only way out of some networks.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use hyper::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// No honest answer has a longer head.
const LONGEST_HEAD: usize = 8 << 10;

/// A proxy that opens tunnels (`CONNECT`). It is asked for addresses that were judged, never for
/// names, so that it cannot look one up again and find another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    host: String,
    port: u16,
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = || "write it as http://HOST:PORT".to_owned();
        let uri: Uri = text.parse().map_err(|_| wanted())?;
        let authority = uri.authority().ok_or_else(wanted)?;
        if authority.as_str().contains('@') {
            return Err("one that wants a name and a password cannot be used".to_owned());
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
    /// A connection with this address, through the proxy.
    pub(crate) async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let Self { host, port } = self;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let reached = TcpStream::connect((bare, *port)).await;
        let mut stream = reached.map_err(|error| self.failed(&error.to_string()))?;
        let request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: what follows the head is the tunnel's.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == LONGEST_HEAD {
                return Err(self.failed("its answer has no end"));
            }
            let byte = stream.read_u8().await;
            head.push(byte.map_err(|_| self.failed("it ended the connection"))?);
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let status = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status {
            [b'2', _, _] => Ok(stream),
            _ => Err(self.failed(&format!("it answered {}", line.escape_ascii()))),
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
    fn what_names_no_proxy_is_refused() {
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
