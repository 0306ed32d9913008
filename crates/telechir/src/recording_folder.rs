//! A folder of recordings: which of its subfolders are some, and which of them a session writes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat};
use rustix::io::Errno;
use serde_json::Value;
use telechir_host::SessionImage;
use telechir_process::tree;
use telechir_runtime::{BatchRange, JournalError};
use telechir_server::http::{RecordingRow, RecordingStore, RecordingSummary, RowRange};

use crate::error::{CliError, chain};

/// The file with the rows of a recording.
const JOURNAL: &str = "journal.sqlite";
/// Its log, which is newer while a session writes.
const JOURNAL_LOG: &str = "journal.sqlite-wal";
/// The file that the process which writes a recording locks.
const LOCK: &str = "lock";
/// The first bytes of a journal that has rows.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// A folder whose subfolders may be recordings.
pub(crate) struct RecordingFolder {
    pub(crate) path: PathBuf,
    pub(crate) fd: OwnedFd,
}

/// A recording in a folder.
pub(crate) struct Recording {
    pub(crate) name: OsString,
    pub(crate) bytes: u64,
    pub(crate) age: Duration,
    /// The lock that keeps sessions out until it is dropped; none if a session writes it.
    pub(crate) lock: Option<File>,
}

impl RecordingFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let problem =
            |e: io::Error| CliError::message(format!("failed to read {}: {e}", path.display()));
        let path = path.canonicalize().map_err(problem)?;
        let fd = tree::open_folder(&path).map_err(problem)?;
        Ok(Self { path, fd })
    }

    /// What `map` makes of each recording in this folder, in no order. Links are not followed.
    pub(crate) fn map<T>(&self, mut map: impl FnMut(Recording) -> T) -> Result<Vec<T>, CliError> {
        let mut found = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.fd, ".", flags, Mode::empty()).and_then(Dir::new);
        for entry in listed.map_err(|e| self.problem(e))? {
            let entry = entry.map_err(|e| self.problem(e))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            found.extend(self.find(name)?.map(&mut map));
        }
        Ok(found)
    }

    /// The recording with this name; none for everything else, such as links and `..`.
    pub(crate) fn find(&self, name: &OsStr) -> Result<Option<Recording>, CliError> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            // A name with a slash at its end has one part, too.
            (Some(Component::Normal(part)), None) if part == name => {
                self.recording(name).map_err(|e| self.problem(e))
            }
            _ => Ok(None),
        }
    }

    /// The recording with this name; none if it is something else.
    fn recording(&self, name: &OsStr) -> Result<Option<Recording>, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(
                Errno::NOTDIR
                | Errno::LOOP
                | Errno::NOENT
                | Errno::ACCESS
                | Errno::NAMETOOLONG
                | Errno::INVAL,
            ) => return Ok(None),
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
        let bytes = tree::size_bytes(&self.path.join(name));
        // Last, because no session can open the recording meanwhile.
        let is_free = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(Some(Recording {
            name: name.to_owned(),
            bytes,
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

/// The recordings of a server. The folder may not exist before the first session.
#[derive(Debug)]
pub(crate) struct ServedRecordings(pub(crate) PathBuf);

impl ServedRecordings {
    fn folder(&self) -> Result<Option<RecordingFolder>, String> {
        match self.0.exists() {
            true => RecordingFolder::open(&self.0).map(Some).map_err(text),
            false => Ok(None),
        }
    }

    /// One recording without its rows and times.
    fn summary(&self, id: &str) -> Result<Option<RecordingSummary>, String> {
        let Some(folder) = self.folder()? else {
            return Ok(None);
        };
        let found = folder.find(OsStr::new(id)).map_err(text)?;
        Ok(found.map(|found| summary(&found)))
    }

    /// The path of the recording with this id.
    fn path(&self, id: &str) -> Result<Option<PathBuf>, String> {
        let Some(folder) = self.folder()? else {
            return Ok(None);
        };
        let found = folder.find(OsStr::new(id)).map_err(text)?;
        Ok(found.map(|found| folder.path.join(found.name)))
    }
}

impl RecordingStore for ServedRecordings {
    fn list(&self) -> Result<Vec<RecordingSummary>, String> {
        let Some(folder) = self.folder()? else {
            return Ok(Vec::new());
        };
        let mut found = folder.map(|found| summary(&found)).map_err(text)?;
        found.sort_by(|one, other| {
            let by_age = other.age_seconds.cmp(&one.age_seconds);
            by_age.then_with(|| one.id.cmp(&other.id))
        });
        Ok(found)
    }

    fn describe(&self, id: &str) -> Result<Option<RecordingSummary>, String> {
        let Some(folder) = self.folder()? else {
            return Ok(None);
        };
        let Some(summary) = self.summary(id)? else {
            return Ok(None);
        };
        let span = telechir_runtime::read_span(folder.path.join(id)).map_err(problem)?;
        Ok(Some(RecordingSummary {
            rows: Some(span.rows),
            first_ms: span.first_ms,
            last_ms: span.last_ms,
            ..summary
        }))
    }

    fn rows(&self, id: &str, range: RowRange) -> Result<Option<Vec<RecordingRow>>, String> {
        let Some(path) = self.path(id)? else {
            return Ok(None);
        };
        let range = BatchRange {
            from: range.from,
            max_rows: range.max_rows,
            max_bytes: range.max_bytes,
            events_only: range.events_only,
        };
        let records = telechir_runtime::read_batch(path, range).map_err(problem)?;
        let rows = records.into_iter().map(|record| RecordingRow {
            row: record.seq,
            run: record.run,
            at_ms: record.at_ms,
            kind: record.kind.name().to_owned(),
            body: record.body,
        });
        Ok(Some(rows.collect()))
    }

    fn screenshot(&self, id: &str, digest: &str) -> Result<Option<SessionImage>, String> {
        let Some(path) = self.path(id)? else {
            return Ok(None);
        };
        let found = telechir_runtime::read_screenshot(path, digest).map_err(problem)?;
        Ok(found.map(|(media_type, bytes)| SessionImage {
            media_type: media_type.to_owned(),
            bytes,
        }))
    }

    fn report(&self, id: &str) -> Result<Option<String>, String> {
        let path = self.path(id)?;
        let page = path.map(|path| crate::report::render(&path)).transpose();
        page.map_err(problem)
    }
}

/// Recordings in folders of their own: the one that was named, and those of sessions that were seen open.
#[derive(Debug, Default)]
pub(crate) struct ViewedRecordings(Mutex<BTreeMap<String, PathBuf>>);

impl ViewedRecordings {
    /// Adds a recording by its folder. Returns its id: the folder's name, which has to be text.
    ///
    /// # Errors
    /// When it is no recording.
    pub(crate) fn add(&self, folder: &Path) -> Result<String, CliError> {
        let path = folder
            .canonicalize()
            .map_err(|e| CliError::message(format!("failed to read {}: {e}", folder.display())))?;
        let (found, id) = split(&path)
            .ok_or_else(|| CliError::message(format!("{} has no name", path.display())))?;
        match found.describe(&id) {
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(CliError::message(format!(
                    "{} is no recording: expected the folder that was given to --record",
                    path.display()
                )));
            }
            Err(why) => return Err(CliError::message(why)),
        }
        self.lock().insert(id.clone(), path);
        Ok(id)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `read` finds in the recording with this id.
    fn of<T>(
        &self,
        id: &str,
        read: impl FnOnce(&ServedRecordings, &str) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, String> {
        let path = self.lock().get(id).cloned();
        match path.as_deref().and_then(split) {
            Some((folder, name)) => read(&folder, &name),
            None => Ok(None),
        }
    }
}

/// The folder of a recording, and its name there.
fn split(path: &Path) -> Option<(ServedRecordings, String)> {
    let name = path.file_name()?.to_str()?;
    Some((ServedRecordings(path.parent()?.to_owned()), name.to_owned()))
}

impl RecordingStore for ViewedRecordings {
    fn session_found(&self, session: &str, config: &Value) {
        let folder = config["record"].as_str().map(PathBuf::from);
        if let Some(folder) = folder.filter(|folder| folder.is_absolute()) {
            self.lock().insert(session.to_owned(), folder);
        }
    }

    fn list(&self) -> Result<Vec<RecordingSummary>, String> {
        let ids: Vec<String> = self.lock().keys().cloned().collect();
        let mut found = Vec::new();
        for id in ids {
            let own = self.of(&id, |folder, name| folder.summary(name))?;
            found.extend(own.map(|own| RecordingSummary { id, ..own }));
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.age_seconds));
        Ok(found)
    }

    fn describe(&self, id: &str) -> Result<Option<RecordingSummary>, String> {
        let found = self.of(id, RecordingStore::describe)?;
        Ok(found.map(|found| RecordingSummary {
            id: id.to_owned(),
            ..found
        }))
    }

    fn rows(&self, id: &str, range: RowRange) -> Result<Option<Vec<RecordingRow>>, String> {
        self.of(id, |folder, name| folder.rows(name, range))
    }

    fn screenshot(&self, id: &str, digest: &str) -> Result<Option<SessionImage>, String> {
        self.of(id, |folder, name| folder.screenshot(name, digest))
    }

    fn report(&self, id: &str) -> Result<Option<String>, String> {
        self.of(id, RecordingStore::report)
    }
}

fn summary(recording: &Recording) -> RecordingSummary {
    RecordingSummary {
        id: recording.name.to_string_lossy().into_owned(),
        bytes: recording.bytes,
        age_seconds: recording.age.as_secs(),
        in_use: recording.lock.is_none(),
        rows: None,
        first_ms: None,
        last_ms: None,
    }
}

fn text(error: CliError) -> String {
    error.text().to_owned()
}

fn problem(error: JournalError) -> String {
    format!("failed to {}", chain(&error))
}
