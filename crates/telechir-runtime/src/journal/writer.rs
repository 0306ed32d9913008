//! Writes the journal: one writer at a time, with queued rows committed as a group.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::block_in_place;

use super::reserve::Reserve;
use super::schema::store;
use super::transaction::{ChainHead, Tx, WriteOp, WriteReply};
use crate::JournalError;

/// Maximum number of queued jobs. Async senders wait for space; others drop the row with a warning.
const MAX_QUEUED_JOBS: usize = 1024;

/// Maximum number of jobs per commit.
const MAX_GROUP_JOBS: usize = 256;

/// Number of durable commits after which a session counts as long.
const LONG_SESSION_COMMITS: u32 = 4;

/// How long a non-durable row may be delayed to share a commit with a durable one.
const GROUP_WINDOW: Duration = Duration::from_millis(2);

pub(super) type ReplySender = oneshot::Sender<Result<WriteReply, JournalError>>;

/// Receives the result of an operation.
pub(super) type ReplyReceiver = oneshot::Receiver<Result<WriteReply, JournalError>>;

/// An operation and the channel for its result.
#[derive(Debug)]
struct WriteJob {
    op: WriteOp,
    reply: Option<ReplySender>,
    /// Whether the caller continues only when the operation is durable.
    must_be_durable: bool,
    _room: OwnedSemaphorePermit,
}

/// Executes operations in order. A waiting caller commits the queue itself if its thread may block
/// and nobody else is writing; otherwise a thread does. Dropping this waits until everything queued
/// is durable.
#[derive(Debug)]
pub(super) struct JournalWriter {
    write_queue: Arc<WriteQueue>,
    room: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
    /// Number of the last row.
    written: watch::Receiver<u64>,
    /// Number of the first row that it may write.
    first_row: u64,
}

/// State shared by the writer thread and callers that write themselves.
#[derive(Debug)]
struct WriteQueue {
    queue: Mutex<PendingJobs>,
    wake: Condvar,
    committer: Mutex<Committer>,
}

#[derive(Debug, Default)]
struct PendingJobs {
    jobs: VecDeque<WriteJob>,
    /// Whether a caller waits for the writer thread.
    is_urgent: bool,
    /// Whether the writer thread waits without a timeout.
    is_idle: bool,
    is_closed: bool,
}

impl JournalWriter {
    pub(super) fn start(connection: Connection, reserve: Reserve) -> Result<Self, JournalError> {
        let head = ChainHead::read(&connection).map_err(store("read"))?;
        let first_row = head.rows() + 1;
        let (rows, written) = watch::channel(head.rows());
        let committer = Committer {
            connection,
            rows,
            head,
            reserve,
            log: None,
            sync_failure: None,
            durable_commits: 0,
            is_log_extended: false,
        };
        let write_queue = Arc::new(WriteQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            committer: Mutex::new(committer),
        });
        let thread_queue = Arc::clone(&write_queue);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || thread_queue.run_thread())
            .map_err(|source| JournalError::File {
                what: "start the writer of",
                path: super::schema::FILE.into(),
                source,
            })?;
        Ok(Self {
            write_queue,
            room: Arc::new(Semaphore::new(MAX_QUEUED_JOBS)),
            thread: Some(thread),
            written,
            first_row,
        })
    }

    /// The number of the last row, as rows are written; closed with the journal.
    pub(super) fn written(&self) -> watch::Receiver<u64> {
        self.written.clone()
    }

    /// The number of the first row that it may write: those before are of earlier sessions.
    pub(super) fn first_row(&self) -> u64 {
        self.first_row
    }

    /// Executes an operation and waits for its result, and for durability where required.
    pub(super) async fn commit(&self, op: WriteOp) -> Result<WriteReply, JournalError> {
        let must_be_durable = op.must_be_durable();
        let mut receipt = self.enqueue_job(op, must_be_durable).await?;
        if may_wait_here() {
            block_in_place(|| self.write_queue.try_drain());
        }
        if let Ok(send_replies) = receipt.try_recv() {
            return send_replies;
        }
        self.write_queue.notify();
        receipt.await.map_err(|_| JournalError::Ended)?
    }

    /// Queues an operation, waiting only for space. It is executed before any queued later.
    pub(super) async fn enqueue(&self, op: WriteOp) -> Result<ReplyReceiver, JournalError> {
        self.enqueue_job(op, false).await
    }

    async fn enqueue_job(
        &self,
        op: WriteOp,
        must_be_durable: bool,
    ) -> Result<ReplyReceiver, JournalError> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.map_err(|_| JournalError::Ended)?;
        let (reply, receipt) = oneshot::channel();
        self.write_queue.push(WriteJob {
            op,
            reply: Some(reply),
            must_be_durable,
            _room: room,
        });
        Ok(receipt)
    }

    /// Queues an operation without waiting.
    pub(super) fn send(&self, op: WriteOp) {
        match Arc::clone(&self.room).try_acquire_owned() {
            Ok(room) => self.write_queue.push(WriteJob {
                op,
                reply: None,
                must_be_durable: false,
                _room: room,
            }),
            Err(_full) => {
                tracing::warn!("the journal is overloaded; dropped a row that no caller waits for");
            }
        }
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.write_queue.queue().is_closed = true;
        self.write_queue.wake.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's writer panicked");
        }
    }
}

/// Whether this thread may block on the disk because others take over its tasks. This saves two
/// thread switches, which take as long as a fast disk.
fn may_wait_here() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl WriteQueue {
    fn queue(&self) -> MutexGuard<'_, PendingJobs> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: WriteJob) {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        if queue.is_idle {
            queue.is_idle = false;
            self.wake.notify_one();
        }
    }

    /// Wakes the writer thread for a waiting caller.
    fn notify(&self) {
        self.queue().is_urgent = true;
        self.wake.notify_one();
    }

    fn try_drain(&self) {
        if let Ok(mut committer) = self.committer.try_lock() {
            self.drain(&mut committer);
        }
    }

    /// Commits groups until the queue is empty, or for at most one full queue.
    fn drain(&self, committer: &mut Committer) {
        for _ in 0..MAX_QUEUED_JOBS / MAX_GROUP_JOBS {
            let mut queue = self.queue();
            let count = queue.jobs.len().min(MAX_GROUP_JOBS);
            let group: Vec<WriteJob> = queue.jobs.drain(..count).collect();
            drop(queue);
            if group.is_empty() {
                break;
            }
            committer.commit(group);
        }
    }

    /// The loop of the writer thread.
    fn run_thread(&self) {
        while self.wait_for_jobs() {
            let mut committer = self.committer();
            self.drain(&mut committer);
            committer.extend_log_once();
        }
        self.committer().end();
    }

    fn committer(&self) -> MutexGuard<'_, Committer> {
        self.committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for jobs; false if the queue is empty and closed.
    fn wait_for_jobs(&self) -> bool {
        let mut queue = self.queue();
        while queue.jobs.is_empty() && !queue.is_closed {
            queue.is_idle = true;
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_idle = false;
        let until = Instant::now() + GROUP_WINDOW;
        while !queue.is_urgent && !queue.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.wake.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.is_urgent = false;
        !queue.jobs.is_empty() || !queue.is_closed
    }
}

/// The connection and state for commits.
#[derive(Debug)]
struct Committer {
    connection: Connection,
    head: ChainHead,
    rows: watch::Sender<u64>,
    reserve: Reserve,
    /// The opened log, once a commit had to be durable.
    log: Option<File>,
    /// Why durability can no longer be guaranteed.
    sync_failure: Option<String>,
    /// Number of durable commits.
    durable_commits: u32,
    is_log_extended: bool,
}

type GroupResult = rusqlite::Result<Vec<Result<WriteReply, JournalError>>>;

impl Committer {
    /// Preallocates the log once in a long session, which shortens its commits.
    fn extend_log_once(&mut self) {
        if self.is_log_extended || self.durable_commits < LONG_SESSION_COMMITS {
            return;
        }
        self.is_log_extended = true;
        if let Err(error) = super::schema::extend_log(self.reserve.folder()) {
            tracing::debug!(%error, "the journal's log could not be preallocated");
        }
    }

    fn end(&mut self) {
        // First, so that the checkpoint can use the reserved space.
        self.reserve.release();
        let _only_tidies = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Makes all jobs durable or none, and only then answers.
    ///
    /// On a full disk new actions are rejected, and outcomes of started ones are written with the
    /// reserved space.
    fn commit(&mut self, mut group: Vec<WriteJob>) {
        if group.iter().any(|job| job.op.starts_work()) && !self.reserve.ensure() {
            self.reject_new_work(&mut group);
        }
        let mut result = self.write(&group);
        if is_disk_full(&result) {
            self.reject_new_work(&mut group);
            result = self.write(&group);
        }
        if is_disk_full(&result) {
            tracing::warn!("the disk is full; the journal ends with its reserved space");
            self.reserve.release();
            result = self.write(&group);
        }
        let must_be_durable = group.iter().any(|job| job.must_be_durable);
        if result.is_ok() && must_be_durable && self.sync_failure.is_none() {
            self.durable_commits = self.durable_commits.saturating_add(1);
            // After a failed sync the state of the disk is unknown, even if a later sync succeeds.
            self.sync_failure = self.sync_log().err().map(|error| error.to_string());
        }
        self.send_replies(group, result);
    }

    fn write(&mut self, group: &[WriteJob]) -> GroupResult {
        let mut next = self.head.clone();
        let transaction = self.connection.transaction()?;
        let mut tx = Tx {
            transaction: &transaction,
            head: &mut next,
        };
        let replies = group.iter().map(|job| tx.write(&job.op));
        let replies = replies.collect::<rusqlite::Result<Vec<_>>>()?;
        transaction.commit()?;
        self.head = next;
        self.rows.send_replace(self.head.rows());
        Ok(replies)
    }

    /// Waits until the log is on the disk. Rows without a durability requirement become durable
    /// with the next sync. A killed process loses neither.
    ///
    /// The log is preallocated, so `fdatasync` suffices: its size and location do not change.
    fn sync_log(&mut self) -> io::Result<()> {
        let log = match self.log.take() {
            Some(log) => log,
            None => super::schema::open_log(self.reserve.folder())?,
        };
        log.sync_data()?;
        self.log = Some(log);
        Ok(())
    }

    fn reject_new_work(&self, group: &mut Vec<WriteJob>) {
        for job in group.extract_if(.., |job| job.op.starts_work()) {
            let error = JournalError::Full {
                path: self.reserve.folder().to_owned(),
            };
            // The caller may have been dropped.
            let _receiver_gone = job.reply.map(|reply| reply.send(Err(error)));
        }
    }

    fn send_replies(&self, group: Vec<WriteJob>, result: GroupResult) {
        let disk_full = is_disk_full(&result);
        let path = || self.reserve.folder().to_owned();
        let failed = |message: String| {
            tracing::error!(message, "the journal could not be written");
            let error = |_: &WriteJob| match disk_full {
                true => Err(JournalError::Full { path: path() }),
                false => Err(JournalError::Write {
                    message: message.clone(),
                }),
            };
            group.iter().map(error).collect()
        };
        let mut replies = match (result, &self.sync_failure) {
            (Ok(replies), None) => replies,
            (Ok(_), Some(sync_failure)) => failed(sync_failure.clone()),
            (Err(error), _) => failed(error.to_string()),
        }
        .into_iter();
        for job in group {
            let send_replies = replies.next();
            let (Some(reply), Some(send_replies)) = (job.reply, send_replies) else {
                continue;
            };
            // The caller may have been dropped.
            let _receiver_gone = reply.send(send_replies);
        }
    }
}

/// Whether more disk space may help: no space, or a file size limit.
fn is_disk_full(result: &GroupResult) -> bool {
    result.as_ref().is_err_and(|error| {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        )
    })
}
