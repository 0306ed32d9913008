//! A descriptor whose events the runtime tells.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor of our own that can be waited for: a pipe, a terminal, a process, a socket.
#[derive(Debug)]
pub struct Readiness(AsyncFd<OwnedFd>);

impl Readiness {
    /// Takes a descriptor that will be read from. What is read through it should not block.
    ///
    /// # Errors
    /// When such a descriptor has no events, as a file on disk.
    ///
    /// # Panics
    /// Outside a runtime.
    pub fn reading(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, Interest::READABLE)
    }

    /// Takes a descriptor that will be read from and written to.
    ///
    /// # Errors
    /// When such a descriptor has no events, as a file on disk.
    ///
    /// # Panics
    /// Outside a runtime.
    pub fn both(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, Interest::READABLE | Interest::WRITABLE)
    }

    fn with(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        // SAFETY: an `OwnedFd` stays open and the same until it is dropped, and neither this type
        // nor its owner can put another one in its place.
        let watch = unsafe { AsyncFd::register_with_interest(fd, interest) };
        Ok(Self(watch?))
    }

    /// Does `io` whenever there may be something to read, until it does not say `WouldBlock`.
    /// Can be dropped at any time without losing anything.
    ///
    /// # Errors
    /// What `io` says.
    pub async fn read<T>(
        &self,
        mut io: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.0
            .async_io(Interest::READABLE, |fd| io(fd.as_fd()))
            .await
    }

    /// Does `io` whenever there may be room to write, until it does not say `WouldBlock`.
    ///
    /// # Errors
    /// What `io` says.
    pub async fn write<T>(
        &self,
        mut io: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.0
            .async_io(Interest::WRITABLE, |fd| io(fd.as_fd()))
            .await
    }
}

impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}
