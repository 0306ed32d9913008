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
use super::file_identity::FileIdentity;
use super::network::diagnosis_inside;
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
    known: BTreeSet<FileIdentity>,
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
        let is_new = |(_, file): &(PathBuf, FileIdentity)| !self.known.contains(file);
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
    fn cover(&self, path: &Path, file: FileIdentity) -> io::Result<bool> {
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
fn is_bound(file: FileIdentity, bound: &[BoundFile]) -> bool {
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
fn has_server(path: &Path, file: FileIdentity) -> bool {
    let connected = || -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        if FileIdentity::at(&socket, Path::new(""))? != file {
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::{UnixDatagram, UnixListener};
    use std::process::{Command, Stdio};

    use rustix::fs::makedev;

    use super::*;

    fn identity(path: &Path) -> FileIdentity {
        FileIdentity::at(CWD, path).unwrap()
    }

    /// A watch with these namespaces, which lists no sockets.
    fn watch(users: OwnedFd, mounts: File) -> SocketWatch {
        SocketWatch {
            folder: PathBuf::new(),
            identity: None,
            users,
            mounts: mounts.into(),
            inside: File::open("/dev/null").unwrap().into(),
            known: BTreeSet::new(),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no guardian; the program ends with it"
    )]
    #[test]
    fn a_socket_that_is_gone_needs_no_cover_and_another_failure_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let _server = UnixListener::bind(at("server")).unwrap();
        let _other = UnixListener::bind(at("other")).unwrap();
        let (server, other) = (identity(&at("server")), identity(&at("other")));

        let mut inside = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .arg("echo; exec sleep 600")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        inside.stdout.take().unwrap().read_exact(&mut line).unwrap();
        let mounts = File::open(format!("/proc/{}/ns/mnt", inside.id())).unwrap();
        let users = netns_socket::owning_user_namespace(mounts.as_fd()).unwrap();
        let covers = watch(users, mounts);
        let found = [
            covers.cover(&at("server"), server),
            covers.cover(&at("missing"), server),
            covers.cover(&at("other"), server),
        ];
        inside.kill().unwrap();
        inside.wait().unwrap();
        assert!(
            matches!(found, [Ok(true), Ok(false), Ok(false)]),
            "{found:?}"
        );

        // Nobody can enter the namespace in which a program already is.
        let mounts = File::open("/proc/self/ns/mnt").unwrap();
        let users = File::open("/proc/self/ns/user").unwrap().into();
        let refused = watch(users, mounts).cover(&at("other"), other);
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn a_server_is_one_that_accepts_connections_at_the_very_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let _server = UnixListener::bind(at("server")).unwrap();
        drop(UnixListener::bind(at("ended")).unwrap());
        let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
        assert!(has_server(&at("server"), identity(&at("server"))));
        assert!(has_server(&at("datagrams"), identity(&at("datagrams"))));
        assert!(!has_server(&at("ended"), identity(&at("ended"))));
        // Another file took its place, or none.
        assert!(!has_server(&at("server"), identity(&at("ended"))));
        let server = identity(&at("server"));
        std::fs::rename(at("server"), at("moved")).unwrap();
        assert!(!has_server(&at("server"), server));
    }

    #[test]
    fn a_server_that_accepts_nothing_more_is_one_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("busy");
        let stream = SocketType::STREAM;
        let server = rustix::net::socket(AddressFamily::UNIX, stream, None).unwrap();
        let address = SocketAddrUnix::new(&path).unwrap();
        rustix::net::bind(&server, &address).unwrap();
        rustix::net::listen(&server, 0).unwrap();
        let mut waiting = Vec::new();
        let refusal = loop {
            let flags = SocketFlags::NONBLOCK;
            let client =
                rustix::net::socket_with(AddressFamily::UNIX, stream, flags, None).unwrap();
            match rustix::net::connect(&client, &address) {
                Ok(()) => waiting.push(client),
                Err(errno) => break errno,
            }
        };
        assert_eq!(refusal, Errno::AGAIN);
        assert!(has_server(&path, identity(&path)));
    }

    #[test]
    fn a_socket_is_recognized_by_the_lower_half_of_its_inode_and_its_device() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = identity(folder.path());
        (file.device, file.inode) = (makedev(8, 3), 7 << 32 | 5);
        let bound = |inode: u32, device: u32| BoundFile { inode, device };
        let here = 8 << 20 | 3;
        assert!(is_bound(file, &[bound(5, 1), bound(5, here)]));
        for other in [
            bound(5, 8 << 20 | 2),
            bound(5, 3),
            bound(5, 8 << 20),
            bound(7, here),
            bound(0, here),
        ] {
            assert!(!is_bound(file, &[other]), "{other:?}");
        }
        assert!(!is_bound(file, &[]));
        // A file system without a device: the kernel and `stat` name different ones.
        file.device = makedev(0, 45);
        assert!(is_bound(file, &[bound(5, 99)]));
        assert!(!is_bound(file, &[bound(6, 45)]));
    }
}
