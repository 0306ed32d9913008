//! The journal's folder: private to its user, and locked by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::JournalError;

const LOCK: &str = "lock";
/// A process that lists recordings holds a lock for an instant, to see whether it is free.
const LISTING: Duration = Duration::from_millis(200);
/// How often the lock is tried at least, however slow the machine is.
const MIN_ATTEMPTS: u32 = 100;
/// Pause between two attempts to get the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(1);

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
    _temporary: Option<tempfile::TempDir>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        let failed = |what| {
            move |source| JournalError::File {
                what,
                path: path.to_owned(),
                source,
            }
        };
        if path.exists() && !is_free(path).map_err(failed("record in"))? {
            return Err(JournalError::NotFree {
                path: path.to_owned(),
            });
        }
        make(path).map_err(failed("make the folder"))?;
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(path, private).map_err(failed("make private"))?;
        let lock = private_file(&path.join(LOCK)).map_err(failed("lock the folder"))?;
        match lock_soon(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock the folder")(source)),
        }
        private_file(&path.join(super::schema::FILE)).map_err(failed("write in the folder"))?;
        make(&path.join("blobs")).map_err(failed("make the image folder in"))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            _temporary: None,
        })
    }

    pub(super) fn temporary() -> Result<Self, JournalError> {
        let temporary = tempfile::Builder::new()
            .prefix("telechir-journal-")
            .tempdir();
        let folder = temporary.map_err(|source| JournalError::File {
            what: "make a temporary folder in",
            path: std::env::temp_dir(),
            source,
        })?;
        let mut opened = Self::open(folder.path())?;
        opened._temporary = Some(folder);
        Ok(opened)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a file, unless another process holds the lock for longer than it takes to list recordings.
#[expect(
    clippy::disallowed_methods,
    reason = "no event says that a lock of a file is free"
)]
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let deadline = Instant::now() + LISTING;
    let mut attempts = 1;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock)
                if attempts < MIN_ATTEMPTS || Instant::now() < deadline =>
            {
                thread::sleep(LOCK_INTERVAL);
                attempts += 1;
            }
            done => return done,
        }
    }
}

/// Whether a folder may be made private and written to: it is empty or already a recording. Making
/// a shared system folder private would break the machine.
fn is_free(path: &Path) -> io::Result<bool> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name());
    }
    let is_recording = names.iter().any(|name| name == super::schema::FILE);
    // A crash may have left only the lock file.
    Ok(is_recording || names.iter().all(|name| name == LOCK))
}

/// Creates a folder and its parents, private to the user.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file that only its user can read. SQLite creates its other files with the mode of the
/// first.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_list_of_recordings_keeps_no_session_out() {
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::open(folder.path()).unwrap());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let listed = File::open(folder.path().join(LOCK)).unwrap();
                    let _is_free = listed.try_lock();
                    drop(listed);
                    // A process that lists recordings does more than to hold locks.
                    thread::park_timeout(LOCK_INTERVAL);
                }
            });
            let opened: Vec<_> = (0..200)
                .map(|_| Folder::open(folder.path()).map(drop))
                .collect();
            is_over.store(true, Ordering::Relaxed);
            for opened in opened {
                opened.unwrap();
            }
        });
        let _writer = Folder::open(folder.path()).unwrap();
        let refused = Folder::open(folder.path());
        assert!(
            matches!(refused, Err(JournalError::InUse { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn a_folder_with_other_files_is_refused_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("somebody's"), "").unwrap();
        let world_readable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), world_readable).unwrap();
        let refused = Folder::open(folder.path());
        assert!(
            matches!(refused, Err(JournalError::NotFree { .. })),
            "{refused:?}"
        );
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_partly_created_folder_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        for _run in 0..2 {
            drop(Folder::open(folder.path()).unwrap());
        }
        fs::remove_file(folder.path().join(super::super::schema::FILE)).unwrap();
        fs::remove_dir(folder.path().join("blobs")).unwrap();
        drop(Folder::open(folder.path()).unwrap());
    }
}
