//! One HTTP request per connection, so that a connection can be cut wherever a test wants it.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request as it came.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) head: String,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) body: Value,
}

impl ReceivedRequest {
    pub(super) async fn read(client: &mut TcpStream) -> io::Result<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut words = head.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default().to_owned();
        let mut received = Self {
            head,
            method,
            target,
            body: Value::Null,
        };
        let length = received.header("content-length").unwrap_or_default();
        let mut body = vec![0; length.parse().unwrap_or(0)];
        client.read_exact(&mut body).await?;
        received.body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(received)
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.head.split("\r\n").find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
    }
}

pub(super) async fn respond(
    client: &mut TcpStream,
    status: u16,
    header: &str,
    body: &str,
) -> io::Result<()> {
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\n{header}\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(response.as_bytes()).await
}

/// A successful answer of this type.
pub(super) async fn respond_with(
    client: &mut TcpStream,
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 Answer\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body).await
}
