//! The journal of sessions: what was meant and what became of it, durable and chained.
//!
//! A folder with one SQLite file and the pictures beside it. One process writes to it at a time.

mod blob;
mod chain;
mod folder;
mod read;
mod reserve;
mod schema;
mod transaction;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use telechir_policy::{Digest, Verdict};
use telechir_protocol::CallId;

use crate::{JournalError, SessionEvent};
use folder::Folder;
pub use read::{Record, RecordKind, Verified, VerifyFault, read, read_blob, verify, verify_since};
use reserve::Reserve;
use transaction::{Reply, Task};
use writer::Writer;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Names a session in a journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// A name; the same name in the same journal continues the same session.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// A name that no other session has.
    pub fn unique() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Two sessions of one process may begin in the same nanosecond, of two processes likewise.
        let within = COUNTER.fetch_add(1, Ordering::Relaxed);
        Self(format!(
            "{:x}-{:x}-{within:x}",
            now.as_nanos(),
            std::process::id()
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A folder that sessions are recorded in. Clones write to the same one.
#[derive(Clone, Debug)]
pub struct Journal {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // Before the folder, so that the writer has ended when the lock is given up.
    writer: Writer,
    folder: Folder,
}

/// Tells, later, whether something was written.
#[derive(Debug)]
pub(crate) struct Receipt(writer::Receipt);

impl Receipt {
    /// Waits until that is known.
    pub(crate) async fn done(self) -> Result<(), JournalError> {
        let answer = self.0.await.map_err(|_| JournalError::Ended)?;
        answer.map(drop)
    }
}

/// Names one step of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActionKey {
    pub(crate) turn: u64,
    pub(crate) call_id: CallId,
    pub(crate) step: usize,
    pub(crate) digest: Digest,
}

/// A turn's number, and whether the journal had it before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunTurn {
    pub(crate) number: u64,
    pub(crate) is_known: bool,
}

/// A step that was begun before.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) step: usize,
    pub(crate) digest: String,
    pub(crate) verdict: Verdict,
    /// None when nobody knows whether it ended.
    pub(crate) outcome: Option<Value>,
}

/// What the journal knows of a step that is about to begin.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Nothing: its intent is now durable, carry it out.
    Fresh,
    /// It ended before; this was its outcome.
    Recorded(Value),
    /// It began before and nobody knows whether it ended.
    Interrupted,
}

/// Whether a step may be carried out again when nobody knows whether it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only looks.
    Harmless,
    /// It may have had its effect already.
    Never,
}

impl Journal {
    /// Opens the journal in a folder, which is made when it is not there.
    ///
    /// # Errors
    /// When another process uses it, it is of a later version, or it cannot be written.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::in_folder(Folder::open(folder.as_ref())?)
    }

    /// A journal in a folder of its own that is gone with it: for sessions nobody records.
    ///
    /// # Errors
    /// When no temporary folder can be written.
    pub fn temporary() -> Result<Self, JournalError> {
        Self::in_folder(Folder::temporary()?)
    }

    fn in_folder(folder: Folder) -> Result<Self, JournalError> {
        let connection = schema::open(folder.path())?;
        let reserve = Reserve::take(folder.path())?;
        let writer = Writer::start(connection, reserve)?;
        Ok(Self {
            inner: Arc::new(Inner { writer, folder }),
        })
    }

    /// Where it is.
    pub fn folder(&self) -> PathBuf {
        self.inner.folder.path().to_owned()
    }

    /// Begins a turn, or goes on with the one that a crash left open or that had one of `calls`.
    pub(crate) async fn begin_turn(
        &self,
        run: &RunId,
        calls: Vec<CallId>,
    ) -> Result<BegunTurn, JournalError> {
        let run = run.clone();
        match self.ask(Task::BeginTurn { run, calls }).await? {
            Reply::Turn(turn) => Ok(turn),
            Reply::Written | Reply::Begun(_) | Reply::Known(_) => Err(JournalError::Ended),
        }
    }

    /// Begins the turn that comes after the last, which has ended; durable before its first step.
    pub(crate) async fn next_turn(
        &self,
        run: &RunId,
        number: u64,
    ) -> Result<BegunTurn, JournalError> {
        let run = run.clone();
        let task = Task::NextTurn { run, number };
        self.inner.writer.hand_over(task).await?;
        let is_known = false;
        Ok(BegunTurn { number, is_known })
    }

    /// Says that a turn is over.
    pub(crate) fn post_turn_end(&self, run: &RunId, turn: u64) {
        let run = run.clone();
        self.inner.writer.post(Task::EndTurn { run, turn });
    }

    /// The steps of a call that were begun before.
    pub(crate) async fn known(
        &self,
        run: &RunId,
        turn: u64,
        call_id: &CallId,
    ) -> Result<Vec<Known>, JournalError> {
        let (run, call_id) = (run.clone(), call_id.clone());
        match self.ask(Task::Known { run, turn, call_id }).await? {
            Reply::Known(known) => Ok(known),
            Reply::Written | Reply::Begun(_) | Reply::Turn(_) => Err(JournalError::Ended),
        }
    }

    /// Writes a row and waits until it is durable.
    pub(crate) async fn write(
        &self,
        run: &RunId,
        kind: RecordKind,
        body: Value,
    ) -> Result<(), JournalError> {
        let run = run.clone();
        self.ask(Task::Append { run, kind, body }).await.map(drop)
    }

    /// Hands a row over, waiting for room only; it is durable before whatever is handed over later.
    pub(crate) async fn hand_over(
        &self,
        run: &RunId,
        kind: RecordKind,
        body: Value,
    ) -> Result<(), JournalError> {
        let run = run.clone();
        let task = Task::Append { run, kind, body };
        self.inner.writer.hand_over(task).await.map(drop)
    }

    /// Hands a row over without waiting; it is durable before whatever is handed over later.
    pub(crate) fn post(&self, run: &RunId, kind: RecordKind, body: Value) {
        let run = run.clone();
        self.inner.writer.post(Task::Append { run, kind, body });
    }

    /// Hands an event over without waiting.
    pub(crate) fn post_event(&self, run: &RunId, event: &SessionEvent) {
        match serde_json::to_value(event) {
            Ok(body) => self.post(run, RecordKind::Event, body),
            Err(error) => tracing::warn!(%error, "an event could not be written as JSON"),
        }
    }

    /// Makes a step's intent durable, unless the journal knows the step already.
    pub(crate) async fn begin(
        &self,
        run: &RunId,
        key: &ActionKey,
        body: Value,
        repeat: Repeat,
    ) -> Result<Begun, JournalError> {
        let (run, key) = (run.clone(), key.clone());
        let task = Task::Begin {
            run,
            key,
            body,
            repeat,
        };
        match self.ask(task).await? {
            Reply::Begun(begun) => Ok(begun),
            Reply::Written | Reply::Turn(_) | Reply::Known(_) => Err(JournalError::Ended),
        }
    }

    /// Hands a step's outcome over; it is durable before whatever is waited for later, which says
    /// by the receipt whether that went well.
    pub(crate) async fn finish(
        &self,
        run: &RunId,
        key: &ActionKey,
        body: Value,
    ) -> Result<Receipt, JournalError> {
        let (run, key) = (run.clone(), key.clone());
        let task = Task::Finish { run, key, body };
        self.inner.writer.hand_over(task).await.map(Receipt)
    }

    /// Hands a step's outcome over without waiting: for steps that are being dropped.
    pub(crate) fn post_finish(&self, run: &RunId, key: &ActionKey, body: Value) {
        let (run, key) = (run.clone(), key.clone());
        self.inner.writer.post(Task::Finish { run, key, body });
    }

    /// Keeps bytes under their BLAKE3 digest, which it returns once they are durable.
    pub(crate) async fn put_blob(&self, bytes: Vec<u8>) -> Result<String, JournalError> {
        let folder = self.folder();
        let kept = tokio::task::spawn_blocking(move || blob::put(&folder, &bytes)).await;
        kept.map_err(|_| JournalError::Ended)?
    }

    async fn ask(&self, task: Task) -> Result<Reply, JournalError> {
        self.inner.writer.ask(task).await
    }
}
