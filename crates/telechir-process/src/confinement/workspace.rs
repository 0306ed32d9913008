//! The workspace: the only writable folder, owned by the session's user.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use super::ConfinementError;
use crate::Identity;

/// System folders, which cannot be a workspace.
const SYSTEM_DIRS: [&str; 20] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt",
    "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var",
];
/// System trees, in which no folder can be a workspace.
const SYSTEM_TREES: [&str; 9] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr",
];

/// Returns the canonical path of a workspace, after changing its owner to `identity`, if any.
///
/// # Errors
/// If it is not a directory, or a system folder.
pub fn checked(path: &Path, identity: Option<Identity>) -> Result<PathBuf, ConfinementError> {
    let fail = |why: String| ConfinementError(format!("the workspace {} {why}", path.display()));
    let real =
        fs::canonicalize(path).map_err(|error| fail(format!("cannot be opened: {error}")))?;
    if !real.is_dir() {
        return Err(fail(
            "is not a directory; choose one with --workspace".to_owned(),
        ));
    }
    if real.to_str().is_none() {
        return Err(fail("has a path that is not UTF-8".to_owned()));
    }
    let is_shared_memory = real.starts_with("/dev/shm") && real != Path::new("/dev/shm");
    let is_in_system_tree =
        !is_shared_memory && SYSTEM_TREES.iter().any(|folder| real.starts_with(folder));
    if is_in_system_tree || SYSTEM_DIRS.iter().any(|folder| real == Path::new(folder)) {
        return Err(fail(
            "is a system directory; choose another one with --workspace".to_owned(),
        ));
    }
    if let Some(identity) = identity {
        chown_tree(&real, identity)
            .map_err(|error| fail(format!("cannot be given to the session's user: {error}")))?;
    }
    Ok(real)
}

/// Changes the owner of a tree to `identity`, without following links or leaving its file system.
/// Does nothing if the folder itself already has this owner.
fn chown_tree(folder: &Path, identity: Identity) -> io::Result<()> {
    let top = fs::symlink_metadata(folder)?;
    if top.uid() == identity.uid && top.gid() == identity.gid {
        return Ok(());
    }
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.dev() != top.dev() || is_shared(&metadata) {
                continue;
            }
            lchown(entry.path(), Some(identity.uid), Some(identity.gid))?;
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    // The folder itself comes last, so that an interrupted run is repeated.
    lchown(folder, Some(identity.uid), Some(identity.gid))
}

/// Whether a file has several hard links, of which some may be outside.
fn is_shared(metadata: &Metadata) -> bool {
    !metadata.is_dir() && metadata.nlink() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_system_folders() {
        for path in [
            "/",
            "/etc",
            "/usr/share",
            "/tmp",
            "/home",
            "/proc/self",
            "/dev/shm",
            "/no/such",
        ] {
            assert!(checked(Path::new(path), None).is_err(), "{path}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(checked(folder.path(), None).is_ok());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).expect("a link");
        assert!(checked(&link, None).is_err(), "a link counts as its target");
    }
}
