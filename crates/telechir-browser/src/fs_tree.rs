//! Operations on profile folders. Links are not followed.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use telechir_process::tree;

const INSIDE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Folders that a browser recreates when missing, so they are not copied.
const CACHE_DIRS: [&str; 9] = [
    "Cache",
    "Code Cache",
    "DawnGraphiteCache",
    "DawnWebGPUCache",
    "GPUCache",
    "GrShaderCache",
    "GraphiteDawnCache",
    "ShaderCache",
    "component_crx_cache",
];
/// Links that name the process using the profile; telechir has its own lock.
const SINGLETONS: [&str; 3] = ["SingletonCookie", "SingletonLock", "SingletonSocket"];

/// Copies folders and regular files into a new folder, without caches.
pub(crate) fn copy(from: &Path, to: &OwnedFd) -> io::Result<()> {
    let is_cache = |name: &[u8]| CACHE_DIRS.iter().any(|cache| name == cache.as_bytes());
    tree::copy(&tree::open_folder(&from.canonicalize()?)?, to, &is_cache)
}

/// Creates a file in a profile, whose folders the browser's user may have replaced by links.
pub(crate) fn create_new(profile: &OwnedFd, path: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(File::from(openat2(profile, path, flags, mode, INSIDE)?))
}

/// Opens a folder of a profile, which is created if it is missing; returns whether it was.
pub(crate) fn open_or_create(profile: &OwnedFd, name: &str) -> io::Result<(OwnedFd, bool)> {
    let is_new = match mkdirat(profile, name, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error.into()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat2(profile, name, flags, Mode::empty(), INSIDE)?;
    Ok((folder, is_new))
}

/// Removes the links of a killed browser, which still mark the profile as used.
pub(crate) fn remove_singleton_links(profile: &Path) {
    for name in SINGLETONS {
        let _usually_missing = fs::remove_file(profile.join(name));
    }
}
