//! Gives trees to a session's user, and back.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, Stat, Uid, chmodat, chownat, fstat};
use rustix::io::Errno;

use super::walk::{kind, walk};
use crate::Identity;

/// The user and the group that own a file, by number; any user, root included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Numeric user id, as `stat` reports it; 0 is root.
    pub uid: u32,
    /// Numeric group id, as `stat` reports it; 0 is root's.
    pub gid: u32,
}

impl Owner {
    /// The present owner of an open file or folder.
    ///
    /// # Errors
    /// If the file system does not tell.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let found = fstat(file)?;
        Ok(Self {
            uid: found.st_uid,
            gid: found.st_gid,
        })
    }
}

/// Makes `to` the user of everything in a tree that belongs to one of the users `from`, `top`
/// itself last; groups stay as they are.
///
/// Left alone: what belongs to others, files with several names (another one may be outside),
/// devices, sockets and pipes, and programs that run with their owner's rights. What the system
/// protects from changes stays as well.
///
/// # Errors
/// If the tree cannot be walked, or `top` cannot be given away.
pub fn take(top: &OwnedFd, from: &[u32], to: Identity) -> io::Result<()> {
    let mut change = |entry: BorrowedFd<'_>, found: &Stat| {
        if !from.contains(&found.st_uid) || !is_plain(found) {
            return Ok(());
        }
        match chown(entry, Some(to.uid), None) {
            Err(Errno::PERM) => Ok(()),
            changed => Ok(changed?),
        }
    };
    walk(top, None, &mut change)?;
    if from.contains(&fstat(top)?.st_uid) {
        chown(top.as_fd(), Some(to.uid), None)?;
    }
    Ok(())
}

/// Gives a new tree to a user: everything in it, `top` itself last. It must be closed to that user
/// until then.
///
/// # Errors
/// If something cannot be given away.
pub fn give(top: &OwnedFd, to: Identity) -> io::Result<()> {
    let mut change = |entry: BorrowedFd<'_>, found: &Stat| {
        if is_plain(found) {
            chown(entry, Some(to.uid), Some(to.gid))?;
        }
        Ok(())
    };
    walk(top, None, &mut change)?;
    Ok(chown(top.as_fd(), Some(to.uid), Some(to.gid))?)
}

/// Makes `to` the owner of everything in a tree that belongs to a session's user or group, `top`
/// itself last. A file with several names changes only if all of them are in the tree, and nothing
/// keeps a permission to run with its owner's rights.
///
/// # Errors
/// If the tree cannot be walked until `deadline`, or something could not be given back; then
/// everything else was.
pub fn give_back(
    top: &OwnedFd,
    session: Identity,
    to: Owner,
    deadline: Option<Instant>,
) -> io::Result<()> {
    let mut failure = None;
    let mut names_seen: HashMap<u64, _> = HashMap::new();
    let mut change = |entry: BorrowedFd<'_>, found: &Stat| {
        if kind(found) != FileType::Directory && found.st_nlink > 1 {
            let seen = names_seen.entry(found.st_ino).or_insert(0);
            *seen += 1;
            if *seen < found.st_nlink {
                return Ok(());
            }
        }
        if let Err(error) = return_one(entry, found, session, to) {
            failure.get_or_insert(error);
        }
        Ok(())
    };
    walk(top, deadline, &mut change)?;
    return_one(top.as_fd(), &fstat(top)?, session, to)?;
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn return_one(
    entry: BorrowedFd<'_>,
    found: &Stat,
    session: Identity,
    to: Owner,
) -> rustix::io::Result<()> {
    let uid = (found.st_uid == session.uid).then_some(to.uid);
    let gid = (found.st_gid == session.gid).then_some(to.gid);
    if uid.is_none() && gid.is_none() {
        return Ok(());
    }
    // The kernel clears setuid and most setgid bits of a file whose owner changes.
    chown(entry, uid, gid)?;
    let mode = Mode::from_raw_mode(fstat(entry)?.st_mode);
    if kind(found) == FileType::RegularFile && mode.intersects(Mode::SUID | Mode::SGID) {
        let path = format!("/proc/thread-self/fd/{}", entry.as_raw_fd());
        let harmless = mode.difference(Mode::SUID | Mode::SGID);
        chmodat(CWD, path, harmless, AtFlags::empty())?;
    }
    Ok(())
}

/// Whether a session's user may own this entry.
fn is_plain(found: &Stat) -> bool {
    let mode = Mode::from_raw_mode(found.st_mode);
    match kind(found) {
        FileType::Directory => true,
        FileType::Symlink => found.st_nlink == 1,
        FileType::RegularFile => found.st_nlink == 1 && !mode.intersects(Mode::SUID | Mode::SGID),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => false,
    }
}

/// Changes the owner of what the descriptor shows, without its name.
fn chown(entry: BorrowedFd<'_>, uid: Option<u32>, gid: Option<u32>) -> rustix::io::Result<()> {
    let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    chownat(entry, c"", uid, gid, AtFlags::EMPTY_PATH)
}
