//! Our end of a command's output pipe, read directly or through the async runtime.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use telechir_process::Readiness;

/// Our end of a pipe. It is registered with the runtime only when waiting is needed; most commands
/// end before that.
#[derive(Debug)]
pub(crate) enum Output {
    Plain(OwnedFd),
    Watched(Readiness),
}

impl Output {
    /// Registers it with the runtime.
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
