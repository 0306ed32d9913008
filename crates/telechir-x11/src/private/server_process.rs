//! The process of an X server as the kernel shows it: its memory and the connections of its
//! clients. Works while the server answers nobody.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::fstat;
use rustix::net::sockopt::{socket_acceptconn, socket_peercred};
use rustix::net::{Shutdown, shutdown};
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Signal, getpid, pidfd_getfd, pidfd_open, pidfd_send_signal,
};
use telechir_process::Pid;

/// `EPOLLIN` of epoll(7): the server reads requests from this connection.
const EPOLLIN: u32 = 0x1;
/// `EPOLLOUT` of epoll(7): output of the server is waiting for the client to read it.
const EPOLLOUT: u32 = 0x4;
/// Maximum depth of a process below us.
const MAX_DEPTH: usize = 64;

/// A running X server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    pid: Pid,
    pidfd: OwnedFd,
}

impl ServerProcess {
    pub(super) fn open(pid: Pid) -> io::Result<Self> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, pidfd })
    }

    /// The writable memory that it has reserved, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let status = read_proc(self.pid, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
        let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
        kib.unwrap_or(0_u64) * 1024
    }

    /// How long it has waited for a processor since its start.
    pub(super) fn starved(&self) -> Duration {
        starved(self.pid)
    }

    /// The clients whose requests it still reads while a client has grabbed it; empty without a
    /// grab. One of them holds the grab; others were made impervious to grabs (XTEST).
    ///
    /// A grabbed server stops polling the sockets of all other clients.
    ///
    /// # Errors
    /// When the descriptors of the server may not be inspected.
    pub(super) fn grab_holders(&self) -> io::Result<Vec<ClientConnection>> {
        let clients = self.clients()?;
        if clients.iter().all(|client| client.is_served) {
            return Ok(Vec::new());
        }
        let served = clients.into_iter().filter(|client| client.is_served);
        Ok(served.filter(|client| !client.is_ours()).collect())
    }

    /// The clients of this process.
    ///
    /// # Errors
    /// When the descriptors of the server may not be inspected.
    pub(super) fn clients_of(&self, pid: Pid) -> io::Result<Vec<ClientConnection>> {
        let clients = self.clients()?.into_iter();
        Ok(clients.filter(|client| client.pid == Some(pid)).collect())
    }

    /// The clients that do not read what the server has sent them.
    ///
    /// # Errors
    /// When the descriptors of the server may not be inspected.
    pub(super) fn clients_with_unread_output(&self) -> io::Result<Vec<ClientConnection>> {
        let clients = self.clients()?.into_iter();
        let unread = clients.filter(|client| client.has_unread_output && !client.is_ours());
        Ok(unread.collect())
    }

    fn clients(&self) -> io::Result<Vec<ClientConnection>> {
        let mut clients = Vec::new();
        for polled in self.polled()? {
            clients.extend(self.client(&polled));
        }
        Ok(clients)
    }

    /// The descriptors that the server polls.
    fn polled(&self) -> io::Result<Vec<PolledFd>> {
        let proc = PathBuf::from(format!("/proc/{}", self.pid.as_raw_nonzero()));
        let mut polled = Vec::new();
        for entry in fs::read_dir(proc.join("fd"))? {
            let entry = entry?;
            let target = fs::read_link(entry.path()).unwrap_or_default();
            if target.to_str() == Some("anon_inode:[eventpoll]") {
                let text = fs::read_to_string(proc.join("fdinfo").join(entry.file_name()))?;
                polled.extend(text.lines().filter_map(PolledFd::parse));
            }
        }
        if polled.is_empty() {
            let message = "the X server polls no descriptor by epoll";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        Ok(polled)
    }

    /// The client behind a descriptor; `None` for a listening socket, and for one that was closed
    /// in the meantime.
    fn client(&self, polled: &PolledFd) -> Option<ClientConnection> {
        let socket = pidfd_getfd(&self.pidfd, polled.fd, PidfdGetfdFlags::empty()).ok()?;
        let is_same = fstat(&socket).is_ok_and(|stat| stat.st_ino == polled.inode);
        if !is_same || socket_acceptconn(&socket).unwrap_or(true) {
            return None;
        }
        let peer = socket_peercred(&socket).ok();
        Some(ClientConnection {
            pid: peer.map(|peer| peer.pid),
            socket,
            is_served: polled.events & EPOLLIN != 0,
            has_unread_output: polled.events & EPOLLOUT != 0,
        })
    }
}

/// A descriptor that a process polls, from the `fdinfo` of its epoll descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PolledFd {
    fd: i32,
    events: u32,
    inode: u64,
}

impl PolledFd {
    /// Parses `tfd: 10 events: 80000019 data: 558ff45600c0 pos:0 ino:532e05 sdev:9`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let mut after = |name: &str| {
            let word = words.find(|word| word.starts_with(name))?;
            let value = &word[name.len()..];
            if value.is_empty() {
                words.next()
            } else {
                Some(value)
            }
        };
        Some(Self {
            fd: after("tfd:")?.parse().ok()?,
            events: u32::from_str_radix(after("events:")?, 16).ok()?,
            inode: u64::from_str_radix(after("ino:")?, 16).ok()?,
        })
    }
}

/// The server's end of the connection to a client.
#[derive(Debug)]
pub(super) struct ClientConnection {
    /// The process that connected.
    pub(super) pid: Option<Pid>,
    socket: OwnedFd,
    is_served: bool,
    has_unread_output: bool,
}

impl ClientConnection {
    fn is_ours(&self) -> bool {
        self.pid == Some(getpid())
    }

    /// Closes the connection, whatever the client does.
    pub(super) fn disconnect(&self) {
        let _already_closed = shutdown(&self.socket, Shutdown::Both);
    }
}

/// How long the main thread of a process has waited for a processor since its start.
pub(super) fn starved(pid: Pid) -> Duration {
    let fields = read_proc(pid, "schedstat");
    let waited = fields.split_ascii_whitespace().nth(1);
    let waited = waited.and_then(|nanoseconds| nanoseconds.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

/// The child of ours that this process descends from; `None` if it is not a descendant.
pub(super) fn top_ancestor(pid: Pid) -> Option<Pid> {
    let mut current = pid;
    for _ in 0..MAX_DEPTH {
        let stat = read_proc(current, "stat");
        // The name before the last bracket may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let parent = fields.split_ascii_whitespace().nth(1)?.parse().ok();
        let parent = parent.and_then(Pid::from_raw)?;
        if parent == getpid() {
            return Some(current);
        }
        current = parent;
    }
    None
}

/// The name and id of a process, for notices. A program chooses its own name.
pub(super) fn description(pid: Pid) -> String {
    let name = read_proc(pid, "comm");
    let name = name.trim_end().escape_debug().to_string();
    format!("`{name}` (process {})", pid.as_raw_nonzero())
}

/// Kills a process if it descends from us; returns whether it does.
pub(super) fn kill_descendant(pid: Pid) -> bool {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    // Checked after opening the pidfd, so that the pid cannot be reused in between.
    let is_descendant = top_ancestor(pid).is_some();
    if is_descendant {
        let _already_exited = pidfd_send_signal(&pidfd, Signal::KILL);
    }
    is_descendant
}

fn read_proc(pid: Pid, file: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_polled_descriptors_of_the_kernel() {
        let line = "tfd:       10 events: 80000018 data:     558ff45600c0  pos:0 ino:532e05 sdev:9";
        let expected = PolledFd {
            fd: 10,
            events: 0x8000_0018,
            inode: 0x53_2e05,
        };
        assert_eq!(PolledFd::parse(line), Some(expected));
        for other in ["", "pos:\t0", "tfd: x events: 19", "tfd: 3 events: 19"] {
            assert_eq!(PolledFd::parse(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn only_our_descendants_are_killed() {
        assert_eq!(top_ancestor(getpid()), None);
        let init = Pid::from_raw(1).expect("a pid");
        assert_eq!(top_ancestor(init), None);
        let child = telechir_process::Spawn::new("sleep").arg("1000").spawn();
        let child = child.await.expect("sleep starts");
        assert_eq!(top_ancestor(child.pid()), Some(child.pid()));
        assert!(kill_descendant(child.pid()));
        assert!(!child.wait().await.expect("it ends").success());
    }
}
