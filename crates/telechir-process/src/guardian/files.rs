//! Removes the folders and files of a session, and nothing else.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Instant;

use rustix::process::geteuid;

use super::state::{File, Ward};

/// Removes what the session left; says whether nothing is left.
///
/// Links are removed, never followed, and what belongs to somebody else stays.
pub(super) fn remove_all(ward: &Ward, deadline: Instant) -> bool {
    for (path, file) in &ward.files {
        remove_owned(path, file);
    }
    loop {
        let left = ward
            .roots
            .iter()
            .filter(|root| !remove_from(root, ward))
            .count();
        if left == 0 || Instant::now() >= deadline {
            return left == 0;
        }
    }
}

/// Removes a file, while it is the one that was ours, and its companion before it: as long as a
/// lock is there, nobody else takes what it stands for.
fn remove_owned(path: &Path, file: &File) {
    let is_ours = fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_file() && (found.dev(), found.ino()) == (file.device, file.inode)
    });
    if is_ours {
        let _may_be_gone = fs::remove_file(&file.companion);
        let _may_be_gone = fs::remove_file(path);
    }
}

/// Removes what bears the session's name in `root`; says whether nothing of it is left.
fn remove_from(root: &Path, ward: &Ward) -> bool {
    let prefix = ward.prefix();
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let of_session = entries.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(prefix.as_bytes())
    });
    let removed: Vec<bool> = of_session
        .map(|entry| remove(&entry.path(), ward.uid))
        .collect();
    removed.into_iter().all(|removed| removed)
}

fn remove(path: &Path, uid: Option<u32>) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return true;
    };
    if found.uid() != geteuid().as_raw() && Some(found.uid()) != uid {
        // Somebody gave this name to something of their own.
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

/// Makes folders writable that a program closed to itself, as those who fetch sources do.
fn open_up(folder: &Path) {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    if !found.is_dir() {
        return;
    }
    let mode = Permissions::from_mode(found.mode() | 0o700);
    let _removal_tells = fs::set_permissions(folder, mode);
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    inside.for_each(|entry| open_up(&entry.path()));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn ward(root: &Path) -> Ward {
        Ward {
            token: "0123456789abcdef".to_owned(),
            roots: vec![root.to_owned()],
            ..Ward::default()
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
    fn removes_what_bears_the_name_and_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("telechir-0123456789abcdef-one/deep")).unwrap();
        fs::write(at("telechir-0123456789abcdef-two"), "").unwrap();
        fs::create_dir(at("kept")).unwrap();
        fs::write(at("kept/file"), "").unwrap();
        symlink(at("kept"), at("telechir-0123456789abcdef-link")).unwrap();
        symlink(at("kept"), at("telechir-0123456789abcdef-one/link")).unwrap();
        fs::create_dir(at("telechir-fedcba9876543210-one")).unwrap();
        assert!(remove_all(&ward(root.path()), Instant::now()));
        assert_eq!(left(root.path()), ["kept", "telechir-fedcba9876543210-one"]);
        assert_eq!(left(&at("kept")), ["file"]);
    }

    #[test]
    fn a_file_that_was_replaced_stays_with_its_companion() {
        let root = tempfile::tempdir().unwrap();
        let (lock, socket) = (root.path().join("lock"), root.path().join("socket"));
        let file = |inode: u64, device: u64| File {
            device,
            inode,
            companion: socket.clone(),
        };
        fs::write(&lock, "").unwrap();
        fs::write(&socket, "").unwrap();
        let found = fs::metadata(&lock).unwrap();
        let with = |file: File| {
            let mut ward = ward(&PathBuf::from("/nowhere"));
            ward.files.insert(lock.clone(), file);
            remove_all(&ward, Instant::now());
            left(root.path()).len()
        };
        assert_eq!(with(file(found.ino() + 1, found.dev())), 2);
        assert_eq!(with(file(found.ino(), found.dev())), 0);
    }
}
