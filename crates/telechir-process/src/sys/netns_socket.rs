//! Creates a socket in another network namespace: a child enters it and passes it back.

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

/// Maximum length of the queue of pending connections.
const BACKLOG: i32 = 128;

/// Opens the user namespace that owns another namespace.
pub(crate) fn owning_user_namespace(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const NS_GET_USERNS: libc::Ioctl = 0xb701;
    // SAFETY: this request takes no memory and returns a new descriptor that nothing else owns.
    unsafe {
        match libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS) {
            fd @ 0.. => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(last_errno().into()),
        }
    }
}

/// What a socket in another network namespace is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Accepts connections at this address.
    Listen(SocketAddrV4),
    /// Queries the namespace's sockets by netlink.
    Diagnosis,
}

/// Creates a socket in another network namespace, as the user who owns it.
///
/// A multi-threaded process cannot enter another user namespace, so a child does.
pub(crate) fn create(
    users: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    identity: Option<Identity>,
    purpose: Purpose,
) -> io::Result<OwnedFd> {
    let (parent_end, child_end) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            block_signals();
            // SAFETY: the child runs only `run_child`, which makes bare system calls on data
            // prepared before, and never returns here.
            let pid = match unsafe { libc::fork() } {
                0 => run_child(users, network, identity, purpose, child_end.as_fd()),
                pid => Pid::from_raw(pid).filter(|_| pid > 0),
            };
            let pid = pid.ok_or_else(io::Error::last_os_error)?;
            let received = receive(parent_end.as_fd());
            // The child exits by itself in any case.
            let _reaped = waitpid(Some(pid), WaitOptions::empty());
            received
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Runs in the child. No allocation, no lock, no panic.
fn run_child(
    users: BorrowedFd<'_>,
    network: BorrowedFd<'_>,
    identity: Option<Identity>,
    purpose: Purpose,
    reply_fd: BorrowedFd<'_>,
) -> ! {
    let open = || -> Result<OwnedFd, Errno> {
        if let Some(identity) = identity {
            change_identity(identity)?;
        }
        enter(users, libc::CLONE_NEWUSER)?;
        enter(network, libc::CLONE_NEWNET)?;
        match purpose {
            Purpose::Listen(address) => {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let stream = SocketType::STREAM;
                let socket = rustix::net::socket_with(AddressFamily::INET, stream, flags, None)?;
                // The interface may not be up yet.
                rustix::net::sockopt::set_ip_freebind(&socket, true)?;
                rustix::net::bind(&socket, &address)?;
                rustix::net::listen(&socket, BACKLOG)?;
                Ok(socket)
            }
            Purpose::Diagnosis => rustix::net::socket_with(
                AddressFamily::NETLINK,
                SocketType::RAW,
                SocketFlags::CLOEXEC,
                Some(rustix::net::netlink::SOCK_DIAG),
            ),
        }
    };
    let (code, socket) = match open() {
        Ok(socket) => (0, Some(socket)),
        Err(errno) => (errno.raw_os_error(), None),
    };
    let mut buffer = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut buffer);
    let sockets = socket.as_ref().map(AsFd::as_fd);
    if let Some(socket) = &sockets {
        control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(
            socket,
        )));
    }
    let _parent_may_be_gone = sendmsg(
        reply_fd,
        &[IoSlice::new(&code.to_ne_bytes())],
        &mut control,
        SendFlags::NOSIGNAL,
    );
    // SAFETY: exits immediately, without running exit handlers of the parent.
    unsafe { libc::_exit(0) }
}

pub(super) fn enter(namespace: BorrowedFd<'_>, kind: libc::c_int) -> Result<(), Errno> {
    // SAFETY: takes an open descriptor and no memory; the child has one thread.
    match unsafe { libc::setns(namespace.as_raw_fd(), kind) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// Receives the child's socket or error; the channel closes when the child exits.
fn receive(from: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut code = [0; 4];
    let mut buffer = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut buffer);
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(from, &mut [IoSliceMut::new(&mut code)], &mut control, flags)?;
    let sockets = control.drain().find_map(|message| {
        let RecvAncillaryMessage::ScmRights(mut sockets) = message else {
            return None;
        };
        sockets.next()
    });
    sockets.ok_or_else(|| Errno::from_raw_os_error(i32::from_ne_bytes(code)).into())
}
