//! Sockets that servers outside create in a folder while a sandbox with it runs.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, major, minor, openat2};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::Sockets;
use super::network::diagnosis_inside;
use super::sockets::SocketFile;
use super::unix_diagnosis::{self, BoundFile};
use super::verify::children_of;
use crate::sys::{cover, netns_socket};
use crate::{Identity, Pid};

/// Covers sockets of servers outside that appear in a folder of a running sandbox. Sockets of
/// programs inside stay as they are.
#[derive(Debug)]
pub struct SocketWatch {
    folder: PathBuf,
    identity: Option<Identity>,
    users: OwnedFd,
    mounts: OwnedFd,
    /// Lists the sockets of programs inside.
    inside: OwnedFd,
    known: BTreeSet<SocketFile>,
}

impl SocketWatch {
    /// Watches a folder of the sandbox with this first process, which runs as `identity`; `covered`
    /// are the sockets that its mounts cover already.
    ///
    /// # Errors
    /// If the sandbox's namespaces cannot be entered, or the kernel does not list its sockets.
    pub fn new(
        first: Pid,
        identity: Option<Identity>,
        folder: &Path,
        covered: &Sockets,
    ) -> io::Result<Self> {
        let mounts = mounts_of(first)?;
        let users = netns_socket::owning_user_namespace(mounts.as_fd())?;
        let inside = diagnosis_inside(first, identity)?;
        unix_diagnosis::bound_files(&inside)?;
        Ok(Self {
            folder: folder.to_owned(),
            identity,
            users,
            mounts: mounts.into(),
            inside,
            known: covered.files.iter().copied().collect(),
        })
    }

    /// Searches the folder, and covers new sockets at which a program outside listens. Returns their
    /// paths.
    ///
    /// # Errors
    /// If the kernel does not list the sockets inside, or one cannot be covered.
    pub fn cover_new(&mut self) -> io::Result<Vec<PathBuf>> {
        let found = Sockets::find(&self.folder);
        self.known.retain(|file| found.files.contains(file));
        let is_new = |(_, file): &(PathBuf, SocketFile)| !self.known.contains(file);
        let new: Vec<_> = found.into_files().filter(is_new).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let inside = unix_diagnosis::bound_files(&self.inside)?;
        let mut covered = Vec::new();
        for (path, file) in new {
            if is_bound(file, &inside) {
                self.known.insert(file);
            // A socket whose server ended gets no other one, and programs inside can remove it.
            } else if has_server(&path, file) && self.cover(&path, file)? {
                self.known.insert(file);
                covered.push(path);
            }
        }
        Ok(covered)
    }

    /// Covers one socket; `false` if it is gone already.
    fn cover(&self, path: &Path, file: SocketFile) -> io::Result<bool> {
        let c_path = CString::new(path.as_os_str().as_bytes())?;
        let target = cover::Target {
            path: &c_path,
            device: file.device,
            inode: file.inode,
        };
        let covered = cover::with_null(
            self.users.as_fd(),
            self.mounts.as_fd(),
            self.identity,
            target,
        );
        let is_gone = |error: &io::Error| {
            let gone = [Errno::STALE, Errno::NOENT].map(|errno| errno.raw_os_error());
            error
                .raw_os_error()
                .is_some_and(|code| gone.contains(&code))
        };
        match covered {
            Err(error) if is_gone(&error) => Ok(false),
            covered => covered.map(|()| true),
        }
    }
}

/// Whether a program inside bound the socket of this file. The kernel lists the lower half of the
/// inode number, and not the device that `stat` reports for file systems without one, such as btrfs.
fn is_bound(file: SocketFile, bound: &[BoundFile]) -> bool {
    let device = u64::from(major(file.device)) << 20 | u64::from(minor(file.device));
    let has_device = major(file.device) != 0;
    bound.iter().any(|bound| {
        file.inode & u64::from(u32::MAX) == u64::from(bound.inode)
            && (!has_device || device == u64::from(bound.device))
    })
}

/// The mount namespace of the first process or, if that is not readable, of one of its children.
fn mounts_of(first: Pid) -> io::Result<File> {
    let open = |pid: Pid| File::open(format!("/proc/{}/ns/mnt", pid.as_raw_nonzero()));
    open(first).or_else(|error| {
        let mut children = children_of(first).into_iter();
        children.find_map(|child| open(child).ok()).ok_or(error)
    })
}

/// Whether a program listens at a socket. A stream connection that succeeds is closed at once.
fn has_server(path: &Path, file: SocketFile) -> bool {
    let connected = || -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        if SocketFile::at(&socket, Path::new(""))? != file {
            return Err(Errno::CONNREFUSED.into());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let client =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let address = format!("/proc/self/fd/{}", socket.as_raw_fd());
        rustix::net::connect(&client, &SocketAddrUnix::new(address.as_str())?)?;
        Ok(())
    };
    let none = [Errno::CONNREFUSED, Errno::NOENT].map(|errno| Some(errno.raw_os_error()));
    // Other errors, such as another type of socket, mean that there is one.
    connected().map_or_else(|error| !none.contains(&error.raw_os_error()), |()| true)
}
