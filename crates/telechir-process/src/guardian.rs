//! Who cleans up when we cannot: a small process of our own that waits for our end.
//!
//! It knows no secret and does one thing. A socket between it and us says when we are gone,
//! however that happened; then it ends every process of the session, releases what the caller has
//! it release, and removes the session's folders and files. An orderly end takes the same road,
//! so it is walked every time and not only when something went wrong.
//!
//! Death signals stay the first line: the kernel ends most children before the guardian looks. It
//! is there for what they cannot do: children of children, files, and keys on a display that is
//! not ours.

mod files;
mod guard;
mod kill;
mod link;
pub(crate) mod processes;
mod run;
mod state;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::{Identity, SpawnError};

pub use guard::{Guard, folder_prefix, note, owns_file, unnote, unowns_file};
pub(crate) use guard::{
    Watched, current, ended, ends_gently, is_there, owns_group, started, unowns_group,
};
pub(crate) use link::Link;
pub use run::{Notes, stand_watch};

/// The variable by which a process is known as the session's, wherever it went.
pub const MARKER: &str = "TELECHIR_SESSION";

/// A note whose key begins so names a program that is given time to end, by its number.
const GENTLE: &str = "gentle-";

/// What a session leaves in a guardian's care from the beginning.
#[derive(Debug, Default)]
pub struct CleanupScope {
    /// A user that only this session's programs run as: all its processes end with the session.
    pub identity: Option<Identity>,
    /// Held until the guardian is done, such as the lock by which that user is ours alone.
    pub held: Vec<OwnedFd>,
    /// Folders in which everything is removed whose name begins with [`folder_prefix`].
    pub roots: Vec<PathBuf>,
}

/// Why there is no guardian. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// What joins it with us could not be made.
    #[error("make the guardian's socket")]
    Socket(#[source] io::Error),
    /// The thread that looks after it could not be made.
    #[error("start the thread that looks after the guardian")]
    Thread(#[source] io::Error),
    /// There is one already: a process holds one session.
    #[error("start a second guardian: this process has one")]
    Second,
    /// Each one that is started dies.
    #[error("keep a guardian: it died again and again")]
    Again,
}
