//! The guardian: a small child process that cleans up after the session if we cannot.
//!
//! It knows no secrets and has one task. A socket between it and us closes when we exit, for
//! whatever reason; then it kills every process of the session, calls the caller's cleanup
//! function, and removes the session's folders and files. An orderly end uses the same code, so
//! this path runs in every session and not only after a crash.
//!
//! Death signals come first: the kernel kills most children before the guardian acts. The guardian
//! handles the rest: grandchildren, files, and pressed keys on an existing display.

mod files;
mod guard;
mod kill;
mod link;
pub(crate) mod processes;
mod registry;
mod run;
mod state;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::{Identity, SpawnError};

pub use guard::Guardian;
pub(crate) use link::GuardianSocket;
pub(crate) use registry::{
    SessionLink, current, ends_gracefully, has_guardian, process_ended, process_started,
    register_cgroup, register_tree, unregister_cgroup,
};
pub use registry::{clear_hint, folder_prefix, register_file, set_hint, unregister_file};
pub use run::{Hints, run_guardian};

/// Environment variable that marks processes of the session; its value is the session's token.
pub const MARKER: &str = "TELECHIR_SESSION";

/// Key prefix of hints that name a program with a grace period, by its pid.
const GRACEFUL: &str = "gentle-";

/// What the guardian cleans up from the start of a session.
#[derive(Debug, Default)]
pub struct CleanupScope {
    /// A user of this session alone: all its processes are killed with the session.
    pub identity: Option<Identity>,
    /// Kept open until the guardian has finished, such as the lock on the session's user.
    pub retained_fds: Vec<OwnedFd>,
    /// Folders whose entries with the prefix [`folder_prefix`] are removed.
    pub roots: Vec<PathBuf>,
}

/// Why the guardian could not be started. Messages complete "failed to".
#[derive(Debug, thiserror::Error)]
pub enum GuardianError {
    /// The guardian's program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The socket to the guardian could not be created.
    #[error("create the guardian's socket")]
    Socket(#[source] io::Error),
    /// The thread that supervises the guardian could not be created.
    #[error("start the thread that supervises the guardian")]
    Thread(#[source] io::Error),
    /// This process already has a guardian: it can own only one session.
    #[error("start a second guardian: this process already has one")]
    Second,
    /// Every restarted guardian exited; the limit of restarts is reached.
    #[error("keep a guardian running: it keeps exiting")]
    Again,
}
