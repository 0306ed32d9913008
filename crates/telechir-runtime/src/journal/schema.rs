//! The tables of a journal, and the check that a file is a journal.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::JournalError;

/// File name in the journal's folder.
pub(super) const FILE: &str = "journal.sqlite";

/// SQLite's write-ahead log.
const LOG: &str = "journal.sqlite-wal";

/// Number of pages after which SQLite restarts the log.
const LOG_PAGES: u32 = 250;

/// The log's size: its header, then each page with a header.
const LOG_BYTES: u64 = 32 + LOG_PAGES as u64 * (24 + 4096);

/// "tlch": distinguishes a journal from other SQLite files.
const APPLICATION_ID: i32 = 0x746c_6368;

/// Version of the tables and of the JSON names. A newer version is rejected; an older one can be
/// read, and is upgraded when written to.
///
/// Version 2 renamed events and members; `serde` aliases read the names of version 1. Version 3 added
/// rows of the conversation.
const VERSION: i32 = 3;

const TABLES: &str = "
    CREATE TABLE record (
        seq INTEGER PRIMARY KEY,
        run TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        previous BLOB NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX record_of_run ON record (run, seq);
    CREATE TABLE turn (
        run TEXT NOT NULL,
        number INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE action (
        run TEXT NOT NULL,
        turn INTEGER NOT NULL,
        call_id TEXT NOT NULL,
        step INTEGER NOT NULL,
        digest TEXT NOT NULL,
        intent INTEGER NOT NULL REFERENCES record (seq),
        outcome INTEGER REFERENCES record (seq),
        PRIMARY KEY (run, turn, call_id, step)
    ) STRICT, WITHOUT ROWID;
";

/// Opens a journal for writing and creates the tables of a new one.
pub(super) fn open(folder: &Path) -> Result<Connection, JournalError> {
    let mut connection = Connection::open(folder.join(FILE)).map_err(store("open"))?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(store("open"))?;
    check(&connection, folder)?;
    set_up(&mut connection).map_err(store("open"))?;
    Ok(connection)
}

/// Opens a journal read-only, also while it is being written.
pub(super) fn open_for_reading(folder: &Path) -> Result<Connection, JournalError> {
    if !folder.join(FILE).exists() {
        return Err(JournalError::Absent {
            path: folder.to_owned(),
        });
    }
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match open_with(folder, read_only) {
        // The process was killed while creating the file: roll back before reading.
        Err(JournalError::Store { source, .. })
            if source.sqlite_error_code() == Some(ErrorCode::ReadOnly) =>
        {
            let undoing = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            open_with(folder, undoing)
        }
        opened => opened,
    }
}

fn open_with(folder: &Path, flags: OpenFlags) -> Result<Connection, JournalError> {
    let connection =
        Connection::open_with_flags(folder.join(FILE), flags).map_err(store("open"))?;
    let set_up = connection
        .busy_timeout(Duration::from_secs(5))
        .and_then(|()| connection.pragma_update(None, "query_only", true));
    set_up.map_err(store("open"))?;
    check(&connection, folder)?;
    Ok(connection)
}

/// Extends the log to its full size with zeros, which end it wherever they start: overwriting is
/// durable in half the time that growing a file takes.
pub(super) fn extend_log(folder: &Path) -> io::Result<()> {
    let log = open_log(folder)?;
    let length = log.metadata()?.len();
    let missing = usize::try_from(LOG_BYTES.saturating_sub(length)).unwrap_or(0);
    let filled = log
        .write_all_at(&vec![0; missing], length)
        .and_then(|()| log.sync_all());
    if filled.is_err() {
        log.set_len(length)?;
    }
    filled
}

/// Opens the log, to sync it. The file exists as long as the journal is open.
pub(super) fn open_log(folder: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(folder.join(LOG))
}

/// Wraps an error of SQLite.
pub(super) fn store(what: &'static str) -> impl Fn(rusqlite::Error) -> JournalError {
    move |source| JournalError::Store { what, source }
}

fn check(connection: &Connection, folder: &Path) -> Result<(), JournalError> {
    let number = |name: &str| -> Result<i32, JournalError> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(store("open"))
    };
    let refuse = |problem: String| {
        Err(JournalError::Format {
            path: folder.to_owned(),
            problem,
        })
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    if version > VERSION {
        return refuse(format!(
            "its format is {version}, and this program supports formats up to {VERSION}; use a newer telechir"
        ));
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(store("open"))?;
    if application != APPLICATION_ID && tables > 0 {
        return refuse("its file is not a telechir journal; choose another folder".to_owned());
    }
    Ok(())
}

fn set_up(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The committer syncs the log itself when a caller needs durability; SQLite syncs both files
    // before it restarts the log.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
    } else if version < VERSION {
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(())
}
