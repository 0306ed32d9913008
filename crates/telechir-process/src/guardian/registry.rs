//! Registers with the guardian what it must clean up: programs, files, cgroups and hints.
//!
//! Knows the socket and the state, not how a guardian is started.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;
use rustix::process::Pid;

use super::link::GuardianSocket;
use super::state::{BorrowedTree, CleanupChange, CleanupState, OwnedFile};
use super::{GRACEFUL, GuardianError, MARKER, processes};
use crate::Identity;
use crate::tree::Owner;

/// The session of this process, if it has a guardian.
static CURRENT: Mutex<Option<SessionLink>> = Mutex::new(None);

/// The connection to the guardian, and the marker that every started program gets.
#[derive(Clone, Debug)]
pub(crate) struct SessionLink {
    pub(super) link: Arc<GuardianSocket>,
    pub(super) state: Arc<Mutex<CleanupState>>,
    pub(super) token: Arc<str>,
}

impl SessionLink {
    pub(crate) fn marker(&self) -> (&'static str, &str) {
        (MARKER, &self.token)
    }

    pub(crate) fn link(&self) -> Arc<GuardianSocket> {
        Arc::clone(&self.link)
    }
}

/// The entry in [`CURRENT`]; removed on drop, also when starting the guardian is cancelled.
#[derive(Debug)]
pub(super) struct SessionRegistration(Arc<str>);

/// The prefix that names of the session's folders need for the guardian to remove them. Without a
/// guardian, a prefix common to all sessions.
pub fn folder_prefix() -> String {
    let state = current().map(|session_link| lock_state(&session_link.state).prefix());
    state.unwrap_or_else(|| "telechir-".to_owned())
}

/// Registers a file with the guardian: at the end it removes `companion` and then `name`, if
/// `name` is still the file that `temporary` is now, of the same size. Call this before linking the
/// file to `name`, so that the file is registered from the first moment.
///
/// # Errors
/// If `temporary` does not exist.
pub fn register_file(name: &Path, temporary: &Path, companion: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(temporary)?;
    let file = OwnedFile {
        device: found.dev(),
        inode: found.ino(),
        bytes: if found.is_file() { found.len() } else { 0 },
        companion: companion.to_owned(),
    };
    send_change(CleanupChange::AddFile(name.to_owned(), file));
    Ok(())
}

/// Removes a file from the guardian's list.
pub fn unregister_file(name: &Path) {
    send_change(CleanupChange::RemoveFile(name.to_owned()));
}

/// Registers a folder whose files are given to the session's user: at the end the guardian gives
/// them to `owner`. Call this before the first file changes its owner. Without a guardian nothing
/// is given back. Returns whether the folder is new: a second registration changes nothing.
pub(crate) fn register_tree(
    folder: &Path,
    top: impl AsFd,
    session: Identity,
    owner: Owner,
) -> io::Result<bool> {
    let found = fstat(top)?;
    let tree = BorrowedTree {
        device: found.st_dev,
        inode: found.st_ino,
        session,
        owner,
    };
    let is_known = current().is_some_and(|session_link| {
        let state = lock_state(&session_link.state);
        state
            .trees
            .get(folder)
            .is_some_and(|known| (known.device, known.inode) == (tree.device, tree.inode))
    });
    if !is_known {
        send_change(CleanupChange::AddTree(folder.to_owned(), tree));
    }
    Ok(!is_known)
}

/// Whether a folder was given to the session's user, which the guardian undoes at the end.
pub(super) fn has_borrowed_trees(session_link: &SessionLink) -> bool {
    !lock_state(&session_link.state).trees.is_empty()
}

/// Registers a cgroup with the guardian by its folder: at the end its members are killed and the
/// folder is removed. Call this before creating the folder.
pub(crate) fn register_cgroup(folder: &Path) {
    send_change(CleanupChange::AddCgroup(folder.to_owned()));
}

/// Removes a cgroup from the guardian's list.
pub(crate) fn unregister_cgroup(folder: &Path) {
    send_change(CleanupChange::RemoveCgroup(folder.to_owned()));
}

/// Gives a program a grace period in which it can exit by itself after us.
pub(crate) fn ends_gracefully(pid: Pid) {
    let pid = pid.as_raw_nonzero().get();
    if current().is_some()
        && let Some(start_time) = processes::start_time(pid)
    {
        set_hint(&format!("{GRACEFUL}{pid}"), &start_time.to_string());
    }
}

/// Sets a hint that the guardian's cleanup function gets. Must not be secret: the guardian's
/// memory is not protected.
pub fn set_hint(key: &str, value: &str) {
    send_change(CleanupChange::SetHint(key.to_owned(), value.to_owned()));
}

/// Removes a hint; does nothing if there is none, or no guardian.
pub fn clear_hint(key: &str) {
    send_change(CleanupChange::ClearHint(key.to_owned()));
}

/// The session to which newly started programs belong.
pub(crate) fn current() -> Option<SessionLink> {
    current_lock().clone()
}

/// Whether this process has a guardian.
pub(crate) fn has_guardian() -> bool {
    current_lock().is_some()
}

/// Records a running program for the next guardian; the program itself notified the current one.
pub(crate) fn process_started(pid: i32) {
    if current().is_some()
        && let Some(start_time) = processes::start_time(pid)
    {
        send_change(CleanupChange::Started(pid, start_time));
    }
}

/// Removes a reaped program, whose pid can be reused from now on.
pub(crate) fn process_ended(pid: i32) {
    send_change(CleanupChange::Ended(pid));
    clear_hint(&format!("{GRACEFUL}{pid}"));
}

fn send_change(change: CleanupChange) {
    let current = current_lock();
    if let Some(session_link) = current.as_ref() {
        session_link.link.send_message(&change.message());
        lock_state(&session_link.state).apply(change);
    }
}

impl SessionRegistration {
    pub(super) fn register(session_link: &SessionLink) -> Result<Self, GuardianError> {
        let mut current = current_lock();
        if current.is_some() {
            return Err(GuardianError::Second);
        }
        *current = Some(session_link.clone());
        Ok(Self(Arc::clone(&session_link.token)))
    }

    /// Closes the socket, which makes the guardian clean up. Returns the session, if it was still
    /// open.
    pub(super) fn end(&self) -> Option<SessionLink> {
        let session_link = current_lock().take_if(|session_link| session_link.token == self.0);
        if let Some(session_link) = &session_link {
            session_link.link.end();
        }
        session_link
    }
}

impl Drop for SessionRegistration {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether this session has ended.
pub(super) fn has_ended(session_link: &SessionLink) -> bool {
    let current = current_lock();
    current
        .as_ref()
        .is_none_or(|now| now.token != session_link.token)
}

pub(super) fn current_lock() -> MutexGuard<'static, Option<SessionLink>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn lock_state(state: &Mutex<CleanupState>) -> MutexGuard<'_, CleanupState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
