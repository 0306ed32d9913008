//! The journal of sessions: intents and outcomes, durable and hash-chained.
//!
//! A journal is a folder with one SQLite file and the screenshots beside it. One process writes to
//! it at a time.

mod blob;
mod chain;
mod conversation;
mod folder;
mod follow;
mod read;
mod reserve;
mod schema;
#[cfg(test)]
mod tests;
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
pub(crate) use conversation::response_key;
pub use conversation::{ConversationEntry, RecordedConversation, RecordedEntry, RecordedResponse};
use folder::Folder;
pub use follow::{EventBatch, RecordedEvent, RecordedToolCall, RecordedTurn, RecordingReader};
pub use read::{
    BatchRange, JournalRecord, RecordKind, RecordingSpan, Verified, VerifyFault, read, read_batch,
    read_blob, read_screenshot, read_span, verify, verify_since,
};
use reserve::Reserve;
use transaction::{WriteOp, WriteReply};
use writer::JournalWriter;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Name of a session in a journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// Wraps a name; the same name in the same journal continues the same session.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Creates a name that no other session has.
    pub fn unique() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Two sessions of one process may start in the same nanosecond, and so may two processes.
        let within = COUNTER.fetch_add(1, Ordering::Relaxed);
        Self(format!(
            "{:x}-{:x}-{within:x}",
            now.as_nanos(),
            std::process::id()
        ))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A folder that sessions are recorded in. Clones write to the same folder.
#[derive(Clone, Debug)]
pub struct Journal {
    inner: Arc<JournalInner>,
}

#[derive(Debug)]
struct JournalInner {
    // Declared before the folder, so that the writer ends before the lock is released.
    writer: JournalWriter,
    folder: Folder,
}

/// Reports later whether an enqueued row was written.
#[derive(Debug)]
pub(crate) struct WriteReceipt(writer::ReplyReceiver);

impl WriteReceipt {
    /// Waits until the row is written.
    pub(crate) async fn done(self) -> Result<(), JournalError> {
        let answer = self.0.await.map_err(|_| JournalError::Ended)?;
        answer.map(drop)
    }
}

/// Identifies one step of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActionKey {
    pub(crate) turn: u64,
    pub(crate) call_id: CallId,
    pub(crate) step: usize,
    pub(crate) digest: Digest,
}

/// A turn's number, and whether the journal has it already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedTurn {
    pub(crate) number: u64,
    pub(crate) is_retry: bool,
}

/// A step that was started earlier.
#[derive(Debug)]
pub(crate) struct RecordedStep {
    pub(crate) step: usize,
    pub(crate) digest: String,
    /// Name of the device that it was for.
    pub(crate) device: String,
    pub(crate) verdict: Verdict,
    /// None if it is unknown whether the step ended.
    pub(crate) outcome: Option<Value>,
}

/// What the journal has about a step that is about to start.
#[derive(Debug)]
pub(crate) enum BeginOutcome {
    /// Nothing: the intent is now durable, so the step can be performed.
    Fresh,
    /// The step ended earlier with this outcome.
    Recorded(Value),
    /// The step started earlier, and it is unknown whether it ended.
    Interrupted,
}

/// Whether a step may be repeated if it is unknown whether it was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The step only reads.
    Harmless,
    /// The step may already have had its effect.
    Never,
}

impl Journal {
    /// Opens the journal in a folder, which is created if missing.
    ///
    /// # Errors
    /// When another process uses it, it has a newer format, or it cannot be written.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::in_folder(Folder::open(folder.as_ref())?)
    }

    /// Opens a journal in a temporary folder that is removed with it.
    ///
    /// # Errors
    /// When no temporary folder can be written.
    pub fn temporary() -> Result<Self, JournalError> {
        Self::in_folder(Folder::temporary()?)
    }

    fn in_folder(folder: Folder) -> Result<Self, JournalError> {
        let connection = schema::open(folder.path())?;
        let reserve = Reserve::create(folder.path())?;
        let writer = JournalWriter::start(connection, reserve)?;
        Ok(Self {
            inner: Arc::new(JournalInner { writer, folder }),
        })
    }

    /// Path of the journal's folder.
    pub fn folder(&self) -> PathBuf {
        self.inner.folder.path().to_owned()
    }

    /// Reads the rows of a run while they are written.
    pub(crate) fn reader(&self, run: RunId) -> Result<RecordingReader, JournalError> {
        let writer = &self.inner.writer;
        RecordingReader::open(self.folder(), run, writer.written(), writer.first_row())
    }

    /// Starts a turn, or continues the one that a crash left open or that has one of `calls`.
    pub(crate) async fn begin_turn(
        &self,
        run: &RunId,
        calls: Vec<CallId>,
    ) -> Result<OpenedTurn, JournalError> {
        let run = run.clone();
        match self.commit(WriteOp::BeginTurn { run, calls }).await? {
            WriteReply::Turn(turn) => Ok(turn),
            WriteReply::GroupResult
            | WriteReply::Begin(_)
            | WriteReply::Steps(_)
            | WriteReply::Untrusted(_) => Err(JournalError::Ended),
        }
    }

    /// Starts the turn after the last one, which has ended. Durable before the turn's first step.
    pub(crate) async fn next_turn(
        &self,
        run: &RunId,
        number: u64,
    ) -> Result<OpenedTurn, JournalError> {
        let run = run.clone();
        let op = WriteOp::NextTurn { run, number };
        self.inner.writer.enqueue(op).await?;
        let is_retry = false;
        Ok(OpenedTurn { number, is_retry })
    }

    /// Records that a turn has ended.
    pub(crate) fn send_turn_end(&self, run: &RunId, turn: u64) {
        let run = run.clone();
        self.inner.writer.send(WriteOp::EndTurn { run, turn });
    }

    /// The untrusted source that a run has read, unless a person trusted it since.
    pub(crate) async fn untrusted_source(
        &self,
        run: &RunId,
    ) -> Result<Option<String>, JournalError> {
        let run = run.clone();
        match self.commit(WriteOp::UntrustedSource { run }).await? {
            WriteReply::Untrusted(source) => Ok(source),
            WriteReply::GroupResult
            | WriteReply::Begin(_)
            | WriteReply::Turn(_)
            | WriteReply::Steps(_) => Err(JournalError::Ended),
        }
    }

    /// The steps of a call that were started earlier.
    pub(crate) async fn recorded_steps(
        &self,
        run: &RunId,
        turn: u64,
        call_id: &CallId,
    ) -> Result<Vec<RecordedStep>, JournalError> {
        let (run, call_id) = (run.clone(), call_id.clone());
        match self
            .commit(WriteOp::RecordedSteps { run, turn, call_id })
            .await?
        {
            WriteReply::Steps(steps) => Ok(steps),
            WriteReply::GroupResult
            | WriteReply::Begin(_)
            | WriteReply::Turn(_)
            | WriteReply::Untrusted(_) => Err(JournalError::Ended),
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
        self.commit(WriteOp::Append { run, kind, body })
            .await
            .map(drop)
    }

    /// Enqueues a row, waiting only for space in the queue. It is durable before any row enqueued
    /// later.
    pub(crate) async fn enqueue(
        &self,
        run: &RunId,
        kind: RecordKind,
        body: Value,
    ) -> Result<(), JournalError> {
        let run = run.clone();
        let op = WriteOp::Append { run, kind, body };
        self.inner.writer.enqueue(op).await.map(drop)
    }

    /// Enqueues a row without waiting. It is durable before any row enqueued later.
    pub(crate) fn send(&self, run: &RunId, kind: RecordKind, body: Value) {
        let run = run.clone();
        self.inner.writer.send(WriteOp::Append { run, kind, body });
    }

    /// Records an event of a run beside its session, which need not exist yet; durable when this
    /// returns.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn record(&self, run: &RunId, event: &SessionEvent) -> Result<(), JournalError> {
        let body = serde_json::to_value(event).unwrap_or_default();
        self.write(run, RecordKind::Event, body).await
    }

    /// Enqueues an event without waiting.
    pub(crate) fn send_event(&self, run: &RunId, event: &SessionEvent) {
        match serde_json::to_value(event) {
            Ok(body) => self.send(run, RecordKind::Event, body),
            Err(error) => tracing::warn!(%error, "failed to serialize an event as JSON"),
        }
    }

    /// Makes a step's intent durable, unless the journal has the step already.
    pub(crate) async fn begin(
        &self,
        run: &RunId,
        key: &ActionKey,
        body: Value,
        repeat: Repeat,
    ) -> Result<BeginOutcome, JournalError> {
        let (run, key) = (run.clone(), key.clone());
        let op = WriteOp::Begin {
            run,
            key,
            body,
            repeat,
        };
        match self.commit(op).await? {
            WriteReply::Begin(outcome) => Ok(outcome),
            WriteReply::GroupResult
            | WriteReply::Turn(_)
            | WriteReply::Steps(_)
            | WriteReply::Untrusted(_) => Err(JournalError::Ended),
        }
    }

    /// Enqueues a step's outcome. It is durable before any write that is waited for later; the
    /// receipt reports whether it succeeded.
    pub(crate) async fn finish(
        &self,
        run: &RunId,
        key: &ActionKey,
        body: Value,
    ) -> Result<WriteReceipt, JournalError> {
        let (run, key) = (run.clone(), key.clone());
        let op = WriteOp::Finish { run, key, body };
        self.inner.writer.enqueue(op).await.map(WriteReceipt)
    }

    /// Enqueues a step's outcome without waiting, for steps that are being dropped.
    pub(crate) fn send_outcome(&self, run: &RunId, key: &ActionKey, body: Value) {
        let (run, key) = (run.clone(), key.clone());
        self.inner.writer.send(WriteOp::Finish { run, key, body });
    }

    /// Stores bytes under their BLAKE3 digest and returns it once they are durable.
    pub(crate) async fn put_blob(&self, bytes: Vec<u8>) -> Result<String, JournalError> {
        let folder = self.folder();
        let stored = tokio::task::spawn_blocking(move || blob::put(&folder, &bytes)).await;
        stored.map_err(|_| JournalError::Ended)?
    }

    async fn commit(&self, op: WriteOp) -> Result<WriteReply, JournalError> {
        self.inner.writer.commit(op).await
    }
}
