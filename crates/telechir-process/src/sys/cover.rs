//! Mounts `/dev/null` over a file in another mount namespace: a child enters it and does so.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::exec::{block_signals, change_identity, last_errno};
use super::netns_socket::enter;
use crate::Identity;

/// From `linux/mount.h`.
const OPEN_TREE_CLONE: libc::c_uint = 1;
/// From `linux/mount.h`: both ends are descriptors.
const MOVE_MOUNT_BY_DESCRIPTORS: libc::c_uint = 0x04 | 0x40;

/// A file in a mount namespace, which may have been exchanged since it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// Absolute path, which must contain no link.
    pub(crate) path: &'a CStr,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Covers a file in the mount namespace `mounts`, owned by the user namespace `users`.
///
/// # Errors
/// If another file is at the path now, or the namespaces cannot be entered.
pub(crate) fn with_null(
    users: BorrowedFd<'_>,
    mounts: BorrowedFd<'_>,
    identity: Option<Identity>,
    target: Target<'_>,
) -> io::Result<()> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            block_signals();
            // SAFETY: the child runs only `run_child`, which makes bare system calls on data
            // prepared before, and never returns here.
            let pid = match unsafe { libc::fork() } {
                0 => run_child(users, mounts, identity, target),
                pid => Pid::from_raw(pid).filter(|_| pid > 0),
            };
            let pid = pid.ok_or_else(io::Error::last_os_error)?;
            let status = waitpid(Some(pid), WaitOptions::empty())?;
            let code = status.and_then(|(_, status)| status.exit_status());
            match code {
                Some(0) => Ok(()),
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => Err(io::ErrorKind::Other.into()),
            }
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Runs in the child. No allocation, no lock, no panic.
fn run_child(
    users: BorrowedFd<'_>,
    mounts: BorrowedFd<'_>,
    identity: Option<Identity>,
    target: Target<'_>,
) -> ! {
    let cover = || -> Result<(), Errno> {
        if let Some(identity) = identity {
            change_identity(identity)?;
        }
        enter(users, libc::CLONE_NEWUSER)?;
        enter(mounts, libc::CLONE_NEWNS)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let point = openat2(
            CWD,
            target.path,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        )?;
        let found = fstat(&point)?;
        if (found.st_dev, found.st_ino) != (target.device, target.inode) {
            return Err(Errno::STALE);
        }
        mount(&clone_of(c"/dev/null")?, &point)
    };
    let code = match cover() {
        Ok(()) => 0,
        Err(errno) => errno.raw_os_error(),
    };
    // SAFETY: exits immediately, without running exit handlers of the parent.
    unsafe { libc::_exit(code) }
}

/// A detached mount of a file.
fn clone_of(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: takes a string that outlives the call and returns a new descriptor that nothing else
    // owns.
    unsafe {
        match libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) {
            fd @ 0.. => Ok(OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1))),
            _ => Err(last_errno()),
        }
    }
}

fn mount(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let (from, to, empty) = (from.as_raw_fd(), to.as_raw_fd(), c"".as_ptr());
    let flags = MOVE_MOUNT_BY_DESCRIPTORS;
    // SAFETY: takes open descriptors and strings that outlive the call.
    match unsafe { libc::syscall(libc::SYS_move_mount, from, empty, to, empty, flags) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}
