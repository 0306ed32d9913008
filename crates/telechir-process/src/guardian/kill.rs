//! Kills all processes of a session, including those that they start in the meantime.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::processes::{is_shared, kill, session_processes};
use super::state::CleanupState;
use crate::Identity;
use crate::cgroup::{kill_members, try_remove};
use crate::sys::kill_uid::kill_all_of_uid;

/// Time for killed processes to exit before processes are listed again.
const RESCAN_INTERVAL: Duration = Duration::from_millis(50);
/// Pause before removing a cgroup is tried again.
const RMDIR_RETRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Kills until no process is left or `deadline` passes; returns whether none is left.
pub(super) fn kill_all(state: &CleanupState, spared: &[i32], deadline: Instant) -> bool {
    let identity = state.uid.and_then(Identity::unprivileged_with);
    loop {
        if let Some(identity) = identity
            && !is_shared(identity.uid)
        {
            // One system call: a fork bomb cannot outrun it.
            kill_all_of_uid(identity.uid);
        }
        let in_cgroups: Vec<OwnedFd> = state
            .cgroups
            .iter()
            .flat_map(|group| kill_members(group))
            .collect();
        let found = session_processes(state, spared);
        if found.is_empty() && in_cgroups.is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        let killed = found.iter().filter_map(kill);
        let killed: Vec<OwnedFd> = killed.chain(in_cgroups).collect();
        wait_for_exits(&killed, RESCAN_INTERVAL);
    }
}

/// Removes the session's cgroups; returns whether none is left. A cgroup stays busy for a moment
/// after its last process has exited, and the kernel sends no event for that.
pub(super) fn remove_cgroups(state: &CleanupState, deadline: Instant) -> bool {
    let mut left: Vec<&PathBuf> = state.cgroups.iter().collect();
    loop {
        left.retain(|group| !try_remove(group));
        if left.is_empty() || Instant::now() >= deadline {
            return left.is_empty();
        }
        wait_for_exits(
            &left
                .iter()
                .flat_map(|group| kill_members(group))
                .collect::<Vec<_>>(),
            RESCAN_INTERVAL,
        );
        let _sleep = poll(&mut [], Some(&RMDIR_RETRY));
    }
}

/// Waits until all processes have exited, at most `max_wait`.
pub(super) fn wait_for_exits(killed: &[OwnedFd], max_wait: Duration) {
    let deadline = Instant::now() + max_wait;
    for pidfd in killed {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        let _exited_or_timed_out = poll(&mut fds, Some(&left));
    }
}
