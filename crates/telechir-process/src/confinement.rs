//! bubblewrap around a program: the system read-only, no home, no network, no privilege.

mod account;
mod landlock;
mod limits;
mod network;
mod protected;
mod seccomp;
mod verify;
mod workspace;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;

use rustix::pipe::{PipeFlags, pipe_with};

pub use account::Account;
pub use limits::Limits;
pub use network::listen_inside;
pub use protected::{Missing, Protected};
pub use verify::{Told, explain, gone, verify, verify_container, verify_inside};
pub use workspace::checked as workspace;

use crate::{Identity, Spawn, Stdio, find_program, is_root};

/// Parts of `/etc` that programs need to start, to speak TLS and to know the time of day.
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
const FILTERS: [RawFd; 2] = [3, 4];
const INFO: RawFd = 5;

/// What stands in the way of a confinement, and how to mend it where that is known. There is
/// never a weaker one instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfinementError(pub(crate) String);

/// What a confined program sees of the machine: the system's programs and libraries, memory for
/// its temporary files, and what is named here, at the place where it is outside.
///
/// It is alone: processes, network, users, host name and shared memory are its own. All it starts
/// ends with it, and it ends with us.
#[derive(Debug)]
pub struct Confinement {
    identity: Option<Identity>,
    args: Vec<OsString>,
}

impl Confinement {
    /// Descriptors below this one are taken until the program runs.
    pub const FIRST_FREE_FD: RawFd = 6;

    /// The system alone, for a program that runs as `identity`: root must name one, others leave
    /// it out.
    ///
    /// # Errors
    /// When it would run as root or there is no bubblewrap.
    pub fn new(identity: Option<Identity>, limits: &Limits) -> Result<Self, ConfinementError> {
        let no = |why: &str| Err(ConfinementError(why.to_owned()));
        if identity.is_some_and(|identity| identity.uid == 0) {
            return no("it must not run as root");
        }
        if identity.is_none() && is_root() {
            return no("started as root, it needs an unprivileged user to run as");
        }
        if find_program(Path::new("bwrap")).is_none() {
            return no("`bwrap` was not found; install the package `bubblewrap`");
        }
        let new = Self {
            identity,
            args: Vec::new(),
        };
        Ok(new.isolation(limits).system())
    }

    fn isolation(self, limits: &Limits) -> Self {
        let (tmp, shared) = (
            limits.tmp_bytes.to_string(),
            limits.shared_memory_bytes.to_string(),
        );
        let fixed = "--unshare-all --unshare-user --disable-userns --new-session --die-with-parent \
                     --cap-drop ALL --clearenv --hostname telechir --proc /proc --dev /dev";
        let run = "--size 4194304 --tmpfs /run --symlink /run /var/run --dir /var/tmp --dir /home";
        self.words(fixed.split_ascii_whitespace())
            .words(["--size", &shared, "--tmpfs", "/dev/shm"])
            .words(["--size", &tmp, "--tmpfs", "/tmp"])
            .words(run.split_ascii_whitespace())
    }

    /// The system's folders, with the links that this machine has among them.
    fn system(mut self) -> Self {
        self = self.read_only("/usr", "/usr");
        for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            let path = format!("/{name}");
            if let Ok(target) = fs::read_link(&path) {
                self = self.words([OsStr::new("--symlink"), target.as_os_str(), path.as_ref()]);
            } else if Path::new(&path).is_dir() {
                self = self.read_only(&path, &path);
            }
        }
        for name in ETC {
            self = self.read_only_where_present(format!("/etc/{name}"));
        }
        self
    }

    /// Shows what is at `from` as `to`, to be read.
    #[must_use]
    pub fn read_only(self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Self {
        let (from, to) = (from.as_ref().as_os_str(), to.as_ref().as_os_str());
        self.words([OsStr::new("--ro-bind"), from, to])
    }

    /// Shows a path to be read, if this machine has it.
    #[must_use]
    pub fn read_only_where_present(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().as_os_str();
        self.words([OsStr::new("--ro-bind-try"), path, path])
    }

    /// Shows a path to be read and written.
    #[must_use]
    pub fn writable(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().as_os_str();
        self.words([OsStr::new("--bind"), path, path])
    }

    /// Sets a variable; the environment holds no other than these.
    #[must_use]
    pub fn env(self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.words([OsStr::new("--setenv"), name.as_ref(), value.as_ref()])
    }

    /// Begins in this folder.
    #[must_use]
    pub fn cwd(self, folder: impl AsRef<Path>) -> Self {
        self.words([OsStr::new("--chdir"), folder.as_ref().as_os_str()])
    }

    fn words(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.args.extend(words);
        self
    }

    /// The request for `command` in it, and where bubblewrap will tell about it. Its standard
    /// error is what bubblewrap complains on: a program that goes on must lead its own elsewhere.
    ///
    /// # Errors
    /// When the filter of system calls or a pipe cannot be made.
    pub fn command(
        self,
        command: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> io::Result<(Spawn, Told)> {
        let [refused, unknown] = seccomp::filters()?;
        let (info, info_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (complaints, complaints_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let identity = self.identity;
        // What bubblewrap made of memory itself has no size, so nothing is written there.
        let whole = self.words(["--remount-ro", "/", "--remount-ro", "/dev"]);
        let spawn = Spawn::new("bwrap")
            .args(whole.args)
            .args(["--info-fd", &INFO.to_string()])
            .args(
                FILTERS
                    .iter()
                    .flat_map(|number| ["--add-seccomp-fd".to_owned(), number.to_string()]),
            )
            .arg("--")
            .args(command)
            .identity(identity)
            .new_session()
            .cwd("/")
            .umask(0o022)
            .fd(FILTERS[0], refused)
            .fd(FILTERS[1], unknown)
            .fd(INFO, info_writer)
            .landlock(landlock::ruleset())
            .stderr(Stdio::Fd(complaints_writer));
        Ok((spawn, Told::new(info, complaints)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_confined_as_root() {
        let root = Identity { uid: 0, gid: 0 };
        let error = Confinement::new(Some(root), &Limits::default()).map(|_| ());
        assert_eq!(
            error,
            Err(ConfinementError("it must not run as root".to_owned()))
        );
        if is_root() {
            assert!(Confinement::new(None, &Limits::default()).is_err());
        }
    }
}
