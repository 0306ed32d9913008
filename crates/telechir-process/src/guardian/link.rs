//! The socket between the session and its guardian, with one message per packet.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair,
};

/// Largest message: two paths and numbers.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// Message type with which a new process reports itself.
pub(super) const FORKED: u8 = b'p';

/// The session's end of the socket.
#[derive(Debug)]
pub(crate) struct GuardianSocket(OwnedFd);

impl GuardianSocket {
    /// Creates the socket; returns our end and the guardian's.
    pub(super) fn pair() -> Result<(Self, OwnedFd), Errno> {
        let (local, remote) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(local), remote))
    }

    /// Sends a message. Errors are ignored: a guardian that exited is replaced and gets the
    /// complete state again.
    pub(super) fn send_message(&self, message: &[u8]) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _replaced_when_gone = send(&self.0, message, flags);
    }

    /// Reports that process `pid` belongs to the session. Async-signal-safe, so usable between
    /// `fork` and `execve`: it does not allocate.
    pub(crate) fn report_fork(&self, pid: i32) {
        let [a, b, c, d] = pid.to_ne_bytes();
        self.send_message(&[FORKED, a, b, c, d]);
    }

    /// Shuts the socket down for both sides, including duplicates.
    pub(super) fn end(&self) {
        let _gone_already = shutdown(&self.0, Shutdown::Both);
    }
}

/// Receives a message on the guardian's end; `None` if the session has ended.
pub(super) fn receive(socket: impl AsFd, flags: RecvFlags) -> Result<Option<Vec<u8>>, Errno> {
    let mut message = vec![0; MAX_MESSAGE_BYTES];
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
