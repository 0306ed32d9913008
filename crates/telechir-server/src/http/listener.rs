//! Accepts connections, on TCP or a Unix socket, and limits their number and how slow they may be.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client_address::{ConnectionInfo, Peer};
use super::connections::{Connection, ConnectionTable, ConnectionUse};
use super::tls::ServerTls;
use super::write_limit::WriteLimited;

/// Time for the head of a request, also of the next one on an open connection, and for a handshake.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time in which the client reads nothing of what is sent to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of the head of a request, and of an answer that wait to be sent.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// Maximum number of header fields.
const MAX_HEADERS: usize = 64;
/// Pause after connections could not be accepted, such as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a server listens.
#[derive(Debug)]
pub enum Listener {
    /// A TCP port, of this machine alone or of the network.
    Tcp {
        /// The port, already bound.
        listener: TcpListener,
        /// The proxies in front. Connections of other addresses are closed, if there are any.
        proxies: Vec<IpAddr>,
        /// The certificate; absent without TLS.
        tls: Option<ServerTls>,
    },
    /// A Unix socket; connections of other users are closed.
    Unix(UnixListener),
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// How long running requests may go on. What runs then is cancelled.
    pub grace: Duration,
}

/// Serves connections until `stop` ends. Then accepts nothing more, lets running requests end, and
/// returns when they have, or after the grace. `stopping` is set meanwhile.
pub(super) async fn serve(
    listener: Listener,
    table: Arc<ConnectionTable>,
    router: Router,
    stop: impl Future<Output = ()>,
    shutdown: Shutdown,
    stopping: &watch::Sender<bool>,
) {
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        // One that is accepted makes others leave, so that a client which sends nothing does not wait
        // for the end of those that also send nothing.
        let mut next = pin!(async {
            let stream = accept(&listener).await?;
            io::Result::Ok(match stream {
                Some(stream) => Some((stream, table.admit().await)),
                None => None,
            })
        });
        let accepted = loop {
            tokio::select! {
                () = &mut stop => break None,
                Some(_) = connections.join_next() => {}
                accepted = &mut next => break Some(accepted),
            }
        };
        match accepted {
            None => break,
            Some(Ok(Some((stream, connection)))) => {
                let served = ServedConnection {
                    router: router.clone(),
                    stopping: stopping.subscribe(),
                };
                connections.spawn(served.serve_until_closed(stream, connection));
            }
            Some(Ok(None)) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(shutdown.grace, ended).await.is_err() {
        let running = connections.len();
        tracing::warn!(running, "requests are cancelled: they did not end in time");
    }
}

enum Stream {
    Tcp(TcpStream, Peer, Option<ServerTls>),
    Unix(UnixStream),
}

/// None for a connection that is refused. Cancel-safe.
async fn accept(listener: &Listener) -> io::Result<Option<Stream>> {
    match listener {
        Listener::Tcp {
            listener,
            proxies,
            tls,
        } => {
            let (stream, peer) = listener.accept().await?;
            let address = peer.ip().to_canonical();
            let is_proxy = proxies.contains(&address);
            if !proxies.is_empty() && !is_proxy {
                tracing::warn!(%address, "refused a connection that does not come from the proxy");
                return Ok(None);
            }
            stream.set_nodelay(true)?;
            let peer = match is_proxy {
                true => Peer::Proxy(address, proxies.as_slice().into()),
                false => Peer::Client(address),
            };
            Ok(Some(Stream::Tcp(stream, peer, tls.clone())))
        }
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let peer = stream.peer_cred()?.uid();
            if peer != rustix::process::geteuid().as_raw() {
                tracing::warn!(uid = peer, "refused a connection of another user");
                return Ok(None);
            }
            Ok(Some(Stream::Unix(stream)))
        }
    }
}

/// What a connection needs until it ends.
struct ServedConnection {
    router: Router,
    stopping: watch::Receiver<bool>,
}

impl ServedConnection {
    /// Serves a connection until it ends or makes room for another.
    async fn serve_until_closed(self, stream: Stream, mut connection: Connection) {
        let usage = connection.usage();
        tokio::select! {
            () = self.serve(stream, usage) => {}
            () = connection.closed() => {
                tracing::debug!("a connection without a request makes room for another");
            }
        }
    }

    async fn serve(self, stream: Stream, usage: ConnectionUse) {
        match stream {
            Stream::Tcp(stream, peer, None) => {
                self.serve_http(stream, ConnectionInfo { peer, usage })
                    .await;
            }
            Stream::Unix(stream) => {
                let peer = Peer::Local;
                self.serve_http(stream, ConnectionInfo { peer, usage })
                    .await;
            }
            Stream::Tcp(stream, peer, Some(tls)) => {
                let info = ConnectionInfo { peer, usage };
                match timeout(HEADER_TIMEOUT, tls.acceptor().accept(stream)).await {
                    Ok(Ok(stream)) => self.serve_http(stream, info).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                }
            }
        }
    }

    async fn serve_http(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        info: ConnectionInfo,
    ) {
        let stream = WriteLimited::new(stream, WRITE_TIMEOUT);
        let router = self.router.layer(Extension(info));
        let mut served = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(MAX_HEADER_BYTES)
                .max_headers(MAX_HEADERS)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
                .with_upgrades()
        );
        let ended = tokio::select! {
            ended = served.as_mut() => ended,
            () = until_set(&mut self.stopping) => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended with an error");
        }
    }
}

/// Waits until the value is set, or its sender is gone. Cancel-safe.
async fn until_set(value: &mut watch::Receiver<bool>) {
    let _or_gone = value.wait_for(|is_set| *is_set).await;
}
