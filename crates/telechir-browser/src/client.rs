//! A thin client of the Chrome DevTools Protocol: commands with deadlines, events to one reader.

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
use crate::socket::Socket;
use crate::framing;

/// Commands that wait to be written; Chromium reads faster than anyone can ask.
const QUEUE: usize = 4096;

/// Something the browser says unasked.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The session of the page it is about; none for the browser itself.
    pub(crate) session: Option<String>,
}

/// Commands to one browser. Clones talk to the same one.
#[derive(Clone, Debug)]
pub(crate) struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
    queue: mpsc::Sender<String>,
    lost: watch::Sender<Option<String>>,
    /// When a page last answered that it has handled what a person does.
    handled: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Pending {
    session: Option<String>,
    answer: oneshot::Sender<Result<Value, Problem>>,
}

/// What can come instead of an answer.
#[derive(Debug)]
enum Problem {
    Lost(String),
    PageGone(Gone),
    Refused(String),
}

/// The road to a browser.
#[derive(Debug)]
pub(crate) enum Transport {
    /// Our ends of the two pipes that nobody else has.
    Pipes { input: OwnedFd, output: OwnedFd },
    /// A connection to one that was there before.
    Socket(Box<Socket>),
}

/// The tasks that read and write. They end with the road, or when this is dropped.
#[derive(Debug)]
pub(crate) struct Pump {
    tasks: [JoinHandle<()>; 2],
    shared: Weak<Shared>,
}

impl Drop for Pump {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        lose(&self.shared, "it was closed");
    }
}

impl Client {
    /// A client on our end of a road. `on_event` gets every event in order and must not wait.
    ///
    /// # Errors
    /// When descriptors are no pipes.
    pub(crate) fn start(
        transport: Transport,
        mut on_event: impl FnMut(&Self, Event) + Send + 'static,
    ) -> io::Result<(Self, Pump)> {
        let (queue, commands) = mpsc::channel(QUEUE);
        let client = Self(Arc::new(Shared {
            next_id: AtomicU64::new(1),
            pending: Mutex::default(),
            queue,
            lost: watch::Sender::new(None),
            handled: Mutex::default(),
        }));
        let (reading, writing) = (Arc::downgrade(&client.0), Arc::downgrade(&client.0));
        let heard = Arc::downgrade(&client.0);
        let each = move |message| take(&heard, message, &mut on_event);
        let over = move |why: String| lose(&reading, &why);
        let unsaid = move |said: io::Result<()>| {
            if let Err(error) = said {
                lose(&writing, &format!("writing to it failed: {error}"));
            }
        };
        let tasks = match transport {
            Transport::Pipes { input, output } => {
                let input = pipe::Receiver::from_owned_fd(input)?;
                let output = pipe::Sender::from_owned_fd(output)?;
                [
                    tokio::spawn(async move { over(framing::read_all(input, each).await) }),
                    tokio::spawn(async move { unsaid(framing::write_all(output, commands).await) }),
                ]
            }
            Transport::Socket(socket) => {
                let (output, input) = (*socket).split();
                [
                    tokio::spawn(async move { over(framing::hear_all(input, each).await) }),
                    tokio::spawn(async move { unsaid(framing::say_all(output, commands).await) }),
                ]
            }
        };
        let pump = Pump {
            tasks,
            shared: Arc::downgrade(&client.0),
        };
        Ok((client, pump))
    }

    /// Sends a command and waits for its answer. When the future is dropped the command still
    /// runs, its answer goes nowhere.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CdpError> {
        self.send(session, method, params)?.within(limit).await
    }

    /// Sends a command now; its answer can be waited for later.
    pub(crate) fn send(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
    ) -> Result<Answer, CdpError> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let pending = Pending {
            session: session.map(str::to_owned),
            answer: sender,
        };
        lock(&self.0.pending).insert(id, pending);
        let answer = Answer {
            id,
            method,
            answer,
            shared: Arc::downgrade(&self.0),
        };
        // Looked at after the entry is in place: whoever loses the browser empties the table.
        if let Some(why) = self.0.lost.borrow().clone() {
            return Err(CdpError::Lost { why });
        }
        self.write(id, session, method, params)?;
        Ok(answer)
    }

    /// Sends a command whose answer nobody needs. Never waits.
    pub(crate) fn notify(&self, session: Option<&str>, method: &'static str, params: Value) {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let _lost_browsers_are_noticed_by_whoever_waits = self.write(id, session, method, params);
    }

    /// Ends every pending command of one page.
    pub(crate) fn fail_session(&self, session: &str, gone: Gone) {
        let mut pending = lock(&self.0.pending);
        let ids: Vec<u64> = pending
            .iter()
            .filter(|(_, entry)| entry.session.as_deref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for entry in ids.iter().filter_map(|id| pending.remove(id)) {
            let _nobody_waits = entry.answer.send(Err(Problem::PageGone(gone)));
        }
    }

    /// Declares the browser lost: every pending and every later command fails.
    pub(crate) fn lose(&self, why: &str) {
        lose(&Arc::downgrade(&self.0), why);
    }

    /// Returns when the browser is lost.
    pub(crate) async fn lost(&self) -> CdpError {
        let mut lost = self.0.lost.subscribe();
        let why = match lost.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => "it was closed".to_owned(),
        };
        CdpError::Lost { why }
    }

    /// Why the browser is lost, when it is.
    pub(crate) fn is_lost(&self) -> Option<CdpError> {
        let why = self.0.lost.borrow().clone()?;
        Some(CdpError::Lost { why })
    }

    /// When a page last answered that it has handled what a person does.
    pub(crate) fn handled(&self) -> Option<Instant> {
        *lock(&self.0.handled)
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
            self.lose("it takes no more commands");
            CdpError::Lost {
                why: "it takes no more commands".to_owned(),
            }
        })
    }
}

/// An answer that is on its way.
#[derive(Debug)]
pub(crate) struct Answer {
    id: u64,
    method: &'static str,
    answer: oneshot::Receiver<Result<Value, Problem>>,
    shared: Weak<Shared>,
}

impl Answer {
    /// Waits for it.
    pub(crate) async fn within(mut self, limit: Duration) -> Result<Value, CdpError> {
        let method = self.method;
        match timeout(limit, &mut self.answer).await {
            Ok(Ok(Ok(value))) => {
                if method.starts_with("Input.")
                    && let Some(shared) = self.shared.upgrade()
                {
                    *lock(&shared.handled) = Some(Instant::now());
                }
                Ok(value)
            }
            Ok(Ok(Err(Problem::Lost(why)))) => Err(CdpError::Lost { why }),
            Ok(Ok(Err(Problem::PageGone(gone)))) => Err(CdpError::PageGone(gone)),
            Ok(Ok(Err(Problem::Refused(message)))) => Err(CdpError::Protocol { method, message }),
            Ok(Err(_)) => Err(CdpError::Lost {
                why: "it was closed".to_owned(),
            }),
            Err(_) => Err(CdpError::Timeout { method, limit }),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.pending).remove(&self.id);
        }
    }
}

fn take(shared: &Weak<Shared>, mut message: Value, on_event: &mut impl FnMut(&Client, Event)) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    if let Some(id) = message["id"].as_u64() {
        let Some(entry) = lock(&shared.pending).remove(&id) else {
            return;
        };
        let answer = match message["error"]["message"].as_str() {
            Some(text) => Err(Problem::Refused(text.to_owned())),
            None => Ok(message["result"].take()),
        };
        let _nobody_waits = entry.answer.send(answer);
    } else if let Some(method) = message["method"].as_str() {
        let event = Event {
            method: method.to_owned(),
            session: message["sessionId"].as_str().map(str::to_owned),
            params: message["params"].take(),
        };
        on_event(&Client(shared), event);
    }
}

fn lose(shared: &Weak<Shared>, why: &str) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    // The first reason is the true one.
    shared.lost.send_if_modified(|lost| {
        let first = lost.is_none();
        lost.get_or_insert_with(|| why.to_owned());
        first
    });
    for (_, entry) in lock(&shared.pending).drain() {
        let _nobody_waits = entry.answer.send(Err(Problem::Lost(why.to_owned())));
    }
}

/// A lock whose holder panicked still holds whole data: nothing is changed in two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
