//! The journal's folder: private to its user, and locked by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::JournalError;

const LOCK: &str = "lock";

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
        match lock.try_lock() {
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
        Ok(Self {
            _temporary: None,
            ..Self::open(folder.path())?
        }
        .keeping(folder))
    }

    fn keeping(mut self, folder: tempfile::TempDir) -> Self {
        self._temporary = Some(folder);
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
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
    use super::*;

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
