//! Sockets in a sandbox's network namespace, used outside.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use super::verify::children_of;
use crate::sys::netns_socket::{self, Purpose};
use crate::{Identity, Pid};

/// Listens on a loopback port of the sandbox with this first process, which runs as `identity`;
/// `None` means our own user.
///
/// Only sandboxed programs can connect. None of our programs runs inside.
///
/// # Errors
/// If the sandbox has ended, or its namespaces cannot be entered.
pub fn listen_inside(first: Pid, identity: Option<Identity>, port: u16) -> io::Result<TcpListener> {
    let network = network_of(first)?;
    let users = netns_socket::owning_user_namespace(network.as_fd())?;
    let address = Purpose::Listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
    let socket = netns_socket::create(users.as_fd(), network.as_fd(), identity, address)?;
    Ok(TcpListener::from(socket))
}

/// A netlink socket that lists the sockets in the network namespace of a sandbox.
pub(super) fn diagnosis_inside(first: Pid, identity: Option<Identity>) -> io::Result<OwnedFd> {
    let network = network_of(first)?;
    let users = netns_socket::owning_user_namespace(network.as_fd())?;
    netns_socket::create(users.as_fd(), network.as_fd(), identity, Purpose::Diagnosis)
}

/// The network namespace of the first process or, if that is not readable, of one of its children.
fn network_of(first: Pid) -> io::Result<File> {
    let open = |pid: Pid| File::open(format!("/proc/{}/ns/net", pid.as_raw_nonzero()));
    open(first).or_else(|error| {
        let mut children = children_of(first).into_iter();
        children.find_map(|child| open(child).ok()).ok_or(error)
    })
}
