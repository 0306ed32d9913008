//! The process at the other end of a socket, by a descriptor: its number could be used again.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// The process that connected to a Unix socket, from the moment when it did. The descriptor refers to
/// this process for ever.
///
/// # Errors
/// If the process has exited, or the kernel is older than 6.5.
pub fn peer_process(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut process: libc::c_int = -1;
    let mut length: libc::socklen_t = 4;
    // SAFETY: both pointers are to live variables, and `length` is the size of the first.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut process).cast(),
            &raw mut length,
        )
    };
    if result != 0 || process < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(process) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    #[test]
    fn the_peer_is_the_process_that_connected() {
        let (one, _other) = UnixStream::pair().unwrap();
        let process = peer_process(&one).unwrap();
        let information =
            std::fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd()));
        let information = information.unwrap();
        let pid = information
            .lines()
            .find_map(|line| line.strip_prefix("Pid:"));
        let pid = pid.map(str::trim).and_then(|pid| pid.parse::<u32>().ok());
        assert_eq!(pid, Some(std::process::id()));
        let mut fds = [PollFd::new(&process, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        assert_eq!(poll(&mut fds, Some(&now)).unwrap(), 0, "it has not exited");
    }

    #[test]
    fn other_descriptors_have_no_peer() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(peer_process(&file).is_err());
    }
}
