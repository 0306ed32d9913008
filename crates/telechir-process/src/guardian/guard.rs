//! Starts the guardian, and restarts it if it exits before us.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::link::GuardianSocket;
use super::registry::{
    SessionLink, SessionRegistration, current_lock, has_borrowed_trees, has_ended, lock_state,
};
use super::run::MAX_RETURN;
use super::state::CleanupState;
use super::{CleanupScope, GuardianError};
use crate::spawner::{start, start_and_wait};
use crate::{Child, Spawn, Stdio};

/// Longer than a cleanup takes; after that the guardian is considered hung.
const MAX_CLEANUP_WAIT: Duration = Duration::from_secs(5);
/// Guardians that are restarted before giving up.
const MAX_RESTARTS: u32 = 20;

/// Handle of this process's guardian. When it is ended or dropped, the guardian cleans up, and
/// this waits for it.
#[derive(Debug)]
pub struct Guardian {
    registration: SessionRegistration,
    done: Receiver<bool>,
}

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
        let Some(ended) = self.registration.end() else {
            return true;
        };
        let limit = if has_borrowed_trees(&ended) {
            MAX_CLEANUP_WAIT + MAX_RETURN
        } else {
            MAX_CLEANUP_WAIT
        };
        // A guardian that hangs or is gone removed nothing.
        self.done.recv_timeout(limit).unwrap_or(false)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _nobody_waits = self.finish();
    }
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
