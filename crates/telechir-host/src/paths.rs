//! Files of a session: socket, log, and the lock that shows whether its session host lives.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{FlockOperation, flock};
use telechir_process::is_plain_name;
use tokio::net::UnixListener;

use crate::HostError;

/// Socket paths are limited to 108 bytes including the terminating zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The name of a session: 1 to 32 letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionName(String);

impl FromStr for SessionName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_plain_name(text) {
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
pub struct SessionPaths {
    folder: PathBuf,
    /// Name of the session.
    pub name: SessionName,
}

/// The lock of a session, owned by its session host as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl SessionPaths {
    /// The paths of the session with this name in the folder of all sockets.
    ///
    /// # Errors
    /// When the folder's path is too long for a socket in it.
    pub fn new(folder: impl Into<PathBuf>, name: SessionName) -> Result<Self, HostError> {
        let folder = folder.into();
        let paths = Self { folder, name };
        let length = paths.socket().as_os_str().len();
        if length > MAX_SOCKET_PATH_BYTES {
            return Err(HostError::new(format!(
                "socket path {} is too long ({length} bytes, the maximum is {MAX_SOCKET_PATH_BYTES}); \
                 set XDG_RUNTIME_DIR to a shorter path",
                paths.socket().display()
            )));
        }
        Ok(paths)
    }

    /// Every session with a socket or a lock file, sorted by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            names.push(file.trim_end_matches(".lock").to_owned());
        }
        names.sort();
        names.dedup();
        let names = names.into_iter().filter_map(|name| name.parse().ok());
        Ok(names
            .map(|name| Self {
                folder: folder.to_owned(),
                name,
            })
            .collect())
    }

    /// The folder of all sockets.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket of the session host.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(&self.name.0)
    }

    /// The log of the session host.
    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }

    /// Takes the lock; none if another process owns it.
    pub(crate) fn claim(&self) -> io::Result<Option<Lock>> {
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
    pub(crate) fn is_locked(&self) -> io::Result<bool> {
        match private().open(self.lock_file()) {
            Ok(file) => Ok(flock(&file, FlockOperation::NonBlockingLockShared).is_err()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Blocks until no process owns the lock.
    pub(crate) fn wait_until_free(&self) {
        if let Ok(file) = private().open(self.lock_file()) {
            // The caller probes again after any error.
            let _best_effort = flock(&file, FlockOperation::LockShared);
        }
    }

    /// Removes the files of a dead session host; true if there was a socket.
    pub(crate) fn remove_remains(&self) -> io::Result<bool> {
        let Some(lock) = self.claim()? else {
            return Ok(false);
        };
        let was_there = remove(&self.socket())?;
        self.release(lock)?;
        Ok(was_there)
    }

    /// Listens on the socket, with mode 0600. Replaces the socket of a dead session host.
    pub(crate) fn listen(&self, _lock: &Lock) -> io::Result<UnixListener> {
        remove(&self.socket())?;
        // The folder is private, so that nobody connects before the mode is set.
        let listener = UnixListener::bind(self.socket())?;
        fs::set_permissions(self.socket(), Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Stops accepting callers and removes the socket.
    pub(crate) fn stop_listening(&self, listener: UnixListener) {
        drop(listener);
        self.remove_socket();
    }

    /// Removes the socket, so that nobody finds it any more.
    pub(crate) fn remove_socket(&self) {
        let _gone_already = remove(&self.socket());
    }

    /// Removes lock and log, which frees the name.
    pub(crate) fn release(&self, lock: Lock) -> io::Result<()> {
        remove(&self.log())?;
        remove(&self.lock_file())?;
        drop(lock);
        Ok(())
    }

    /// The log of the session host, with mode 0600.
    pub(crate) fn open_log(&self) -> io::Result<File> {
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
}
