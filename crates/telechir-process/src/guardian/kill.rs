//! Ends all processes of a session, and those that they start meanwhile.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::processes::{is_shared, kill, of_session};
use super::state::Ward;
use crate::Identity;
use crate::cgroup::{end, is_gone};
use crate::sys::kill_uid::kill_everyone_of;

/// A killed process is over within this, or is looked for again.
const ROUND: Duration = Duration::from_millis(50);
/// So long until a group that is in use is tried again.
const AGAIN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Kills until nothing is left or `deadline` comes; says whether nothing is left.
pub(super) fn end_all(ward: &Ward, spared: &[i32], deadline: Instant) -> bool {
    let identity = ward.uid.and_then(Identity::unprivileged_with);
    loop {
        if let Some(identity) = identity
            && !is_shared(identity.uid)
        {
            // At one stroke: what starts others faster than it is looked for does not get away.
            kill_everyone_of(identity.uid);
        }
        let in_groups: Vec<OwnedFd> = ward.groups.iter().flat_map(|group| end(group)).collect();
        let found = of_session(ward, spared);
        if found.is_empty() && in_groups.is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        let killed = found.iter().filter_map(kill);
        let killed: Vec<OwnedFd> = killed.chain(in_groups).collect();
        wait(&killed, ROUND);
    }
}

/// Removes the session's groups; says whether none is left. One whose last process has just ended
/// is in use for another moment, of whose end nothing tells.
pub(super) fn remove_groups(ward: &Ward, deadline: Instant) -> bool {
    let mut left: Vec<&PathBuf> = ward.groups.iter().collect();
    loop {
        left.retain(|group| !is_gone(group));
        if left.is_empty() || Instant::now() >= deadline {
            return left.is_empty();
        }
        wait(
            &left.iter().flat_map(|group| end(group)).collect::<Vec<_>>(),
            ROUND,
        );
        let _nothing_to_hear = poll(&mut [], Some(&AGAIN));
    }
}

/// Waits until all of them are over, but not longer than this.
pub(super) fn wait(killed: &[OwnedFd], at_most: Duration) {
    let end = Instant::now() + at_most;
    for pidfd in killed {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else {
            return;
        };
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        let _over_or_late = poll(&mut fds, Some(&left));
    }
}
