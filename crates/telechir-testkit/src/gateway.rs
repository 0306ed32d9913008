//! A gateway in front of a Chromium, as hosted browsers have one: it wants a token and a header,
//! serves the browser's socket at its root, and can cut all connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The token that the gateway wants in the query.
pub const TOKEN: &str = "tok-5f2c9e";
/// The header that it wants, and its value.
pub const HEADER: (&str, &str) = ("X-Session-Key", "key-81ab3d");

/// A running gateway; it ends, with all connections, when dropped.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    cuts: watch::Sender<usize>,
    handshakes: Arc<AtomicUsize>,
    server: JoinHandle<()>,
}

impl Gateway {
    /// Starts a gateway in front of the browser with this socket URL.
    ///
    /// # Errors
    /// If the URL has no host and path, or no loopback port is available.
    pub async fn start(socket: &str) -> io::Result<Self> {
        let rest = socket.strip_prefix("ws://").unwrap_or_default();
        let invalid = || io::Error::other("expected a ws:// URL with a path");
        let (chromium, path) = rest.split_once('/').ok_or_else(invalid)?;
        let (chromium, path) = (chromium.to_owned(), format!("/{path}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let cuts = watch::Sender::new(0);
        let handshakes = Arc::new(AtomicUsize::new(0));
        let (cut, count) = (cuts.subscribe(), Arc::clone(&handshakes));
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (chromium, path, mut cut) = (chromium.clone(), path.clone(), cut.clone());
                let count = Arc::clone(&count);
                cut.mark_unchanged();
                tokio::spawn(async move {
                    let served = serve(client, address, &chromium, &path, &count);
                    tokio::select! {
                        _ended = served => {}
                        _cut = cut.changed() => {}
                    }
                });
            }
        });
        Ok(Self {
            address,
            cuts,
            handshakes,
            server,
        })
    }

    /// Its URL with this scheme and its token.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/?token={TOKEN}", self.address)
    }

    /// Its URL without path and query.
    pub fn origin(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    /// Ends all connections without a close frame.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// WebSocket handshakes that it passed on.
    pub fn handshakes(&self) -> usize {
        self.handshakes.load(Ordering::Relaxed)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.server.abort();
        self.cut();
    }
}

async fn serve(
    mut client: TcpStream,
    address: SocketAddr,
    chromium: &str,
    path: &str,
    count: &AtomicUsize,
) -> io::Result<()> {
    let head = read_head(&mut client).await?;
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let lower = head.to_ascii_lowercase();
    let header = format!("{}: {}", HEADER.0, HEADER.1).to_ascii_lowercase();
    if !target.contains(&format!("token={TOKEN}")) || !lower.contains(&header) {
        // Such answers repeat what was sent.
        let body = format!("no access with {target} {head}");
        return respond(&mut client, "401 Unauthorized", &body).await;
    }
    if target.starts_with("/json/version") {
        // Without a path and without the token, as browserless answers.
        let body = format!("{{\"webSocketDebuggerUrl\":\"ws://{address}\"}}");
        return respond(&mut client, "200 OK", &body).await;
    }
    if !target.starts_with("/?") {
        return respond(&mut client, "404 Not Found", "").await;
    }
    count.fetch_add(1, Ordering::Relaxed);
    let mut browser = TcpStream::connect(chromium).await?;
    let lines = head.split("\r\n").skip(1);
    let lines = lines.filter(|line| !line.to_ascii_lowercase().starts_with("host:"));
    let rest = lines.collect::<Vec<_>>().join("\r\n");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {chromium}\r\n{rest}");
    browser.write_all(request.as_bytes()).await?;
    copy_bidirectional(&mut client, &mut browser).await?;
    Ok(())
}

async fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn respond(client: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    client.write_all(response.as_bytes()).await
}
