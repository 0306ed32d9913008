//! The socket below the X protocol, made non-blocking for requests.
//!
//! [`Connection`](crate::connection::Connection) waits for the server asynchronously. Here,
//! `WouldBlock` is an error that leaves all state intact.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use x11rb::rust_connection::{DefaultStream, PollMode, Stream};
use x11rb::utils::RawFdContainer;

/// Maximum wait for space in the socket buffer. A live server reads within microseconds, and
/// requests are small compared to the buffer.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// A stream whose reads never block and whose writes block only on a stuck server.
#[derive(Debug)]
pub(crate) struct NonBlockingStream(DefaultStream);

impl NonBlockingStream {
    pub(crate) const fn new(stream: DefaultStream) -> Self {
        Self(stream)
    }

    /// Duplicates the descriptor, for readiness events.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

impl Stream for NonBlockingStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let (flags, ceiling, timeout_kind) = match mode {
            PollMode::Readable => (PollFlags::IN, Duration::ZERO, io::ErrorKind::WouldBlock),
            PollMode::Writable => (PollFlags::OUT, WRITE_TIMEOUT, io::ErrorKind::TimedOut),
            PollMode::ReadAndWritable => (
                PollFlags::IN | PollFlags::OUT,
                WRITE_TIMEOUT,
                io::ErrorKind::TimedOut,
            ),
        };
        let timeout = Timespec::try_from(ceiling).map_err(io::Error::other)?;
        let mut waited_on = [PollFd::from_borrowed_fd(self.0.as_fd(), flags)];
        loop {
            match poll(&mut waited_on, Some(&timeout)) {
                Ok(0) => return Err(timeout_kind.into()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, buf: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.read(buf, fds)
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.write(buf, fds)
    }

    fn write_vectored(
        &self,
        bufs: &[IoSlice<'_>],
        fds: &mut Vec<RawFdContainer>,
    ) -> io::Result<usize> {
        self.0.write_vectored(bufs, fds)
    }
}
