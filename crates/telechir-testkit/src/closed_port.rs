//! A port that refuses connections for as long as a test needs it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A loopback port that is bound and does not listen: connections to it are refused, and no other
/// test gets it before this is dropped.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _bound: TcpSocket,
}

impl ClosedPort {
    /// Binds a free port.
    ///
    /// # Errors
    /// If no loopback port is available.
    pub fn new() -> io::Result<Self> {
        let bound = TcpSocket::new_v4()?;
        bound.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = bound.local_addr()?;
        Ok(Self {
            address,
            _bound: bound,
        })
    }

    /// The address that refuses connections, until this is dropped.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn refuses_connections_and_is_not_given_to_another() {
        let port = ClosedPort::new().unwrap();
        let refused = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(port.address()).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
