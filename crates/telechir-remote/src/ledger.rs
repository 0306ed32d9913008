//! What was rented and not yet released, in a folder of the user: no key and no address is in it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mark::RentalMark;

/// A creation that was asked for may still take effect for so long.
const IN_FLIGHT: Duration = Duration::from_secs(120);

/// Why what is rented cannot be recorded. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The folder or a file in it cannot be used.
    #[error("record what is rented in {}: {source}", folder.display())]
    Io {
        /// Where the entries are, a file each.
        folder: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// As many sessions as allowed are rented.
    #[error(
        "rent another browser: {rented} are rented by this user, and --max-rented allows {limit}; \
         close one, see `telechir sessions list`"
    )]
    Full {
        /// How many the user rents now.
        rented: usize,
        /// How many the user may rent at a time.
        limit: usize,
    },
}

/// What is known of a rented session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RentedRecord {
    /// Name of the service.
    pub service: String,
    /// Base URL of its API.
    pub base: String,
    /// The region of a service that has its regions in its base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The id that we gave it.
    pub mark: RentalMark,
    /// The service's id; none until it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The request that creates it.
    pub creation: Value,
    /// When it was asked for, in seconds since 1970.
    pub requested_at: u64,
    /// Its time in seconds.
    pub timeout_seconds: u64,
    /// Who uses it, such as `session work`.
    pub owner: String,
}

impl RentedRecord {
    /// Whether a creation without an answer may still take effect.
    pub fn is_in_flight(&self) -> bool {
        self.id.is_none() && now() < self.requested_at.saturating_add(IN_FLIGHT.as_secs())
    }

    /// Whether the service has certainly ended it by itself, if its time is never extended.
    pub fn is_over(&self) -> bool {
        let end = self.requested_at.saturating_add(self.timeout_seconds);
        now() > end.saturating_add(IN_FLIGHT.as_secs())
    }

    /// The seconds until its time is over.
    pub fn seconds_left(&self) -> u64 {
        let end = self.requested_at.saturating_add(self.timeout_seconds);
        end.saturating_sub(now())
    }
}

/// The folder of what is rented.
#[derive(Clone, Debug)]
pub struct Ledger {
    folder: PathBuf,
}

/// The record of a rented session. The process that has it holds its lock, so that others see
/// whether somebody still uses the session.
#[derive(Debug)]
pub struct RentedEntry {
    folder: PathBuf,
    file: File,
    path: PathBuf,
    record: RentedRecord,
}

impl Ledger {
    /// The ledger in this folder, which is made with the first entry.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Records a session that is about to be created; durable when this returns.
    ///
    /// # Errors
    /// If `limit` sessions are rented, or the folder cannot be written.
    pub fn add(&self, record: RentedRecord, limit: usize) -> Result<RentedEntry, LedgerError> {
        let failed = |source| self.failed(source);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.folder).map_err(failed)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(0o700)).map_err(failed)?;
        let _alone = self.lock().map_err(failed)?;
        // A request without an answer, which nobody waits for, is not known to have rented anything.
        let rented = self.all().into_iter();
        let rented = rented.filter(|(record, is_used)| *is_used || record.id.is_some());
        let rented = rented.count();
        if rented >= limit {
            return Err(LedgerError::Full { rented, limit });
        }
        let path = self.folder.join(format!("{}.json", record.mark));
        let file = OpenOptions::new()
            .create_new(true)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| self.failed(error.into()))?;
        let mut entry = RentedEntry {
            folder: self.folder.clone(),
            file,
            path,
            record,
        };
        entry.write().map_err(failed)?;
        let folder = File::open(&self.folder).map_err(failed)?;
        folder.sync_all().map_err(failed)?;
        Ok(entry)
    }

    /// The entries whose process has ended without a release.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn left(&self) -> Result<Vec<RentedEntry>, LedgerError> {
        if !self.folder.is_dir() {
            return Ok(Vec::new());
        }
        let _alone = self.lock().map_err(|source| self.failed(source))?;
        let paths = self.paths().map_err(|source| self.failed(source))?;
        Ok(paths
            .into_iter()
            .filter_map(|path| self.take(path))
            .collect())
    }

    /// Everything that is rented, and whether a process still uses it.
    pub fn all(&self) -> Vec<(RentedRecord, bool)> {
        let paths = self.paths().unwrap_or_default().into_iter();
        let read = paths.filter_map(|path| {
            let mut file = File::open(path).ok()?;
            let is_used = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
            Some((read(&mut file)?, is_used))
        });
        read.collect()
    }

    fn take(&self, path: PathBuf) -> Option<RentedEntry> {
        let open = OpenOptions::new().read(true).write(true).open(&path);
        let mut file = open.ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let record = read(&mut file)?;
        Some(RentedEntry {
            folder: self.folder.clone(),
            file,
            path,
            record,
        })
    }

    fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_record = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        Ok(paths.filter(is_record).collect())
    }

    fn failed(&self, source: io::Error) -> LedgerError {
        LedgerError::Io {
            folder: self.folder.clone(),
            source,
        }
    }
}

impl RentedEntry {
    /// What a later process needs to release the session.
    pub fn record(&self) -> &RentedRecord {
        &self.record
    }

    /// Records the service's id.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn answered(&mut self, id: &str) -> Result<(), LedgerError> {
        self.record.id = Some(id.to_owned());
        self.saved()
    }

    /// Records that the session's time began again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn extended(&mut self) -> Result<(), LedgerError> {
        self.record.requested_at = now();
        self.saved()
    }

    /// Removes the entry: the session was released, or never was.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn remove(self) -> Result<(), LedgerError> {
        let removed = fs::remove_file(&self.path);
        removed.map_err(|source| failed_in(&self.folder, source))
    }

    fn saved(&mut self) -> Result<(), LedgerError> {
        let written = self.write();
        written.map_err(|source| failed_in(&self.folder, source))
    }

    /// Written in place, because the lock belongs to the file. The text only grows longer until its
    /// end is cut, so a crash in between leaves what can be read or an entry without an id.
    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)?;
        self.file
            .set_len(u64::try_from(text.len()).unwrap_or_default())?;
        self.file.sync_all()
    }
}

impl RentedRecord {
    /// The time now, as records have it.
    pub fn now() -> u64 {
        now()
    }
}

fn failed_in(folder: &Path, source: io::Error) -> LedgerError {
    LedgerError::Io {
        folder: folder.to_owned(),
        source,
    }
}

fn read(file: &mut File) -> Option<RentedRecord> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_string(&mut text).ok()?;
    let record: RentedRecord = serde_json::from_str(&text).ok()?;
    record.mark.is_valid().then_some(record)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RentedRecord {
        RentedRecord {
            service: "steel".to_owned(),
            base: "https://api.steel.dev".to_owned(),
            region: None,
            mark: RentalMark::unique(),
            id: None,
            creation: Value::Null,
            requested_at: now(),
            timeout_seconds: 900,
            owner: "a test".to_owned(),
        }
    }

    #[test]
    fn an_entry_is_left_only_when_its_process_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path().join("a/b"));
        assert_eq!(ledger.left().expect("a list").len(), 0);
        let mut entry = ledger.add(record(), 2).expect("an entry");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&entry.path), 0o600);
        assert_eq!(mode(&folder.path().join("a/b")), 0o700);
        assert_eq!(ledger.left().expect("a list").len(), 0, "it is in use");
        entry.answered("s-1").expect("a write");
        let expected = entry.record().clone();
        assert_eq!(ledger.all(), [(expected.clone(), true)]);
        // As when its process is killed.
        drop(entry);
        assert_eq!(ledger.all(), [(expected.clone(), false)]);
        let left = ledger.left().expect("a list").pop().expect("an entry");
        assert_eq!(left.record(), &expected);
        left.remove().expect("removed");
        assert_eq!(ledger.all(), []);
    }

    #[test]
    fn no_more_are_rented_than_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path());
        let first = ledger.add(record(), 1).expect("an entry");
        let error = ledger.add(record(), 1).expect_err("full").to_string();
        assert!(error.contains("--max-rented allows 1"), "{error}");
        first.remove().expect("removed");
        ledger.add(record(), 1).expect("an entry");
    }

    #[test]
    fn a_damaged_or_foreign_file_is_no_entry() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path());
        for (name, text) in [("a.json", "{"), ("b.json", ""), ("c.txt", "x")] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        assert_eq!(ledger.left().expect("a list").len(), 0);
        assert_eq!(ledger.all(), []);
    }
}
