//! Removes the files and folders of a session and nothing else.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat, unlinkat};
use rustix::process::geteuid;

use super::state::{BorrowedTree, CleanupState, OwnedFile};
use crate::tree;

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

/// Removes a file of the same size or an empty folder, if it is still the registered one, after its
/// companion: as long
/// as a lock file exists, no other process takes the resource that it locks. Its folder may be one
/// of a workspace, which programs could have replaced by a link.
fn remove_owned(path: &Path, file: &OwnedFile) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let Ok(folder) = tree::open_folder(parent) else {
        return;
    };
    let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_same = |found: &Stat| (found.st_dev, found.st_ino) == (file.device, file.inode);
    let Some(found) = found.ok().filter(is_same) else {
        return;
    };
    let kind = FileType::from_raw_mode(found.st_mode);
    if kind == FileType::RegularFile {
        if u64::try_from(found.st_size).ok() != Some(file.bytes) {
            return;
        }
        let _may_be_gone = fs::remove_file(&file.companion);
        let _may_be_gone = unlinkat(&folder, name, AtFlags::empty());
    } else if kind == FileType::Directory {
        let _may_be_in_use = unlinkat(&folder, name, AtFlags::REMOVEDIR);
    }
}

/// Removes the session's entries in `root`; returns whether none is left.
fn remove_from(root: &Path, state: &CleanupState) -> bool {
    let prefix = state.prefix();
    let Ok(folder) = root
        .canonicalize()
        .and_then(|root| tree::open_folder(&root))
    else {
        return true;
    };
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let ours = names.filter(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
    // Another user may have chosen such a name.
    let uids: Vec<u32> = state.uid.into_iter().chain([geteuid().as_raw()]).collect();
    let removed: Vec<bool> = ours
        .map(|name| tree::remove_of(&folder, &name, &uids).is_ok())
        .collect();
    removed.into_iter().all(|removed| removed)
}

/// Gives the folders that the session's user got back to their owners; returns whether all of them
/// are.
pub(super) fn give_back_all(state: &CleanupState, deadline: Instant) -> bool {
    let returned: Vec<bool> = state
        .trees
        .iter()
        .map(|(path, borrowed)| give_back(path, borrowed, deadline).is_ok())
        .collect();
    returned.into_iter().all(|returned| returned)
}

fn give_back(path: &Path, borrowed: &BorrowedTree, deadline: Instant) -> io::Result<()> {
    let top = match tree::open_folder(path) {
        // Somebody removed the workspace.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        top => top?,
    };
    let found = fstat(&top)?;
    if (found.st_dev, found.st_ino) != (borrowed.device, borrowed.inode) {
        return Err(io::Error::other("another folder has this path"));
    }
    tree::give_back(&top, borrowed.session, borrowed.owner, Some(deadline))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};
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
    fn a_registered_folder_is_removed_while_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        for (name, left) in [("empty", false), ("used", true)] {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            if left {
                fs::write(folder.join("file"), "").unwrap();
            }
            let found = fs::metadata(&folder).unwrap();
            let file = OwnedFile {
                device: found.dev(),
                inode: found.ino(),
                bytes: 0,
                companion: root.path().join("none"),
            };
            let mut state = state(&PathBuf::from("/nowhere"));
            state.files.insert(folder.clone(), file);
            remove_all(&state, Instant::now());
            assert_eq!(folder.exists(), left, "{name}");
        }
    }

    #[test]
    fn a_file_that_was_replaced_or_written_to_stays_with_its_companion() {
        let root = tempfile::tempdir().unwrap();
        let (lock, socket) = (root.path().join("lock"), root.path().join("socket"));
        let file = |inode: u64, device: u64| OwnedFile {
            device,
            inode,
            bytes: 0,
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
        let written = OwnedFile {
            bytes: 7,
            ..file(found.ino(), found.dev())
        };
        assert_eq!(with(written), 2);
        assert_eq!(with(file(found.ino(), found.dev())), 0);
    }
}
