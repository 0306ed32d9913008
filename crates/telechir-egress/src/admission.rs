//! Which clients a proxy serves, by the user that owns their socket.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// The clients that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Every client that can connect: for a listener in a sandbox's own network namespace.
    Everyone,
    /// Programs of this user id: for a listener that other users of the machine can reach.
    User(u32),
}

impl Admission {
    /// Whether the program at the other end of a connection is served.
    pub(crate) fn admits(self, peer: SocketAddr, own: SocketAddr) -> bool {
        match self {
            Self::Everyone => true,
            Self::User(uid) => owner(peer, own) == Some(uid),
        }
    }
}

/// The user that owns the socket at `local` connected to `remote`, from `/proc/net/tcp`. A closed
/// socket has no owner.
fn owner(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
        let table = fs::read_to_string(path).ok()?;
        table
            .lines()
            .skip(1)
            .find_map(|line| parse_row(line, local, remote))
    })
}

/// The owner in one row of the table, if the row is this connection's.
fn parse_row(line: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own_field, peer_field) = (fields.next()?, fields.next()?);
    let matches = |text: &str, address: SocketAddr| {
        parse_address(text)
            .is_some_and(|(ip, port)| ip == address.ip().to_canonical() && port == address.port())
    };
    if fields.next()? != ESTABLISHED || !matches(own_field, local) || !matches(peer_field, remote) {
        return None;
    }
    fields.nth(3)?.parse().ok()
}

/// Parses an address and port of the table: groups of 32 bits in native byte order.
fn parse_address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |at: usize| {
        let group = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        Some(group.to_ne_bytes())
    };
    let ip: IpAddr = match address.len() {
        8 => IpAddr::from(group(0)?),
        32 => {
            let groups = [group(0)?, group(8)?, group(16)?, group(24)?];
            let bytes: [u8; 16] = groups.concat().try_into().ok()?;
            IpAddr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some((ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn reads_the_kernel_s_table() {
        let local: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        let remote: SocketAddr = "127.0.0.1:3128".parse().unwrap();
        let v4 = "   1: 0100007F:9C40 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1234        0 99 1";
        assert_eq!(parse_row(v4, local, remote), Some(1234));
        assert_eq!(parse_row(v4, remote, local), None, "the other end's row");
        let mapped = v4.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(parse_row(&mapped, local, remote), Some(1234));
        let other: SocketAddr = "127.0.0.1:3129".parse().unwrap();
        assert_eq!(parse_row(v4, local, other), None, "another server");
        assert_eq!(parse_row(v4, other, remote), None, "another client");
        // The row of a closed connection has no valid owner.
        assert_eq!(parse_row(&v4.replace(" 01 ", " 06 "), local, remote), None);
        assert_eq!(parse_row("nonsense", local, remote), None);
    }

    #[test]
    fn admits_only_the_connecting_user() {
        use std::net::{TcpListener, TcpStream};
        use std::os::unix::fs::MetadataExt as _;

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        let own = accepted.local_addr().unwrap();
        let me = fs::metadata("/proc/self").unwrap().uid();
        assert!(Admission::User(me).admits(peer, own));
        assert!(!Admission::User(me + 1).admits(peer, own));
        drop(stream);
        // Nobody owns a connection that does not exist, not even root.
        let nobody: SocketAddr = "127.0.0.9:9".parse().unwrap();
        for user in [0, me] {
            assert!(!Admission::User(user).admits(nobody, own));
        }
    }
}
