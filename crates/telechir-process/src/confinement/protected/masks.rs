//! Placeholders for missing protected paths, shared by the devices of a session.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::confinement::file_identity::FileIdentity;
use crate::guardian;

/// Shared, so that a restarted shell does not remove the files that a desktop still needs.
static MASKS: Mutex<BTreeMap<PathBuf, Mask>> = Mutex::new(BTreeMap::new());

/// What stands in the place of a missing path; programs outside read it as if nothing was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// A file with this text, mostly none.
    File(&'static str),
    EmptyFolder,
}

impl Placeholder {
    pub(super) const EMPTY_FILE: Self = Self::File("");
}

#[derive(Debug)]
struct Mask {
    placeholder: Placeholder,
    file: FileIdentity,
    users: usize,
}

impl Mask {
    /// Whether this placeholder still exists at `path`, without any other content.
    fn is_at(&self, path: &Path) -> bool {
        let metadata = fs::symlink_metadata(path);
        metadata.is_ok_and(|metadata| {
            let is_unchanged = match self.placeholder {
                Placeholder::File(text) => metadata.len() == text.len() as u64,
                // It can be removed only while it is empty.
                Placeholder::EmptyFolder => true,
            };
            is_unchanged && FileIdentity::at(CWD, path).is_ok_and(|file| file == self.file)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.placeholder {
            Placeholder::File(_) => fs::remove_file(path),
            Placeholder::EmptyFolder => fs::remove_dir(path),
        }
    }
}

/// The placeholders that one device needs; the last device removes them.
#[derive(Debug, Default)]
pub(super) struct Masks(Vec<PathBuf>);

impl Masks {
    /// Creates a placeholder that is removed no matter how the session ends.
    pub(super) fn add(&mut self, path: &Path, placeholder: Placeholder) -> io::Result<()> {
        let mut masks = lock_masks();
        let mask = make(path, placeholder)?;
        masks.insert(path.to_owned(), mask);
        self.0.push(path.to_owned());
        Ok(())
    }

    /// The paths of the placeholders.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Shares a placeholder that another device created.
    pub(super) fn share(&mut self, path: &Path) {
        let mut masks = lock_masks();
        if let Some(mask) = masks.get_mut(path).filter(|mask| mask.is_at(path)) {
            mask.users += 1;
            self.0.push(path.to_owned());
        }
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        let mut masks = lock_masks();
        for path in &self.0 {
            let Some(mask) = masks.get_mut(path) else {
                continue;
            };
            mask.users -= 1;
            if mask.users > 0 {
                continue;
            }
            if mask.is_at(path) && mask.remove(path).is_ok() {
                guardian::unregister_file(path);
            }
            masks.remove(path);
        }
    }
}

/// Whether a path is a placeholder of a device of this process.
pub(super) fn is_placeholder(path: &Path) -> bool {
    lock_masks().get(path).is_some_and(|mask| mask.is_at(path))
}

/// Whether a device of this process reserves a path, even if its placeholder is gone.
pub(super) fn is_reserved(path: &Path) -> bool {
    lock_masks().contains_key(path)
}

fn make(path: &Path, placeholder: Placeholder) -> io::Result<Mask> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = name.to_string_lossy();
    let temporary = folder.join(format!("{}{name}", guardian::folder_prefix()));
    match placeholder {
        Placeholder::File(text) => {
            let mut options = OpenOptions::new();
            let options = options.write(true).create_new(true).mode(0o444);
            options.open(&temporary)?.write_all(text.as_bytes())?;
        }
        Placeholder::EmptyFolder => fs::create_dir(&temporary)?,
    }
    let file = FileIdentity::at(CWD, &temporary)?;
    // Registered with the guardian before it gets its name, so that it cannot be missed.
    let registered = guardian::register_file(path, &temporary, &temporary);
    let named = registered.and_then(|()| match placeholder {
        Placeholder::File(_) => fs::hard_link(&temporary, path),
        Placeholder::EmptyFolder => {
            renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE).map_err(Into::into)
        }
    });
    let _the_name_remains = match placeholder {
        Placeholder::File(_) => fs::remove_file(&temporary),
        Placeholder::EmptyFolder => fs::remove_dir(&temporary),
    };
    named?;
    Ok(Mask {
        placeholder,
        file,
        users: 1,
    })
}

fn lock_masks() -> MutexGuard<'static, BTreeMap<PathBuf, Mask>> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}
