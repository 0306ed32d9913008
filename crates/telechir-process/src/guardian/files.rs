//! Removes the files and folders of a session and nothing else.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Instant;

use rustix::process::geteuid;

use super::state::{CleanupState, OwnedFile};

/// Removes everything that the session left; returns whether nothing is left.
///
/// Links are removed but never followed; entries of other users stay.
pub(super) fn remove_all(state: &CleanupState, deadline: Instant) -> bool {
    for (path, file) in &state.files {
        remove_owned(path, file);
    }
    loop {
        let left = state
            .roots
            .iter()
            .filter(|root| !remove_from(root, state))
            .count();
        if left == 0 || Instant::now() >= deadline {
            return left == 0;
        }
    }
}

/// Removes a file, if it is still the registered one, after its companion: as long as a lock file
/// exists, no other process takes the resource that it locks.
fn remove_owned(path: &Path, file: &OwnedFile) {
    let is_same_file = fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_file() && (found.dev(), found.ino()) == (file.device, file.inode)
    });
    if is_same_file {
        let _may_be_gone = fs::remove_file(&file.companion);
        let _may_be_gone = fs::remove_file(path);
    }
}

/// Removes the session's entries in `root`; returns whether none is left.
fn remove_from(root: &Path, state: &CleanupState) -> bool {
    let prefix = state.prefix();
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let session_processes = entries.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(prefix.as_bytes())
    });
    let removed: Vec<bool> = session_processes
        .map(|entry| remove(&entry.path(), state.uid))
        .collect();
    removed.into_iter().all(|removed| removed)
}

fn remove(path: &Path, uid: Option<u32>) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return true;
    };
    if found.uid() != geteuid().as_raw() && Some(found.uid()) != uid {
        // Another user chose this name.
        return true;
    }
    let removed = if found.is_dir() {
        fs::remove_dir_all(path).or_else(|_| {
            open_up(path);
            fs::remove_dir_all(path)
        })
    } else {
        fs::remove_file(path)
    };
    match removed {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Makes read-only folders writable; package managers create such folders for fetched sources.
fn open_up(folder: &Path) {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    if !found.is_dir() {
        return;
    }
    let mode = Permissions::from_mode(found.mode() | 0o700);
    let _removal_reports_it = fs::set_permissions(folder, mode);
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    inside.for_each(|entry| open_up(&entry.path()));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn state(root: &Path) -> CleanupState {
        CleanupState {
            token: "0123456789abcdef".to_owned(),
            roots: vec![root.to_owned()],
            ..CleanupState::default()
        }
    }

    fn left(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn removes_entries_with_the_prefix_and_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("telechir-0123456789abcdef-one/deep")).unwrap();
        fs::write(at("telechir-0123456789abcdef-two"), "").unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("other/file"), "").unwrap();
        symlink(at("other"), at("telechir-0123456789abcdef-link")).unwrap();
        symlink(at("other"), at("telechir-0123456789abcdef-one/link")).unwrap();
        fs::create_dir(at("telechir-fedcba9876543210-one")).unwrap();
        assert!(remove_all(&state(root.path()), Instant::now()));
        assert_eq!(
            left(root.path()),
            ["other", "telechir-fedcba9876543210-one"]
        );
        assert_eq!(left(&at("other")), ["file"]);
    }

    #[test]
    fn a_file_that_was_replaced_stays_with_its_companion() {
        let root = tempfile::tempdir().unwrap();
        let (lock, socket) = (root.path().join("lock"), root.path().join("socket"));
        let file = |inode: u64, device: u64| OwnedFile {
            device,
            inode,
            companion: socket.clone(),
        };
        fs::write(&lock, "").unwrap();
        fs::write(&socket, "").unwrap();
        let found = fs::metadata(&lock).unwrap();
        let with = |file: OwnedFile| {
            let mut state = state(&PathBuf::from("/nowhere"));
            state.files.insert(lock.clone(), file);
            remove_all(&state, Instant::now());
            left(root.path()).len()
        };
        assert_eq!(with(file(found.ino() + 1, found.dev())), 2);
        assert_eq!(with(file(found.ino(), found.dev())), 0);
    }
}
