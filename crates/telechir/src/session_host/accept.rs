//! Who may come in, and what they want: greets every caller and shows it to its queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use telechir_policy::Digest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::flags::Flags;
use super::frames::{Reader, SMALL, Writer};
use super::message::{Description, Hello, PROTOCOL, Reply, Request, State};

/// Callers that are inside at the same time.
const CALLERS: usize = 64;
/// Callers that wait for a turn.
const WAITING: usize = 32;
/// For those inside to be told that the session is over.
const LEAVING: Duration = Duration::from_secs(1);
/// For a caller to say what it wants.
const GREETING: Duration = Duration::from_secs(30);
/// Before the next caller is let in, when one could not be.
const PAUSE: Duration = Duration::from_millis(100);

/// A caller that was greeted.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) reader: Reader,
    pub(super) writer: Arc<AsyncMutex<Writer>>,
    /// Held by the one whose turn it is, for no more than being dropped with it.
    floor: Option<OwnedSemaphorePermit>,
}

impl Visitor {
    /// Says something; that the caller is gone shows when it is read from.
    pub(super) async fn tell(&self, reply: &Reply) {
        if let Err(error) = self.writer.lock().await.send(reply).await {
            tracing::debug!(%error, "a caller could not be told");
        }
    }
}

/// What is said of the session to everyone.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) name: String,
    pub(super) flags: Flags,
    pub(super) policy: Digest,
    pub(super) idle_limit: Duration,
    pub(super) began: Instant,
    pub(super) waiting: AtomicUsize,
    /// One caller has the floor; the others get it in the order they came.
    floor: Arc<Semaphore>,
    state: Mutex<(State, Instant)>,
}

impl Board {
    pub(super) fn new(name: String, flags: Flags, policy: Digest, idle_limit: Duration) -> Self {
        let began = Instant::now();
        Self {
            name,
            flags,
            policy,
            idle_limit,
            began,
            waiting: AtomicUsize::new(0),
            floor: Arc::new(Semaphore::new(1)),
            state: Mutex::new((State::Starting, began)),
        }
    }

    pub(super) fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (state, Instant::now());
    }

    fn state(&self) -> (State, Instant) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> Description {
        let (state, since) = self.state();
        let idle = match state {
            State::Idle => since.elapsed(),
            State::Starting | State::Busy | State::Closing | State::Gone => Duration::ZERO,
        };
        Description {
            name: self.name.clone(),
            pid: std::process::id(),
            state,
            devices: self.flags.devices(),
            age_seconds: self.began.elapsed().as_secs(),
            idle_seconds: idle.as_secs(),
            idle_limit_seconds: self.idle_limit.as_secs(),
            waiting: self.waiting.load(Ordering::Relaxed),
            flags: self.flags.clone(),
            policy: self.policy,
        }
    }
}

/// Where greeted callers are sent.
#[derive(Clone, Debug)]
struct Halls {
    turns: mpsc::Sender<Visitor>,
    closes: mpsc::Sender<Visitor>,
}

/// Both queues of a door.
#[derive(Debug)]
pub(super) struct Queues {
    pub(super) turns: mpsc::Receiver<Visitor>,
    pub(super) closes: mpsc::Receiver<Visitor>,
}

impl Queues {
    pub(super) fn new() -> (Self, Door) {
        let (to_turns, turns) = mpsc::channel(CALLERS);
        let (to_closes, closes) = mpsc::channel(CALLERS);
        let halls = Halls {
            turns: to_turns,
            closes: to_closes,
        };
        let greeted = JoinSet::new();
        (Self { turns, closes }, Door { halls, greeted })
    }
}

/// Lets callers in.
#[derive(Debug)]
pub(super) struct Door {
    halls: Halls,
    greeted: JoinSet<()>,
}

impl Door {
    /// Lets callers in and greets them until it is dropped.
    pub(super) async fn open(&mut self, listener: &UnixListener, board: &Arc<Board>) {
        loop {
            tokio::select! {
                came = listener.accept() => match came {
                    Ok((stream, _)) if self.greeted.len() < CALLERS => {
                        let halls = self.halls.clone();
                        self.greeted.spawn(greet(stream, Arc::clone(board), halls));
                    }
                    Ok(_) => tracing::warn!("too many callers at once: one was not let in"),
                    Err(error) => {
                        tracing::warn!(%error, "a caller could not be let in");
                        // Such as too many open files: nothing tells when that is over.
                        sleep(PAUSE).await;
                    }
                },
                Some(_) = self.greeted.join_next() => {}
            }
        }
    }

    /// Tells those who wait inside that nobody gets a turn any more.
    pub(super) async fn close(mut self, board: &Board) {
        board.floor.close();
        let told = async { while self.greeted.join_next().await.is_some() {} };
        // Whoever has not said what it wants by then learns it by our end.
        let _too_slow = timeout(LEAVING, told).await;
    }
}

async fn greet(stream: UnixStream, board: Arc<Board>, halls: Halls) {
    let ours = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == ours => {}
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "a caller of another user was sent away");
            return;
        }
        Err(error) => {
            tracing::warn!(%error, "a caller that cannot be known was sent away");
            return;
        }
    }
    let (reader, writer) = stream.into_split();
    let mut visitor = Visitor {
        reader: Reader::new(reader),
        writer: Arc::new(AsyncMutex::new(Writer::new(writer))),
        floor: None,
    };
    match timeout(GREETING, wish(&mut visitor, &board)).await {
        Ok(Some(Request::Enter)) => enter(visitor, &board, &halls).await,
        Ok(Some(Request::Close)) => {
            // Whoever holds the other end is about to close, or did.
            let _full_means_closing = halls.closes.try_send(visitor);
        }
        Ok(Some(Request::CarryOut { .. } | Request::Decide { .. }) | None) | Err(_) => {}
    }
}

/// What the caller wants, once both know with whom they speak.
async fn wish(visitor: &mut Visitor, board: &Board) -> Option<Request> {
    let hello: Hello = visitor.reader.next(SMALL).await.ok()??;
    if hello.protocol != PROTOCOL {
        let ours = Hello::ours();
        let message = format!(
            "session {} is held by telechir {} (protocol {PROTOCOL}), and this is telechir {} \
             (protocol {}); close it with the version that started it, or end process {}",
            board.name,
            ours.version,
            hello.version,
            hello.protocol,
            std::process::id(),
        );
        visitor.tell(&Reply::Refused { message }).await;
        return None;
    }
    visitor.tell(&Reply::Welcome(board.describe())).await;
    visitor.reader.next(SMALL).await.ok()?
}

/// Waits for the floor, for as long as the caller does.
async fn enter(mut visitor: Visitor, board: &Board, halls: &Halls) {
    let before = board.waiting.fetch_add(1, Ordering::Relaxed);
    if before > 0 || board.state().0 == State::Busy {
        visitor.tell(&Reply::Busy).await;
    }
    let floor = Arc::clone(&board.floor);
    let refusal = if before >= WAITING {
        Some("too many callers wait already")
    } else {
        tokio::select! {
            biased;
            floor = floor.acquire_owned() => match floor {
                Ok(floor) => {
                    visitor.floor = Some(floor);
                    // The holder tells whoever it does not come to.
                    if halls.turns.send(visitor).await.is_ok() {
                        return;
                    }
                    board.waiting.fetch_sub(1, Ordering::Relaxed);
                    return;
                }
                Err(_) => Some("it was closed"),
            },
            // It says nothing before its turn: it is gone.
            _gone = visitor.reader.next::<Request>(SMALL) => None,
        }
    };
    board.waiting.fetch_sub(1, Ordering::Relaxed);
    if let Some(refusal) = refusal {
        let message = format!("session {}: {refusal}; nothing was carried out", board.name);
        visitor.tell(&Reply::Failed { message }).await;
    }
}
