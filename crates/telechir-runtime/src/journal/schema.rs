//! The tables of a journal, and what a file has to be to be one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::JournalError;

/// The file in the journal's folder.
pub(super) const FILE: &str = "journal.sqlite";

/// The log that is written before the file itself.
const LOG: &str = "journal.sqlite-wal";

/// Pages of the log after which it is written over from its beginning.
const LOG_PAGES: u32 = 250;

/// Their length: a header, and one before each page.
const LOG_BYTES: u64 = 32 + LOG_PAGES as u64 * (24 + 4096);

/// "tlch": tells a journal from any other SQLite file.
const APPLICATION_ID: i32 = 0x746c_6368;

/// The format of the tables and of the names in their JSON. A file of a later format is refused,
/// one of an earlier format is read, and is of this format once it has been written to.
///
/// Format 2 renamed events and members; `serde` aliases read the names of format 1.
const VERSION: i32 = 2;

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

/// Opens a journal for its writer, and makes the tables of a new one.
pub(super) fn open(folder: &Path) -> Result<Connection, JournalError> {
    let mut connection = Connection::open(folder.join(FILE)).map_err(store("open"))?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(store("open"))?;
    check(&connection, folder)?;
    set_up(&mut connection).map_err(store("open"))?;
    Ok(connection)
}

/// Opens a journal for reading only; its writer may be at work.
pub(super) fn open_for_reading(folder: &Path) -> Result<Connection, JournalError> {
    if !folder.join(FILE).exists() {
        return Err(JournalError::Absent {
            path: folder.to_owned(),
        });
    }
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match open_with(folder, read_only) {
        // A kill came while the file was made: what it left half done must be undone first.
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

/// Gives the log its whole length, in zeros that end it wherever it ends: to write over what is
/// there already is durable in half the time that a file takes to grow.
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

/// The log, to be waited for until it is on the disk. It is there as long as the journal is open.
pub(super) fn open_log(folder: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(folder.join(LOG))
}

/// Wraps what SQLite says.
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
            "it has format {version} and this program knows formats up to {VERSION}; use a newer telechir"
        ));
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(store("open"))?;
    if application != APPLICATION_ID && tables > 0 {
        return refuse("its file is not a journal of telechir; give another folder".to_owned());
    }
    Ok(())
}

fn set_up(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The writer itself waits for the log, when somebody rests on what is in it; SQLite waits for
    // both files before it takes the log's place.
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
