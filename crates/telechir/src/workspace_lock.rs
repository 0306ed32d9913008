//! One live session per workspace: records of the workspaces in use, each locked by its session.
//!
//! A record is a file outside every workspace, named after the workspace's device and inode. The
//! kernel releases its lock when the session and its guardian have ended, however they ended. What
//! a record says of a session that is gone still tells whose workspace it was.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use telechir_process::confinement;
use telechir_process::tree::{self, Location, Owner};
use telechir_process::{Identity, is_root, make_private_dir, make_private_file};
use tokio::time::{Instant, sleep};

use crate::error::CliError;
use crate::session_dir::{is_claimed, make_locks_folder};
use crate::socket_folder;

/// The records of root's sessions.
const ROOT_RECORDS: &str = "/run/telechir/workspaces";
/// The name of the records' folder beside the sockets of a user's sessions; no session has it.
const RECORDS: &str = ".workspaces";
/// The file that is locked while records are read and made.
const GATE: &str = "gate";
/// A program that is just being started, or ended, still has copies of a released lock.
const LOCK_INHERITED_FOR: Duration = Duration::from_millis(200);
/// After a session's process was killed, its guardian cleans up for about this long.
const CLEANUP_TIME: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// A workspace that this session has locked.
#[derive(Debug)]
pub(crate) struct WorkspaceLock {
    record: PathBuf,
    file: File,
    workspace: PathBuf,
    holder: String,
    ids: Vec<(u64, u64)>,
    /// Who had it before any session.
    owner: Owner,
    session_uid: Option<u32>,
    is_shared: bool,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    pid: u32,
    holder: String,
    workspace: PathBuf,
    owner_uid: u32,
    owner_gid: u32,
    session_uid: Option<u32>,
    /// Device and inode of the workspace and of each folder above it.
    ids: Vec<(u64, u64)>,
}

impl WorkspaceLock {
    /// Locks a folder for a session that `holder` names. With `is_shared`, other sessions may have
    /// locked it, too.
    pub(crate) async fn take(
        workspace: &Path,
        holder: &str,
        is_shared: bool,
    ) -> Result<Self, CliError> {
        let started = Instant::now();
        loop {
            let other = match Self::try_take(workspace, holder, is_shared)? {
                Ok(lock) => {
                    lock.wait_for_last_session().await;
                    return Ok(lock);
                }
                Err(other) => other,
            };
            let is_ending = !Path::new("/proc").join(other.pid.to_string()).exists();
            let patience = if is_ending {
                CLEANUP_TIME
            } else {
                LOCK_INHERITED_FOR
            };
            if started.elapsed() >= patience {
                return Err(in_use(workspace, &other));
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Gives the programs of a session that is gone without giving the workspace back a moment to
    /// end: until then they can change it. Another session may have their user id by now.
    async fn wait_for_last_session(&self) {
        let started = Instant::now();
        while started.elapsed() < LOCK_INHERITED_FOR
            && owner(&self.workspace)
                .is_some_and(|now| self.belongs_to_last_session(now) && is_claimed(now))
        {
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Whether a session that is gone left the workspace to this user.
    fn belongs_to_last_session(&self, present: u32) -> bool {
        present != self.owner.uid
    }

    /// The lock, or the record of a session that uses the folder.
    fn try_take(
        workspace: &Path,
        holder: &str,
        is_shared: bool,
    ) -> Result<Result<Self, Record>, CliError> {
        let failed = |error: io::Error| {
            CliError::message(format!(
                "failed to lock the workspace {}: {error}",
                workspace.display()
            ))
        };
        let ids = Location::of(workspace)
            .and_then(|location| location.with_parents())
            .map_err(failed)?;
        let present = tree::open_folder(workspace)
            .and_then(Owner::of)
            .map_err(failed)?;
        let folder = records_folder()?;
        let _gate = gate(&folder).map_err(failed)?;
        let (live, gone) = records(&folder).map_err(failed)?;
        let mut live: Vec<Record> = live
            .into_iter()
            .filter(|other| other.overlaps(&ids))
            .collect();
        live.extend(records_of_user(present.uid).filter(|other| other.overlaps(&ids)));
        let mut known = live.iter().chain(&gone);
        let before = known
            .find(|other| {
                other.ids.first() == ids.first() && other.session_uid == Some(present.uid)
            })
            .map_or(present, Record::owner);
        let joins = !live.is_empty();
        if let Some(other) = live.pop()
            && !is_shared
        {
            return Ok(Err(other));
        }
        let (device, inode) = ids.first().copied().unwrap_or_default();
        let record = folder.join(format!("{device}-{inode}-{}", std::process::id()));
        let _of_a_reused_pid = fs::remove_file(&record);
        let file = make_private_file(&record).map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed(error.into()))?;
        let mut lock = Self {
            record,
            file,
            workspace: workspace.to_owned(),
            holder: holder.to_owned(),
            ids,
            owner: before,
            session_uid: None,
            is_shared: joins,
        };
        lock.write().map_err(failed)?;
        Ok(Ok(lock))
    }

    /// Gives the workspace to the session's user until the guardian has ended. Files of another live
    /// session stay with that.
    pub(crate) fn lend(&mut self, identity: Identity) -> Result<(), CliError> {
        // The record comes first: if all our processes are killed, it tells whose workspace it was.
        self.session_uid = Some(identity.uid);
        self.write()?;
        let (workspace, owner) = (&self.workspace, self.owner);
        let borrowed = if self.is_shared {
            confinement::join_workspace(workspace, identity, owner)
        } else if owner.uid == identity.uid {
            // An earlier session's user has it, and nobody knows whose it was.
            Ok(())
        } else {
            self.refuse_foreign(identity)?;
            confinement::lend_workspace(workspace, identity, owner)
        };
        borrowed.map_err(|error| CliError::new(&error))
    }

    /// Refuses a workspace that belongs to the user of another live session, such as that session's
    /// private folder.
    fn refuse_foreign(&self, identity: Identity) -> Result<(), CliError> {
        let present = tree::open_folder(&self.workspace).and_then(Owner::of)?.uid;
        let is_foreign = present != identity.uid
            && !self.belongs_to_last_session(present)
            && is_claimed(present);
        if is_foreign {
            return Err(CliError::message(format!(
                "the workspace {} belongs to user {present} of another live session; choose another \
                 folder",
                self.workspace.display()
            )));
        }
        Ok(())
    }

    /// A descriptor of the lock, for the guardian: the workspace is free once that has ended.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    fn write(&mut self) -> io::Result<()> {
        let record = Record {
            pid: std::process::id(),
            holder: self.holder.clone(),
            workspace: self.workspace.clone(),
            owner_uid: self.owner.uid,
            owner_gid: self.owner.gid,
            session_uid: self.session_uid,
            ids: self.ids.clone(),
        };
        let mut file = &self.file;
        self.file.set_len(0)?;
        io::Seek::rewind(&mut file)?;
        file.write_all(&serde_json::to_vec(&record)?)
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        let is_returned = tree::open_folder(&self.workspace)
            .and_then(Owner::of)
            .map_or(true, |now| {
                Some(now.uid) != self.session_uid || now == self.owner
            });
        // Otherwise the next session learns from it whose workspace this is.
        if is_returned {
            let _stale_ones_are_removed_later = fs::remove_file(&self.record);
        }
    }
}

impl Record {
    fn owner(&self) -> Owner {
        Owner {
            uid: self.owner_uid,
            gid: self.owner_gid,
        }
    }

    /// Whether one of the workspaces is the other, or in the other.
    fn overlaps(&self, ids: &[(u64, u64)]) -> bool {
        let is_above = |one: &[(u64, u64)], other: &[(u64, u64)]| {
            one.first().is_some_and(|one| other.contains(one))
        };
        is_above(&self.ids, ids) || is_above(ids, &self.ids)
    }
}

/// The user that owns a folder, if it can be opened.
fn owner(folder: &Path) -> Option<u32> {
    let found = tree::open_folder(folder).and_then(Owner::of);
    found.ok().map(|owner| owner.uid)
}

fn in_use(workspace: &Path, other: &Record) -> CliError {
    let (holder, pid) = (&other.holder, other.pid);
    let close = holder.strip_prefix("session ").map_or_else(
        || "wait until it has ended".to_owned(),
        |name| format!("close it (telechir sessions close {name})"),
    );
    let path = if other.workspace == workspace {
        String::new()
    } else {
        format!(", whose workspace is {}", other.workspace.display())
    };
    CliError::message(format!(
        "the workspace {} is in use by {holder} (process {pid}){path}; {close}, choose another \
         folder, or pass --share-workspace to let both work in it",
        workspace.display()
    ))
}

/// The folder of this user's records.
fn records_folder() -> Result<PathBuf, CliError> {
    let folder = if is_root() {
        make_locks_folder()?;
        PathBuf::from(ROOT_RECORDS)
    } else {
        socket_folder::folder()?.join(RECORDS)
    };
    match make_private_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(CliError::message(
            format!("failed to create {}: {error}", folder.display()),
        )),
        _ => Ok(folder),
    }
}

/// Waits for other processes that read or make records, which takes milliseconds.
fn gate(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join(GATE))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// The records of live sessions, and those of sessions that are gone without giving their workspace
/// back. Removes all others.
fn records(folder: &Path) -> io::Result<(Vec<Record>, Vec<Record>)> {
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name() == GATE {
            continue;
        }
        let path = entry.path();
        let Some((record, is_live)) = read(&path) else {
            continue;
        };
        if is_live {
            live.push(record);
        } else if record.is_owed() {
            gone.push(record);
        } else {
            let _best_effort = fs::remove_file(&path);
        }
    }
    Ok((live, gone))
}

impl Record {
    /// Whether the workspace still belongs to the user of the session.
    fn is_owed(&self) -> bool {
        self.session_uid.is_some() && owner(&self.workspace) == self.session_uid
    }
}

/// The records of live sessions of another user. Root would take the files of that user's session.
fn records_of_user(uid: u32) -> impl Iterator<Item = Record> {
    let folders = [
        format!("/run/user/{uid}/telechir/{RECORDS}"),
        format!("/tmp/telechir-{uid}/{RECORDS}"),
    ];
    let folders = folders.into_iter().filter(move |_| is_root() && uid != 0);
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    entries
        .filter_map(|entry| read(&entry.path()))
        .filter_map(|(record, is_live)| is_live.then_some(record))
}

/// A record, and whether its session lives.
fn read(path: &Path) -> Option<(Record, bool)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let mut options = File::options();
    options.read(true).custom_flags(i32::try_from(flags).ok()?);
    let file = options.open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let is_live = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let record = serde_json::from_reader((&file).take(MAX_RECORD_BYTES)).ok()?;
    Some((record, is_live))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ids: &[(u64, u64)]) -> Record {
        Record {
            pid: 7,
            holder: "session work".to_owned(),
            workspace: PathBuf::from("/srv/work"),
            owner_uid: 0,
            owner_gid: 100,
            session_uid: Some(61_000),
            ids: ids.to_vec(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record");
        for workspace in ["/srv/work", "/srv/it's \"mine\"\n\\"] {
            let written = Record {
                workspace: PathBuf::from(workspace),
                ..record(&[(1, 2), (1, u64::MAX)])
            };
            fs::write(&path, serde_json::to_vec(&written).expect("JSON")).expect("a file");
            assert_eq!(read(&path), Some((written, false)));
        }
        fs::write(&path, "7\nx\n").expect("a file");
        assert_eq!(read(&path), None);
    }

    #[test]
    fn a_folder_above_or_below_another_overlaps_with_it() {
        let other = record(&[(1, 2), (1, 1)]);
        for (ids, overlaps) in [
            (vec![(1, 2), (1, 1)], true),
            (vec![(1, 3), (1, 2), (1, 1)], true),
            (vec![(1, 1)], true),
            (vec![(1, 3), (1, 1)], false),
        ] {
            assert_eq!(other.overlaps(&ids), overlaps, "{ids:?}");
        }
    }
}
