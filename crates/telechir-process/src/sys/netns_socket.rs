//! A socket in somebody else's network: made by a child that goes there and hands it back.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::exec::{block_signals, change_identity, last_errno};
use crate::Identity;

/// Connections that wait until they are taken.
const BACKLOG: i32 = 128;

/// The user namespace to which a network namespace belongs.
pub(crate) fn owner(network: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const NS_GET_USERNS: libc::Ioctl = 0xb701;
    // SAFETY: this request takes no memory, and returns a descriptor that is new and nobody's.
    unsafe {
        match libc::ioctl(network.as_raw_fd(), NS_GET_USERNS) {
            fd @ 0.. => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(last_errno().into()),
        }
    }
}

/// Listens at this address inside of a network, as the user who made the namespace it belongs to.
///
/// A process with threads cannot enter another user namespace, so a child does.
pub(crate) fn listen(
    users: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    identity: Option<Identity>,
    address: SocketAddrV4,
) -> io::Result<OwnedFd> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            block_signals();
            // SAFETY: the child runs only `go`, which keeps to bare system calls on data that
            // was made before, and never returns here.
            let pid = match unsafe { libc::fork() } {
                0 => go(users, network, identity, address, theirs.as_fd()),
                pid => Pid::from_raw(pid).filter(|_| pid > 0),
            };
            let pid = pid.ok_or_else(io::Error::last_os_error)?;
            let received = receive(ours.as_fd());
            // It ends by itself, whatever it did.
            let _reaped = waitpid(Some(pid), WaitOptions::empty());
            received
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Runs in the child. No allocation, no lock, no panic.
fn go(
    users: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    identity: Option<Identity>,
    address: SocketAddrV4,
    answer: BorrowedFd<'_>,
) -> ! {
    let made = || -> Result<OwnedFd, Errno> {
        if let Some(identity) = identity {
            change_identity(identity)?;
        }
        enter(users, libc::CLONE_NEWUSER)?;
        enter(network, libc::CLONE_NEWNET)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream = SocketType::STREAM;
        let socket = rustix::net::socket_with(AddressFamily::INET, stream, flags, None)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    let (number, socket) = match made() {
        Ok(socket) => (0, Some(socket)),
        Err(errno) => (errno.raw_os_error(), None),
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let sockets = socket.as_ref().map(AsFd::as_fd);
    if let Some(socket) = &sockets {
        with.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(
            socket,
        )));
    }
    let _parent_may_be_gone = sendmsg(
        answer,
        &[IoSlice::new(&number.to_ne_bytes())],
        &mut with,
        SendFlags::NOSIGNAL,
    );
    // SAFETY: ends the process at once, without handlers that belong to the parent.
    unsafe { libc::_exit(0) }
}

fn enter(namespace: BorrowedFd<'_>, kind: libc::c_int) -> Result<(), Errno> {
    // SAFETY: takes a descriptor that is open, and no memory; the child has one thread.
    match unsafe { libc::setns(namespace.as_raw_fd(), kind) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// What the child hands back; it closes its end when it is gone.
fn receive(from: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut number = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(from, &mut [IoSliceMut::new(&mut number)], &mut with, flags)?;
    let sockets = with.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmRights(mut sockets) = message else {
            return None;
        };
        sockets.next()
    });
    sockets.ok_or_else(|| Errno::from_raw_os_error(i32::from_ne_bytes(number)).into())
}
