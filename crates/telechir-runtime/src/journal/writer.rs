//! The one thread that writes a journal: what waits together is made durable together.

use std::thread::{self, JoinHandle};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use super::pen::{Head, Pen, Reply, Task};
use super::reserve::Reserve;
use super::schema::store;
use crate::JournalError;

/// Jobs that may wait; a sender that can wait waits, one that cannot loses its row and says so.
const QUEUE: usize = 1024;

/// Jobs of one commit.
const GROUP: usize = 256;

pub(super) type Answer = oneshot::Sender<Result<Reply, JournalError>>;

/// A task, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) reply: Option<Answer>,
}

impl Job {
    fn must_reach_disk(&self) -> bool {
        self.reply.is_some() && self.task.is_rested_on()
    }
}

/// Owns the thread; dropping it waits until everything handed over is durable.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, reserve: Reserve) -> Result<Self, JournalError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let head = Head::read(&connection).map_err(store("read"))?;
        let scribe = Scribe {
            connection,
            head,
            reserve,
            reaches_disk: true,
        };
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || scribe.work(waiting))
            .map_err(|source| JournalError::File {
                what: "start the writer of",
                path: super::schema::FILE.into(),
                source,
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    pub(super) async fn send(&self, job: Job) -> Result<(), JournalError> {
        let jobs = self.jobs.as_ref().ok_or(JournalError::Ended)?;
        jobs.send(job).await.map_err(|_| JournalError::Ended)
    }

    pub(super) fn post(&self, task: Task) {
        let job = Job { task, reply: None };
        let is_sent = self
            .jobs
            .as_ref()
            .is_some_and(|jobs| jobs.try_send(job).is_ok());
        if !is_sent {
            tracing::warn!("the journal is behind; a row that nothing waits for was left out");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's writer panicked");
        }
    }
}

/// What the thread works with.
struct Scribe {
    connection: Connection,
    head: Head,
    reserve: Reserve,
    /// Whether a commit waits for the disk, as it is set now.
    reaches_disk: bool,
}

type Written = rusqlite::Result<Vec<Result<Reply, JournalError>>>;

impl Scribe {
    fn work(mut self, mut waiting: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP);
        while let Some(job) = waiting.blocking_recv() {
            group.push(job);
            while group.len() < GROUP
                && let Ok(job) = waiting.try_recv()
            {
                group.push(job);
            }
            self.commit(std::mem::take(&mut group));
        }
        // First, so that what it kept free is there for the tidying.
        self.reserve.release();
        let _only_tidies = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Makes all of them durable or none, and only then answers.
    ///
    /// On a full disk nothing is begun any more, and what was begun is written to its end with
    /// the room that was kept for that.
    fn commit(&mut self, mut group: Vec<Job>) {
        if group.iter().any(|job| job.task.begins()) && !self.reserve.hold() {
            self.refuse_beginnings(&mut group);
        }
        let mut written = self.write(&group);
        if needs_room(&written) {
            self.refuse_beginnings(&mut group);
            written = self.write(&group);
        }
        if needs_room(&written) {
            tracing::warn!("the disk is full; the journal ends with the room it kept for that");
            self.reserve.release();
            written = self.write(&group);
        }
        self.answer(group, written);
    }

    fn write(&mut self, group: &[Job]) -> Written {
        self.wait_for_disk(group.iter().any(Job::must_reach_disk))?;
        let mut next = self.head.clone();
        let transaction = self.connection.transaction()?;
        let mut pen = Pen {
            transaction: &transaction,
            head: &mut next,
        };
        let answers = group.iter().map(|job| pen.write(&job.task));
        let answers = answers.collect::<rusqlite::Result<Vec<_>>>()?;
        transaction.commit()?;
        self.head = next;
        Ok(answers)
    }

    /// What nobody rests on yet reaches the disk with the next that somebody does: its write makes
    /// all before it durable too. A kill loses neither.
    fn wait_for_disk(&mut self, wanted: bool) -> rusqlite::Result<()> {
        if self.reaches_disk != wanted {
            let how = if wanted { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", how)?;
            self.reaches_disk = wanted;
        }
        Ok(())
    }

    fn refuse_beginnings(&self, group: &mut Vec<Job>) {
        for job in group.extract_if(.., |job| job.task.begins()) {
            let error = JournalError::Full {
                path: self.reserve.folder().to_owned(),
            };
            // Whoever asked may have been dropped.
            let _unheard = job.reply.map(|reply| reply.send(Err(error)));
        }
    }

    fn answer(&self, group: Vec<Job>, written: Written) {
        let is_full = needs_room(&written);
        let mut answers = match written {
            Ok(answers) => answers,
            Err(error) => {
                tracing::error!(%error, "the journal could not be written");
                let failed = |_: &Job| {
                    Err(if is_full {
                        JournalError::Full {
                            path: self.reserve.folder().to_owned(),
                        }
                    } else {
                        JournalError::Write {
                            message: error.to_string(),
                        }
                    })
                };
                group.iter().map(failed).collect()
            }
        }
        .into_iter();
        for job in group {
            let (Some(reply), Some(answer)) = (job.reply, answers.next()) else {
                continue;
            };
            // Whoever asked may have been dropped.
            let _unheard = reply.send(answer);
        }
    }
}

/// Whether more room could have helped: no space, or a limit on a file's size.
fn needs_room(written: &Written) -> bool {
    written.as_ref().is_err_and(|error| {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        )
    })
}
