//! Kills the members of a cgroup and removes its folder.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{PROCS_FILE, write};

/// Time for killed processes to exit before they are listed again.
const RESCAN_INTERVAL: Duration = Duration::from_millis(50);

/// Kills all members of a cgroup; returns pidfds that report their exit.
pub(crate) fn kill_members(folder: &Path) -> Vec<OwnedFd> {
    let members = fs::read_to_string(folder.join(PROCS_FILE)).unwrap_or_default();
    // One system call, if the kernel has it: processes forked in the meantime are included.
    let used_cgroup_kill = write(folder.join("cgroup.kill"), "1").is_ok();
    let kill = |line: &str| {
        let pid: i32 = line.parse().ok()?;
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Checked after opening the pidfd, so that the pid cannot be reused in between.
        if !used_cgroup_kill && is_member(pid, folder) {
            let _gone = pidfd_send_signal(&pidfd, Signal::KILL);
        }
        Some(pidfd)
    };
    members.lines().filter_map(kill).collect()
}

/// Whether a process is a member of the cgroup with this folder.
fn is_member(pid: i32, folder: &Path) -> bool {
    let Some(name) = folder.file_name() else {
        return false;
    };
    let ending = format!("/{}", name.to_string_lossy());
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups.lines().any(|line| line.ends_with(&ending))
}

/// Waits until all have exited, at most [`RESCAN_INTERVAL`].
pub(super) fn wait_for_exits(killed: &[OwnedFd]) {
    let deadline = Instant::now() + RESCAN_INTERVAL;
    for pidfd in killed {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        let _exited_or_timed_out = poll(&mut fds, Some(&left));
    }
}

/// Removes the folder, which needs an empty cgroup; returns whether it no longer exists.
pub(crate) fn try_remove(folder: &Path) -> bool {
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
