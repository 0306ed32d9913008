//! Accepts callers, checks their identity and version, and queues them by request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use telechir_policy::Digest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::flags::Flags;
use super::frames::{MAX_CONTROL_BYTES, MessageReader, MessageWriter};
use super::message::{Hello, HostReply, HostRequest, PROTOCOL, SessionDescription, SessionState};

/// Maximum number of connected callers.
const MAX_CALLERS: usize = 64;
/// Maximum number of callers waiting for a turn.
const MAX_WAITING: usize = 32;
/// Time to notify connected callers that the session is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for a caller's first request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A caller that passed the version check.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) reader: MessageReader,
    pub(super) writer: Arc<AsyncMutex<MessageWriter>>,
    /// Permits execution; the next caller's turn starts when it is dropped.
    turn_permit: Option<OwnedSemaphorePermit>,
}

impl Caller {
    /// Sends a reply. Errors are ignored: a lost connection is noticed when reading.
    pub(super) async fn send(&self, reply: &HostReply) {
        if let Err(error) = self.writer.lock().await.send(reply).await {
            tracing::debug!(%error, "failed to send a reply to a caller");
        }
    }
}

/// The session's state as reported to every caller.
#[derive(Debug)]
pub(super) struct SessionStatus {
    pub(super) name: String,
    pub(super) flags: Flags,
    pub(super) policy: Digest,
    pub(super) idle_limit: Duration,
    pub(super) started: Instant,
    pub(super) waiting: AtomicUsize,
    /// One permit: callers take turns in arrival order.
    turn_permit: Arc<Semaphore>,
    state: Mutex<(SessionState, Instant)>,
}

impl SessionStatus {
    pub(super) fn new(name: String, flags: Flags, policy: Digest, idle_limit: Duration) -> Self {
        let started = Instant::now();
        Self {
            name,
            flags,
            policy,
            idle_limit,
            started,
            waiting: AtomicUsize::new(0),
            turn_permit: Arc::new(Semaphore::new(1)),
            state: Mutex::new((SessionState::Starting, started)),
        }
    }

    pub(super) fn set(&self, state: SessionState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (state, Instant::now());
    }

    fn state(&self) -> (SessionState, Instant) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> SessionDescription {
        let (state, since) = self.state();
        let idle = match state {
            SessionState::Idle => since.elapsed(),
            SessionState::Starting
            | SessionState::Busy
            | SessionState::Closing
            | SessionState::Gone => Duration::ZERO,
        };
        SessionDescription {
            name: self.name.clone(),
            pid: std::process::id(),
            state,
            devices: self.flags.devices(),
            age_seconds: self.started.elapsed().as_secs(),
            idle_seconds: idle.as_secs(),
            idle_limit_seconds: self.idle_limit.as_secs(),
            waiting: self.waiting.load(Ordering::Relaxed),
            flags: self.flags.clone(),
            policy: self.policy,
        }
    }
}

/// Queues for callers, by request.
#[derive(Clone, Debug)]
struct Routes {
    turns: mpsc::Sender<Caller>,
    closes: mpsc::Sender<Caller>,
}

/// The receiving ends of both queues.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) turns: mpsc::Receiver<Caller>,
    pub(super) closes: mpsc::Receiver<Caller>,
}

impl Queues {
    pub(super) fn new() -> (Self, Acceptor) {
        let (to_turns, turns) = mpsc::channel(MAX_CALLERS);
        let (to_closes, closes) = mpsc::channel(MAX_CALLERS);
        let routes = Routes {
            turns: to_turns,
            closes: to_closes,
        };
        let greeted = JoinSet::new();
        (Self { turns, closes }, Acceptor { routes, greeted })
    }
}

/// Accepts connections on the session's socket.
#[derive(Debug)]
pub(super) struct Acceptor {
    routes: Routes,
    greeted: JoinSet<()>,
}

impl Acceptor {
    /// Accepts callers until it is dropped.
    pub(super) async fn accept_all(
        &mut self,
        listener: &UnixListener,
        status: &Arc<SessionStatus>,
    ) {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if self.greeted.len() < MAX_CALLERS => {
                        let routes = self.routes.clone();
                        self.greeted.spawn(greet(stream, Arc::clone(status), routes));
                    }
                    Ok(_) => tracing::warn!("more than {MAX_CALLERS} callers: a connection was closed"),
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a caller");
                        // No event reports the end of, for example, a lack of file descriptors.
                        sleep(ACCEPT_RETRY).await;
                    }
                },
                Some(_) = self.greeted.join_next() => {}
            }
        }
    }

    /// Ends the wait of queued callers with an error.
    pub(super) async fn close(mut self, status: &SessionStatus) {
        status.turn_permit.close();
        let notified = async { while self.greeted.join_next().await.is_some() {} };
        // Callers without a request by then notice the closed connection.
        let _too_slow = timeout(CLOSE_TIMEOUT, notified).await;
    }
}

async fn greet(stream: UnixStream, status: Arc<SessionStatus>, routes: Routes) {
    let current = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == current => {}
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "rejected a caller of another user");
            return;
        }
        Err(error) => {
            tracing::warn!(%error, "rejected a caller whose user cannot be determined");
            return;
        }
    }
    let (reader, writer) = stream.into_split();
    let mut caller = Caller {
        reader: MessageReader::new(reader),
        writer: Arc::new(AsyncMutex::new(MessageWriter::new(writer))),
        turn_permit: None,
    };
    match timeout(REQUEST_TIMEOUT, read_request(&mut caller, &status)).await {
        Ok(Some(HostRequest::Enter)) => wait_turn(caller, &status, &routes).await,
        Ok(Some(HostRequest::Close)) => {
            // A full queue means that the session is closing anyway.
            let _full_means_closing = routes.closes.try_send(caller);
        }
        Ok(Some(HostRequest::Own)) => {
            // An owner sends nothing more, so this is its disconnect.
            let _gone = caller.reader.next::<HostRequest>(MAX_CONTROL_BYTES).await;
            tracing::info!("the owner of the session is gone");
            let _full_means_closing = routes.closes.try_send(caller);
        }
        Ok(Some(HostRequest::CarryOut { .. } | HostRequest::Decide { .. }) | None) | Err(_) => {}
    }
}

/// Reads the caller's request after both sides have exchanged their versions.
async fn read_request(caller: &mut Caller, status: &SessionStatus) -> Option<HostRequest> {
    let hello: Hello = caller.reader.next(MAX_CONTROL_BYTES).await.ok()??;
    if hello.protocol != PROTOCOL {
        let current = Hello::current();
        let message = format!(
            "session {} belongs to telechir {} (protocol {PROTOCOL}), but this is telechir {} \
             (protocol {}); close it with the version that started it, or end process {}",
            status.name,
            current.version,
            hello.version,
            hello.protocol,
            std::process::id(),
        );
        caller.send(&HostReply::Refused { message }).await;
        return None;
    }
    caller.send(&HostReply::Welcome(status.describe())).await;
    caller.reader.next(MAX_CONTROL_BYTES).await.ok()?
}

/// Waits for the caller's turn; ends early if the caller disconnects.
async fn wait_turn(mut caller: Caller, status: &SessionStatus, routes: &Routes) {
    let before = status.waiting.fetch_add(1, Ordering::Relaxed);
    if before > 0 || status.state().0 == SessionState::Busy {
        caller.send(&HostReply::Busy).await;
    }
    let turn_permit = Arc::clone(&status.turn_permit);
    let refusal = if before >= MAX_WAITING {
        Some("too many callers are waiting")
    } else {
        tokio::select! {
            biased;
            turn_permit = turn_permit.acquire_owned() => match turn_permit {
                Ok(turn_permit) => {
                    caller.turn_permit = Some(turn_permit);
                    // If the server is closing, it notifies this caller itself.
                    if routes.turns.send(caller).await.is_ok() {
                        return;
                    }
                    status.waiting.fetch_sub(1, Ordering::Relaxed);
                    return;
                }
                Err(_) => Some("it was closed"),
            },
            // A caller sends nothing before its turn, so this is its disconnect.
            _gone = caller.reader.next::<HostRequest>(MAX_CONTROL_BYTES) => None,
        }
    };
    status.waiting.fetch_sub(1, Ordering::Relaxed);
    if let Some(refusal) = refusal {
        let message = format!("session {}: {refusal}; nothing was executed", status.name);
        caller.send(&HostReply::Failed { message }).await;
    }
}
