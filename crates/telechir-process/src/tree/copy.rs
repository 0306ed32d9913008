//! Copies trees, without what a program of a session could have planted in them.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat2};

use super::beneath::{names, open_entry, open_subfolder};
use super::walk::kind;

/// Maximum nesting of copied folders. Chromium's profiles have about ten levels.
const MAX_DEPTH: u32 = 48;

/// Copies folders and regular files into the new folder `to`, private to their owner. Folders that
/// `is_skipped` names, links, and all other files are left out.
///
/// # Errors
/// If a file cannot be read or written, or folders are nested deeper than 48 levels.
pub fn copy(from: &OwnedFd, to: &OwnedFd, is_skipped: &dyn Fn(&[u8]) -> bool) -> io::Result<()> {
    let from = open_subfolder(from, c".")?;
    copy_folder(&from, to, is_skipped, MAX_DEPTH)
}

fn copy_folder(
    from: &OwnedFd,
    to: &OwnedFd,
    is_skipped: &dyn Fn(&[u8]) -> bool,
    depth: u32,
) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!(
            "its folders are nested deeper than {MAX_DEPTH} levels"
        )));
    }
    for name in names(from)? {
        let found = fstat(open_entry(from, &name, OFlags::PATH)?)?;
        let kind = kind(&found);
        if kind == FileType::Directory && !is_skipped(name.as_bytes()) {
            mkdirat(to, &name, Mode::RWXU)?;
            let (from, to) = (open_subfolder(from, &name)?, open_subfolder(to, &name)?);
            copy_folder(&from, &to, is_skipped, depth - 1)?;
        } else if kind == FileType::RegularFile {
            copy_file(from, to, &name)?;
        }
    }
    Ok(())
}

fn copy_file(from: &OwnedFd, to: &OwnedFd, name: &CString) -> io::Result<()> {
    let source = open_entry(from, name, OFlags::RDONLY | OFlags::NONBLOCK)?;
    if kind(&fstat(&source)?) != FileType::RegularFile {
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let target = openat2(to, name, flags, mode, resolve)?;
    io::copy(&mut File::from(source), &mut File::from(target))?;
    Ok(())
}
