//! The files to which the sockets of a network namespace are bound, from netlink's `sock_diag`.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// From `linux/netlink.h` and `linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST_AND_DUMP: u16 = 0x301;
/// From `linux/unix_diag.h`.
const UDIAG_SHOW_VFS: u32 = 2;
const UNIX_DIAG_VFS: u16 = 1;
/// Lengths of `nlmsghdr`, `unix_diag_msg` and `rtattr`.
const HEADER_BYTES: usize = 16;
const MESSAGE_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
const BUFFER_BYTES: usize = 64 * 1024;

/// The file of a bound socket, as the kernel lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoundFile {
    /// The lower half of its inode number.
    pub(super) inode: u32,
    /// The major number of its device from bit 20, and the minor number.
    pub(super) device: u32,
}

/// The files of all path sockets in the namespace of a netlink socket.
///
/// # Errors
/// If the kernel does not list them.
pub(super) fn bound_files(netlink: &OwnedFd) -> io::Result<Vec<BoundFile>> {
    send(netlink, &request(), SendFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let (length, _) = recv(netlink, &mut buffer[..], RecvFlags::empty())?;
        if read_messages(&buffer[..length], &mut found)? {
            return Ok(found);
        }
    }
}

/// `nlmsghdr` with `unix_diag_req`: sockets of all states, with their files.
fn request() -> Vec<u8> {
    const LENGTH: u32 = 16 + 24;
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_AND_DUMP.to_ne_bytes());
    // Sequence and port.
    bytes.extend([0; 8]);
    // Family, protocol and padding.
    bytes.extend([1, 0, 0, 0]);
    // States, inode, what to show, and two halves of a cookie.
    for value in [u32::MAX, 0, UDIAG_SHOW_VFS, u32::MAX, u32::MAX] {
        bytes.extend(value.to_ne_bytes());
    }
    bytes
}

/// Reads the messages of one datagram; returns whether the last one was among them.
fn read_messages(mut bytes: &[u8], found: &mut Vec<BoundFile>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let body = bytes.get(HEADER_BYTES..length).ok_or(Errno::BADMSG)?;
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let errno = u32_at(body, 0).unwrap_or(0).cast_signed();
                return Err(io::Error::from_raw_os_error(-errno));
            }
            _ => found.extend(file_of(body.get(MESSAGE_BYTES..).unwrap_or_default())),
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// The file among the attributes of one socket.
fn file_of(mut attributes: &[u8]) -> Option<BoundFile> {
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(ATTRIBUTE_BYTES..length)?;
        if kind == UNIX_DIAG_VFS {
            return Some(BoundFile {
                inode: u32_at(value, 0)?,
                device: u32_at(value, 4)?,
            });
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    None
}

const fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

    use super::*;

    #[test]
    fn lists_the_files_of_our_own_sockets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let inode = path.metadata().unwrap().ino();
        let flags = SocketFlags::CLOEXEC;
        let protocol = Some(netlink::SOCK_DIAG);
        let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol);
        let netlink = netlink.unwrap();
        let is_listed = || {
            let files = bound_files(&netlink).unwrap();
            files.iter().any(|file| u64::from(file.inode) == inode)
        };
        assert!(is_listed());
        drop(listener);
        assert!(!is_listed());
    }

    #[test]
    fn damaged_messages_are_refused() {
        let mut found = Vec::new();
        let too_long = [200, 0, 0, 0, 20, 0, 0, 0];
        assert!(read_messages(&too_long, &mut found).is_err());
        assert!(file_of(&[3, 0, 1, 0]).is_none());
        assert!(file_of(&[1, 0, 0, 0]).is_none());
    }

    /// A message of netlink, padded as the kernel pads it.
    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + body.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(ATTRIBUTE_BYTES + value.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A socket whose name comes before its file.
    fn socket(inode: u32, device: u32) -> Vec<u8> {
        let file = [inode.to_ne_bytes(), device.to_ne_bytes()].concat();
        let attributes = [attribute(0, b"/name"), attribute(UNIX_DIAG_VFS, &file)].concat();
        message(
            SOCK_DIAG_BY_FAMILY,
            &[vec![0; MESSAGE_BYTES], attributes].concat(),
        )
    }

    #[test]
    fn every_socket_of_a_datagram_is_read_until_the_last_message() {
        let nameless = message(SOCK_DIAG_BY_FAMILY, &[0; MESSAGE_BYTES]);
        let odd = message(
            SOCK_DIAG_BY_FAMILY,
            &[vec![0; MESSAGE_BYTES], attribute(0, b"/a")].concat(),
        );
        let all = [socket(7, 1), nameless, odd, socket(8, 2)].concat();
        let mut found = Vec::new();
        assert!(!read_messages(&all, &mut found).unwrap());
        let files = [(7, 1), (8, 2)].map(|(inode, device)| BoundFile { inode, device });
        assert_eq!(found, files);
        let last = [socket(9, 3), message(NLMSG_DONE, &[0; 4]), socket(10, 3)].concat();
        found.clear();
        assert!(read_messages(&last, &mut found).unwrap());
        assert_eq!(
            found,
            [BoundFile {
                inode: 9,
                device: 3
            }]
        );
        assert!(!read_messages(&[], &mut found).unwrap());
    }

    #[test]
    fn an_error_of_the_kernel_is_passed_on() {
        let code = -Errno::ACCESS.raw_os_error();
        let refused = message(NLMSG_ERROR, &code.to_ne_bytes());
        let error = read_messages(&refused, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ACCESS.raw_os_error()));
    }
}
