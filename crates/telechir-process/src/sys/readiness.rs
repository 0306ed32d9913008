//! A file descriptor whose readiness the async runtime reports.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// An owned file descriptor that can be awaited: a pipe, a terminal, a pidfd, a socket.
#[derive(Debug)]
pub struct Readiness(AsyncFd<OwnedFd>);

impl Readiness {
    /// Takes a descriptor for reading; it should be in non-blocking mode.
    ///
    /// # Errors
    /// If the descriptor cannot be polled, such as a regular file.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn reading(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, Interest::READABLE)
    }

    /// Takes a descriptor for reading and writing; it should be in non-blocking mode.
    ///
    /// # Errors
    /// If the descriptor cannot be polled, such as a regular file.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn both(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, Interest::READABLE | Interest::WRITABLE)
    }

    fn with(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        // SAFETY: an `OwnedFd` stays open and unchanged until it is dropped, and neither this type
        // nor its owner can replace it.
        let readiness = unsafe { AsyncFd::register_with_interest(fd, interest) };
        Ok(Self(readiness?))
    }

    /// Calls `io` whenever data may be readable, until it returns anything but `WouldBlock`. Cancel
    /// safe: a dropped future loses no data.
    ///
    /// # Errors
    /// The error of `io`.
    pub async fn read<T>(
        &self,
        mut io: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.0
            .async_io(Interest::READABLE, |fd| io(fd.as_fd()))
            .await
    }

    /// Calls `io` whenever there may be room to write, until it returns anything but `WouldBlock`.
    ///
    /// # Errors
    /// The error of `io`.
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
