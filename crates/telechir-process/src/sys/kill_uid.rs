//! Kills all processes of a user at one stroke.

use std::thread;

use rustix::process::{Uid, geteuid, getuid};
use rustix::thread::set_thread_res_uid;

/// Added to a session's user: a user that nobody is, above the ranges of containers.
const NOBODY_ELSE: u32 = 2_000_000_000;

/// Kills every process of the unprivileged user `uid`. Does nothing unless we are root.
pub(crate) fn kill_everyone_of(uid: u32) {
    if !geteuid().is_root() || uid == 0 {
        return;
    }
    let kill = move || {
        // By the effective user we reach that user's processes; by the real one they cannot
        // reach us. Both are of this thread alone and end with it.
        let (reach, real) = (Uid::from_raw(uid), Uid::from_raw(uid + NOBODY_ELSE));
        let changed = set_thread_res_uid(real, reach, real).is_ok();
        if changed && getuid() == real && geteuid() == reach {
            // SAFETY: takes numbers only. This thread is no longer root, so the kernel lets it
            // reach that user's processes and no others; it leaves out our own.
            unsafe { libc::kill(-1, libc::SIGKILL) };
        }
    };
    if let Ok(thread) = thread::Builder::new().spawn(kill) {
        let _looked_for_afterwards = thread.join();
    }
}
