//! Removes trees, whatever is in them.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, SeekFrom, Stat, fchmod, fstat, renameat, seek, statat, unlinkat,
};
use rustix::io::Errno;

use super::beneath::{allow_owner, names, open_entry, open_subfolder};
use super::walk::{MAX_OPEN_FOLDERS, open_folder};

/// Attempts to empty a folder into which another process writes.
const MAX_PASSES: u32 = 16;
/// Prefix of the names of folders that are moved up because they are nested too deep.
const MOVED: &str = "telechir-removed-";

/// Removes an entry of an open folder, with everything in it; nothing is done if it is missing.
/// Links are removed, never followed; other mounts are not entered.
///
/// # Errors
/// The first failure; everything else was removed.
pub fn remove(parent: impl AsFd, name: &OsStr) -> io::Result<()> {
    remove_if(parent.as_fd(), name, &|_| true)
}

/// Like [`remove`], but only if the entry belongs to one of these users; otherwise nothing is done.
///
/// # Errors
/// The first failure; everything else was removed.
pub fn remove_of(parent: impl AsFd, name: &OsStr, uids: &[u32]) -> io::Result<()> {
    remove_if(parent.as_fd(), name, &|found| uids.contains(&found.st_uid))
}

/// Like [`remove`], for a path whose parent folders no program of a session can change.
///
/// # Errors
/// The first failure; everything else was removed.
pub fn remove_path(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match parent
        .canonicalize()
        .and_then(|parent| open_folder(&parent))
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        parent => remove(parent?, name),
    }
}

fn remove_if(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    is_ours: &dyn Fn(&Stat) -> bool,
) -> io::Result<()> {
    let name = CString::new(name.as_bytes())?;
    let found = match statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        found => found?,
    };
    if !is_ours(&found) {
        return Ok(());
    }
    if unlink(parent, &name)? {
        return Ok(());
    }
    let folder = match enter(parent, &name) {
        Err(Errno::NOENT) => return Ok(()),
        folder => folder?,
    };
    // Checked on the descriptor: the name may have been given to another folder.
    if !is_ours(&fstat(&folder)?) {
        return Ok(());
    }
    let mut removal = Removal {
        parent,
        levels: vec![FolderLevel::new(name, folder)],
        moved: 0,
        failure: None,
    };
    removal.run();
    removal.failure.map_or(Ok(()), Err)
}

/// A folder that is being emptied.
struct FolderLevel {
    /// Its name in the level above.
    name: CString,
    folder: OwnedFd,
    entries: Vec<CString>,
    passes: u32,
    /// Whether an entry could not be removed, so that the folder stays.
    is_stuck: bool,
}

impl FolderLevel {
    fn new(name: CString, folder: OwnedFd) -> Self {
        Self {
            name,
            folder,
            entries: Vec::new(),
            passes: 0,
            is_stuck: false,
        }
    }
}

struct Removal<'a> {
    /// The folder that contains the top.
    parent: BorrowedFd<'a>,
    levels: Vec<FolderLevel>,
    moved: u64,
    failure: Option<io::Error>,
}

impl Removal<'_> {
    fn run(&mut self) {
        while let Some(level) = self.levels.last_mut() {
            if let Some(name) = level.entries.pop() {
                self.remove_entry(name);
            } else if level.passes < MAX_PASSES && !level.is_stuck {
                level.passes += 1;
                // A second pass reads from the beginning again.
                let found =
                    seek(&level.folder, SeekFrom::Start(0)).and_then(|_| names(&level.folder));
                match found {
                    Ok(found) if found.is_empty() => self.leave(),
                    Ok(found) => level.entries = found,
                    Err(error) => self.note(error),
                }
            } else {
                self.leave();
            }
        }
    }

    /// Removes an entry of the last level, or enters it.
    fn remove_entry(&mut self, name: CString) {
        let Some(level) = self.levels.last() else {
            return;
        };
        match unlink(level.folder.as_fd(), &name) {
            Ok(true) | Err(Errno::NOENT) => {}
            Ok(false) if self.levels.len() >= MAX_OPEN_FOLDERS => self.move_up(&name),
            Ok(false) => match enter(level.folder.as_fd(), &name) {
                Ok(folder) => self.levels.push(FolderLevel::new(name, folder)),
                Err(Errno::NOENT) => {}
                Err(error) => self.note(error),
            },
            Err(error) => self.note(error),
        }
    }

    /// Moves a deep folder to the top, so that the number of open folders stays bounded.
    fn move_up(&mut self, name: &CStr) {
        let (Some(top), Some(level)) = (self.levels.first(), self.levels.last()) else {
            return;
        };
        let mut opened_up = false;
        let moved = loop {
            self.moved += 1;
            let Ok(free) = CString::new(format!("{MOVED}{}", self.moved)) else {
                return;
            };
            match renameat(&level.folder, name, &top.folder, &free) {
                Ok(()) => break Ok(free),
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => {}
                // Moving a folder writes to it.
                Err(Errno::ACCESS) if !opened_up => {
                    opened_up = true;
                    let _rename_reports_it = open_up(level.folder.as_fd(), name);
                }
                Err(error) => break Err(error),
            }
        };
        match moved {
            Ok(free) => self.levels[0].entries.push(free),
            Err(error) => self.note(error),
        }
    }

    /// Removes the last level itself, which is empty unless something in it could not be removed.
    fn leave(&mut self) {
        let Some(level) = self.levels.pop() else {
            return;
        };
        let above = self
            .levels
            .last()
            .map_or(self.parent, |above| above.folder.as_fd());
        match unlinkat(above, &level.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => self.note(error),
        }
    }

    /// Remembers the first failure; the last level cannot be removed any more.
    fn note(&mut self, error: Errno) {
        self.failure.get_or_insert_with(|| error.into());
        if let Some(level) = self.levels.last_mut() {
            level.is_stuck = true;
        }
    }
}

/// Removes a name; returns whether it was not a folder.
fn unlink(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        // POSIX's answer for a folder; and Linux's for a file that cannot be removed.
        Err(Errno::PERM) => {
            let entry = open_entry(folder, name, OFlags::PATH | OFlags::DIRECTORY);
            entry.map(|_| false).map_err(|_| Errno::PERM)
        }
        Err(error) => Err(error),
    }
}

/// Opens a folder to empty it. Package managers create read-only folders for fetched sources.
fn enter(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let opened = match open_subfolder(folder, name) {
        Err(Errno::ACCESS) => {
            open_up(folder, name)?;
            open_subfolder(folder, name)?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        let _removal_reports_it = fchmod(&opened, mode | Mode::RWXU);
    }
    Ok(opened)
}

/// Makes a folder accessible for its owner, which must be us.
fn open_up(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    allow_owner(open_entry(folder, name, OFlags::PATH | OFlags::DIRECTORY)?)
}
