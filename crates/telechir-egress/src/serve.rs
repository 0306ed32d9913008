//! The proxy itself: takes connections of programs, and answers each of their requests.

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
use crate::egress::Inner;
use crate::refusal::Refusal;

/// When there are no descriptors left, trying again at once would only burn.
const BREATH: Duration = Duration::from_millis(50);

/// What belongs to one listener, and ends with it.
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

/// Ends what the listener began, also when its task was aborted.
struct Ending(Tasks);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort_all();
    }
}

/// What one connection of a program is answered with.
#[derive(Clone)]
struct Door {
    inner: Arc<Inner>,
    tasks: Tasks,
    /// Why nothing is done for it.
    refuses: Option<Why>,
    /// Its place among all connections, as long as any of it lives.
    _permit: Option<Arc<OwnedSemaphorePermit>>,
}

#[derive(Clone, Copy)]
enum Why {
    Stranger,
    TooMany,
}

impl Door {
    fn refusal(&self) -> Option<Refusal> {
        match self.refuses? {
            Why::Stranger => Some(Refusal::Stranger),
            Why::TooMany => Some(Refusal::TooMany(self.inner.limits.connections)),
        }
    }
}

/// Takes connections until it is dropped.
pub(crate) async fn serve(inner: Arc<Inner>, listener: TcpListener, admission: Admission) {
    let ending = Ending(Tasks::default());
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection to the proxy was lost");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let door = door(&inner, &ending.0, &stream, peer, admission);
        ending.0.spawn(answer(door, stream));
    }
}

fn door(
    inner: &Arc<Inner>,
    tasks: &Tasks,
    stream: &TcpStream,
    peer: SocketAddr,
    admission: Admission,
) -> Door {
    let is_admitted = stream
        .local_addr()
        .is_ok_and(|own| admission.admits(peer, own));
    let permit = Arc::clone(&inner.room)
        .try_acquire_owned()
        .ok()
        .map(Arc::new);
    let refuses = match (&permit, is_admitted) {
        (_, false) => Some(Why::Stranger),
        (None, true) => Some(Why::TooMany),
        (Some(_), true) => None,
    };
    Door {
        inner: Arc::clone(inner),
        tasks: tasks.clone(),
        refuses,
        _permit: permit,
    }
}

/// Answers the requests of one connection.
async fn answer(door: Door, stream: TcpStream) {
    let limits = door.inner.limits;
    let _slower_without = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(limits.header_bytes)
        .preserve_header_case(true);
    let service = service_fn(move |request| {
        let door = door.clone();
        async move { Ok::<_, std::convert::Infallible>(http::answer(door, request).await) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!(%error, "a program left the proxy");
    }
}
