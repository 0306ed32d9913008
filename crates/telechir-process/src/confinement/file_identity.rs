//! What makes a file the same one, whatever its name and content.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags, statx};

/// A file on this machine; inode numbers are used again, so the time of birth counts, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileIdentity {
    pub(super) device: u64,
    pub(super) inode: u64,
    born: (i64, u32),
}

impl FileIdentity {
    /// Identifies a file by its path below a folder, or an open file by an empty path. The last name
    /// may be a link, which is not followed.
    pub(super) fn at(folder: impl AsFd, path: &Path) -> io::Result<Self> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(folder, path, flags, wanted)?;
        Ok(Self {
            device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born: (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        })
    }
}
