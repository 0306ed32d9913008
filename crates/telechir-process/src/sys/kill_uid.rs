//! Kills all processes of a user with one system call.

use std::thread;

use rustix::process::{Uid, geteuid, getuid};
use rustix::thread::set_thread_res_uid;

/// Offset from a session's uid to an unused one, above the uid ranges of containers.
const UNUSED_UID_OFFSET: u32 = 2_000_000_000;

/// Kills every process of the unprivileged user `uid`. Does nothing without root.
pub(crate) fn kill_all_of_uid(uid: u32) {
    if !geteuid().is_root() || uid == 0 {
        return;
    }
    let kill = move || {
        // The effective uid permits signals to that user's processes; the different real uid keeps
        // them from signalling us. Both apply to this thread alone and end with it.
        let (effective, real) = (Uid::from_raw(uid), Uid::from_raw(uid + UNUSED_UID_OFFSET));
        let changed = set_thread_res_uid(real, effective, real).is_ok();
        if changed && getuid() == real && geteuid() == effective {
            // SAFETY: the call takes numbers only. This thread is no longer root, so the kernel
            // limits it to that user's processes and excludes our own.
            unsafe { libc::kill(-1, libc::SIGKILL) };
        }
    };
    if let Ok(thread) = thread::Builder::new().spawn(kill) {
        let _rescanned_afterwards = thread.join();
    }
}
