//! The one folder that is writable, and whose it is.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use super::ConfinementError;
use crate::Identity;

/// Folders that are the system's or hold everybody's files.
const NEVER: [&str; 20] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt",
    "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var",
];
/// Folders below which nothing can be a workspace.
const NOTHING_BELOW: [&str; 9] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr",
];

/// The real path of a folder that is to be written to, given to `identity` where there is one.
///
/// # Errors
/// When it is no folder, or one of the system.
pub fn checked(path: &Path, identity: Option<Identity>) -> Result<PathBuf, ConfinementError> {
    let fail = |why: String| ConfinementError(format!("the workspace {} {why}", path.display()));
    let real =
        fs::canonicalize(path).map_err(|error| fail(format!("cannot be opened: {error}")))?;
    if !real.is_dir() {
        return Err(fail("is no folder; name one with --workspace".to_owned()));
    }
    if real.to_str().is_none() {
        return Err(fail("has a name that is no text".to_owned()));
    }
    let memory = real.starts_with("/dev/shm") && real != Path::new("/dev/shm");
    let below = !memory && NOTHING_BELOW.iter().any(|folder| real.starts_with(folder));
    if below || NEVER.iter().any(|folder| real == Path::new(folder)) {
        return Err(fail(
            "is a folder of the system; name one of your own with --workspace".to_owned(),
        ));
    }
    if let Some(identity) = identity {
        give(&real, identity)
            .map_err(|error| fail(format!("cannot be given to its user: {error}")))?;
    }
    Ok(real)
}

/// Gives a folder with all below it to `identity`, without following links and without leaving
/// its file system. Nothing is done when the folder is its already.
fn give(folder: &Path, identity: Identity) -> io::Result<()> {
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
    // Last, so that a run that was cut short is done again.
    lchown(folder, Some(identity.uid), Some(identity.gid))
}

/// A file with further names, of which some may be outside.
fn is_shared(metadata: &Metadata) -> bool {
    !metadata.is_dir() && metadata.nlink() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_systems_folders() {
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
        assert!(checked(&link, None).is_err(), "a link is what it leads to");
    }
}
