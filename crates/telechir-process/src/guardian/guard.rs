//! The session's side: sends changes to the guardian and restarts it if it exits before us.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::link::GuardianSocket;
use super::state::{CleanupChange, CleanupState, OwnedFile};
use super::{CleanupScope, GRACEFUL, GuardianError, MARKER, processes};
use crate::spawner::{start, start_and_wait};
use crate::{Child, Spawn, Stdio};

/// Longer than a cleanup takes; after that the guardian is considered hung.
const MAX_CLEANUP_WAIT: Duration = Duration::from_secs(5);
/// Guardians that are restarted before giving up.
const MAX_RESTARTS: u32 = 20;

/// The session of this process, if it has a guardian.
static CURRENT: Mutex<Option<SessionLink>> = Mutex::new(None);

/// The connection to the guardian, and the marker that every started program gets.
#[derive(Clone, Debug)]
pub(crate) struct SessionLink {
    link: Arc<GuardianSocket>,
    state: Arc<Mutex<CleanupState>>,
    token: Arc<str>,
}

impl SessionLink {
    pub(crate) fn marker(&self) -> (&'static str, &str) {
        (MARKER, &self.token)
    }

    pub(crate) fn link(&self) -> Arc<GuardianSocket> {
        Arc::clone(&self.link)
    }
}

/// Handle of this process's guardian. When it is ended or dropped, the guardian cleans up, and
/// this waits for it.
#[derive(Debug)]
pub struct Guardian {
    registration: SessionRegistration,
    done: Receiver<bool>,
}

/// The entry in [`CURRENT`]; removed on drop, also when starting the guardian is cancelled.
#[derive(Debug)]
struct SessionRegistration(Arc<str>);

impl Guardian {
    /// Starts `program` as the guardian: it must call `run_guardian` and gets
    /// the socket as its standard input. Call this before starting any program to be cleaned up.
    ///
    /// `lost` is called on a separate thread when a guardian exits before us, with the result of
    /// starting a new one.
    ///
    /// # Errors
    /// If the guardian cannot be started, or this process already has one.
    pub async fn start(
        program: impl Fn() -> Spawn + Send + 'static,
        scope: CleanupScope,
        lost: impl Fn(Result<(), GuardianError>) + Send + 'static,
    ) -> Result<Self, GuardianError> {
        let token = random_token().map_err(GuardianError::Socket)?;
        let state = CleanupState {
            token: token.clone(),
            owner: rustix::process::getpid().as_raw_nonzero().get(),
            uid: scope.identity.map(|identity| identity.uid),
            roots: scope.roots,
            ..CleanupState::default()
        };
        let retained = scope.retained_fds;
        let (link, spawn) = prepare(&program, &state, &retained)?;
        let mut session_link = SessionLink {
            link: Arc::new(link),
            state: Arc::new(Mutex::new(state)),
            token: token.into(),
        };
        let registration = SessionRegistration::register(&session_link)?;
        let guardian = start_guardian(spawn).await?;
        let (report, done) = channel();
        let supervise = move || {
            let mut guardian = guardian;
            for _ in 0..MAX_RESTARTS {
                let cleaned = wait(&guardian);
                if has_ended(&session_link) {
                    let _nobody_waits = report.send(cleaned);
                    return;
                }
                match restart_guardian(&mut session_link, &program, &retained) {
                    Ok(another) => guardian = another,
                    Err(error) => return lost(Err(error)),
                }
                lost(Ok(()));
            }
            lost(Err(GuardianError::Again));
        };
        let thread = thread::Builder::new().name("telechir-guard".to_owned());
        thread.spawn(supervise).map_err(GuardianError::Thread)?;
        Ok(Self { registration, done })
    }

    /// Makes the guardian clean up and waits for it. Returns whether it removed everything.
    pub fn end(self) -> bool {
        self.finish()
    }

    fn finish(&self) -> bool {
        if !self.registration.end() {
            return true;
        }
        // A guardian that hangs or is gone removed nothing.
        self.done.recv_timeout(MAX_CLEANUP_WAIT).unwrap_or(false)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _nobody_waits = self.finish();
    }
}

/// The prefix that names of the session's folders need for the guardian to remove them. Without a
/// guardian, a prefix common to all sessions.
pub fn folder_prefix() -> String {
    let state = current().map(|session_link| lock_state(&session_link.state).prefix());
    state.unwrap_or_else(|| "telechir-".to_owned())
}

/// Registers a file with the guardian: at the end it removes `companion` and then `name`, if
/// `name` is still the file that `temporary` is now. Call this before linking the file to `name`,
/// so that the file is registered from the first moment.
///
/// # Errors
/// If `temporary` does not exist.
pub fn register_file(name: &Path, temporary: &Path, companion: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(temporary)?;
    let file = OwnedFile {
        device: found.dev(),
        inode: found.ino(),
        companion: companion.to_owned(),
    };
    send_change(CleanupChange::AddFile(name.to_owned(), file));
    Ok(())
}

/// Removes a file from the guardian's list.
pub fn unregister_file(name: &Path) {
    send_change(CleanupChange::RemoveFile(name.to_owned()));
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
    fn register(session_link: &SessionLink) -> Result<Self, GuardianError> {
        let mut current = current_lock();
        if current.is_some() {
            return Err(GuardianError::Second);
        }
        *current = Some(session_link.clone());
        Ok(Self(Arc::clone(&session_link.token)))
    }

    /// Closes the socket, which makes the guardian clean up. Returns whether it was still open.
    fn end(&self) -> bool {
        let session_link = current_lock().take_if(|session_link| session_link.token == self.0);
        if let Some(session_link) = &session_link {
            session_link.link.end();
        }
        session_link.is_some()
    }
}

impl Drop for SessionRegistration {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether this session has ended.
fn has_ended(session_link: &SessionLink) -> bool {
    let current = current_lock();
    current
        .as_ref()
        .is_none_or(|now| now.token != session_link.token)
}

/// Creates the socket and queues the complete state in it before the guardian starts.
fn prepare(
    program: &impl Fn() -> Spawn,
    state: &CleanupState,
    retained: &[OwnedFd],
) -> Result<(GuardianSocket, Spawn), GuardianError> {
    let failed = |errno: Errno| GuardianError::Socket(errno.into());
    let (link, guardian_end) = GuardianSocket::pair().map_err(failed)?;
    for message in state.messages() {
        link.send_message(&message);
    }
    let mut spawn = program().stdin(Stdio::Fd(guardian_end)).cwd("/").detached();
    for (number, retained) in (3..).zip(retained) {
        spawn = spawn.fd(number, retained.try_clone().map_err(GuardianError::Socket)?);
    }
    Ok((link, spawn))
}

async fn start_guardian(spawn: Spawn) -> Result<Child, GuardianError> {
    let (plan, _no_pipes) = spawn.prepare()?;
    Ok(start(plan).await?)
}

/// Starts another guardian with the state of the previous one.
fn restart_guardian(
    session_link: &mut SessionLink,
    program: &impl Fn() -> Spawn,
    retained: &[OwnedFd],
) -> Result<Child, GuardianError> {
    let spawn = {
        let mut current = current_lock();
        let (link, spawn) = prepare(program, &lock_state(&session_link.state), retained)?;
        session_link.link = Arc::new(link);
        if let Some(current) = current.as_mut() {
            *current = session_link.clone();
        } else {
            // The session ended in the meantime: the new guardian sees this and cleans up.
            session_link.link.end();
        }
        spawn
    };
    let (plan, _no_pipes) = spawn.prepare()?;
    Ok(start_and_wait(plan)?)
}

/// Waits until the guardian exits; returns whether it cleaned up completely.
fn wait(guardian: &Child) -> bool {
    loop {
        match guardian.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => {}
            Err(_) => return false,
        }
        let Some(pidfd) = guardian.pidfd() else {
            return false;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
        let _over_or_interrupted = poll(&mut fds, None);
    }
}

/// Returns eight letters; short, because socket paths below such folders are limited to 108 bytes.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let letter = |byte: u8| char::from(b'a' + byte % 26);
    Ok(bytes.into_iter().map(letter).collect())
}

fn current_lock() -> MutexGuard<'static, Option<SessionLink>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_state(state: &Mutex<CleanupState>) -> MutexGuard<'_, CleanupState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
