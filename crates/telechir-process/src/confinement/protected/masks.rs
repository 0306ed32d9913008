//! Empty files in the place of protected ones that are missing, shared by the devices of a session.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::guardian;

/// A shell that begins anew must not take away what holds for a desktop beside it.
static MASKS: Mutex<BTreeMap<PathBuf, Mask>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Mask {
    device: u64,
    inode: u64,
    users: usize,
}

impl Mask {
    /// Whether this very file is still there, and nobody wrote to it.
    fn is_at(&self, path: &Path) -> bool {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| {
            found.len() == 0 && (found.dev(), found.ino()) == (self.device, self.inode)
        })
    }
}

/// Those that one device needs; the last one removes them.
#[derive(Debug, Default)]
pub(super) struct Masks(Vec<PathBuf>);

impl Masks {
    /// Makes an empty file that is removed however we end.
    pub(super) fn add(&mut self, path: &Path) -> io::Result<()> {
        let mut masks = locked();
        let mask = make(path)?;
        masks.insert(path.to_owned(), mask);
        self.0.push(path.to_owned());
        Ok(())
    }

    /// Keeps a file that another device made.
    pub(super) fn share(&mut self, path: &Path) {
        let mut masks = locked();
        if let Some(mask) = masks.get_mut(path).filter(|mask| mask.is_at(path)) {
            mask.users += 1;
            self.0.push(path.to_owned());
        }
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        let mut masks = locked();
        for path in &self.0 {
            let Some(mask) = masks.get_mut(path) else {
                continue;
            };
            mask.users -= 1;
            if mask.users > 0 {
                continue;
            }
            if mask.is_at(path) && fs::remove_file(path).is_ok() {
                guardian::unowns_file(path);
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
    let made = folder.join(format!("{}{name}", guardian::folder_prefix()));
    let mut options = OpenOptions::new();
    let file: File = options
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&made)?;
    let found = file.metadata()?;
    // Known before it has its name, so that there is no moment in which nobody knows it.
    let linked = guardian::owns_file(path, &made, &made).and_then(|()| fs::hard_link(&made, path));
    let _its_other_name_counts = fs::remove_file(&made);
    linked?;
    Ok(Mask {
        device: found.dev(),
        inode: found.ino(),
        users: 1,
    })
}

fn locked() -> MutexGuard<'static, BTreeMap<PathBuf, Mask>> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}
