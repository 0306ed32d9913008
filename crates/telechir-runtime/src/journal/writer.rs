//! Who writes a journal: one at a time, and what waits together is made durable together.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::block_in_place;

use super::reserve::Reserve;
use super::schema::store;
use super::transaction::{Head, Pen, Reply, Task};
use crate::JournalError;

/// Jobs that may wait; a sender that can wait waits, one that cannot loses its row and says so.
const QUEUE: usize = 1024;

/// Jobs of one commit.
const GROUP: usize = 256;

/// After so many commits that somebody rested on, a session is one that goes on.
const GOES_ON: u32 = 4;

/// So long a row that nobody waits for may wait for one that somebody does.
const COMPANY: Duration = Duration::from_millis(2);

pub(super) type Answer = oneshot::Sender<Result<Reply, JournalError>>;

/// What becomes of a task, once it is known.
pub(super) type Receipt = oneshot::Receiver<Result<Reply, JournalError>>;

/// A task, and who waits for it.
#[derive(Debug)]
struct Job {
    task: Task,
    reply: Option<Answer>,
    /// Whether somebody goes on only when it is durable.
    is_rested_on: bool,
    _room: OwnedSemaphorePermit,
}

/// Takes tasks in their order. Who waits for one writes what waits, where it can be waited on the
/// spot and nobody else writes; else a thread does. Dropping this waits until everything handed
/// over is durable.
#[derive(Debug)]
pub(super) struct Writer {
    desk: Arc<Desk>,
    room: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread shares with those who write themselves.
#[derive(Debug)]
struct Desk {
    queue: Mutex<Queue>,
    bell: Condvar,
    scribe: Mutex<Scribe>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether somebody waits for one of them and for the thread.
    is_urgent: bool,
    /// Whether the thread waits without an end.
    is_asleep: bool,
    is_over: bool,
}

impl Writer {
    pub(super) fn start(connection: Connection, reserve: Reserve) -> Result<Self, JournalError> {
        let head = Head::read(&connection).map_err(store("read"))?;
        let scribe = Scribe {
            connection,
            head,
            reserve,
            log: None,
            lost: None,
            rested_on: 0,
        };
        let desk = Arc::new(Desk {
            queue: Mutex::default(),
            bell: Condvar::new(),
            scribe: Mutex::new(scribe),
        });
        let theirs = Arc::clone(&desk);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || theirs.work())
            .map_err(|source| JournalError::File {
                what: "start the writer of",
                path: super::schema::FILE.into(),
                source,
            })?;
        Ok(Self {
            desk,
            room: Arc::new(Semaphore::new(QUEUE)),
            thread: Some(thread),
        })
    }

    /// Takes a task and waits until it is done, and durable where it is rested on.
    pub(super) async fn ask(&self, task: Task) -> Result<Reply, JournalError> {
        let is_rested_on = task.is_rested_on();
        let mut receipt = self.take(task, is_rested_on).await?;
        if may_wait_here() {
            block_in_place(|| self.desk.write_unless_another_does());
        }
        if let Ok(answer) = receipt.try_recv() {
            return answer;
        }
        self.desk.ring();
        receipt.await.map_err(|_| JournalError::Ended)?
    }

    /// Takes a task, waiting for room only. It is done before any that is taken later.
    pub(super) async fn hand_over(&self, task: Task) -> Result<Receipt, JournalError> {
        self.take(task, false).await
    }

    async fn take(&self, task: Task, is_rested_on: bool) -> Result<Receipt, JournalError> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.map_err(|_| JournalError::Ended)?;
        let (reply, receipt) = oneshot::channel();
        self.desk.put(Job {
            task,
            reply: Some(reply),
            is_rested_on,
            _room: room,
        });
        Ok(receipt)
    }

    /// Takes a task without waiting.
    pub(super) fn post(&self, task: Task) {
        match Arc::clone(&self.room).try_acquire_owned() {
            Ok(room) => self.desk.put(Job {
                task,
                reply: None,
                is_rested_on: false,
                _room: room,
            }),
            Err(_full) => {
                tracing::warn!("the journal is behind; a row that nothing waits for was left out");
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.desk.queue().is_over = true;
        self.desk.bell.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's writer panicked");
        }
    }
}

/// Whether a wait for the disk may be done on this thread: others take its work over. It saves
/// two changes of threads, which take as long as a good disk.
fn may_wait_here() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Desk {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, job: Job) {
        let mut queue = self.queue();
        queue.jobs.push_back(job);
        if queue.is_asleep {
            queue.is_asleep = false;
            self.bell.notify_one();
        }
    }

    /// Somebody waits for the thread.
    fn ring(&self) {
        self.queue().is_urgent = true;
        self.bell.notify_one();
    }

    fn write_unless_another_does(&self) {
        if let Ok(mut scribe) = self.scribe.try_lock() {
            self.write_with(&mut scribe);
        }
    }

    /// Writes until nothing waits any more, or it would go on for others for too long.
    fn write_with(&self, scribe: &mut Scribe) {
        for _ in 0..QUEUE / GROUP {
            let mut queue = self.queue();
            let count = queue.jobs.len().min(GROUP);
            let group: Vec<Job> = queue.jobs.drain(..count).collect();
            drop(queue);
            if group.is_empty() {
                break;
            }
            scribe.commit(group);
        }
    }

    /// What the thread does.
    fn work(&self) {
        while self.wait() {
            let mut scribe = self.scribe();
            self.write_with(&mut scribe);
            scribe.make_room();
        }
        self.scribe().end();
    }

    fn scribe(&self) -> MutexGuard<'_, Scribe> {
        self.scribe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to write; false when there is not and never will be.
    fn wait(&self) -> bool {
        let mut queue = self.queue();
        while queue.jobs.is_empty() && !queue.is_over {
            queue.is_asleep = true;
            queue = self
                .bell
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_asleep = false;
        let until = Instant::now() + COMPANY;
        while !queue.is_urgent && !queue.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.bell.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.is_urgent = false;
        !queue.jobs.is_empty() || !queue.is_over
    }
}

/// What is written with.
#[derive(Debug)]
struct Scribe {
    connection: Connection,
    head: Head,
    reserve: Reserve,
    /// What a commit was written to, once somebody rested on one.
    log: Option<File>,
    /// Why nothing that was written since can be said to be on the disk.
    lost: Option<String>,
    /// Commits that somebody rested on, while their number matters.
    rested_on: u32,
}

type Written = rusqlite::Result<Vec<Result<Reply, JournalError>>>;

impl Scribe {
    /// Does once what makes the commits of a session that goes on shorter.
    fn make_room(&mut self) {
        if self.rested_on != GOES_ON {
            return;
        }
        self.rested_on += 1;
        if let Err(error) = super::schema::extend_log(self.reserve.folder()) {
            tracing::debug!(%error, "the journal's log grows as it is written");
        }
    }

    fn end(&mut self) {
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
        let is_rested_on = group.iter().any(|job| job.is_rested_on);
        if written.is_ok() && is_rested_on && self.lost.is_none() {
            // Once this failed, nobody knows what the disk has, whatever it says next.
            self.lost = self.wait_for_disk().err().map(|error| error.to_string());
        }
        self.answer(group, written);
    }

    fn write(&mut self, group: &[Job]) -> Written {
        let is_rested_on = group.iter().any(|job| job.is_rested_on);
        if is_rested_on && self.rested_on < GOES_ON {
            self.rested_on += 1;
        }
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

    /// Waits until the log is on the disk. What nobody rests on yet gets there with the next that
    /// somebody does: its write makes all before it durable too. A kill loses neither.
    ///
    /// The log's length and place are known to the disk already, so its bytes are all there is to
    /// wait for, and not the times in its entry.
    fn wait_for_disk(&mut self) -> io::Result<()> {
        let log = match self.log.take() {
            Some(log) => log,
            None => super::schema::open_log(self.reserve.folder())?,
        };
        log.sync_data()?;
        self.log = Some(log);
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
        let path = || self.reserve.folder().to_owned();
        let failed = |message: String| {
            tracing::error!(message, "the journal could not be written");
            let error = |_: &Job| match is_full {
                true => Err(JournalError::Full { path: path() }),
                false => Err(JournalError::Write {
                    message: message.clone(),
                }),
            };
            group.iter().map(error).collect()
        };
        let mut answers = match (written, &self.lost) {
            (Ok(answers), None) => answers,
            (Ok(_), Some(lost)) => failed(lost.clone()),
            (Err(error), _) => failed(error.to_string()),
        }
        .into_iter();
        for job in group {
            let answer = answers.next();
            let (Some(reply), Some(answer)) = (job.reply, answer) else {
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
