//! Whole folders of a profile: counted, copied, given to another user. No link is followed.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use telechir_process::Identity;

/// What a browser makes anew when it is missing: not worth a copy.
const CACHES: [&str; 9] = [
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
/// Links that say which process has the profile; ours has a lock of its own.
const SINGLETONS: [&str; 3] = ["SingletonCookie", "SingletonLock", "SingletonSocket"];

/// Bytes of all files below a folder.
pub(crate) fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let found = entry.metadata().ok()?;
            Some(if found.is_dir() {
                bytes(&entry.path())
            } else {
                found.len()
            })
        })
        .sum()
}

/// Gives all below a folder that belongs to `before` to another user.
pub(crate) fn give(folder: &Path, before: u32, identity: Identity) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.uid() == before {
            lchown(entry.path(), Some(identity.uid), Some(identity.gid))?;
        }
        if found.is_dir() {
            give(&entry.path(), before, identity)?;
        }
    }
    Ok(())
}

/// Copies folders and plain files; what else there is, and caches, stay behind.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() && !CACHES.iter().any(|cache| name == *cache) {
            let inside = to.join(&name);
            fs::create_dir(&inside)?;
            copy(&entry.path(), &inside)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

/// Removes the links by which a browser that was killed still seems to have the profile.
pub(crate) fn let_go(profile: &Path) {
    for name in SINGLETONS {
        let _mostly_not_there = fs::remove_file(profile.join(name));
    }
}
