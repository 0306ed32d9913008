//! `recordings`: lists the recordings in a folder and removes old ones.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat};
use rustix::io::Errno;
use serde::Serialize;
use telechir_process::tree;

use super::sessions::duration;
use crate::args::{PruneArguments, RecordingsCommand};
use crate::error::CliError;
use crate::input::{write_json, write_text};

/// The file with the rows of a recording.
const JOURNAL: &str = "journal.sqlite";
/// Its log, which is newer while a session writes.
const JOURNAL_LOG: &str = "journal.sqlite-wal";
/// The file that the process which writes a recording locks.
const LOCK: &str = "lock";
/// The first bytes of a journal that has rows.
const MAGIC: &[u8] = b"SQLite format 3\0";

pub(crate) fn recordings(command: RecordingsCommand) -> Result<ExitCode, CliError> {
    match command {
        RecordingsCommand::List { folder, json } => list(&folder, json)?,
        RecordingsCommand::Prune(arguments) => prune(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder whose subfolders may be recordings.
struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

/// A recording in a folder.
struct Recording {
    name: std::ffi::OsString,
    bytes: u64,
    age: Duration,
    /// The lock that keeps sessions out while it is dropped later; none if a session writes it.
    lock: Option<File>,
}

impl Folder {
    fn open(path: &Path) -> Result<Self, CliError> {
        let problem =
            |e: io::Error| CliError::message(format!("failed to read {}: {e}", path.display()));
        let path = path.canonicalize().map_err(problem)?;
        let fd = tree::open_folder(&path).map_err(problem)?;
        Ok(Self { path, fd })
    }

    /// The recordings in this folder, oldest first. Links are not followed.
    fn recordings(&self) -> Result<Vec<Recording>, CliError> {
        let mut found = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.fd, ".", flags, Mode::empty()).and_then(Dir::new);
        for entry in listed.map_err(|e| self.problem(e))? {
            let entry = entry.map_err(|e| self.problem(e))?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            found.extend(self.recording(name).map_err(|e| self.problem(e))?);
        }
        found.sort_by(|one, other| other.age.cmp(&one.age).then(one.name.cmp(&other.name)));
        Ok(found)
    }

    /// The recording with this name; none if it is something else.
    fn recording(&self, name: &std::ffi::OsStr) -> Result<Option<Recording>, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT | Errno::ACCESS) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (Some(mut journal), Some(lock)) = (file(&folder, JOURNAL)?, file(&folder, LOCK)?)
        else {
            return Ok(None);
        };
        let mut first = Vec::new();
        let length = u64::try_from(MAGIC.len()).unwrap_or(0);
        let is_read = journal
            .by_ref()
            .take(length)
            .read_to_end(&mut first)
            .is_ok();
        if !is_read || !(first.is_empty() || first == MAGIC) {
            return Ok(None);
        }
        let age = [JOURNAL, JOURNAL_LOG]
            .iter()
            .filter_map(|name| age(&folder, name))
            .min();
        let is_free = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(Some(Recording {
            name: name.to_owned(),
            bytes: tree::size_bytes(&self.path.join(name)),
            age: age.unwrap_or_default(),
            lock: is_free.then_some(lock),
        }))
    }

    fn problem(&self, error: Errno) -> CliError {
        CliError::message(format!("failed to read {}: {error}", self.path.display()))
    }
}

/// Opens a regular file of a folder; none if there is none.
fn file(folder: &OwnedFd, name: &str) -> Result<Option<File>, Errno> {
    // Without the last flag a named pipe would block.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            let is_regular = file.metadata().is_ok_and(|found| found.is_file());
            Ok(is_regular.then_some(file))
        }
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::ACCESS | Errno::NXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The time since a file was last written.
fn age(folder: &OwnedFd, name: &str) -> Option<Duration> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return None;
    }
    let seconds = u64::try_from(found.st_mtime).ok()?;
    let written = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Some(
        SystemTime::now()
            .duration_since(written)
            .unwrap_or_default(),
    )
}

/// One recording of the list.
#[derive(Debug, Serialize)]
struct RecordingRow {
    path: PathBuf,
    bytes: u64,
    age_seconds: u64,
    in_use: bool,
}

impl RecordingRow {
    fn of(folder: &Folder, recording: &Recording) -> Self {
        Self {
            path: folder.path.join(&recording.name),
            bytes: recording.bytes,
            age_seconds: recording.age.as_secs(),
            in_use: recording.lock.is_none(),
        }
    }

    fn line(&self) -> String {
        let size = format!("{:.1} MB", self.bytes as f64 / 1e6);
        let age = duration(self.age_seconds);
        let user = if self.in_use { "in use" } else { "" };
        let line = format!("{size:>12}  {age:>12}  {user:<6}  {}", self.path.display());
        format!("{line}\n")
    }
}

fn list(path: &Path, json: bool) -> Result<(), CliError> {
    let folder = Folder::open(path)?;
    let recordings = folder.recordings()?;
    let rows: Vec<RecordingRow> = recordings
        .iter()
        .map(|recording| RecordingRow::of(&folder, recording))
        .collect();
    write_rows(&rows, json)
}

fn write_rows(rows: &[RecordingRow], json: bool) -> Result<(), CliError> {
    if json {
        return write_json(&rows, true);
    }
    let mut text = rows.iter().map(RecordingRow::line).collect::<String>();
    if rows.is_empty() {
        text.push_str("no recordings\n");
    }
    write_text(&text)
}

/// Removes recordings that are too old, then the oldest until the rest is small enough. One that a
/// session writes stays.
fn prune(arguments: &PruneArguments) -> Result<(), CliError> {
    let folder = Folder::open(&arguments.folder)?;
    let max_age = Duration::from_secs(arguments.older_than.saturating_mul(24 * 60 * 60));
    let max_bytes = arguments.max_size.saturating_mul(1 << 20);
    let recordings = folder.recordings()?;
    let mut total: u64 = recordings.iter().map(|recording| recording.bytes).sum();
    let mut removed = Vec::new();
    for recording in &recordings {
        let is_over = recording.age > max_age || total > max_bytes;
        if !is_over || recording.lock.is_none() {
            continue;
        }
        if !arguments.dry_run {
            tree::remove(&folder.fd, &recording.name).map_err(|e| {
                let path = folder.path.join(&recording.name);
                CliError::message(format!("failed to remove {}: {e}", path.display()))
            })?;
        }
        total = total.saturating_sub(recording.bytes);
        removed.push(RecordingRow::of(&folder, recording));
    }
    write_rows(&removed, arguments.json)
}
