//! Cleaning up removes what a session made, whatever its shape, and nothing else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use telechir_process::{PrivateFolder, tree};

use super::ownership::make_deep;

#[test]
fn a_tree_deeper_than_there_are_descriptors_is_removed() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("top")).unwrap();
    make_deep(&root.path().join("top"), 5_000);
    tree::remove_path(&root.path().join("top")).unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn folders_without_permissions_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let folder = PrivateFolder::create(root.path(), "session-").unwrap();
    let closed = folder.path().join("a/closed");
    fs::create_dir_all(closed.join("below")).unwrap();
    fs::write(closed.join("below/file"), "").unwrap();
    make_deep(&closed.join("below"), 200);
    for path in [closed.join("below"), closed, folder.path().join("a")] {
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    }
    folder.close().unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn links_are_removed_and_their_targets_stay() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir_all(at("outside/deep")).unwrap();
    fs::write(at("outside/deep/file"), "").unwrap();
    fs::create_dir_all(at("top/sub")).unwrap();
    symlink(at("outside"), at("top/sub/link")).unwrap();
    symlink(at("outside"), at("top-link")).unwrap();
    tree::remove_path(&at("top")).unwrap();
    tree::remove_path(&at("top-link")).unwrap();
    assert!(at("outside/deep/file").exists());
    assert!(!at("top").exists() && fs::symlink_metadata(at("top-link")).is_err());
}

#[test]
fn a_folder_swapped_for_a_link_during_its_removal_loses_nothing_outside() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("outside")).unwrap();
    for number in 0..100 {
        fs::write(at("outside").join(number.to_string()), "").unwrap();
    }
    symlink(at("outside"), at("link")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (link, swapped) = (at("link"), at("top/a/b"));
            while !is_over.load(Ordering::Relaxed) {
                let _gone = renameat_with(CWD, &link, CWD, &swapped, RenameFlags::EXCHANGE);
            }
        });
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            fs::create_dir_all(at("top/a/b")).unwrap();
            for number in 0..20 {
                let _swapped = fs::create_dir(at("top/a/b").join(format!("own-{number}")));
            }
            let _may_be_refused = tree::remove_path(&at("top"));
            // The link may have been removed inside of it.
            if fs::symlink_metadata(at("link")).is_err() {
                symlink(at("outside"), at("link")).unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let left = fs::read_dir(at("outside")).unwrap().flatten();
    let own = left.filter(|entry| !entry.file_name().to_string_lossy().starts_with("own-"));
    assert_eq!(own.count(), 100);
}

#[test]
fn only_entries_of_the_named_users_are_removed() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("of-another")).unwrap();
    let parent = tree::open_folder(&root.path().canonicalize().unwrap()).unwrap();
    let own = rustix::process::geteuid().as_raw();
    tree::remove_of(&parent, "of-another".as_ref(), &[own + 1]).unwrap();
    assert!(root.path().join("of-another").exists());
    tree::remove_of(&parent, "of-another".as_ref(), &[own]).unwrap();
    assert!(!root.path().join("of-another").exists());
}
