//! The server: accepts connections of programs and answers their requests.

mod http;
mod tunnel;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use crate::Admission;
use crate::egress::EgressShared;
use crate::refusal::ProxyRefusal;

/// Pause after a failed `accept`: without free descriptors, retrying immediately would only burn
/// processor time.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Tasks of one listener.
#[derive(Clone, Debug, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn abort_all(&self) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.abort_all();
    }
}

/// Aborts the listener's tasks on drop, also if its own task was aborted.
struct AbortOnDrop(Tasks);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort_all();
    }
}

/// State of one connection of a program.
#[derive(Clone)]
struct ProxyConnection {
    inner: Arc<EgressShared>,
    tasks: Tasks,
    /// Set if every request of this connection is refused.
    rejected: Option<RejectReason>,
    /// Counts against the connection limit until the last clone is dropped.
    _permit: Option<Arc<OwnedSemaphorePermit>>,
}

#[derive(Clone, Copy)]
enum RejectReason {
    OtherUser,
    TooManyConnections,
}

impl ProxyConnection {
    fn refusal(&self) -> Option<ProxyRefusal> {
        match self.rejected? {
            RejectReason::OtherUser => Some(ProxyRefusal::OtherUser),
            RejectReason::TooManyConnections => Some(ProxyRefusal::TooManyConnections(
                self.inner.limits.max_connections,
            )),
        }
    }
}

/// Accepts connections until the future is dropped.
pub(crate) async fn serve(inner: Arc<EgressShared>, listener: TcpListener, admission: Admission) {
    let abort_on_drop = AbortOnDrop(Tasks::default());
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "failed to accept a connection to the proxy");
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            }
        };
        let conn = new_connection(&inner, &abort_on_drop.0, &stream, peer, admission);
        abort_on_drop.0.spawn(answer(conn, stream));
    }
}

fn new_connection(
    inner: &Arc<EgressShared>,
    tasks: &Tasks,
    stream: &TcpStream,
    peer: SocketAddr,
    admission: Admission,
) -> ProxyConnection {
    let is_admitted = stream
        .local_addr()
        .is_ok_and(|own| admission.admits(peer, own));
    let permit = Arc::clone(&inner.connection_slots)
        .try_acquire_owned()
        .ok()
        .map(Arc::new);
    let rejected = match (&permit, is_admitted) {
        (_, false) => Some(RejectReason::OtherUser),
        (None, true) => Some(RejectReason::TooManyConnections),
        (Some(_), true) => None,
    };
    ProxyConnection {
        inner: Arc::clone(inner),
        tasks: tasks.clone(),
        rejected,
        _permit: permit,
    }
}

/// Answers the requests of one connection.
async fn answer(conn: ProxyConnection, stream: TcpStream) {
    let limits = conn.inner.limits;
    let _slower_without = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.max_header_bytes)
        .preserve_header_case(true);
    let service = service_fn(move |request| {
        let conn = conn.clone();
        async move { Ok::<_, std::convert::Infallible>(http::answer(conn, request).await) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!(%error, "a program's connection to the proxy failed");
    }
}
