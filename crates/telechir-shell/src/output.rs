//! Our end of a pipe that a command writes to: looked at directly, or through the runtime.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use telechir_process::Readiness;

/// Our end of such a pipe. The runtime learns of it only when there is something to wait for:
/// most commands are over before that.
#[derive(Debug)]
pub(crate) enum Output {
    Plain(OwnedFd),
    Watched(Readiness),
}

impl Output {
    /// Hands it to the runtime.
    pub(crate) fn watched(self) -> io::Result<Readiness> {
        match self {
            Self::Plain(fd) => Readiness::reading(fd),
            Self::Watched(watch) => Ok(watch),
        }
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(fd) => fd.as_fd(),
            Self::Watched(watch) => watch.as_fd(),
        }
    }
}
