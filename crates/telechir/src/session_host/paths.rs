//! Where the sockets of sessions lie, and the lock that says whether a session is held.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

use crate::env;
use crate::error::Failure;

/// The system takes 108 bytes for a socket's path, the last of them zero.
const LONGEST_PATH: usize = 107;

/// The name of a session: 1 to 32 letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=32).contains(&text.len()) && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a session's name has 1 to 32 letters, digits, `_` or `-`".to_owned())
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The files of one session: its socket, its lock and its log.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    pub(crate) name: Name,
}

/// Held by the one holder of a session, for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Place {
    /// The place of a session with this name. The folder is made when it is not there.
    pub(crate) fn of(name: &Name) -> Result<Self, Failure> {
        let place = Self {
            folder: folder()?,
            name: name.clone(),
        };
        let length = place.socket().as_os_str().len();
        if length > LONGEST_PATH {
            return Err(Failure::message(format!(
                "{} is too long a path for a socket ({length} bytes, {LONGEST_PATH} are the most); \
                 set XDG_RUNTIME_DIR to a shorter one",
                place.socket().display()
            )));
        }
        Ok(place)
    }

    /// Every session that has a socket or a lock, by name.
    pub(crate) fn all() -> Result<Vec<Self>, Failure> {
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

    /// Takes the lock, unless another process holds it.
    pub(super) fn claim(&self) -> io::Result<Option<Lock>> {
        loop {
            let file = private().create(true).open(self.lock_file())?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                return Ok(None);
            }
            // A holder that ended may have removed the file between the two steps.
            if self.is_current(&file)? {
                return Ok(Some(Lock { _file: file }));
            }
        }
    }

    /// Whether a process holds the session.
    pub(super) fn is_held(&self) -> io::Result<bool> {
        match private().open(self.lock_file()) {
            Ok(file) => Ok(flock(&file, FlockOperation::NonBlockingLockShared).is_err()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Blocks until no process holds the session.
    pub(super) fn wait_until_free(&self) {
        if let Ok(file) = private().open(self.lock_file()) {
            // Whatever goes wrong here, the caller looks again.
            let _best_effort = flock(&file, FlockOperation::LockShared);
        }
    }

    /// Removes what a dead holder left; true when there was a socket.
    pub(super) fn remove_remains(&self) -> io::Result<bool> {
        let Some(lock) = self.claim()? else {
            return Ok(false);
        };
        let was_there = remove(&self.socket())?;
        self.release(lock)?;
        Ok(was_there)
    }

    /// Listens on the socket, which only its owner can open. What was there was left by the dead.
    pub(super) fn listen(&self, _lock: &Lock) -> io::Result<UnixListener> {
        remove(&self.socket())?;
        let listener = UnixListener::bind(self.socket())?;
        fs::set_permissions(self.socket(), Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Nobody can come in any more.
    pub(super) fn stop_listening(&self, listener: UnixListener) {
        drop(listener);
        let _gone_already = remove(&self.socket());
    }

    /// Removes lock and log and lets others have the name.
    pub(super) fn release(&self, lock: Lock) -> io::Result<()> {
        remove(&self.log())?;
        remove(&self.lock_file())?;
        drop(lock);
        Ok(())
    }

    /// What the holder says beside its answers; only its owner can read it.
    pub(super) fn open_log(&self) -> io::Result<File> {
        private().create(true).append(true).open(self.log())
    }

    fn is_current(&self, file: &File) -> io::Result<bool> {
        match fs::metadata(self.lock_file()) {
            Ok(there) => Ok(there.ino() == file.metadata()?.ino()),
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

/// True when it was there.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The folder of all sockets: below `XDG_RUNTIME_DIR`, or one of ours in `/tmp`.
fn folder() -> Result<PathBuf, Failure> {
    let uid = rustix::process::geteuid().as_raw();
    let runtime = env::runtime_dir().filter(|dir| is_private(dir, uid));
    let folder = runtime.map_or_else(
        || PathBuf::from(format!("/tmp/telechir-{uid}")),
        |dir| dir.join("telechir"),
    );
    let made = DirBuilder::new().mode(0o700).create(&folder);
    match made {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(Failure::message(format!(
            "failed to make {} for the sockets of sessions: {e}",
            folder.display()
        ))),
        _ if is_private(&folder, uid) => Ok(folder),
        _ => Err(Failure::message(format!(
            "{} is not a folder that only you can enter, so no session's socket can lie there; \
             remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700",
            folder.display()
        ))),
    }
}

/// Whether this is a folder, not a link to one, that nobody but `uid` can enter or change.
fn is_private(folder: &Path, uid: u32) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == uid && meta.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["a", "A-1_b", &"x".repeat(32)] {
            assert!(name.parse::<Name>().is_ok(), "{name}");
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
            assert!(name.parse::<Name>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            folder: folder.path().to_owned(),
            name: "a".parse().unwrap(),
        };
        assert!(!place.is_held().unwrap());
        let lock = place.claim().unwrap().unwrap();
        assert!(place.claim().unwrap().is_none());
        assert!(place.is_held().unwrap());
        place.release(lock).unwrap();
        assert!(!place.is_held().unwrap());
        assert!(place.claim().unwrap().is_some());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let inside = folder.path().join("open");
        fs::create_dir(&inside).unwrap();
        for (mode, wanted) in [(0o700, true), (0o755, false), (0o770, false)] {
            fs::set_permissions(&inside, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_private(&inside, uid), wanted, "{mode:o}");
        }
        fs::set_permissions(&inside, Permissions::from_mode(0o700)).unwrap();
        assert!(!is_private(&inside, uid + 1), "of another owner");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        assert!(!is_private(&link, uid), "a link");
    }
}
