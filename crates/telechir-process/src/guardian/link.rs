//! What joins us with the guardian: a socket of whole messages whose one end only we hold.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair,
};

/// The longest message: two paths and numbers.
const LONGEST: usize = 16 * 1024;
/// First byte of the message of a new process about itself.
pub(super) const FORKED: u8 = b'p';

/// Our end, or the guardian's.
#[derive(Debug)]
pub(crate) struct Link(OwnedFd);

impl Link {
    /// Our end and the one for the guardian.
    pub(super) fn pair() -> Result<(Self, OwnedFd), Errno> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(ours), theirs))
    }

    /// Sends a message. One that does not get through is in vain: a guardian that is gone is
    /// replaced and told everything anew.
    pub(super) fn tell(&self, message: &[u8]) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _replaced_when_gone = send(&self.0, message, flags);
    }

    /// Says that the process `pid` is of the session. Safe between `fork` and `execve`: nothing
    /// is allocated.
    pub(crate) fn forked(&self, pid: i32) {
        let [a, b, c, d] = pid.to_ne_bytes();
        self.tell(&[FORKED, a, b, c, d]);
    }

    /// Ends it for both sides, copies included.
    pub(super) fn end(&self) {
        let _gone_already = shutdown(&self.0, Shutdown::Both);
    }
}

/// A message that arrived at the guardian's end; none means that we are gone.
pub(super) fn hear(socket: impl AsFd, flags: RecvFlags) -> Result<Option<Vec<u8>>, Errno> {
    let mut message = vec![0; LONGEST];
    loop {
        match recv(socket.as_fd(), &mut message[..], flags) {
            Ok((0, _)) => return Ok(None),
            Ok((length, _)) => {
                message.truncate(length);
                return Ok(Some(message));
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
