//! The socket below the X protocol, made so that nothing waits on it inside a request.
//!
//! Waiting for the server is the business of [`Connection`](crate::connection::Connection),
//! which does it on the runtime. Here, "not yet" is an error that leaves all state intact.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use x11rb::rust_connection::{DefaultStream, PollMode, Stream};
use x11rb::utils::RawFdContainer;

/// How long a write waits for room in the socket. A server that reads at all needs microseconds;
/// what we send at once is small beside the socket's buffer.
const WRITE_CEILING: Duration = Duration::from_millis(500);

/// A stream whose reads never wait and whose writes wait only for a stuck server.
#[derive(Debug)]
pub(crate) struct ImpatientStream(DefaultStream);

impl ImpatientStream {
    pub(crate) const fn new(stream: DefaultStream) -> Self {
        Self(stream)
    }

    /// A second descriptor of the same socket, to wait on.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

impl Stream for ImpatientStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let (flags, ceiling, late) = match mode {
            PollMode::Readable => (PollFlags::IN, Duration::ZERO, io::ErrorKind::WouldBlock),
            PollMode::Writable => (PollFlags::OUT, WRITE_CEILING, io::ErrorKind::TimedOut),
            PollMode::ReadAndWritable => (
                PollFlags::IN | PollFlags::OUT,
                WRITE_CEILING,
                io::ErrorKind::TimedOut,
            ),
        };
        let timeout = Timespec::try_from(ceiling).map_err(io::Error::other)?;
        let mut waited_on = [PollFd::from_borrowed_fd(self.0.as_fd(), flags)];
        loop {
            match poll(&mut waited_on, Some(&timeout)) {
                Ok(0) => return Err(late.into()),
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
