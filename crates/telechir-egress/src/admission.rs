//! Who may use a proxy: whose socket it is that connected.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// Whom a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Whoever reaches it: a listener inside a confinement's own network, where nobody else is.
    Everyone,
    /// Programs of this user, for a listener that others of the machine could reach.
    User(u32),
}

impl Admission {
    /// Whether the program at the other end of a connection is one of them.
    pub(crate) fn admits(self, peer: SocketAddr, own: SocketAddr) -> bool {
        match self {
            Self::Everyone => true,
            Self::User(uid) => owner(peer, own) == Some(uid),
        }
    }
}

/// The user whose socket is at `local`, connected with `remote`, as the system says. A socket that
/// is closed already is nobody's.
fn owner(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
        let table = fs::read_to_string(path).ok()?;
        table
            .lines()
            .skip(1)
            .find_map(|line| row(line, local, remote))
    })
}

/// The owner in one line of the system's table, when it is the line of this connection.
fn row(line: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (here, there) = (fields.next()?, fields.next()?);
    let is_it = |text: &str, address: SocketAddr| {
        read(text)
            .is_some_and(|(ip, port)| ip == address.ip().to_canonical() && port == address.port())
    };
    if fields.next()? != ESTABLISHED || !is_it(here, local) || !is_it(there, remote) {
        return None;
    }
    fields.nth(3)?.parse().ok()
}

/// An address and port as the table writes them: words of 32 bits in the machine's order.
fn read(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
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
    fn the_systems_table_is_read() {
        let local: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        let remote: SocketAddr = "127.0.0.1:3128".parse().unwrap();
        let v4 = "   1: 0100007F:9C40 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1234        0 99 1";
        assert_eq!(row(v4, local, remote), Some(1234));
        assert_eq!(row(v4, remote, local), None, "the other end's line");
        let mapped = v4.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(row(&mapped, local, remote), Some(1234));
        // A line of what was closed has no owner of its own any more.
        assert_eq!(row(&v4.replace(" 01 ", " 06 "), local, remote), None);
        assert_eq!(row("nonsense", local, remote), None);
    }

    #[test]
    fn a_connection_of_ours_is_ours() {
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
    }
}
