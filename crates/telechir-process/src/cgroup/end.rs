//! The end of a group: all that is in it, and then its folder.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{MEMBERS, write};

/// A killed process is over within this, or is looked for again.
const ROUND: Duration = Duration::from_millis(50);

/// Kills all that is in the group of this folder, and gives what tells of their ends.
pub(crate) fn end(folder: &Path) -> Vec<OwnedFd> {
    let members = fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
    // At one stroke, where the kernel has it: what forks meanwhile does not get away.
    let is_done = write(folder.join("cgroup.kill"), "1").is_ok();
    let kill = |line: &str| {
        let pid: i32 = line.parse().ok()?;
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Only now is the number surely its own.
        if !is_done && is_member(pid, folder) {
            let _gone = pidfd_send_signal(&pidfd, Signal::KILL);
        }
        Some(pidfd)
    };
    members.lines().filter_map(kill).collect()
}

/// Whether a process is in the group of this folder.
fn is_member(pid: i32, folder: &Path) -> bool {
    let Some(name) = folder.file_name() else {
        return false;
    };
    let ending = format!("/{}", name.to_string_lossy());
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups.lines().any(|line| line.ends_with(&ending))
}

/// Waits until they are over, but not long.
pub(super) fn wait(killed: &[OwnedFd]) {
    let end = Instant::now() + ROUND;
    for pidfd in killed {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        let _over_or_late = poll(&mut fds, Some(&left));
    }
}

/// Removes the group's folder, which works when nobody is in it; says whether it is gone.
pub(crate) fn is_gone(folder: &Path) -> bool {
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
