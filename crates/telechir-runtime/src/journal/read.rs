//! Reading a journal and checking that nobody changed it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::{GENESIS, Row};
use super::{blob, schema};
use crate::JournalError;

/// What a row of the journal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A [`crate::SessionEvent`].
    Event,
    /// A call as the model made it, as a neutral content.
    Call,
    /// An action that is about to be carried out.
    Intent,
    /// What became of it.
    Outcome,
    /// A call's result as a neutral content; pictures as `blob:<digest>`.
    Answer,
}

impl RecordKind {
    const ALL: [Self; 5] = [
        Self::Event,
        Self::Call,
        Self::Intent,
        Self::Outcome,
        Self::Answer,
    ];

    /// The name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Call => "call",
            Self::Intent => "intent",
            Self::Outcome => "outcome",
            Self::Answer => "answer",
        }
    }
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its place, from 1.
    pub seq: u64,
    /// The session.
    pub run: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// What it says.
    pub kind: RecordKind,
    /// It.
    pub body: Value,
}

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyFault {
    /// This row is not what it was when it was written.
    Edited {
        /// Its place.
        seq: i64,
    },
    /// The row of this place is gone.
    Missing {
        /// Its place.
        seq: i64,
    },
    /// The row at this place was written at another.
    Reordered {
        /// Its place.
        seq: i64,
    },
    /// No row has the hash that was kept elsewhere: the end was cut off, or all was replaced.
    Cut {
        /// The hash.
        head: String,
    },
    /// A picture that this row names is gone or changed.
    Blob {
        /// The row's place.
        seq: i64,
        /// The picture's digest.
        digest: String,
    },
}

impl fmt::Display for VerifyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { seq } => write!(f, "row {seq} was edited"),
            Self::Missing { seq } => write!(f, "row {seq} is missing"),
            Self::Reordered { seq } => write!(f, "row {seq} is not in its place"),
            Self::Cut { head } => write!(
                f,
                "no row has the hash {head}: the end was cut off, or all of it was replaced"
            ),
            Self::Blob { seq, digest } => {
                write!(
                    f,
                    "the picture {digest} of row {seq} is missing or was edited"
                )
            }
        }
    }
}

/// What checking a journal found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many rows it has.
    pub rows: usize,
    /// The hash of the last: whoever kept an earlier one can tell that rows at the end are gone.
    pub head: String,
    /// The first thing that is wrong.
    pub fault: Option<VerifyFault>,
}

/// All rows of a journal in their order; its writer may be at work.
///
/// # Errors
/// When it cannot be read.
pub fn read(folder: impl AsRef<Path>) -> Result<Vec<Record>, JournalError> {
    let folder = folder.as_ref();
    let connection = schema::open_for_reading(folder)?;
    let rows = rows(&connection)?;
    rows.into_iter().map(|row| record(folder, row)).collect()
}

/// The bytes of a picture of a journal; none when it is missing or was edited.
///
/// # Errors
/// When it cannot be read.
pub fn read_blob(folder: impl AsRef<Path>, digest: &str) -> Result<Option<Vec<u8>>, JournalError> {
    blob::get(folder.as_ref(), digest)
}

/// Checks every row and picture and names the first that is edited, missing or out of place.
///
/// Rows cut off at the end leave no trace inside; give a hash kept elsewhere to
/// [`verify_since`] to find that too.
///
/// # Errors
/// When it cannot be read at all.
pub fn verify(folder: impl AsRef<Path>) -> Result<Verified, JournalError> {
    checked(folder.as_ref(), None)
}

/// As [`verify`], and whether the row that was the last at an earlier check, the one with this
/// hash, is still there.
///
/// # Errors
/// When it cannot be read at all.
pub fn verify_since(folder: impl AsRef<Path>, head: &str) -> Result<Verified, JournalError> {
    checked(folder.as_ref(), Some(head))
}

fn checked(folder: &Path, since: Option<&str>) -> Result<Verified, JournalError> {
    let connection = schema::open_for_reading(folder)?;
    let rows = rows(&connection)?;
    let head = rows
        .last()
        .map_or_else(|| GENESIS.to_vec(), |row| row.hash.clone());
    let fault = match broken_link(&rows) {
        Some(fault) => Some(fault),
        None => broken_blob(folder, &rows)?,
    };
    let is_there = |since: &str| {
        let hashes = rows.iter().map(|row| row.hash.as_slice());
        hashes
            .chain([GENESIS.as_slice()])
            .any(|hash| hex(hash).eq_ignore_ascii_case(since))
    };
    let cut = since.filter(|since| !is_there(since));
    let fault = fault.or_else(|| {
        cut.map(|head| VerifyFault::Cut {
            head: head.to_owned(),
        })
    });
    let head = hex(&head);
    Ok(Verified {
        rows: rows.len(),
        head,
        fault,
    })
}

fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn broken_link(rows: &[Row]) -> Option<VerifyFault> {
    let places: HashMap<&[u8], i64> = rows
        .iter()
        .map(|row| (row.hash.as_slice(), row.seq))
        .collect();
    let (mut seq, mut hash) = (0, GENESIS.as_slice());
    for row in rows {
        if row.seq != seq + 1 {
            return Some(VerifyFault::Missing { seq: seq + 1 });
        }
        if row.previous != hash {
            let is_known = places.contains_key(row.previous.as_slice()) || row.previous == GENESIS;
            return Some(match (is_known, row.is_intact()) {
                (true, _) => VerifyFault::Reordered { seq: row.seq },
                // Its link is its own, so the row it leads to is no longer what it was.
                (false, true) => VerifyFault::Edited { seq },
                (false, false) => VerifyFault::Edited { seq: row.seq },
            });
        }
        if !row.is_intact() {
            return Some(VerifyFault::Edited { seq: row.seq });
        }
        (seq, hash) = (row.seq, &row.hash);
    }
    None
}

fn broken_blob(folder: &Path, rows: &[Row]) -> Result<Option<VerifyFault>, JournalError> {
    // A call holds the model's words, which may look like anything.
    for row in rows
        .iter()
        .filter(|row| row.kind != RecordKind::Call.name())
    {
        let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
        let mut digests = Vec::new();
        named_blobs(&body, &mut digests);
        for digest in digests {
            if blob::get(folder, &digest)?.is_none() {
                return Ok(Some(VerifyFault::Blob {
                    seq: row.seq,
                    digest,
                }));
            }
        }
    }
    Ok(None)
}

/// Every picture that a body names: `"blob": "<digest>"` or `"uri": "blob:<digest>"`.
fn named_blobs(body: &Value, found: &mut Vec<String>) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| named_blobs(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                let digest = match name.as_str() {
                    "blob" => value.as_str(),
                    "uri" => value.as_str().and_then(|uri| uri.strip_prefix("blob:")),
                    _ => None,
                };
                found.extend(digest.filter(|digest| is_digest(digest)).map(str::to_owned));
                named_blobs(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn rows(connection: &Connection) -> Result<Vec<Row>, JournalError> {
    let all = || -> rusqlite::Result<Vec<Row>> {
        // A kill can come before the tables of a new journal are made: nothing is in it.
        if !connection.table_exists(None, "record")? {
            return Ok(Vec::new());
        }
        connection
            .prepare("SELECT seq, run, at_ms, kind, body, previous, hash FROM record ORDER BY seq")?
            .query_map([], |row| {
                Ok(Row {
                    seq: row.get(0)?,
                    run: row.get(1)?,
                    at_ms: row.get(2)?,
                    kind: row.get(3)?,
                    body: row.get(4)?,
                    previous: row.get(5)?,
                    hash: row.get(6)?,
                })
            })?
            .collect()
    };
    all().map_err(schema::store("read"))
}

fn record(folder: &Path, row: Row) -> Result<Record, JournalError> {
    let broken = || JournalError::Format {
        path: folder.to_owned(),
        problem: format!(
            "row {} says nothing that is known; verify the journal",
            row.seq
        ),
    };
    let kind = RecordKind::ALL
        .into_iter()
        .find(|kind| kind.name() == row.kind);
    let body = serde_json::from_str(&row.body).map_err(|_| broken())?;
    Ok(Record {
        seq: row.seq.unsigned_abs(),
        kind: kind.ok_or_else(broken)?,
        run: row.run.clone(),
        at_ms: row.at_ms,
        body,
    })
}
