//! The journal's folder: private to its user, and one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::JournalError;

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
        make(path).map_err(failed("make the folder"))?;
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(path, private).map_err(failed("make private the folder"))?;
        let lock = private_file(&path.join("lock")).map_err(failed("lock the folder"))?;
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
        make(&path.join("blobs")).map_err(failed("make the folder for pictures in"))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            _temporary: None,
        })
    }

    pub(super) fn temporary() -> Result<Self, JournalError> {
        let made = tempfile::Builder::new()
            .prefix("telechir-journal-")
            .tempdir();
        let folder = made.map_err(|source| JournalError::File {
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

/// Makes a folder and those above it, private to the user.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// SQLite gives its other files the mode of the first.
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}
