//! Reading a journal and verifying that it was not modified.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::{GENESIS, JournalRow};
use super::{blob, schema};
use crate::JournalError;

/// The kind of a row in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A [`crate::SessionEvent`], serialized as JSON.
    Event,
    /// A call as the model made it, as neutral content.
    Call,
    /// An action that is about to be performed.
    Intent,
    /// The outcome of an action.
    Outcome,
    /// A call's result as neutral content, with images as `blob:<digest>`.
    Answer,
    /// What a model was sent or sent back, as a [`crate::ConversationEntry`].
    Conversation,
}

impl RecordKind {
    const ALL: [Self; 6] = [
        Self::Event,
        Self::Call,
        Self::Intent,
        Self::Outcome,
        Self::Answer,
        Self::Conversation,
    ];

    /// The name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Call => "call",
            Self::Intent => "intent",
            Self::Outcome => "outcome",
            Self::Answer => "answer",
            Self::Conversation => "conversation",
        }
    }
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalRecord {
    /// Number of the row, from 1.
    pub seq: u64,
    /// Name of the session.
    pub run: String,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// Kind of the row.
    pub kind: RecordKind,
    /// Content of the row, in the format of its kind.
    pub body: Value,
}

/// Why verification of a journal failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyFault {
    /// This row was modified after it was written.
    Edited {
        /// Number of the row.
        seq: i64,
    },
    /// The row with this number is missing.
    Missing {
        /// Number of the row.
        seq: i64,
    },
    /// The row with this number was written with another number.
    Reordered {
        /// Number of the row.
        seq: i64,
    },
    /// No row has the expected hash: the tail was truncated, or the journal was replaced.
    Cut {
        /// The expected hash, in hex.
        head: String,
    },
    /// An image that this row refers to is missing or modified.
    Blob {
        /// Number of the row.
        seq: i64,
        /// Digest of the image, in hex.
        digest: String,
    },
}

impl fmt::Display for VerifyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { seq } => write!(f, "row {seq} was edited"),
            Self::Missing { seq } => write!(f, "row {seq} is missing"),
            Self::Reordered { seq } => write!(f, "row {seq} is out of order"),
            Self::Cut { head } => write!(
                f,
                "no row has the hash {head}: the end was truncated, or the journal was replaced"
            ),
            Self::Blob { seq, digest } => {
                write!(
                    f,
                    "the image {digest} of row {seq} is missing or was edited"
                )
            }
        }
    }
}

/// The result of verifying a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Number of rows, including those after a fault.
    pub rows: usize,
    /// Hash of the last row. Store it elsewhere to detect truncation with [`verify_since`].
    pub head: String,
    /// The first fault; none if the journal is intact.
    pub fault: Option<VerifyFault>,
}

/// Reads all rows of a journal in order, also while it is being written.
///
/// # Errors
/// When the journal cannot be read.
pub fn read(folder: impl AsRef<Path>) -> Result<Vec<JournalRecord>, JournalError> {
    let folder = folder.as_ref();
    let connection = schema::open_for_reading(folder)?;
    let rows = rows(&connection)?;
    rows.into_iter().map(|row| record(folder, row)).collect()
}

/// Which rows [`read_batch`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRange {
    /// The first row, from 1.
    pub from: u64,
    /// Maximum number of rows.
    pub max_rows: usize,
    /// Maximum bytes of the rows together; the first row may be longer.
    pub max_bytes: usize,
    /// Whether only rows of events count.
    pub events_only: bool,
}

/// Reads some rows of a journal in order, also while it is being written.
///
/// # Errors
/// When the journal cannot be read.
pub fn read_batch(
    folder: impl AsRef<Path>,
    range: BatchRange,
) -> Result<Vec<JournalRecord>, JournalError> {
    let folder = folder.as_ref();
    let connection = schema::open_for_reading(folder)?;
    let rows = rows_in(&connection, range).map_err(schema::store("read"))?;
    rows.into_iter().map(|row| record(folder, row)).collect()
}

/// What a recording covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingSpan {
    /// Number of rows, those of events included.
    pub rows: u64,
    /// Time of the first row in milliseconds since 1970; absent without rows.
    pub first_ms: Option<i64>,
    /// Time of the last row, like that of the first.
    pub last_ms: Option<i64>,
}

/// Reads what a recording covers, also while it is being written.
///
/// # Errors
/// When the journal cannot be read.
pub fn read_span(folder: impl AsRef<Path>) -> Result<RecordingSpan, JournalError> {
    let connection = schema::open_for_reading(folder.as_ref())?;
    let read = || -> rusqlite::Result<RecordingSpan> {
        if !connection.table_exists(None, "record")? {
            return Ok(RecordingSpan {
                rows: 0,
                first_ms: None,
                last_ms: None,
            });
        }
        let time = |order: &str| {
            let sql = format!("SELECT at_ms FROM record ORDER BY seq {order} LIMIT 1");
            connection.query_row(&sql, [], |row| row.get(0)).optional()
        };
        let count = "SELECT coalesce(max(seq), 0) FROM record";
        let rows: i64 = connection.query_row(count, [], |row| row.get(0))?;
        Ok(RecordingSpan {
            rows: rows.unsigned_abs(),
            first_ms: time("ASC")?,
            last_ms: time("DESC")?,
        })
    };
    read().map_err(schema::store("read"))
}

/// Reads an image of a journal; none if it is missing or was modified.
///
/// # Errors
/// When the file cannot be read.
pub fn read_blob(folder: impl AsRef<Path>, digest: &str) -> Result<Option<Vec<u8>>, JournalError> {
    blob::get(folder.as_ref(), digest)
}

/// Reads a screenshot of a journal with its media type; none if it is missing, was modified, or the
/// text is no digest.
///
/// # Errors
/// When the file cannot be read.
pub fn read_screenshot(
    folder: impl AsRef<Path>,
    digest: &str,
) -> Result<Option<(&'static str, Vec<u8>)>, JournalError> {
    // The digest becomes the name of a file.
    if !is_digest(digest) {
        return Ok(None);
    }
    let bytes = blob::get(folder.as_ref(), digest)?;
    Ok(bytes.map(|bytes| {
        let media_type = match blob::image_kind(&bytes) {
            "png" => "image/png",
            "webp" => "image/webp",
            _ => "image/jpeg",
        };
        (media_type, bytes)
    }))
}

/// Verifies every row and image, and reports the first that is edited, missing or out of order.
///
/// Truncation of the tail cannot be detected from the chain alone; pass a hash stored elsewhere to
/// [`verify_since`] for that.
///
/// # Errors
/// When the journal cannot be read.
pub fn verify(folder: impl AsRef<Path>) -> Result<Verified, JournalError> {
    verify_chain(folder.as_ref(), None)
}

/// Like [`verify`]; also checks that the row with this hash, the last one of an earlier
/// verification, is still present.
///
/// # Errors
/// When the journal cannot be read.
pub fn verify_since(folder: impl AsRef<Path>, head: &str) -> Result<Verified, JournalError> {
    verify_chain(folder.as_ref(), Some(head))
}

fn verify_chain(folder: &Path, since: Option<&str>) -> Result<Verified, JournalError> {
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

fn broken_link(rows: &[JournalRow]) -> Option<VerifyFault> {
    let seq_by_hash: HashMap<&[u8], i64> = rows
        .iter()
        .map(|row| (row.hash.as_slice(), row.seq))
        .collect();
    let (mut seq, mut hash) = (0, GENESIS.as_slice());
    for row in rows {
        if row.seq != seq + 1 {
            return Some(VerifyFault::Missing { seq: seq + 1 });
        }
        if row.previous != hash {
            let is_known =
                seq_by_hash.contains_key(row.previous.as_slice()) || row.previous == GENESIS;
            return Some(match (is_known, row.is_intact()) {
                (true, _) => VerifyFault::Reordered { seq: row.seq },
                // The row's own link is intact, so the row it links to was modified.
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

fn broken_blob(folder: &Path, rows: &[JournalRow]) -> Result<Option<VerifyFault>, JournalError> {
    // These contain the model's text, which may look like a digest.
    let texts = [RecordKind::Call, RecordKind::Conversation].map(RecordKind::name);
    for row in rows.iter().filter(|row| !texts.contains(&&*row.kind)) {
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

/// Collects every image that a body names: `"blob": "<digest>"` or `"uri": "blob:<digest>"`.
fn named_blobs(body: &Value, digests: &mut Vec<String>) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| named_blobs(item, digests)),
        Value::Object(members) => {
            for (name, value) in members {
                let digest = match name.as_str() {
                    "blob" => value.as_str(),
                    "uri" => value.as_str().and_then(|uri| uri.strip_prefix("blob:")),
                    _ => None,
                };
                digests.extend(digest.filter(|digest| is_digest(digest)).map(str::to_owned));
                named_blobs(value, digests);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn rows(connection: &Connection) -> Result<Vec<JournalRow>, JournalError> {
    let all = BatchRange {
        from: 0,
        max_rows: usize::MAX,
        max_bytes: usize::MAX,
        events_only: false,
    };
    rows_in(connection, all).map_err(schema::store("read"))
}

fn rows_in(connection: &Connection, range: BatchRange) -> rusqlite::Result<Vec<JournalRow>> {
    // A crash may precede the creation of the tables; the journal is then empty.
    if !connection.table_exists(None, "record")? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(
        "SELECT seq, run, at_ms, kind, body, previous, hash FROM record \
         WHERE seq >= ? AND (kind = 'event' OR NOT ?) ORDER BY seq",
    )?;
    let from = i64::try_from(range.from).unwrap_or(i64::MAX);
    let mut found = statement.query(params![from, range.events_only])?;
    let mut rows = Vec::new();
    let mut bytes = 0_usize;
    while rows.len() < range.max_rows
        && let Some(row) = found.next()?
    {
        let row = JournalRow {
            seq: row.get(0)?,
            run: row.get(1)?,
            at_ms: row.get(2)?,
            kind: row.get(3)?,
            body: row.get(4)?,
            previous: row.get(5)?,
            hash: row.get(6)?,
        };
        bytes = bytes.saturating_add(row.body.len());
        if bytes > range.max_bytes && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    Ok(rows)
}

fn record(folder: &Path, row: JournalRow) -> Result<JournalRecord, JournalError> {
    let broken = || JournalError::Format {
        path: folder.to_owned(),
        problem: format!("row {} has an unknown format; verify the journal", row.seq),
    };
    let kind = RecordKind::ALL
        .into_iter()
        .find(|kind| kind.name() == row.kind);
    let body = serde_json::from_str(&row.body).map_err(|_| broken())?;
    Ok(JournalRecord {
        seq: row.seq.unsigned_abs(),
        kind: kind.ok_or_else(broken)?,
        run: row.run.clone(),
        at_ms: row.at_ms,
        body,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A result may contain addresses of a page that only begin like the address of an image.
    #[test]
    fn only_digests_are_names_of_images() {
        let (one, other) = ("0a".repeat(32), "1b".repeat(32));
        let body = json!({
            "blob": one,
            "steps": [{"uri": format!("blob:{other}")}, {"uri": other}],
            "uri": "blob:https://a.example/1",
            "short": {"blob": "0a"},
            "odd": {"blob": "g".repeat(64)},
            "text": format!("blob:{one}"),
        });
        let mut digests = Vec::new();
        named_blobs(&body, &mut digests);
        digests.sort();
        assert_eq!(digests, [one, other]);
    }

    #[test]
    fn a_fault_names_its_row_and_what_was_done() {
        let digest = "0a".repeat(32);
        for (fault, expected) in [
            (VerifyFault::Edited { seq: 7 }, "row 7 was edited"),
            (VerifyFault::Missing { seq: 7 }, "row 7 is missing"),
            (VerifyFault::Reordered { seq: 7 }, "row 7 is out of order"),
            (
                VerifyFault::Cut {
                    head: "ab".to_owned(),
                },
                "no row has the hash ab: the end was truncated",
            ),
            (
                VerifyFault::Blob { seq: 7, digest },
                "of row 7 is missing or was edited",
            ),
        ] {
            let shown = fault.to_string();
            assert!(shown.contains(expected), "{shown}");
        }
    }
}
