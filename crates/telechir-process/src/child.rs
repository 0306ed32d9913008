//! A running program and its process group.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_send_signal, waitid,
};
use tokio::time::timeout;

use crate::guardian::processes;
use crate::{Readiness, guardian};

/// A running program. On drop, its process group is killed and it is reaped; one that is
/// [detached](crate::Spawn::detached) continues.
///
/// Only [`end`](Self::end) and drop reap it, not [`wait`](Self::wait): until then its pid and that
/// of its group cannot be reused, so a signal cannot hit another process.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    pipes: [Option<OwnedFd>; 3],
    is_detached: bool,
}

impl Child {
    pub(crate) fn new(pid: Pid, pidfd: OwnedFd) -> Self {
        Self {
            pid,
            pidfd: Some(pidfd),
            pipes: [None, None, None],
            is_detached: false,
        }
    }

    pub(crate) const fn detached(mut self, is_detached: bool) -> Self {
        self.is_detached = is_detached;
        self
    }

    pub(crate) fn with_pipes(mut self, pipes: [Option<OwnedFd>; 3]) -> Self {
        self.pipes = pipes;
        self
    }

    /// Its process id, which is also the id of its group.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// The pidfd, which becomes readable when the process exits.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Takes our end of its standard input; `None` if it is not a pipe or was taken before.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.pipes[0].take()
    }

    /// Takes our end of its standard output; `None` if it is not a pipe or was taken before.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.pipes[1].take()
    }

    /// Takes our end of its standard error; `None` if it is not a pipe or was taken before.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.pipes[2].take()
    }

    /// Waits until it exits. Cancel safe; can be called repeatedly.
    ///
    /// # Errors
    /// If the system call fails.
    pub async fn wait(&self) -> io::Result<ExitStatus> {
        let pidfd = self.pidfd.as_ref().ok_or(Errno::CHILD)?;
        if let Some(status) = peek_status(pidfd.as_fd())? {
            return Ok(status);
        }
        let ended =
            |pidfd: BorrowedFd<'_>| peek_status(pidfd)?.ok_or_else(|| Errno::WOULDBLOCK.into());
        Readiness::reading(pidfd.try_clone()?)?.read(ended).await
    }

    /// Its exit status; `None` while it runs.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        peek_status(self.pidfd.as_ref().ok_or(Errno::CHILD)?.as_fd())
    }

    /// Sends a signal to the process alone.
    ///
    /// # Errors
    /// If the signal is refused. A process that has exited is not an error.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pidfd) = &self.pidfd else {
            return Ok(());
        };
        ignore_gone(pidfd_send_signal(pidfd, signal))
    }

    /// Sends a signal to all processes of its group.
    ///
    /// # Errors
    /// If the signal is refused. Processes that have exited are not an error.
    pub fn signal_group(&self, signal: Signal) -> io::Result<()> {
        if self.pidfd.is_none() {
            return Ok(());
        }
        ignore_gone(kill_process_group(self.pid, signal))
    }

    /// Waits until all processes of its group have exited.
    ///
    /// # Errors
    /// If the system call fails.
    pub async fn wait_for_group(&self) -> io::Result<()> {
        for pidfd in processes::in_group(self.pid.as_raw_nonzero().get()) {
            Readiness::reading(pidfd)?.read(poll_exit).await?;
        }
        Ok(())
    }

    /// Sends SIGTERM to the group, SIGKILL after `grace`, and reaps the process.
    ///
    /// # Errors
    /// If a signal is refused or the exit status cannot be read.
    pub async fn end(mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.signal_group(Signal::TERM)?;
        let _grace_is_over = timeout(grace, self.wait()).await;
        self.signal_group(Signal::KILL)?;
        let status = self.wait().await?;
        if let Some(pidfd) = self.pidfd.take() {
            reap(pidfd.as_fd(), WaitIdOptions::NOHANG)?;
        }
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_detached {
            let _best_effort = self.signal_group(Signal::KILL);
            guardian::process_ended(self.pid.as_raw_nonzero().get());
        }
        let Some(pidfd) = self.pidfd.take() else {
            return;
        };
        let has_ended = matches!(
            reap(pidfd.as_fd(), WaitIdOptions::NOHANG),
            Ok(Some(_)) | Err(Errno::CHILD)
        );
        if !has_ended && !self.is_detached {
            reap_later(pidfd);
        }
    }
}

fn ignore_gone(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a process, which need not be our child, has exited.
fn poll_exit(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let mut fds = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(Errno::WOULDBLOCK.into()),
        _ => Ok(()),
    }
}

/// Reads the exit status without reaping the process.
fn peek_status(pidfd: BorrowedFd<'_>) -> io::Result<Option<ExitStatus>> {
    Ok(reap(pidfd, WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?
        .as_ref()
        .map(to_status))
}

fn reap(pidfd: BorrowedFd<'_>, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    match waitid(WaitId::PidFd(pidfd), WaitIdOptions::EXITED | options) {
        // `waitid` reports `EAGAIN` for a non-blocking pidfd.
        Err(Errno::AGAIN) => Ok(None),
        other => other,
    }
}

fn to_status(status: &WaitIdStatus) -> ExitStatus {
    const DUMPED: i32 = 0x80;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::from_raw(code << 8),
        (None, Some(signal)) if status.dumped() => ExitStatus::from_raw(signal | DUMPED),
        (None, signal) => ExitStatus::from_raw(signal.unwrap_or(0)),
    }
}

/// Reaps a process that has not exited yet, on a background thread.
fn reap_later(pidfd: OwnedFd) {
    static REAPER: OnceLock<Option<Sender<OwnedFd>>> = OnceLock::new();
    let reaper = || {
        let (sender, queue) = channel::<OwnedFd>();
        let run = move || {
            for pidfd in queue {
                // The process was sent SIGKILL, so this returns.
                let _status = reap(pidfd.as_fd(), WaitIdOptions::empty());
            }
        };
        thread::Builder::new()
            .name("telechir-reaper".to_owned())
            .spawn(run)
            .ok()
            .map(|_| sender)
    };
    if let Some(sender) = REAPER.get_or_init(reaper) {
        // The thread lives as long as our process.
        let _sent = sender.send(pidfd);
    }
}
