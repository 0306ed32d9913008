//! Sandboxes programs with bubblewrap: read-only system, no home, no network, no privileges.

mod account;
mod file_identity;
mod landlock;
mod limits;
mod mount_points;
mod network;
mod network_namespace;
mod protected;
mod seccomp;
mod socket_watch;
mod sockets;
mod unix_diagnosis;
mod verify;
mod workspace;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use rustix::pipe::{PipeFlags, pipe_with};

pub use account::Account;
pub use limits::ResourceLimits;
use mount_points::Mount;
pub use network::listen_inside;
pub use network_namespace::{NetworkNamespace, WaitingProgram};
pub use protected::{MissingFiles, Outcome, Protected, Undone, accept_edit};
pub use socket_watch::SocketWatch;
pub use sockets::Sockets;
pub use verify::{
    SandboxInfo, explain_bwrap_error, verify, verify_container, verify_inside, wait_for_exit,
};
pub use workspace::{checked as workspace, join as join_workspace, lend as lend_workspace};

use crate::{Identity, Spawn, Stdio, find_program, is_root};

/// Files in `/etc` that programs need to start, to use TLS and to know the time zone.
const ETC: [&str; 12] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki",
    "protocols",
    "ssl/certs",
];
/// Mounts of bubblewrap that become read-only after the last mount point in them exists.
const READ_ONLY: [&str; 3] = ["/", "/dev", "/proc"];
const FILTER_FDS: [RawFd; 2] = [3, 4];
const INFO_FD: RawFd = 5;

/// Why a sandbox could not be created, with the fix if it is known. There is no fallback to a
/// weaker sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfinementError(pub(crate) String);

/// The view that a sandboxed program has of the machine: its programs and libraries, temporary
/// files in memory, and the paths added here, at the same location as outside.
///
/// It has its own pid, network, user, host name and IPC namespaces. Its descendants are killed with
/// it, and it is killed with us.
#[derive(Debug)]
pub struct Confinement {
    identity: Option<Identity>,
    args: Vec<OsString>,
    mounts: Vec<Mount>,
    /// Links that bubblewrap creates.
    links: Vec<PathBuf>,
}

impl Confinement {
    /// The first descriptor number that is free for the program; lower ones are used for the setup.
    pub const FIRST_FREE_FD: RawFd = 6;

    /// A sandbox with the system's folders only, for a program that runs as `identity`; required
    /// for root, `None` otherwise.
    ///
    /// # Errors
    /// If the program would run as root, or bubblewrap is not installed.
    pub fn new(
        identity: Option<Identity>,
        limits: &ResourceLimits,
    ) -> Result<Self, ConfinementError> {
        let refuse = |why: &str| Err(ConfinementError(why.to_owned()));
        if identity.is_some_and(|identity| identity.uid == 0) {
            return refuse("it must not run as root");
        }
        if identity.is_none() && is_root() {
            return refuse("telechir runs as root; choose an unprivileged user to run it as");
        }
        if find_program(Path::new("bwrap")).is_none() {
            return refuse("`bwrap` was not found; install the package `bubblewrap`");
        }
        let new = Self {
            identity,
            args: Vec::new(),
            mounts: Vec::new(),
            links: Vec::new(),
        };
        Ok(new.isolation(limits).system())
    }

    fn isolation(self, limits: &ResourceLimits) -> Self {
        let (tmp, shared) = (
            limits.tmp_bytes.to_string(),
            limits.shared_memory_bytes.to_string(),
        );
        let fixed = "--unshare-all --unshare-user --disable-userns --new-session --die-with-parent \
                     --cap-drop ALL --clearenv --hostname telechir --proc /proc --dev /dev";
        let run = "--size 4194304 --tmpfs /run --dir /var/tmp --dir /home";
        self.push_args(fixed.split_ascii_whitespace())
            .push_args(["--size", &shared, "--tmpfs", "/dev/shm"])
            .push_args(["--size", &tmp, "--tmpfs", "/tmp"])
            .push_args(run.split_ascii_whitespace())
            .link("/run".as_ref(), "/var/run")
    }

    /// Adds the system's folders, with this machine's links among them.
    fn system(mut self) -> Self {
        self = self.read_only("/usr", "/usr");
        for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            let path = format!("/{name}");
            if let Ok(target) = fs::read_link(&path) {
                self = self.link(target.as_ref(), &path);
            } else if Path::new(&path).is_dir() {
                self = self.read_only(&path, &path);
            }
        }
        for name in ETC {
            self = self.read_only_where_present(format!("/etc/{name}"));
        }
        self
    }

    /// Mounts `from` read-only at `to`.
    #[must_use]
    pub fn read_only(self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Self {
        self.mount("--ro-bind", from.as_ref(), to.as_ref())
    }

    /// Mounts a path read-only, if it exists.
    #[must_use]
    pub fn read_only_where_present(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if !mount_points::is_present(path) {
            return self;
        }
        self.mount("--ro-bind-try", path, path)
    }

    /// Mounts a path writable.
    #[must_use]
    pub fn writable(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        self.mount("--bind", path, path)
    }

    fn mount(mut self, kind: &str, from: &Path, to: &Path) -> Self {
        self.mounts.push(Mount {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        self.push_args([OsStr::new(kind), from.as_os_str(), to.as_os_str()])
    }

    fn link(mut self, target: &Path, path: &str) -> Self {
        self.links.push(path.into());
        self.push_args([OsStr::new("--symlink"), target.as_os_str(), path.as_ref()])
    }

    /// Sets an environment variable; the environment contains no others.
    #[must_use]
    pub fn env(self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.push_args([OsStr::new("--setenv"), name.as_ref(), value.as_ref()])
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(self, folder: impl AsRef<Path>) -> Self {
        self.push_args([OsStr::new("--chdir"), folder.as_ref().as_os_str()])
    }

    fn push_args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Describes `command` in this sandbox, and returns where bubblewrap reports about it. Its
    /// standard error carries bubblewrap's errors; a long-running program must redirect its own.
    ///
    /// # Errors
    /// If a mount point leads over a link, or the seccomp filter or a pipe cannot be created.
    pub fn command(
        self,
        command: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> io::Result<(Spawn, SandboxInfo)> {
        let points = mount_points::check(&self.mounts, &self.links).map_err(io::Error::other)?;
        let [refused, listed] = seccomp::filters()?;
        let (info, info_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (errors, errors_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let identity = self.identity;
        // bubblewrap's own tmpfs mounts have no size limit, so they become read-only. In `/proc`,
        // programs could write to the memory of others and choose victims of the OOM killer.
        let complete = READ_ONLY.into_iter().fold(self, |confinement, path| {
            confinement.push_args(["--remount-ro", path])
        });
        let spawn = Spawn::new("bwrap")
            .args(complete.args)
            .args(["--info-fd", &INFO_FD.to_string()])
            .args(
                FILTER_FDS
                    .iter()
                    .flat_map(|number| ["--add-seccomp-fd".to_owned(), number.to_string()]),
            )
            .arg("--")
            .args(command)
            .identity(identity)
            .new_session()
            .cwd("/")
            .umask(0o022)
            .fd(FILTER_FDS[0], refused)
            .fd(FILTER_FDS[1], listed)
            .fd(INFO_FD, info_writer)
            .landlock(landlock::ruleset())
            .first_victim()
            .stderr(Stdio::Fd(errors_writer));
        Ok((spawn, SandboxInfo::new(info, errors, points)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_exists_is_mounted_where_present() {
        let empty = Confinement {
            identity: None,
            args: Vec::new(),
            mounts: Vec::new(),
            links: Vec::new(),
        };
        let missing = empty.read_only_where_present("/no such file");
        assert_eq!(missing.args, [""; 0]);
        let present = missing.read_only_where_present("/usr");
        assert_eq!(present.args, ["--ro-bind-try", "/usr", "/usr"]);
        assert_eq!(present.mounts.len(), 1);
    }

    #[test]
    fn a_sandbox_as_root_is_refused() {
        let root = Identity { uid: 0, gid: 0 };
        let error = Confinement::new(Some(root), &ResourceLimits::default()).map(|_| ());
        assert_eq!(
            error,
            Err(ConfinementError("it must not run as root".to_owned()))
        );
        if is_root() {
            assert!(Confinement::new(None, &ResourceLimits::default()).is_err());
        }
    }
}
