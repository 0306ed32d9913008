//! Visits every entry of a tree, through descriptors.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::Errno;

use super::beneath::{names, open_entry, open_subfolder};

/// Folders that are open at the same time; those above are opened again on the way back.
pub(super) const MAX_OPEN_FOLDERS: usize = 64;
/// Entries between two looks at the clock.
const ENTRIES_PER_CHECK: u32 = 64;

/// Opens the top of a tree. `path` is absolute and must contain no link: resolve it before.
///
/// # Errors
/// If it is not a folder, or a part of the path is a link.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

/// The total size of all regular files of a tree, in bytes; 0 for what cannot be read.
pub fn size_bytes(folder: &Path) -> u64 {
    let mut total: u64 = 0;
    let mut add = |_: BorrowedFd<'_>, found: &Stat| {
        if kind(found) == FileType::RegularFile {
            total = total.saturating_add(u64::try_from(found.st_size).unwrap_or(0));
        }
        Ok(())
    };
    let _what_was_read = open_folder(folder).and_then(|top| walk(&top, None, &mut add));
    total
}

/// Whether one of the names below `top` is this file: the same device and inode.
///
/// # Errors
/// If a folder cannot be read.
pub fn contains_file(top: &OwnedFd, file: &Stat) -> io::Result<bool> {
    let mut is_inside = false;
    let mut compare = |_: BorrowedFd<'_>, found: &Stat| {
        is_inside |= (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino);
        Ok(())
    };
    walk(top, None, &mut compare)?;
    Ok(is_inside)
}

/// Called with a descriptor of each entry, opened without access to its content, and its metadata.
pub(super) type Visit<'a> = dyn FnMut(BorrowedFd<'_>, &Stat) -> io::Result<()> + 'a;

/// Visits all entries below `top`, not `top` itself. Entries on other mounts are left out, and so
/// is what disappears during the walk.
pub(super) fn walk(
    top: &OwnedFd,
    deadline: Option<Instant>,
    visit: &mut Visit<'_>,
) -> io::Result<()> {
    let mut walker = Walker {
        top,
        deadline,
        entries: 0,
        visit,
    };
    walker.run()
}

/// The type of an entry.
pub(super) fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// A folder on the way from the top, with the subfolders that are still to be visited.
struct Level {
    /// Closed while the walk is far below.
    folder: Option<OwnedFd>,
    subfolders: Vec<CString>,
}

struct Walker<'a, 'v> {
    top: &'a OwnedFd,
    deadline: Option<Instant>,
    entries: u32,
    visit: &'a mut Visit<'v>,
}

impl Walker<'_, '_> {
    fn run(&mut self) -> io::Result<()> {
        let top = open_subfolder(self.top, c".")?;
        let mut levels = vec![self.read(top)?];
        // The names that lead from the top to the last level.
        let mut path: Vec<CString> = Vec::new();
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.subfolders.pop() else {
                levels.pop();
                path.pop();
                continue;
            };
            if level.folder.is_none() {
                level.folder = self.descend(&path)?;
            }
            let Some(folder) = &level.folder else {
                // It was moved: what is in it is no longer where this walk leads.
                level.subfolders.clear();
                continue;
            };
            let opened = match open_subfolder(folder, &name) {
                Err(error) if is_elsewhere(error) => continue,
                opened => opened?,
            };
            levels.push(self.read(opened)?);
            path.push(name);
            if let Some(far) = levels.len().checked_sub(MAX_OPEN_FOLDERS + 1) {
                levels[far].folder = None;
            }
        }
        Ok(())
    }

    /// Visits the entries of a folder.
    fn read(&mut self, folder: OwnedFd) -> io::Result<Level> {
        let mut subfolders = Vec::new();
        for name in names(&folder)? {
            self.check_time()?;
            let entry = match open_entry(&folder, &name, OFlags::PATH) {
                Err(error) if is_elsewhere(error) => continue,
                entry => entry?,
            };
            let found = fstat(&entry)?;
            (self.visit)(entry.as_fd(), &found)?;
            if kind(&found) == FileType::Directory {
                subfolders.push(name);
            }
        }
        Ok(Level {
            folder: Some(folder),
            subfolders,
        })
    }

    /// Opens a folder far from the top again; none if it is gone.
    fn descend(&self, path: &[CString]) -> io::Result<Option<OwnedFd>> {
        let names: Vec<&[u8]> = path.iter().map(|name| name.as_bytes()).collect();
        match open_subfolder(self.top, &CString::new(names.join(&b'/'))?) {
            Err(error) if is_elsewhere(error) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    fn check_time(&mut self) -> io::Result<()> {
        self.entries = self.entries.wrapping_add(1);
        let is_due = self.entries.is_multiple_of(ENTRIES_PER_CHECK);
        match self.deadline {
            Some(deadline) if is_due && Instant::now() >= deadline => {
                Err(io::ErrorKind::TimedOut.into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether an entry is gone, became a link or is on another mount, so that it is not of this tree.
fn is_elsewhere(error: Errno) -> bool {
    matches!(
        error,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV
    )
}
