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

/// What was rented and released is kept for so long, in which minutes are counted.
const USAGE_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// The file of what was rented and released, beside the entries.
const USAGE_FILE: &str = "usage.jsonl";
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
        "rent another browser: {rented} are rented by this user, and --max-rented or the policy allows \
         {limit}; close one, see `telechir sessions list`"
    )]
    Full {
        /// How many the user rents now.
        rented: usize,
        /// How many the user may rent at a time.
        limit: usize,
    },
    /// The time that may be rented in 24 hours does not suffice.
    #[error(
        "rent a browser for {wanted} s: {left} s are left of the {limit} minutes in 24 hours that \
         --max-rented-minutes or the policy allows; {used} s were used, {reserved} s belong to what \
         is rented now"
    )]
    TimeUsedUp {
        /// The limit in minutes.
        limit: u64,
        /// Seconds of the last 24 hours in which a browser was rented, added up.
        used: u64,
        /// Seconds for which rented browsers may still run.
        reserved: u64,
        /// Seconds that may still be rented.
        left: u64,
        /// Seconds that were asked for.
        wanted: u64,
    },
}

/// How much may be rented by all sessions of the user together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RentalLimits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Minutes in 24 hours, with those that rented sessions may still run; absent without a limit.
    pub minutes: Option<u64>,
}

/// A session that was rented and released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FinishedRental {
    mark: RentalMark,
    service: String,
    /// When it was asked for, in seconds since 1970.
    from: u64,
    until: u64,
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
    /// When it was asked for, or its time began again, in seconds since 1970.
    pub requested_at: u64,
    /// When it was asked for, in seconds since 1970.
    #[serde(default)]
    pub rented_at: u64,
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
        now() > self.end().saturating_add(IN_FLIGHT.as_secs())
    }

    /// When it ends by itself, unless its time begins again.
    fn end(&self) -> u64 {
        self.requested_at.saturating_add(self.timeout_seconds)
    }

    /// Since when it is paid for.
    fn begin(&self) -> u64 {
        match self.rented_at {
            0 => self.requested_at,
            at => at,
        }
    }

    /// The seconds until its time is over.
    pub fn seconds_left(&self) -> u64 {
        self.end().saturating_sub(now())
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
    /// If it exceeds a limit, or the folder cannot be written.
    pub fn add(
        &self,
        record: RentedRecord,
        limits: RentalLimits,
    ) -> Result<RentedEntry, LedgerError> {
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
        if rented >= limits.sessions {
            let limit = limits.sessions;
            return Err(LedgerError::Full { rented, limit });
        }
        self.check_time(&record, limits)?;
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

    /// Begins the time of a rented session again, before its service is asked to.
    ///
    /// # Errors
    /// If it exceeds a limit, or the file cannot be written.
    pub fn extend(&self, entry: &mut RentedEntry, limits: RentalLimits) -> Result<(), LedgerError> {
        let _alone = self.lock().map_err(|source| self.failed(source))?;
        self.check_time(&entry.record, limits)?;
        entry.record.requested_at = now();
        entry.saved()
    }

    /// Checks that this session may run for its whole time from now on.
    fn check_time(&self, record: &RentedRecord, limits: RentalLimits) -> Result<(), LedgerError> {
        let Some(limit) = limits.minutes else {
            return Ok(());
        };
        let now = now();
        let rows = self.usage().map_err(|source| self.failed(source))?;
        let finished: u64 = rows
            .iter()
            .map(|row| counted(row.from, row.until, now))
            .sum();
        let others = self.all().into_iter().filter(|(other, is_used)| {
            other.mark != record.mark && (*is_used || other.id.is_some())
        });
        let (mut used, mut reserved) = (finished, 0);
        for (other, _) in others {
            used += counted(other.begin(), now.min(other.end()), now);
            reserved += other.end().saturating_sub(now);
        }
        // Of a session that is extended; a new one has used nothing.
        used += counted(record.begin(), now.min(record.end()), now);
        let wanted = record.timeout_seconds;
        let left = limit.saturating_mul(60).saturating_sub(used + reserved);
        match wanted > left {
            true => Err(LedgerError::TimeUsedUp {
                limit,
                used,
                reserved,
                left,
                wanted,
            }),
            false => Ok(()),
        }
    }

    /// What was rented and released in the last 24 hours. A line that is damaged counts for nothing.
    fn usage(&self) -> io::Result<Vec<FinishedRental>> {
        usage_in(&self.folder)
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
        lock_in(&self.folder)
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

    /// Records that the session's time runs since then after all: it was not extended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn not_extended(&mut self, requested_at: u64) -> Result<(), LedgerError> {
        self.record.requested_at = requested_at;
        self.saved()
    }

    /// Removes the entry: the session was released, or never was. Its time counts for a day.
    ///
    /// # Errors
    /// If the file cannot be removed, or its time cannot be recorded.
    pub fn remove(self) -> Result<(), LedgerError> {
        if self.record.id.is_some() {
            let recorded = self.record_usage();
            recorded.map_err(|source| failed_in(&self.folder, source))?;
        }
        let removed = fs::remove_file(&self.path);
        removed.map_err(|source| failed_in(&self.folder, source))
    }

    /// Adds its time to what was used, once.
    fn record_usage(&self) -> io::Result<()> {
        let _alone = lock_in(&self.folder)?;
        let mut rows = usage_in(&self.folder)?;
        rows.retain(|row| row.mark != self.record.mark);
        let now = now();
        rows.push(FinishedRental {
            mark: self.record.mark.clone(),
            service: self.record.service.clone(),
            from: self.record.begin(),
            until: now.min(self.record.end()),
        });
        let mut text = String::new();
        for row in &rows {
            text.push_str(&serde_json::to_string(row)?);
            text.push('\n');
        }
        let new = self.folder.join(format!("{USAGE_FILE}.new"));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(USAGE_FILE))
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

fn lock_in(folder: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join("lock"))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn usage_in(folder: &Path) -> io::Result<Vec<FinishedRental>> {
    let text = match fs::read_to_string(folder.join(USAGE_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let now = now();
    let is_recent = |row: &FinishedRental| counted(row.from, row.until, now) > 0;
    Ok(rows.filter(is_recent).collect())
}

/// The seconds of a time that lie in the last 24 hours.
fn counted(from: u64, until: u64, now: u64) -> u64 {
    let from = from.max(now.saturating_sub(USAGE_WINDOW.as_secs()));
    until.min(now).saturating_sub(from)
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
            rented_at: now(),
            timeout_seconds: 900,
            owner: "a test".to_owned(),
        }
    }

    fn at_most(sessions: usize) -> RentalLimits {
        RentalLimits {
            sessions,
            minutes: None,
        }
    }

    #[test]
    fn an_entry_is_left_only_when_its_process_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path().join("a/b"));
        assert_eq!(ledger.left().expect("a list").len(), 0);
        let mut entry = ledger.add(record(), at_most(2)).expect("an entry");
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
        let first = ledger.add(record(), at_most(1)).expect("an entry");
        let error = ledger
            .add(record(), at_most(1))
            .expect_err("full")
            .to_string();
        assert!(error.contains("allows 1; close one"), "{error}");
        first.remove().expect("removed");
        ledger.add(record(), at_most(1)).expect("an entry");
    }

    #[test]
    fn no_more_time_is_rented_than_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path());
        let limits = RentalLimits {
            sessions: 9,
            minutes: Some(20),
        };
        let ago = |seconds: u64, timeout: u64| RentedRecord {
            requested_at: now() - seconds,
            rented_at: now() - seconds,
            timeout_seconds: timeout,
            ..record()
        };
        let finished = |record: RentedRecord, id: Option<&str>| {
            let mut entry = ledger.add(record, at_most(9)).expect("an entry");
            if let Some(id) = id {
                entry.answered(id).expect("a write");
            }
            entry.remove().expect("removed");
        };
        // Five minutes; one that was never rented, and one of the day before count for nothing.
        finished(ago(300, 900), Some("s-1"));
        finished(ago(300, 900), None);
        finished(ago(100_000, 900), Some("s-2"));
        let error = ledger.add(record(), limits).map(|_| ());
        assert!(error.is_ok(), "{error:?}");
        let mut entry = ledger.add(ago(0, 600), limits).expect("an entry");
        entry.answered("s-3").expect("a write");
        let error = ledger.add(ago(0, 900), limits).expect_err("too long");
        let LedgerError::TimeUsedUp {
            used, left, wanted, ..
        } = error
        else {
            panic!("{error}");
        };
        // Seconds pass meanwhile.
        assert!((300..330).contains(&used), "{used}");
        assert!((270..=300).contains(&left), "{left}");
        assert_eq!(wanted, 900);
        ledger.extend(&mut entry, limits).expect("its own time");
        entry.record.rented_at -= 601;
        let error = ledger.extend(&mut entry, limits).expect_err("used up");
        assert!(error.to_string().contains("of the 20 minutes"), "{error}");
        // What is released early leaves its time to others.
        entry.record.rented_at = now();
        entry.remove().expect("removed");
        ledger.add(record(), limits).expect("an entry");
    }

    #[test]
    fn a_damaged_line_of_what_was_used_counts_for_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::new(folder.path());
        fs::write(folder.path().join(USAGE_FILE), "{\nx\n").expect("a file");
        let limits = RentalLimits {
            sessions: 1,
            minutes: Some(15),
        };
        ledger.add(record(), limits).expect("an entry");
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
