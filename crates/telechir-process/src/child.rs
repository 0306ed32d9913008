//! A running program and its group.

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

/// A running program. When it is dropped, its group is killed and it is reaped.
///
/// It is reaped by [`end`](Self::end) or on drop only, not by [`wait`](Self::wait): until then its
/// number and that of its group have no other owner, so a signal cannot hit a stranger.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    pipes: [Option<OwnedFd>; 3],
}

impl Child {
    pub(crate) fn new(pid: Pid, pidfd: OwnedFd) -> Self {
        Self {
            pid,
            pidfd: Some(pidfd),
            pipes: [None, None, None],
        }
    }

    pub(crate) fn with_pipes(mut self, pipes: [Option<OwnedFd>; 3]) -> Self {
        self.pipes = pipes;
        self
    }

    /// Its number, which is also that of its group.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// What tells when it is over.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Our end of its standard input, once, when it is a pipe.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.pipes[0].take()
    }

    /// Our end of its standard output, once, when it is a pipe.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.pipes[1].take()
    }

    /// Our end of its standard error, once, when it is a pipe.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.pipes[2].take()
    }

    /// Waits until it ended. Can be dropped and called again at any time.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub async fn wait(&self) -> io::Result<ExitStatus> {
        let pidfd = self.pidfd.as_ref().ok_or(Errno::CHILD)?;
        if let Some(status) = look(pidfd.as_fd())? {
            return Ok(status);
        }
        let ended = |pidfd: BorrowedFd<'_>| look(pidfd)?.ok_or_else(|| Errno::WOULDBLOCK.into());
        Readiness::reading(pidfd.try_clone()?)?.read(ended).await
    }

    /// How it ended, when it did already.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        look(self.pidfd.as_ref().ok_or(Errno::CHILD)?.as_fd())
    }

    /// Sends a signal to it alone.
    ///
    /// # Errors
    /// When the system refuses. That it ended already is no error.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pidfd) = &self.pidfd else {
            return Ok(());
        };
        or_gone(pidfd_send_signal(pidfd, signal))
    }

    /// Sends a signal to it and to all of its group.
    ///
    /// # Errors
    /// When the system refuses. That they ended already is no error.
    pub fn signal_group(&self, signal: Signal) -> io::Result<()> {
        if self.pidfd.is_none() {
            return Ok(());
        }
        or_gone(kill_process_group(self.pid, signal))
    }

    /// Lets it go without ending it: for programs that outlive us. They are no child of anyone's
    /// care then, and whoever wants their end must ask them for it.
    pub fn leave(mut self) -> Pid {
        self.pidfd = None;
        self.pid
    }

    /// Waits until nobody of its group runs any more.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub async fn wait_for_group(&self) -> io::Result<()> {
        for pidfd in processes::in_group(self.pid.as_raw_nonzero().get()) {
            Readiness::reading(pidfd)?.read(is_over).await?;
        }
        Ok(())
    }

    /// Asks the group to end, kills what is left of it after `grace`, and reaps the program.
    ///
    /// # Errors
    /// When a signal is refused or the system cannot tell how it ended.
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
        let _best_effort = self.signal_group(Signal::KILL);
        guardian::ended(self.pid.as_raw_nonzero().get());
        let Some(pidfd) = self.pidfd.take() else {
            return;
        };
        if !matches!(
            reap(pidfd.as_fd(), WaitIdOptions::NOHANG),
            Ok(Some(_)) | Err(Errno::CHILD)
        ) {
            reap_later(pidfd);
        }
    }
}

fn or_gone(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a process is over that need not be our child.
fn is_over(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let mut fds = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec::default()))? {
        0 => Err(Errno::WOULDBLOCK.into()),
        _ => Ok(()),
    }
}

/// How it ended, leaving it to be reaped.
fn look(pidfd: BorrowedFd<'_>) -> io::Result<Option<ExitStatus>> {
    Ok(reap(pidfd, WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?
        .as_ref()
        .map(to_status))
}

fn reap(pidfd: BorrowedFd<'_>, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    match waitid(WaitId::PidFd(pidfd), WaitIdOptions::EXITED | options) {
        // A descriptor that does not block says so in its own way.
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

/// Reaps on a thread of its own what did not end at once.
fn reap_later(pidfd: OwnedFd) {
    static REAPER: OnceLock<Option<Sender<OwnedFd>>> = OnceLock::new();
    let reaper = || {
        let (sender, queue) = channel::<OwnedFd>();
        let run = move || {
            for pidfd in queue {
                // It is killed already, so this ends.
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
        // The reaper lives as long as the process.
        let _sent = sender.send(pidfd);
    }
}
