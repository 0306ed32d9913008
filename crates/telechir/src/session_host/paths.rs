//! Files of a session: socket, log, and the lock that shows whether its session host lives.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{FlockOperation, flock};
use telechir_process::{is_private_dir, make_private_dir};
use tokio::net::UnixListener;

use crate::env;
use crate::error::CliError;

/// Socket paths are limited to 108 bytes including the terminating zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The name of a session: 1 to 32 letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionName(String);

impl FromStr for SessionName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=32).contains(&text.len()) && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err("expected a session name of 1 to 32 letters, digits, `_` or `-`".to_owned())
        }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Paths of one session's socket, lock and log.
#[derive(Clone, Debug)]
pub(crate) struct SessionPaths {
    folder: PathBuf,
    pub(crate) name: SessionName,
}

/// The lock of a session, owned by its session host as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl SessionPaths {
    /// The paths of the session with this name. Creates the folder if it is missing.
    pub(crate) fn of(name: &SessionName) -> Result<Self, CliError> {
        let paths = Self {
            folder: folder()?,
            name: name.clone(),
        };
        let length = paths.socket().as_os_str().len();
        if length > MAX_SOCKET_PATH_BYTES {
            return Err(CliError::message(format!(
                "socket path {} is too long ({length} bytes, the maximum is {MAX_SOCKET_PATH_BYTES}); \
                 set XDG_RUNTIME_DIR to a shorter path",
                paths.socket().display()
            )));
        }
        Ok(paths)
    }

    /// Every session with a socket or a lock file, sorted by name.
    pub(crate) fn all() -> Result<Vec<Self>, CliError> {
        let folder = folder()?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            names.push(file.trim_end_matches(".lock").to_owned());
        }
        names.sort();
        names.dedup();
        let names = names.into_iter().filter_map(|name| name.parse().ok());
        Ok(names
            .map(|name| Self {
                folder: folder.clone(),
                name,
            })
            .collect())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join(&self.name.0)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }

    /// Takes the lock; none if another process owns it.
    pub(super) fn claim(&self) -> io::Result<Option<Lock>> {
        loop {
            let file = private().create(true).open(self.lock_file())?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Ok(None);
            }
            // An exiting session host may remove the file between open and lock.
            if self.is_current(&file)? {
                return Ok(Some(Lock { _file: file }));
            }
        }
    }

    /// Whether a session host owns the lock.
    pub(super) fn is_locked(&self) -> io::Result<bool> {
        match private().open(self.lock_file()) {
            Ok(file) => Ok(flock(&file, FlockOperation::NonBlockingLockShared).is_err()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Blocks until no process owns the lock.
    pub(super) fn wait_until_free(&self) {
        if let Ok(file) = private().open(self.lock_file()) {
            // The caller probes again after any error.
            let _best_effort = flock(&file, FlockOperation::LockShared);
        }
    }

    /// Removes the files of a dead session host; true if there was a socket.
    pub(super) fn remove_remains(&self) -> io::Result<bool> {
        let Some(lock) = self.claim()? else {
            return Ok(false);
        };
        let was_there = remove(&self.socket())?;
        self.release(lock)?;
        Ok(was_there)
    }

    /// Listens on the socket, with mode 0600. Replaces the socket of a dead session host.
    pub(super) fn listen(&self, _lock: &Lock) -> io::Result<UnixListener> {
        remove(&self.socket())?;
        // The folder is private, so that nobody connects before the mode is set.
        let listener = UnixListener::bind(self.socket())?;
        fs::set_permissions(self.socket(), Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Stops accepting callers and removes the socket.
    pub(super) fn stop_listening(&self, listener: UnixListener) {
        drop(listener);
        let _gone_already = remove(&self.socket());
    }

    /// Removes lock and log, which frees the name.
    pub(super) fn release(&self, lock: Lock) -> io::Result<()> {
        remove(&self.log())?;
        remove(&self.lock_file())?;
        drop(lock);
        Ok(())
    }

    /// The log of the session host, with mode 0600.
    pub(super) fn open_log(&self) -> io::Result<File> {
        private().create(true).append(true).open(self.log())
    }

    fn is_current(&self, file: &File) -> io::Result<bool> {
        match fs::metadata(self.lock_file()) {
            Ok(current) => Ok(current.ino() == file.metadata()?.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Removes a file; true if it existed.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The folder of all sockets: below `XDG_RUNTIME_DIR`, otherwise `/tmp/telechir-UID`.
pub(crate) fn folder() -> Result<PathBuf, CliError> {
    let uid = rustix::process::geteuid().as_raw();
    let runtime = env::runtime_dir().filter(|dir| is_private_dir(dir, uid));
    let folder = runtime.map_or_else(
        || PathBuf::from(format!("/tmp/telechir-{uid}")),
        |dir| dir.join("telechir"),
    );
    match make_private_dir(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(CliError::message(format!(
            "failed to create {} for session sockets: {e}",
            folder.display()
        ))),
        _ if is_private_dir(&folder, uid) => Ok(folder),
        _ => Err(CliError::message(format!(
            "{} is not private, so it cannot contain session sockets; remove it, or set XDG_RUNTIME_DIR \
             to a folder that you own with mode 0700",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_restricted() {
        for name in ["a", "A-1_b", &"x".repeat(32)] {
            assert!(name.parse::<SessionName>().is_ok(), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "a.lock",
            "é",
            "a b",
            "a\n",
            &"x".repeat(33),
        ] {
            assert!(name.parse::<SessionName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_lock_has_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let paths = SessionPaths {
            folder: folder.path().to_owned(),
            name: "a".parse().unwrap(),
        };
        assert!(!paths.is_locked().unwrap());
        let lock = paths.claim().unwrap().unwrap();
        assert!(paths.claim().unwrap().is_none());
        assert!(paths.is_locked().unwrap());
        paths.release(lock).unwrap();
        assert!(!paths.is_locked().unwrap());
        assert!(paths.claim().unwrap().is_some());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let inside = folder.path().join("open");
        fs::create_dir(&inside).unwrap();
        for (mode, wanted) in [(0o700, true), (0o755, false), (0o770, false)] {
            fs::set_permissions(&inside, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_private_dir(&inside, uid), wanted, "{mode:o}");
        }
        fs::set_permissions(&inside, Permissions::from_mode(0o700)).unwrap();
        assert!(!is_private_dir(&inside, uid + 1), "of another owner");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        assert!(!is_private_dir(&link, uid), "a link");
    }
}
