//! Reading a run while it is written: its events from any row, and the results of its turns.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_policy::Digest;
use telechir_protocol::Content;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::read::read_screenshot;
use super::{RecordKind, RunId, blob, schema};
use crate::{JournalError, SessionEvent, TurnIdentity};

/// Reads a run's recording while it is written. Does not keep the recording open: rows can be read
/// after its end, but no more are written.
#[derive(Clone, Debug)]
pub struct RecordingReader {
    folder: PathBuf,
    run: RunId,
    connection: Arc<Mutex<Connection>>,
    written: watch::Receiver<u64>,
    first_row: u64,
}

/// An event with its row.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// Number of the row, from 1. Rows of other kinds and runs lie between those of events.
    pub row: u64,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// The [`SessionEvent`] as JSON.
    pub event: Value,
}

/// Some events in order.
#[derive(Clone, Debug, PartialEq)]
pub struct EventBatch {
    /// The events; empty if there are none yet.
    pub events: Vec<RecordedEvent>,
    /// The row to read on from.
    pub next: u64,
}

/// A call of a model with what became of it, as the recording has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedToolCall {
    /// The call, with its arguments.
    pub call: Value,
    /// Its result, with digests instead of screenshots; absent until it has one.
    pub result: Option<Value>,
}

/// A turn that was executed, at least in part.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTurn {
    /// Number of the turn in the run, from 0.
    pub number: u64,
    /// Digest of the turn's contents.
    pub digest: Digest,
    /// The results with their screenshots: one per call if the turn has ended.
    pub results: Vec<Content>,
    /// Whether it was executed to its end.
    pub has_ended: bool,
}

impl RecordingReader {
    pub(super) fn open(
        folder: PathBuf,
        run: RunId,
        written: watch::Receiver<u64>,
        first_row: u64,
    ) -> Result<Self, JournalError> {
        let connection = Arc::new(Mutex::new(schema::open_for_reading(&folder)?));
        Ok(Self {
            folder,
            run,
            connection,
            written,
            first_row,
        })
    }

    /// At most `max` events, from this row on.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn events(&self, from: u64, max: usize) -> Result<EventBatch, JournalError> {
        let run = self.run.clone();
        self.read(move |connection, _| events(connection, &run, from, max))
            .await
    }

    /// Number of the last row that is written; 0 if there is none.
    pub fn last_row(&self) -> u64 {
        *self.written.borrow()
    }

    /// Number of the first row that this session may have written: those before are of earlier sessions
    /// with the same recording.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// Waits until this row is written. Returns whether it is; otherwise the recording has ended.
    pub async fn wait_for_row(&mut self, row: u64) -> bool {
        self.written
            .wait_for(|written| *written >= row)
            .await
            .is_ok()
    }

    /// The results of the turn with this key; none if it was not executed to its end.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn turn(&self, key: &str) -> Result<Option<RecordedTurn>, JournalError> {
        let (run, key) = (self.run.clone(), key.to_owned());
        self.read(move |connection, folder| turn(connection, folder, &run, &key))
            .await
    }

    /// The keys and digests of all turns that were executed to their end.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn turns(&self) -> Result<Vec<(String, Digest)>, JournalError> {
        let run = self.run.clone();
        self.read(move |connection, _| turns(connection, &run))
            .await
    }

    /// The call whose [`SessionEvent::CallReceived`] has this row; none if it has none.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn call(&self, row: u64) -> Result<Option<RecordedToolCall>, JournalError> {
        let run = self.run.clone();
        self.read(move |connection, _| call(connection, &run, row))
            .await
    }

    /// The screenshot with this digest, as it was sent, and its media type; none if the recording has
    /// none.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub async fn screenshot(
        &self,
        digest: &str,
    ) -> Result<Option<(&'static str, Vec<u8>)>, JournalError> {
        let digest = digest.to_owned();
        self.read(move |_, folder| read_screenshot(folder, &digest))
            .await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, &Path) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (connection, folder) = (Arc::clone(&self.connection), self.folder.clone());
        let reading = spawn_blocking(move || {
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            read(&connection, &folder)
        });
        reading.await.map_err(|_| JournalError::Ended)?
    }
}

fn events(
    connection: &Connection,
    run: &RunId,
    from: u64,
    max: usize,
) -> Result<EventBatch, JournalError> {
    let reading = || -> rusqlite::Result<EventBatch> {
        // Before the events: a row that is written meanwhile belongs to the next batch.
        let last: i64 =
            connection.query_row("SELECT coalesce(max(seq), 0) FROM record", [], |row| {
                row.get(0)
            })?;
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let events = connection
            .prepare_cached(
                "SELECT seq, at_ms, body FROM record WHERE seq BETWEEN ? AND ? AND run = ? AND kind = ? \
                 ORDER BY seq LIMIT ?",
            )?
            .query_map(
                params![from, last, run.as_str(), RecordKind::Event.name(), max],
                recorded_event,
            )?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let is_full = i64::try_from(events.len()).is_ok_and(|count| count >= max);
        let next = match events.last() {
            Some(event) if is_full => event.row + 1,
            Some(_) | None => from.max(last + 1).unsigned_abs(),
        };
        Ok(EventBatch { events, next })
    };
    reading().map_err(schema::store("read"))
}

/// The row of a call precedes that of its event, and its result is the next one: calls of a run are
/// executed one after another.
fn call(
    connection: &Connection,
    run: &RunId,
    row: u64,
) -> Result<Option<RecordedToolCall>, JournalError> {
    let row = i64::try_from(row).unwrap_or(i64::MAX);
    let body = |condition: &str, kind: RecordKind| -> Result<Option<Value>, JournalError> {
        let found = connection
            .prepare_cached(&format!(
                "SELECT body FROM record WHERE run = ? AND kind = ? AND seq {condition} LIMIT 1"
            ))
            .and_then(|mut statement| {
                let parameters = params![run.as_str(), kind.name(), row];
                let found = statement.query_row(parameters, |row| row.get::<_, String>(0));
                found.optional()
            });
        let found = found.map_err(schema::store("read"))?;
        Ok(found.and_then(|body| serde_json::from_str(&body).ok()))
    };
    let event = body("= ?", RecordKind::Event)?;
    let event = event.filter(|event| event["event"] == "call_received");
    let Some(id) = event.map(|event| event["call_id"].clone()) else {
        return Ok(None);
    };
    let is_own = |body: &Value| body["call_id"] == id;
    let call = body("< ? ORDER BY seq DESC", RecordKind::Call)?;
    let result = body("> ? ORDER BY seq", RecordKind::Answer)?;
    Ok(call.filter(is_own).map(|call| RecordedToolCall {
        call,
        result: result.filter(is_own),
    }))
}

fn recorded_event(row: &Row<'_>) -> rusqlite::Result<RecordedEvent> {
    let (seq, body): (i64, String) = (row.get(0)?, row.get(2)?);
    Ok(RecordedEvent {
        row: seq.unsigned_abs(),
        at_ms: row.get(1)?,
        event: serde_json::from_str(&body).unwrap_or_default(),
    })
}

/// Reads the rows of events and answers after a row, until `each` returns that it has enough.
fn rows_since(
    connection: &Connection,
    run: &RunId,
    from: i64,
    mut each: impl FnMut(RecordKind, String) -> Result<bool, JournalError>,
) -> Result<(), JournalError> {
    let failed = schema::store("read");
    let mut statement = connection
        .prepare_cached(
            "SELECT kind, body FROM record WHERE seq > ? AND run = ? AND kind IN ('event', 'answer') \
             ORDER BY seq",
        )
        .map_err(&failed)?;
    let mut rows = statement
        .query(params![from, run.as_str()])
        .map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        let kind: String = row.get(0).map_err(&failed)?;
        let kind = match kind == RecordKind::Answer.name() {
            true => RecordKind::Answer,
            false => RecordKind::Event,
        };
        if each(kind, row.get(1).map_err(&failed)?)? {
            break;
        }
    }
    Ok(())
}

pub(super) fn turn(
    connection: &Connection,
    folder: &Path,
    run: &RunId,
    key: &str,
) -> Result<Option<RecordedTurn>, JournalError> {
    let Some((seq, start)) = last_start(connection, run, key)? else {
        return Ok(None);
    };
    let mut results = Vec::new();
    rows_since(connection, run, seq, |kind, body| {
        if kind == RecordKind::Answer {
            results.push(result(folder, start.turn, &body)?);
            return Ok(results.len() == start.calls);
        }
        Ok(TurnStart::of(&body).is_some())
    })?;
    let has_ended = results.len() == start.calls;
    let digest = start.identity.digest;
    Ok(Some(RecordedTurn {
        number: start.turn,
        digest,
        results,
        has_ended,
    }))
}

/// The start of an identified turn. The turn has ended with the answer to its last call.
struct TurnStart {
    turn: u64,
    calls: usize,
    identity: TurnIdentity,
}

impl TurnStart {
    /// The start in an event, if it is one.
    fn of(event: &str) -> Option<Option<Self>> {
        match serde_json::from_str(event) {
            Ok(SessionEvent::TurnStarted {
                turn,
                calls,
                identity,
            }) => Some(identity.map(|identity| Self {
                turn,
                calls,
                identity,
            })),
            Ok(_) | Err(_) => None,
        }
    }
}

/// The result in a row, with its screenshots.
fn result(folder: &Path, turn: u64, body: &str) -> Result<Content, JournalError> {
    let mut body: Value = serde_json::from_str(body).unwrap_or_default();
    insert_screenshots(folder, &mut body)?;
    serde_json::from_value(body).map_err(|_| JournalError::Format {
        path: folder.to_owned(),
        problem: format!("a result of turn {turn} has an unknown format"),
    })
}

/// The last start of the turn with this key, and its row.
fn last_start(
    connection: &Connection,
    run: &RunId,
    key: &str,
) -> Result<Option<(i64, TurnStart)>, JournalError> {
    let in_json = serde_json::to_string(key).unwrap_or_default();
    let starts = || -> rusqlite::Result<Vec<(i64, String)>> {
        connection
            .prepare_cached(
                "SELECT seq, body FROM record WHERE run = ? AND kind = 'event' \
                 AND instr(body, 'turn_started') AND instr(body, ?) ORDER BY seq DESC",
            )?
            .query_map(params![run.as_str(), in_json], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect()
    };
    let starts = starts().map_err(schema::store("read"))?;
    Ok(starts.into_iter().find_map(|(seq, body)| {
        let start = TurnStart::of(&body)??;
        (start.identity.key == key).then_some((seq, start))
    }))
}

fn turns(connection: &Connection, run: &RunId) -> Result<Vec<(String, Digest)>, JournalError> {
    let mut open: Option<TurnStart> = None;
    let mut ended = Vec::new();
    rows_since(connection, run, 0, |kind, body| {
        if kind != RecordKind::Answer {
            if let Some(start) = TurnStart::of(&body) {
                open = start;
            }
        } else if let Some(start) = open.take_if(|start| {
            start.calls = start.calls.saturating_sub(1);
            start.calls == 0
        }) {
            ended.push((start.identity.key, start.identity.digest));
        }
        Ok(false)
    })?;
    Ok(ended)
}

/// Replaces every digest of an image by the image, as the result had it.
fn insert_screenshots(folder: &Path, value: &mut Value) -> Result<(), JournalError> {
    match value {
        Value::String(text) => {
            let Some(digest) = text
                .strip_prefix("blob:")
                .filter(|digest| digest.len() == 64)
            else {
                return Ok(());
            };
            // A text that only looks like a digest stays as it is.
            if let Some(bytes) = blob::get(folder, digest)? {
                let kind = blob::image_kind(&bytes);
                let data = base64::engine::general_purpose::STANDARD.encode(bytes);
                *text = format!("data:image/{kind};base64,{data}");
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| insert_screenshots(folder, item)),
        Value::Object(members) => members
            .values_mut()
            .try_for_each(|member| insert_screenshots(folder, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
