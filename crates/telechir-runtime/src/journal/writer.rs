//! The one thread that writes a journal: what waits together is made durable together.

use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::chain;
use super::schema::store;
use super::{ActionKey, Begun, RecordKind, Repeat, RunId};
use crate::JournalError;

/// Jobs that may wait; a sender that can wait waits, one that cannot loses its row and says so.
const QUEUE: usize = 1024;

/// Jobs of one commit.
const GROUP: usize = 256;

type Answer = oneshot::Sender<Result<Reply, JournalError>>;

/// Something to write.
#[derive(Debug)]
pub(super) enum Job {
    Append {
        run: RunId,
        kind: RecordKind,
        body: Value,
        reply: Option<Answer>,
    },
    BeginTurn {
        run: RunId,
        reply: Answer,
    },
    EndTurn {
        run: RunId,
        turn: u64,
    },
    Begin {
        run: RunId,
        key: ActionKey,
        body: Value,
        repeat: Repeat,
        reply: Answer,
    },
    Finish {
        run: RunId,
        key: ActionKey,
        body: Value,
        reply: Option<Answer>,
    },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Reply {
    Written,
    Turn(u64),
    Begun(Begun),
}

/// Owns the thread; dropping it waits until everything handed over is durable.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, JournalError> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let head = Head::read(&connection).map_err(store("read"))?;
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || work(connection, head, waiting))
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

    pub(super) fn post(&self, job: Job) {
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

/// The end of the chain.
#[derive(Clone, Debug)]
struct Head {
    seq: i64,
    hash: Vec<u8>,
}

impl Head {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let last = connection
            .query_row(
                "SELECT seq, hash FROM record ORDER BY seq DESC LIMIT 1",
                [],
                |row| {
                    Ok(Self {
                        seq: row.get(0)?,
                        hash: row.get(1)?,
                    })
                },
            )
            .optional()?;
        Ok(last.unwrap_or_else(|| Self {
            seq: 0,
            hash: chain::GENESIS.to_vec(),
        }))
    }
}

fn work(mut connection: Connection, mut head: Head, mut waiting: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    while let Some(job) = waiting.blocking_recv() {
        group.push(job);
        while group.len() < GROUP
            && let Ok(job) = waiting.try_recv()
        {
            group.push(job);
        }
        commit(&mut connection, &mut head, group.drain(..));
    }
    let _only_tidies = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Writes all of them or none, and only then answers.
fn commit(connection: &mut Connection, head: &mut Head, group: impl Iterator<Item = Job>) {
    let mut answers: Vec<(Option<Answer>, Result<Reply, JournalError>)> = Vec::new();
    let mut next = head.clone();
    let written = (|| -> rusqlite::Result<()> {
        let transaction = connection.transaction()?;
        let mut failed = None;
        for job in group {
            let mut pen = Pen {
                transaction: &transaction,
                head: &mut next,
            };
            let (answer, result) = pen.write(job);
            match result {
                Ok(result) => answers.push((answer, result)),
                Err(error) => {
                    answers.push((answer, Ok(Reply::Written)));
                    failed.get_or_insert(error);
                }
            }
        }
        match failed {
            Some(error) => Err(error),
            None => transaction.commit(),
        }
    })();
    match &written {
        Ok(()) => *head = next,
        Err(error) => tracing::error!(%error, "the journal could not be written"),
    }
    for (answer, result) in answers {
        let result = match &written {
            Ok(()) => result,
            Err(error) => Err(JournalError::Write {
                message: error.to_string(),
            }),
        };
        // Whoever asked may have been dropped.
        let _unheard = answer.map(|answer| answer.send(result));
    }
}

/// Writes within one transaction.
struct Pen<'a> {
    transaction: &'a Transaction<'a>,
    head: &'a mut Head,
}

type Outcome = rusqlite::Result<Result<Reply, JournalError>>;

impl Pen<'_> {
    fn write(&mut self, job: Job) -> (Option<Answer>, Outcome) {
        match job {
            Job::Append {
                run,
                kind,
                body,
                reply,
            } => (
                reply,
                self.append(&run, kind, &body).map(|_| Ok(Reply::Written)),
            ),
            Job::BeginTurn { run, reply } => (Some(reply), self.begin_turn(&run)),
            Job::EndTurn { run, turn } => (None, self.end_turn(&run, turn)),
            Job::Begin {
                run,
                key,
                body,
                repeat,
                reply,
            } => (Some(reply), self.begin(&run, &key, &body, repeat)),
            Job::Finish {
                run,
                key,
                body,
                reply,
            } => (reply, self.finish(&run, &key, &body)),
        }
    }

    fn append(&mut self, run: &RunId, kind: RecordKind, body: &Value) -> rusqlite::Result<i64> {
        let (seq, at_ms, body) = (self.head.seq + 1, now_ms(), body.to_string());
        let hash = chain::hash(
            &self.head.hash,
            (seq, run.as_str(), at_ms, kind.name(), &body),
        );
        self.transaction
            .prepare_cached("INSERT INTO record (seq, run, at_ms, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![seq, run.as_str(), at_ms, kind.name(), body, self.head.hash, hash.as_slice()])?;
        *self.head = Head {
            seq,
            hash: hash.to_vec(),
        };
        Ok(seq)
    }

    fn begin_turn(&mut self, run: &RunId) -> Outcome {
        let last: Option<(i64, bool)> = self
            .transaction
            .query_row(
                "SELECT number, ended FROM turn WHERE run = ? ORDER BY number DESC LIMIT 1",
                [run.as_str()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let number = match last {
            Some((number, false)) => return Ok(Ok(Reply::Turn(number.unsigned_abs()))),
            Some((number, true)) => number + 1,
            None => 0,
        };
        self.transaction.execute(
            "INSERT INTO turn (run, number, ended) VALUES (?, ?, 0)",
            params![run.as_str(), number],
        )?;
        Ok(Ok(Reply::Turn(number.unsigned_abs())))
    }

    fn end_turn(&mut self, run: &RunId, turn: u64) -> Outcome {
        self.transaction.execute(
            "UPDATE turn SET ended = 1 WHERE run = ? AND number = ?",
            params![run.as_str(), column(turn)],
        )?;
        Ok(Ok(Reply::Written))
    }

    fn begin(&mut self, run: &RunId, key: &ActionKey, body: &Value, repeat: Repeat) -> Outcome {
        let step = column(key.step);
        let known: Option<(String, Option<i64>)> = self
            .transaction
            .query_row(
                "SELECT digest, outcome FROM action WHERE run = ? AND turn = ? AND call_id = ? AND step = ?",
                params![run.as_str(), column(key.turn), key.call_id.as_str(), step],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        match known {
            Some((digest, _)) if digest != key.digest.to_string() => {
                let call_id = key.call_id.as_str().to_owned();
                return Ok(Err(JournalError::OtherDigest {
                    call_id,
                    step: key.step,
                }));
            }
            // Whoever looks again wants to see what is there now.
            Some(_) if repeat == Repeat::Harmless => {}
            Some((_, Some(outcome))) => return self.recorded(outcome),
            Some((_, None)) => return Ok(Ok(Reply::Begun(Begun::Interrupted))),
            None => {}
        }
        let intent = self.append(run, RecordKind::Intent, body)?;
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO action (run, turn, call_id, step, digest, intent) VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![run.as_str(), column(key.turn), key.call_id.as_str(), step, key.digest.to_string(), intent])?;
        Ok(Ok(Reply::Begun(Begun::Fresh)))
    }

    fn recorded(&self, outcome: i64) -> Outcome {
        let body: String = self.transaction.query_row(
            "SELECT body FROM record WHERE seq = ?",
            [outcome],
            |row| row.get(0),
        )?;
        let body = serde_json::from_str(&body).unwrap_or_default();
        Ok(Ok(Reply::Begun(Begun::Recorded(body))))
    }

    fn finish(&mut self, run: &RunId, key: &ActionKey, body: &Value) -> Outcome {
        let outcome = self.append(run, RecordKind::Outcome, body)?;
        let step = column(key.step);
        self.transaction
            .prepare_cached("UPDATE action SET outcome = ? WHERE run = ? AND turn = ? AND call_id = ? AND step = ?")?
            .execute(params![outcome, run.as_str(), column(key.turn), key.call_id.as_str(), step])?;
        Ok(Ok(Reply::Written))
    }
}

/// A count as SQLite keeps numbers.
fn column(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
