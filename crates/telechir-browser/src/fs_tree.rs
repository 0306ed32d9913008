//! Operations on profile folders: size, copy, change of owner. Links are not followed.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use telechir_process::Identity;

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

/// The total size of all files below a folder, in bytes.
pub(crate) fn size_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let found = entry.metadata().ok()?;
            Some(if found.is_dir() {
                size_bytes(&entry.path())
            } else {
                found.len()
            })
        })
        .sum()
}

/// Changes the owner of everything below a folder that belongs to `before`.
pub(crate) fn chown_recursive(folder: &Path, before: u32, identity: Identity) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.uid() == before {
            lchown(entry.path(), Some(identity.uid), Some(identity.gid))?;
        }
        if found.is_dir() {
            chown_recursive(&entry.path(), before, identity)?;
        }
    }
    Ok(())
}

/// Copies folders and regular files, without caches.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() && !CACHE_DIRS.iter().any(|cache| name == *cache) {
            let inside = to.join(&name);
            fs::create_dir(&inside)?;
            copy(&entry.path(), &inside)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

/// Removes the links of a killed browser, which still mark the profile as used.
pub(crate) fn remove_singleton_links(profile: &Path) {
    for name in SINGLETONS {
        let _usually_missing = fs::remove_file(profile.join(name));
    }
}
