//! A way into a confinement's own network: a listener there, held here.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::AsFd;

use super::verify::children_of;
use crate::sys::netns_socket;
use crate::{Identity, Pid};

/// Listens at a port of the loopback of the confinement with this first process, which runs as
/// `identity`; root's own user where there is none.
///
/// Only what is confined can connect with it. Nothing of ours runs inside.
///
/// # Errors
/// When the confinement has ended, or the system lets nobody in.
pub fn listen_inside(first: Pid, identity: Option<Identity>, port: u16) -> io::Result<TcpListener> {
    let network = network_of(first)?;
    let users = netns_socket::owner(network.as_fd())?;
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let socket = netns_socket::listen(users.as_fd(), network.as_fd(), identity, address)?;
    Ok(TcpListener::from(socket))
}

/// The first process may hide its own; what it started is in the same network.
fn network_of(first: Pid) -> io::Result<File> {
    let open = |pid: Pid| File::open(format!("/proc/{}/ns/net", pid.as_raw_nonzero()));
    open(first).or_else(|error| {
        let mut children = children_of(first).into_iter();
        children.find_map(|child| open(child).ok()).ok_or(error)
    })
}
