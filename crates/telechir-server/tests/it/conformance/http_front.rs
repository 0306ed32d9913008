//! The fixture behind the HTTP API, and a proxy that adds the token, which the suite does not send.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use telechir_host::SessionPaths;
use telechir_host::tokens::{Role, TokenFile};
use telechir_server::http::{
    HttpSettings, Listener, OpenSessionLimits, SessionLauncher, SessionOptions, Shutdown,
    ViewTickets, serve,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// Longest head of a request.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Serves the fixture until the runtime ends; returns the address for the suite.
pub(super) fn start(runtime: &Runtime, folder: &Path) -> SocketAddr {
    let tokens = TokenFile::new(folder.join("state/tokens.json"));
    let (_, token) = tokens.create(Role::Agent, "suite").expect("a token");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let api = listener.local_addr().expect("an address");
        let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = proxy.local_addr().expect("an address");
        let port = address.port();
        let settings = HttpSettings {
            hosts: vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            tokens,
            sockets: folder.to_owned(),
            limits: OpenSessionLimits {
                max: 0,
                max_per_owner: 0,
                min_free_bytes: 0,
                max_idle_seconds: 0,
            },
            catalog: Some(super::fixture::catalog()),
            recordings: None,
            mcp_endpoint: super::fixture::endpoint,
            tickets: ViewTickets::default(),
            cdp_gateway: false,
            is_https: false,
            version: "0".to_owned(),
        };
        let listener = Listener::Tcp {
            listener,
            proxies: Vec::new(),
            tls: None,
        };
        let shutdown = Shutdown {
            grace: Duration::ZERO,
        };
        let served = serve(
            listener,
            settings,
            Arc::new(NoSessions),
            std::future::pending(),
            shutdown,
        );
        tokio::spawn(served);
        let token = token.reveal().to_owned();
        tokio::spawn(async move {
            while let Ok((client, _)) = proxy.accept().await {
                tokio::spawn(pass_on(client, api, token.clone()));
            }
        });
        address
    })
}

/// Passes one request on with the token, and its answer back.
async fn pass_on(mut client: TcpStream, api: SocketAddr, token: String) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD_BYTES {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let mut server = TcpStream::connect(api).await?;
    let is_of_connection = |line: &&str| line.to_ascii_lowercase().starts_with("connection:");
    let mut lines = head
        .trim_end()
        .split("\r\n")
        .filter(|line| !is_of_connection(line));
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let rest = rest.join("\r\n");
    let head =
        format!("{first}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{rest}\r\n\r\n");
    server.write_all(head.as_bytes()).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// The fixture has its own session.
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
