//! Starts a program that sandboxes itself in a network namespace of its own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::ConfinementError;
use super::verify::{child_pid, is_shared, text_now};
use crate::{Pid, Readiness, Spawn, find_program};

/// Descriptors of bubblewrap's report and of the permission to go on; the program has neither.
const INFO_FD: RawFd = 100;
const START_FD: RawFd = 101;

/// A network namespace with a loopback interface alone, and a mount namespace with the machine's
/// files, for a program that sandboxes itself, such as Chromium.
///
/// Unlike a [`Confinement`](super::Confinement), the program keeps the right to create namespaces,
/// which its own sandbox needs. Its processes are visible as before.
#[derive(Debug)]
pub struct NetworkNamespace {
    mounts: Vec<OsString>,
    read_only: Vec<PathBuf>,
}

/// A program that waits in its new network namespace, before its first instruction.
#[derive(Debug)]
pub struct WaitingProgram {
    info: Readiness,
    start: OwnedFd,
}

impl NetworkNamespace {
    /// A namespace in which all files are as outside.
    ///
    /// # Errors
    /// If bubblewrap is not installed.
    pub fn new() -> Result<Self, ConfinementError> {
        if find_program(Path::new("bwrap")).is_none() {
            let why = "`bwrap` was not found; install the package `bubblewrap`";
            return Err(ConfinementError(why.to_owned()));
        }
        let new = Self {
            mounts: Vec::new(),
            read_only: Vec::new(),
        };
        Ok(new.push(["--unshare-user", "--unshare-net", "--dev-bind", "/", "/"]))
    }

    /// Hides a folder, so that no service behind a socket in it answers, but for those of `visible`
    /// that are in it. A missing folder, or a link, is left as it is.
    #[must_use]
    pub fn without_folder(mut self, folder: &Path, visible: &[&Path]) -> Self {
        if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
            return self;
        }
        self = self.push([OsStr::new("--tmpfs"), folder.as_os_str()]);
        for path in visible.iter().filter(|path| path.starts_with(folder)) {
            let path = path.as_os_str();
            self = self.push([OsStr::new("--bind-try"), path, path]);
        }
        self.read_only.push(folder.to_owned());
        self
    }

    /// Shows the folder `from` read-only at `at`, which need not exist.
    ///
    /// # Errors
    /// If the folders above `at` cannot be read.
    pub fn with_folder(mut self, from: &Path, at: &Path) -> io::Result<Self> {
        let existing = at.ancestors().find(|folder| folder.is_dir());
        let existing = existing.ok_or(io::ErrorKind::NotFound)?;
        let missing = at.strip_prefix(existing).map_err(io::Error::other)?;
        // A mount point without links in its path.
        let existing = fs::canonicalize(existing)?;
        if !missing.as_os_str().is_empty() {
            // A mount point cannot be created in a folder of the machine, only in a copy of it.
            self = self.copy_of(&existing)?;
        }
        let at = existing.join(missing);
        let at = at.components().as_path();
        Ok(self.push([OsStr::new("--ro-bind"), from.as_os_str(), at.as_os_str()]))
    }

    /// Replaces a folder by one in memory with the same entries.
    fn copy_of(mut self, folder: &Path) -> io::Result<Self> {
        let entries: Vec<PathBuf> = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        self = self.push([OsStr::new("--tmpfs"), folder.as_os_str()]);
        for path in entries {
            let path_text = path.as_os_str();
            self = match fs::read_link(&path) {
                Ok(target) => self.push([OsStr::new("--symlink"), target.as_os_str(), path_text]),
                Err(_) => self.push([OsStr::new("--bind-try"), path_text, path_text]),
            };
        }
        self.read_only.push(folder.to_owned());
        Ok(self)
    }

    fn push(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.mounts.extend(args);
        self
    }

    /// Describes how `program` is started in this namespace. Once spawned, it waits for
    /// [`WaitingProgram::start`]. bubblewrap's errors appear on its standard error.
    ///
    /// # Errors
    /// If a pipe cannot be created.
    pub fn wrap(self, program: Spawn) -> io::Result<(Spawn, WaitingProgram)> {
        let (info, info_writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (start_reader, start) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut args = self.mounts;
        for folder in self.read_only {
            args.extend(["--remount-ro".into(), folder.into_os_string()]);
        }
        if !program.outlives_us() {
            args.push("--die-with-parent".into());
        }
        for (name, number) in [("--info-fd", INFO_FD), ("--block-fd", START_FD)] {
            args.extend([name.into(), number.to_string().into()]);
        }
        args.push("--".into());
        let wrapped = program
            .started_by("bwrap", args)
            .fd(INFO_FD, info_writer)
            .fd(START_FD, start_reader);
        let info = Readiness::reading(info)?;
        Ok((wrapped, WaitingProgram { info, start }))
    }
}

impl WaitingProgram {
    /// Waits until the namespace exists; returns the process that will become the program, verified
    /// to be in a network namespace other than ours.
    ///
    /// # Errors
    /// If bubblewrap fails, or the namespace is ours.
    pub async fn ready(&self) -> Result<Pid, ConfinementError> {
        let mut text = String::new();
        let read = |fd: BorrowedFd<'_>| {
            let (more, is_open) = text_now(fd);
            text.push_str(&more);
            // The report ends with a brace.
            match is_open && !text.contains('}') {
                true => Err(Errno::WOULDBLOCK.into()),
                false => Ok(()),
            }
        };
        let _an_error_leaves_no_text = self.info.read(read).await;
        let process = child_pid(&text);
        let process = process.ok_or_else(|| ConfinementError("bubblewrap exited".to_owned()))?;
        if is_shared(process, "net") {
            let why = "its network namespace is the machine's";
            return Err(ConfinementError(why.to_owned()));
        }
        Ok(process)
    }

    /// Lets the program start.
    ///
    /// # Errors
    /// If bubblewrap has exited.
    pub fn start(self) -> io::Result<()> {
        rustix::io::write(&self.start, b"1")?;
        Ok(())
    }
}
