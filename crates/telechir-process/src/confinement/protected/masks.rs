//! Empty files in place of missing protected ones, shared by the devices of a session.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::guardian;

/// Shared, so that a restarted shell does not remove the files that a desktop still needs.
static MASKS: Mutex<BTreeMap<PathBuf, Mask>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Mask {
    device: u64,
    inode: u64,
    users: usize,
}

impl Mask {
    /// Whether this file still exists at `path` and is empty.
    fn is_at(&self, path: &Path) -> bool {
        let metadata = fs::symlink_metadata(path);
        metadata.is_ok_and(|metadata| {
            metadata.len() == 0 && (metadata.dev(), metadata.ino()) == (self.device, self.inode)
        })
    }
}

/// The empty files that one device needs; the last device removes them.
#[derive(Debug, Default)]
pub(super) struct Masks(Vec<PathBuf>);

impl Masks {
    /// Creates an empty file that is removed no matter how the session ends.
    pub(super) fn add(&mut self, path: &Path) -> io::Result<()> {
        let mut masks = lock_masks();
        let mask = make(path)?;
        masks.insert(path.to_owned(), mask);
        self.0.push(path.to_owned());
        Ok(())
    }

    /// Shares an empty file that another device created.
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
            if mask.is_at(path) && fs::remove_file(path).is_ok() {
                guardian::unregister_file(path);
            }
            masks.remove(path);
        }
    }
}

fn make(path: &Path) -> io::Result<Mask> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = name.to_string_lossy();
    let temporary = folder.join(format!("{}{name}", guardian::folder_prefix()));
    let mut options = OpenOptions::new();
    let file: File = options
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&temporary)?;
    let metadata = file.metadata()?;
    // Registered with the guardian before it is linked to its name, so that it cannot be missed.
    let linked = guardian::register_file(path, &temporary, &temporary)
        .and_then(|()| fs::hard_link(&temporary, path));
    let _the_linked_name_remains = fs::remove_file(&temporary);
    linked?;
    Ok(Mask {
        device: metadata.dev(),
        inode: metadata.ino(),
        users: 1,
    })
}

fn lock_masks() -> MutexGuard<'static, BTreeMap<PathBuf, Mask>> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}
