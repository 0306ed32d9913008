//! The main loop of the guardian process.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, PidfdFlags, getpid, getppid, pidfd_open};

use super::link::receive;
use super::state::{CleanupChange, CleanupState};
use super::{GRACEFUL, files, kill, processes};
use crate::sys::exec::block_signals;

/// Time for the complete cleanup after the session's end.
const MAX_CLEANUP: Duration = Duration::from_millis(1_800);
/// Part of it for killing processes.
const MAX_KILL: Duration = Duration::from_millis(1_400);

/// Time for giving folders back to their owners, after everything else: a large workspace takes
/// some seconds.
pub(super) const MAX_RETURN: Duration = Duration::from_secs(60);

/// Time for graceful programs to exit, such as a browser that writes its profile.
const GRACE: Duration = Duration::from_secs(3);

/// Hints set by `set_hint`, by key.
pub type Hints = BTreeMap<String, String>;

/// Waits until the parent process ends, then cleans up after it. Returns whether nothing was left.
///
/// `release` gets the hints. It runs on a separate thread while processes are killed, and must
/// return within a second. From now on this process receives no signals except `SIGKILL` and
/// `SIGSTOP`.
///
/// # Errors
/// If this process was not started as a guardian.
pub fn run_guardian(release: impl FnOnce(Hints) + Send) -> Result<bool, Errno> {
    block_signals();
    let _cosmetic = rustix::thread::set_name(c"telechir-guard");
    let mut guardian = GuardianLoop::connect()?;
    guardian.run();
    Ok(guardian.clean(release))
}

struct GuardianLoop {
    state: CleanupState,
}

impl GuardianLoop {
    fn connect() -> Result<Self, Errno> {
        let first = receive(rustix::stdio::stdin(), RecvFlags::empty())?;
        let state = first.and_then(|message| CleanupState::parse_initial(&message));
        Ok(Self {
            state: state.ok_or(Errno::PROTO)?,
        })
    }

    /// Applies changes until the owner exits or closes the socket.
    fn run(&mut self) {
        let owner = Pid::from_raw(self.state.owner);
        let pidfd = owner.and_then(|owner| pidfd_open(owner, PidfdFlags::empty()).ok());
        // Checked after opening the pidfd: if the pid is still our parent's, it was then, too.
        let Some(pidfd) = pidfd.filter(|_| getppid() == owner) else {
            while self.receive_one() {}
            return;
        };
        let socket = rustix::stdio::stdin();
        loop {
            let mut fds = [
                PollFd::new(&socket, PollFlags::IN),
                PollFd::new(&pidfd, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let is_gone = !fds[1].revents().is_empty();
            while self.receive_one() {}
            if is_gone || self.socket_ended() {
                return;
            }
        }
    }

    /// Applies one queued message; returns whether there was one.
    fn receive_one(&mut self) -> bool {
        let Ok(Some(message)) = receive(rustix::stdio::stdin(), RecvFlags::DONTWAIT) else {
            return false;
        };
        if let Some(change) = CleanupChange::parse(&message) {
            self.state.apply(change);
        }
        true
    }

    fn socket_ended(&self) -> bool {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        !matches!(
            receive(rustix::stdio::stdin(), flags),
            Ok(Some(_)) | Err(Errno::AGAIN)
        )
    }

    fn clean(mut self, release: impl FnOnce(Hints) + Send) -> bool {
        let start = Instant::now();
        let own_pid = getpid().as_raw_nonzero().get();
        let spared = [own_pid, self.state.owner];
        let hints = std::mem::take(&mut self.state.hints);
        // After an orderly end there are none: they exited before.
        let start = if wait_for_graceful(&hints) {
            Instant::now()
        } else {
            start
        };
        let state = &self.state;
        thread::scope(|scope| {
            if !hints.is_empty() {
                scope.spawn(|| release(hints));
            }
            let ended = kill::kill_all(state, &spared, start + MAX_KILL);
            let removed = files::remove_all(state, start + MAX_CLEANUP);
            let cgroups_removed = kill::remove_cgroups(state, start + MAX_CLEANUP);
            // No process of the session makes new files any more.
            let returned = files::give_back_all(state, Instant::now() + MAX_RETURN);
            ended && removed && cgroups_removed && returned
        })
    }
}

/// Waits for programs with a grace period; returns whether there are any.
fn wait_for_graceful(hints: &Hints) -> bool {
    let graceful: Vec<OwnedFd> = hints.iter().flat_map(graceful).collect();
    kill::wait_for_exits(&graceful, GRACE);
    !graceful.is_empty()
}

/// Pidfds of the process group that such a program leads: Chromium's network service writes
/// cookies after the main process has exited.
fn graceful((key, start_time): (&String, &String)) -> Vec<OwnedFd> {
    let pid = key.strip_prefix(GRACEFUL).and_then(|pid| pid.parse().ok());
    // Until it is reaped, its pid cannot be reused.
    let leader = pid.filter(|pid| {
        processes::start_time(*pid)
            .map(|it| it.to_string())
            .as_ref()
            == Some(start_time)
    });
    leader.map(processes::in_group).unwrap_or_default()
}
