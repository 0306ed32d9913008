//! A thin client of the Chrome DevTools Protocol: commands with deadlines, events to one handler.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::error::{CdpError, Gone};
use crate::framing;
use crate::socket::CdpSocket;

/// Commands that wait to be written; Chromium reads faster than callers send.
const MAX_QUEUED_COMMANDS: usize = 4096;

/// An event from the browser.
#[derive(Debug)]
pub(crate) struct CdpEvent {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The session of the page; `None` for the browser itself.
    pub(crate) session: Option<String>,
}

/// Sends commands to one browser. Clones share the connection.
#[derive(Clone, Debug)]
pub(crate) struct CdpClient(Arc<CdpConnection>);

#[derive(Debug)]
struct CdpConnection {
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, PendingCommand>>,
    queue: mpsc::Sender<String>,
    lost: watch::Sender<Option<String>>,
    /// When a page last confirmed that it had handled an input event.
    input_handled: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct PendingCommand {
    session: Option<String>,
    answer: oneshot::Sender<Result<Value, CommandFailure>>,
}

/// Why a command has no result.
#[derive(Debug)]
enum CommandFailure {
    Lost(String),
    PageGone(Gone),
    Refused(String),
}

/// The connection to a browser.
#[derive(Debug)]
pub(crate) enum Transport {
    /// Our ends of two pipes that no other process has.
    Pipes { input: OwnedFd, output: OwnedFd },
    /// A WebSocket to a browser that was already running.
    Socket(Box<CdpSocket>),
}

/// The reader and writer tasks. They end with the connection, or when this is dropped.
#[derive(Debug)]
pub(crate) struct ClientTasks {
    tasks: [JoinHandle<()>; 2],
    shared: Weak<CdpConnection>,
}

impl Drop for ClientTasks {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        mark_lost(&self.shared, "it was closed");
    }
}

impl CdpClient {
    /// Starts a client on a connection. `on_event` gets every event in order and must not block.
    ///
    /// # Errors
    ///
    /// If the descriptors are not pipes.
    pub(crate) fn start(
        transport: Transport,
        mut on_event: impl FnMut(&Self, CdpEvent) + Send + 'static,
    ) -> io::Result<(Self, ClientTasks)> {
        let (queue, commands) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let client = Self(Arc::new(CdpConnection {
            next_id: AtomicU64::new(1),
            pending: Mutex::default(),
            queue,
            lost: watch::Sender::new(None),
            input_handled: Mutex::default(),
        }));
        let (reading, writing) = (Arc::downgrade(&client.0), Arc::downgrade(&client.0));
        let receiving = Arc::downgrade(&client.0);
        let on_message = move |message| dispatch(&receiving, message, &mut on_event);
        let read_ended = move |reason: String| mark_lost(&reading, &reason);
        let write_ended = move |result: io::Result<()>| {
            if let Err(error) = result {
                mark_lost(&writing, &format!("writing to it failed: {error}"));
            }
        };
        let tasks = match transport {
            Transport::Pipes { input, output } => {
                let input = pipe::Receiver::from_owned_fd(input)?;
                let output = pipe::Sender::from_owned_fd(output)?;
                [
                    tokio::spawn(
                        async move { read_ended(framing::read_pipe(input, on_message).await) },
                    ),
                    tokio::spawn(async move {
                        write_ended(framing::write_pipe(output, commands).await)
                    }),
                ]
            }
            Transport::Socket(socket) => {
                let (output, input) = (*socket).split();
                [
                    tokio::spawn(async move {
                        read_ended(framing::read_socket(input, on_message).await)
                    }),
                    tokio::spawn(async move {
                        write_ended(framing::write_socket(output, commands).await)
                    }),
                ]
            }
        };
        let tasks = ClientTasks {
            tasks,
            shared: Arc::downgrade(&client.0),
        };
        Ok((client, tasks))
    }

    /// Sends a command and waits for its result. If the future is dropped, the command still runs
    /// and its result is discarded.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CdpError> {
        self.send(session, method, params)?.within(limit).await
    }

    /// Sends a command; its reply can be awaited later.
    pub(crate) fn send(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
    ) -> Result<PendingReply, CdpError> {
        self.send_as(method, session, method, params)
    }

    /// Sends a command of another program, whose reply may take any time.
    pub(crate) fn forward(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<PendingReply, CdpError> {
        self.send_as("a command of another program", session, method, params)
    }

    fn send_as(
        &self,
        name: &'static str,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<PendingReply, CdpError> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let pending = PendingCommand {
            session: session.map(str::to_owned),
            answer: sender,
        };
        lock(&self.0.pending).insert(id, pending);
        let answer = PendingReply {
            id,
            method: name,
            answer,
            shared: Arc::downgrade(&self.0),
        };
        // Checked after the entry is inserted: whoever marks the browser lost drains the table.
        if let Some(reason) = self.0.lost.borrow().clone() {
            return Err(CdpError::Lost { reason });
        }
        self.write(id, session, method, params)?;
        Ok(answer)
    }

    /// Sends a command without waiting for a reply. Never waits.
    pub(crate) fn notify(&self, session: Option<&str>, method: &'static str, params: Value) {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let _the_next_awaited_call_reports_a_loss = self.write(id, session, method, params);
    }

    /// Fails every pending command of one session.
    pub(crate) fn fail_session(&self, session: &str, gone: Gone) {
        let mut pending = lock(&self.0.pending);
        let ids: Vec<u64> = pending
            .iter()
            .filter(|(_, entry)| entry.session.as_deref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for entry in ids.iter().filter_map(|id| pending.remove(id)) {
            let _the_caller_stopped_waiting =
                entry.answer.send(Err(CommandFailure::PageGone(gone)));
        }
    }

    /// Marks the browser lost: all pending and later commands fail.
    pub(crate) fn mark_lost(&self, reason: &str) {
        mark_lost(&Arc::downgrade(&self.0), reason);
    }

    /// Waits until the browser is lost.
    pub(crate) async fn lost(&self) -> CdpError {
        let mut lost = self.0.lost.subscribe();
        let reason = match lost.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "it was closed".to_owned(),
        };
        CdpError::Lost { reason }
    }

    /// Why the browser is lost, if it is.
    pub(crate) fn loss(&self) -> Option<CdpError> {
        let reason = self.0.lost.borrow().clone()?;
        Some(CdpError::Lost { reason })
    }

    /// When a page last confirmed that it had handled an input event.
    pub(crate) fn input_handled(&self) -> Option<Instant> {
        *lock(&self.0.input_handled)
    }

    fn write(
        &self,
        id: u64,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<(), CdpError> {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.0.queue.try_send(message.to_string()).map_err(|_| {
            self.mark_lost("its command queue is full");
            CdpError::Lost {
                reason: "its command queue is full".to_owned(),
            }
        })
    }
}

/// A reply that has not arrived yet.
#[derive(Debug)]
pub(crate) struct PendingReply {
    id: u64,
    method: &'static str,
    answer: oneshot::Receiver<Result<Value, CommandFailure>>,
    shared: Weak<CdpConnection>,
}

impl PendingReply {
    /// Waits for the reply, up to `limit`.
    pub(crate) async fn within(mut self, limit: Duration) -> Result<Value, CdpError> {
        let method = self.method;
        match timeout(limit, &mut self.answer).await {
            Ok(Ok(Ok(value))) => {
                if method.starts_with("Input.")
                    && let Some(shared) = self.shared.upgrade()
                {
                    *lock(&shared.input_handled) = Some(Instant::now());
                }
                Ok(value)
            }
            Ok(Ok(Err(CommandFailure::Lost(reason)))) => Err(CdpError::Lost { reason }),
            Ok(Ok(Err(CommandFailure::PageGone(gone)))) => Err(CdpError::PageGone(gone)),
            Ok(Ok(Err(CommandFailure::Refused(message)))) => {
                Err(CdpError::Protocol { method, message })
            }
            Ok(Err(_)) => Err(CdpError::Lost {
                reason: "it was closed".to_owned(),
            }),
            Err(_) => Err(CdpError::Timeout { method, limit }),
        }
    }

    /// Waits for the reply to a command of another program: its result, or the browser's own words.
    pub(crate) async fn forwarded(mut self) -> Result<Value, String> {
        match (&mut self.answer).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(CommandFailure::Refused(message))) => Err(message),
            Ok(Err(CommandFailure::PageGone(gone))) => Err(format!("the page is gone: {gone}")),
            Ok(Err(CommandFailure::Lost(reason))) => Err(format!("the browser is gone: {reason}")),
            Err(_) => Err("the browser is gone: it was closed".to_owned()),
        }
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.pending).remove(&self.id);
        }
    }
}

fn dispatch(
    shared: &Weak<CdpConnection>,
    mut message: Value,
    on_event: &mut impl FnMut(&CdpClient, CdpEvent),
) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    if let Some(id) = message["id"].as_u64() {
        let Some(entry) = lock(&shared.pending).remove(&id) else {
            return;
        };
        let answer = match message["error"]["message"].as_str() {
            Some(text) => Err(CommandFailure::Refused(text.to_owned())),
            None => Ok(message["result"].take()),
        };
        let _the_caller_stopped_waiting = entry.answer.send(answer);
    } else if let Some(method) = message["method"].as_str() {
        let event = CdpEvent {
            method: method.to_owned(),
            session: message["sessionId"].as_str().map(str::to_owned),
            params: message["params"].take(),
        };
        on_event(&CdpClient(shared), event);
    }
}

fn mark_lost(shared: &Weak<CdpConnection>, reason: &str) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    // The first reason is the actual cause.
    shared.lost.send_if_modified(|lost| {
        let first = lost.is_none();
        lost.get_or_insert_with(|| reason.to_owned());
        first
    });
    for (_, entry) in lock(&shared.pending).drain() {
        let _the_caller_stopped_waiting = entry
            .answer
            .send(Err(CommandFailure::Lost(reason.to_owned())));
    }
}

/// A string in a CDP message; empty if it is missing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A poisoned lock is usable: no update takes two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
