//! Opens what is below an open folder, and lists folders.

use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, RawDirEntry, ResolveFlags, chmodat, fstat,
    openat2, statat,
};
use rustix::io::Errno;

/// The kernel's limit for one path is 4096 bytes.
const MAX_PATH_BYTES: usize = 4000;
/// Bytes of folder entries that are read at once.
const READ_BYTES: usize = 32 * 1024;

/// Over no link.
const NO_LINKS: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);
/// Over no link, and on the folder's own mount.
const ON_ONE_MOUNT: ResolveFlags = NO_LINKS.union(ResolveFlags::NO_XDEV);

/// Opens a path of any length below a folder for what `flags` say, over no link; an empty path is
/// the folder itself.
///
/// # Errors
/// `LOOP` if a part of it is a link, also the last one unless `flags` open links as themselves.
pub(crate) fn open_beneath(
    folder: impl AsFd,
    path: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    open_in_parts(folder, path.as_os_str().as_bytes(), flags, NO_LINKS)
}

/// Opens the folder that contains a path, as [`open_beneath`] does, to use the last name in it.
///
/// # Errors
/// `INVAL` if the path has no last name.
pub(crate) fn open_parent(folder: impl AsFd, path: &Path) -> rustix::io::Result<(OwnedFd, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    Ok((open_beneath(folder, parent, flags)?, name))
}

/// Opens a path of any length on the folder's own mount, and links as themselves.
pub(super) fn open_entry(
    folder: impl AsFd,
    path: &CStr,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    open_in_parts(
        folder,
        path.to_bytes(),
        flags | OFlags::NOFOLLOW,
        ON_ONE_MOUNT,
    )
}

/// Opens a folder's entry for reading its entries.
pub(super) fn open_subfolder(folder: impl AsFd, path: &CStr) -> rustix::io::Result<OwnedFd> {
    open_entry(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

fn open_in_parts(
    folder: impl AsFd,
    mut path: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let step = OFlags::PATH | OFlags::DIRECTORY;
    let mut opened: Option<OwnedFd> = None;
    while path.len() > MAX_PATH_BYTES {
        let first = path[..MAX_PATH_BYTES]
            .iter()
            .rposition(|byte| *byte == b'/');
        let (first, rest) = path.split_at(first.ok_or(Errno::NAMETOOLONG)?);
        let from = opened.as_ref().map_or_else(|| folder.as_fd(), AsFd::as_fd);
        let next = open_one(from, first, step, resolve)?;
        opened = Some(next);
        path = &rest[1..];
    }
    let from = opened.as_ref().map_or_else(|| folder.as_fd(), AsFd::as_fd);
    open_one(from, path, flags, resolve)
}

fn open_one(
    folder: impl AsFd,
    path: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    let path = if path.is_empty() { b"." } else { path };
    let flags = flags | OFlags::CLOEXEC;
    loop {
        match openat2(folder.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
}

/// Gives the owner of a folder, which must be us, every access to it.
pub(crate) fn allow_owner(folder: impl AsFd) -> rustix::io::Result<()> {
    let mode = Mode::from_raw_mode(fstat(folder.as_fd())?.st_mode) | Mode::RWXU;
    // The descriptor's own name: `fchmod` refuses descriptors without access.
    let path = format!("/proc/thread-self/fd/{}", folder.as_fd().as_raw_fd());
    chmodat(CWD, path, mode, AtFlags::empty())
}

/// The names in an open folder, without `.` and `..`.
pub(super) fn names(folder: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    list(folder, |entry| entry.file_name().to_owned())
}

/// The names in an open folder, without `.` and `..`, and what they are.
pub(crate) fn entries(folder: impl AsFd) -> rustix::io::Result<Vec<(PathBuf, FileType)>> {
    list(folder.as_fd(), |entry| {
        let name = entry.file_name();
        let mut kind = entry.file_type();
        // Not every file system stores it in the folder.
        if kind == FileType::Unknown {
            let found = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            kind = found.map_or(kind, |found| FileType::from_raw_mode(found.st_mode));
        }
        (PathBuf::from(OsStr::from_bytes(name.to_bytes())), kind)
    })
}

/// The names in an open folder, without `.` and `..`, and their inodes.
pub(crate) fn inodes(folder: impl AsFd) -> rustix::io::Result<Vec<(PathBuf, u64)>> {
    list(folder, |entry| {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        (PathBuf::from(name), entry.ino())
    })
}

fn list<T>(
    folder: impl AsFd,
    convert: impl Fn(&RawDirEntry<'_>) -> T,
) -> rustix::io::Result<Vec<T>> {
    let mut found = Vec::new();
    let mut buffer = vec![MaybeUninit::uninit(); READ_BYTES];
    let mut entries = RawDir::new(folder.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            found.push(convert(&entry));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::mkdirat;

    use super::*;
    use crate::tree::open_folder;

    #[test]
    fn paths_of_any_length_are_opened_and_no_link_is_followed() {
        let top = tempfile::tempdir().unwrap();
        let root = open_folder(top.path()).unwrap();
        let name = "n".repeat(200);
        let mut long = PathBuf::new();
        for _ in 0..60 {
            long.push(&name);
            let (parent, name) = open_parent(&root, &long).unwrap();
            mkdirat(&parent, name, Mode::RWXU).unwrap();
        }
        assert!(long.as_os_str().len() > 3 * MAX_PATH_BYTES);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let deepest = open_beneath(&root, &long, flags).unwrap();
        assert_eq!(entries(&deepest), Ok(Vec::new()));
        std::os::unix::fs::symlink(&name, top.path().join("link")).unwrap();
        let over_link = Path::new("link").join(&name);
        assert_eq!(
            open_beneath(&root, &over_link, flags).map(drop),
            Err(Errno::LOOP)
        );
        let all = entries(open_beneath(CWD, Path::new(""), flags).unwrap()).unwrap();
        assert!(all.len() == fs::read_dir(".").unwrap().count());
        crate::tree::remove(&root, name.as_ref()).unwrap();
    }
}
