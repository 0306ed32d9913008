//! Journal operations and their execution within one transaction.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::Value;
use telechir_policy::Verdict;
use telechir_protocol::CallId;

use super::chain;
use super::{ActionKey, BeginOutcome, OpenedTurn, RecordKind, RecordedStep, Repeat, RunId};
use crate::JournalError;

/// An operation on the journal.
#[derive(Debug)]
pub(super) enum WriteOp {
    Append {
        run: RunId,
        kind: RecordKind,
        body: Value,
    },
    BeginTurn {
        run: RunId,
        /// Call ids that identify an earlier delivery of this turn.
        calls: Vec<CallId>,
    },
    /// A new turn after the last one.
    NextTurn {
        run: RunId,
        number: u64,
    },
    EndTurn {
        run: RunId,
        turn: u64,
    },
    RecordedSteps {
        run: RunId,
        turn: u64,
        call_id: CallId,
    },
    UntrustedSource {
        run: RunId,
    },
    Begin {
        run: RunId,
        key: ActionKey,
        body: Value,
        repeat: Repeat,
    },
    Finish {
        run: RunId,
        key: ActionKey,
        body: Value,
    },
}

impl WriteOp {
    /// Whether the operation precedes an action, which must not happen on a full disk.
    pub(super) fn starts_work(&self) -> bool {
        match self {
            Self::Begin { .. } | Self::BeginTurn { .. } | Self::NextTurn { .. } => true,
            Self::Append { .. } | Self::EndTurn { .. } | Self::RecordedSteps { .. } => false,
            Self::Finish { .. } | Self::UntrustedSource { .. } => false,
        }
    }
}

impl WriteOp {
    /// Whether the caller waits for it before something irreversible: an effect or an answer. A
    /// turn's number and a step's outcome become durable with the next such operation.
    pub(super) fn must_be_durable(&self) -> bool {
        match self {
            Self::Begin { .. } | Self::Append { .. } => true,
            Self::BeginTurn { .. } | Self::NextTurn { .. } | Self::EndTurn { .. } => false,
            Self::RecordedSteps { .. } | Self::Finish { .. } | Self::UntrustedSource { .. } => {
                false
            }
        }
    }
}

/// The result of an operation.
#[derive(Debug)]
pub(super) enum WriteReply {
    GroupResult,
    Turn(OpenedTurn),
    Steps(Vec<RecordedStep>),
    Begin(BeginOutcome),
    /// The untrusted source that a run has read, unless a person trusted it since.
    Untrusted(Option<String>),
}

/// The end of the hash chain.
#[derive(Clone, Debug)]
pub(super) struct ChainHead {
    seq: i64,
    hash: Vec<u8>,
}

impl ChainHead {
    /// Number of the last row; 0 if there is none.
    pub(super) fn rows(&self) -> u64 {
        self.seq.unsigned_abs()
    }

    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
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

/// Executes operations within one transaction.
pub(super) struct Tx<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) head: &'a mut ChainHead,
}

/// The outer error aborts the transaction; the inner one is returned to the caller.
pub(super) type Outcome = rusqlite::Result<Result<WriteReply, JournalError>>;

impl Tx<'_> {
    pub(super) fn write(&mut self, op: &WriteOp) -> Outcome {
        match op {
            WriteOp::Append { run, kind, body } => self
                .append(run, *kind, body)
                .map(|_| Ok(WriteReply::GroupResult)),
            WriteOp::BeginTurn { run, calls } => self.begin_turn(run, calls),
            WriteOp::NextTurn { run, number } => self.next_turn(run, *number),
            WriteOp::EndTurn { run, turn } => self.end_turn(run, *turn),
            WriteOp::RecordedSteps { run, turn, call_id } => {
                self.recorded_steps(run, *turn, call_id)
            }
            WriteOp::UntrustedSource { run } => self.untrusted_source(run),
            WriteOp::Begin {
                run,
                key,
                body,
                repeat,
            } => self.begin(run, key, body, *repeat),
            WriteOp::Finish { run, key, body } => self.finish(run, key, body),
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
        *self.head = ChainHead {
            seq,
            hash: hash.to_vec(),
        };
        Ok(seq)
    }

    /// Opens the turn that has these calls, the one that a crash left open, or a new one.
    fn begin_turn(&mut self, run: &RunId, calls: &[CallId]) -> Outcome {
        let mut seen = None;
        for call in calls {
            let turn: Option<i64> = self.transaction.query_row(
                "SELECT max(turn) FROM action WHERE run = ? AND call_id = ?",
                [run.as_str(), call.as_str()],
                |row| row.get(0),
            )?;
            seen = seen.max(turn);
        }
        let last: Option<(i64, bool)> = self
            .transaction
            .query_row(
                "SELECT number, ended FROM turn WHERE run = ? ORDER BY number DESC LIMIT 1",
                [run.as_str()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let opened = |number: i64, is_retry| {
            let number = number.unsigned_abs();
            Ok(Ok(WriteReply::Turn(OpenedTurn { number, is_retry })))
        };
        let number = match (seen, last) {
            (Some(number), _) | (None, Some((number, false))) => return opened(number, true),
            (None, Some((number, true))) => number + 1,
            (None, None) => 0,
        };
        self.open_turn(run, number)?;
        opened(number, false)
    }

    fn next_turn(&mut self, run: &RunId, number: u64) -> Outcome {
        self.open_turn(run, column(number))?;
        Ok(Ok(WriteReply::GroupResult))
    }

    fn open_turn(&mut self, run: &RunId, number: i64) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("INSERT INTO turn (run, number, ended) VALUES (?, ?, 0)")?
            .execute(params![run.as_str(), number])
            .map(drop)
    }

    fn end_turn(&mut self, run: &RunId, turn: u64) -> Outcome {
        self.transaction
            .prepare_cached("UPDATE turn SET ended = 1 WHERE run = ? AND number = ?")?
            .execute(params![run.as_str(), column(turn)])?;
        Ok(Ok(WriteReply::GroupResult))
    }

    /// The steps of a call that were started, in order.
    fn untrusted_source(&mut self, run: &RunId) -> Outcome {
        let mut statement = self.transaction.prepare_cached(
            "SELECT json_extract(body, '$.source') FROM record
             WHERE run = ? AND kind = 'event' AND json_extract(body, '$.event') IN ('untrusted_content', 'content_trusted')
             ORDER BY seq DESC LIMIT 1",
        )?;
        let source: Option<Option<String>> = statement
            .query_row(params![run.as_str()], |row| row.get(0))
            .optional()?;
        Ok(Ok(WriteReply::Untrusted(source.flatten())))
    }

    fn recorded_steps(&mut self, run: &RunId, turn: u64, call_id: &CallId) -> Outcome {
        let mut statement = self.transaction.prepare_cached(
            "SELECT step, digest, intent_row.body, outcome_row.body FROM action
             JOIN record AS intent_row ON intent_row.seq = intent LEFT JOIN record AS outcome_row ON outcome_row.seq = outcome
             WHERE action.run = ? AND turn = ? AND call_id = ? ORDER BY step",
        )?;
        let rows = statement.query_map(
            params![run.as_str(), column(turn), call_id.as_str()],
            |row| {
                let (intent, outcome): (String, Option<String>) = (row.get(2)?, row.get(3)?);
                let read = |body: &str| serde_json::from_str::<Value>(body).unwrap_or_default();
                // A started step had some permitting verdict; if unreadable, assume the strictest.
                let mut intent = read(&intent);
                let verdict = serde_json::from_value(intent["verdict"].take());
                let device = intent["does"]["device"].as_str().unwrap_or_default();
                Ok(RecordedStep {
                    step: usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX),
                    digest: row.get(1)?,
                    device: device.to_owned(),
                    verdict: verdict.unwrap_or(Verdict::Ask),
                    outcome: outcome.as_deref().map(read),
                })
            },
        )?;
        let steps: rusqlite::Result<Vec<RecordedStep>> = rows.collect();
        Ok(Ok(WriteReply::Steps(steps?)))
    }

    fn begin(&mut self, run: &RunId, key: &ActionKey, body: &Value, repeat: Repeat) -> Outcome {
        let step = column(key.step);
        let existing: Option<(String, Option<i64>)> = self
            .transaction
            .prepare_cached("SELECT digest, outcome FROM action WHERE run = ? AND turn = ? AND call_id = ? AND step = ?")?
            .query_row(
                params![run.as_str(), column(key.turn), key.call_id.as_str(), step],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        match existing {
            Some((digest, _)) if digest != key.digest.to_string() => {
                let call_id = key.call_id.as_str().to_owned();
                return Ok(Err(JournalError::OtherDigest {
                    call_id,
                    step: key.step,
                }));
            }
            // A repeated read returns the current state.
            Some(_) if repeat == Repeat::Harmless => {}
            Some((_, Some(outcome))) => return self.recorded(outcome),
            Some((_, None)) => return Ok(Ok(WriteReply::Begin(BeginOutcome::Interrupted))),
            None => {}
        }
        let intent = self.append(run, RecordKind::Intent, body)?;
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO action (run, turn, call_id, step, digest, intent) VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![run.as_str(), column(key.turn), key.call_id.as_str(), step, key.digest.to_string(), intent])?;
        Ok(Ok(WriteReply::Begin(BeginOutcome::Fresh)))
    }

    fn recorded(&self, outcome: i64) -> Outcome {
        let body: String = self.transaction.query_row(
            "SELECT body FROM record WHERE seq = ?",
            [outcome],
            |row| row.get(0),
        )?;
        let body = serde_json::from_str(&body).unwrap_or_default();
        Ok(Ok(WriteReply::Begin(BeginOutcome::Recorded(body))))
    }

    fn finish(&mut self, run: &RunId, key: &ActionKey, body: &Value) -> Outcome {
        let outcome = self.append(run, RecordKind::Outcome, body)?;
        let step = column(key.step);
        self.transaction
            .prepare_cached("UPDATE action SET outcome = ? WHERE run = ? AND turn = ? AND call_id = ? AND step = ?")?
            .execute(params![outcome, run.as_str(), column(key.turn), key.call_id.as_str(), step])?;
        Ok(Ok(WriteReply::GroupResult))
    }
}

/// A number as SQLite stores it.
fn column(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
