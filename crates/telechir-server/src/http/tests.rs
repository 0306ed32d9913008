//! What a server does with clients that open connections and read nothing, on a real socket.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use telechir_host::SessionPaths;
use telechir_host::tokens::{Role, TokenFile};
use telechir_testkit::assert_eventually;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::*;

/// A server without sessions.
struct ServerFixture {
    folder: tempfile::TempDir,
    tokens: TokenFile,
    server: JoinHandle<()>,
}

struct NoSessions;

#[async_trait]
impl SessionLauncher for NoSessions {
    fn devices(&self) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, _: &SessionOptions) -> Result<(), String> {
        Ok(())
    }

    async fn launch(&self, _: &SessionPaths, _: SessionOptions) -> Result<(), String> {
        Err("no session is started".to_owned())
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("http.socket")
}

impl ServerFixture {
    fn with_connections(max: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenFile::new(folder.path().join("state/tokens.json"));
        let settings = HttpSettings {
            hosts: vec!["localhost".to_owned()],
            tokens: tokens.clone(),
            sockets: folder.path().to_owned(),
            limits: OpenSessionLimits {
                max: 0,
                max_per_owner: 0,
                min_free_bytes: 0,
                max_idle_seconds: 0,
            },
            catalog: None,
            recordings: None,
            mcp_endpoint: McpEndpoint::new,
            tickets: ViewTickets::default(),
            cdp_gateway: false,
            is_https: false,
            version: "0".to_owned(),
        };
        let listener = UnixListener::bind(socket(folder.path())).unwrap();
        let server = tokio::spawn(async move {
            let state = Arc::new(HttpState::new(settings, Arc::new(NoSessions)));
            let router = router(&state);
            let table = ConnectionTable::new(max);
            let grace = Duration::ZERO;
            let (listener, stop) = (Listener::Unix(listener), std::future::pending());
            let stopping = &state.stopping;
            listener::serve(listener, table, router, stop, Shutdown { grace }, stopping).await;
        });
        Self {
            folder,
            tokens,
            server,
        }
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(socket(self.folder.path()))
            .await
            .unwrap()
    }

    /// A request of a new token with this role.
    fn request(&self, role: Role, path: &str) -> String {
        let (_, token) = self.tokens.create(role, "test").unwrap();
        format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
            token.reveal()
        )
    }

    /// The head of a request for a translation of this many bytes, with these header fields.
    fn translation(&self, bytes: usize, more: &str) -> String {
        let path = "/v1/translate?from=openai-responses&to=anthropic-messages";
        let post = self.request(Role::Agent, path).replacen("GET", "POST", 1);
        let kind = "Content-Type: application/json";
        let post = post.trim_end();
        format!("{post}\r\n{more}{kind}\r\nContent-Length: {bytes}\r\n\r\n")
    }

    /// The status of the answer to a request on a connection of its own; none without an answer.
    async fn status(&self, request: &str) -> Option<u16> {
        let mut stream = self.connect().await;
        let _refused_before_its_end = stream.write_all(request.as_bytes()).await;
        let mut head = [0; "HTTP/1.1 200".len()];
        stream.read_exact(&mut head).await.ok()?;
        std::str::from_utf8(&head)
            .ok()?
            .rsplit(' ')
            .next()?
            .parse()
            .ok()
    }
}

impl Drop for ServerFixture {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_reads_is_a_request_until_its_time_is_over() {
    let server = ServerFixture::with_connections(MAX_CONNECTIONS);
    // More than a socket takes.
    let history = json!([{"role": "user", "content": "x".repeat(400 << 10)}]).to_string();
    let unread = format!("{}{history}", server.translation(history.len(), ""));
    let mut silent = Vec::new();
    for _ in 0..64 {
        let mut stream = server.connect().await;
        stream.write_all(unread.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let again = server.request(Role::Agent, "/v1/health");
    assert_eventually!(server.status(&again).await, |status| *status == Some(429));
    let operator = server.request(Role::Operator, "/v1/health");
    assert_eq!(server.status(&operator).await, Some(200));
    for stream in &silent {
        stream.readable().await.unwrap();
    }
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eventually!(server.status(&again).await, |status| *status == Some(200));
    for mut stream in silent {
        let mut sent = Vec::new();
        stream.read_to_end(&mut sent).await.unwrap();
        assert!(sent.starts_with(b"HTTP/1.1 200"));
        assert!(sent.len() < history.len(), "{} bytes", sent.len());
    }
}

#[tokio::test(start_paused = true)]
async fn large_requests_are_few_and_small_ones_go_on() {
    let server = ServerFixture::with_connections(MAX_CONNECTIONS);
    let large = (1 << 20) + 1;
    let mut uploads = Vec::new();
    for _ in 0..8 {
        let mut stream = server.connect().await;
        let request = server.translation(large, "Expect: 100-continue\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        // The server reads the body.
        let mut head = [0; "HTTP/1.1 100".len()];
        stream.read_exact(&mut head).await.unwrap();
        assert!(head.ends_with(b" 100"));
        uploads.push(stream);
    }
    let refused = server.status(&server.translation(large, "")).await;
    assert_eq!(refused, Some(429));
    let small = format!("{}[]", server.translation(2, ""));
    assert_eq!(server.status(&small).await, Some(200));
    // Their slots are free with their connections.
    drop(uploads);
    let body = format!("[{}]", " ".repeat(large - 2));
    let request = format!("{}{body}", server.translation(large, ""));
    assert_eventually!(server.status(&request).await, |status| *status == Some(200));
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_request_keep_nobody_out() {
    let server = ServerFixture::with_connections(4);
    let started = tokio::time::Instant::now();
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(server.connect().await);
    }
    let operator = server.request(Role::Operator, "/v1/health");
    assert_eq!(server.status(&operator).await, Some(200));
    for mut oldest in idle.drain(..5) {
        assert_eq!(oldest.read(&mut [0; 1]).await.unwrap(), 0);
    }
    assert_eq!(started.elapsed(), Duration::ZERO, "nobody waited");
    let newest = idle.last().unwrap().try_read(&mut [0; 1]).unwrap_err();
    assert_eq!(newest.kind(), ErrorKind::WouldBlock);
}
