//! Root gives a workspace to a session's user and takes it back: nothing outside changes its owner.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use telechir_process::confinement;
use telechir_process::tree::{self, Owner};
use telechir_process::{Identity, Spawn, is_root};
use telechir_testkit::gate::{Privilege, lacks};
use tempfile::TempDir;

use crate::output;

const ROOT: Owner = Owner { uid: 0, gid: 0 };

fn session() -> Identity {
    Identity::unprivileged(3_901).unwrap()
}

/// A workspace of root, and a folder of root beside it.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/shadow"), "secret").unwrap();
        Self { folder }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join("outside").join(name)
    }

    fn take(&self) {
        confinement::workspace(&self.work(""), Some(session())).unwrap();
    }

    fn give_back(&self) {
        let top = tree::open_folder(&self.folder.path().join("work")).unwrap();
        tree::give_back(&top, session(), ROOT, None).unwrap();
    }
}

fn uid(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().uid()
}

#[test]
fn a_folder_swapped_for_a_link_keeps_the_owner_of_its_target() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    for name in ["a", "a/b"] {
        fs::create_dir(fixture.work(name)).unwrap();
    }
    for number in 0..200 {
        fs::write(fixture.work(&format!("a/b/{number}")), "").unwrap();
        fs::write(fixture.outside(&number.to_string()), "").unwrap();
    }
    symlink(fixture.outside(""), fixture.folder.path().join("link")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (link, swapped) = (fixture.folder.path().join("link"), fixture.work("a/b"));
            while !is_over.load(Ordering::Relaxed) {
                let _busy = renameat_with(CWD, &link, CWD, &swapped, RenameFlags::EXCHANGE);
            }
        });
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            let _it_may_not_be_walked = confinement::workspace(&fixture.work(""), Some(session()));
            chown(fixture.work(""), Some(0), Some(0)).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(uid(&fixture.outside("")), 0, "the target of the link");
    let owners = fs::read_dir(fixture.outside("")).unwrap().flatten();
    for entry in owners {
        assert_eq!(uid(&entry.path()), 0, "{}", entry.path().display());
    }
}

#[test]
fn a_folder_swapped_for_a_link_keeps_its_owner_when_the_workspace_goes_back() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fs::create_dir(fixture.work("a")).unwrap();
    fixture.take();
    fs::remove_dir(fixture.work("a")).unwrap();
    symlink(fixture.outside(""), fixture.work("a")).unwrap();
    // A file that another session's user left to this one.
    chown(fixture.outside("shadow"), Some(session().uid), None).unwrap();
    fixture.give_back();
    assert_eq!(uid(&fixture.outside("shadow")), session().uid);
    assert_eq!(uid(&fixture.work("")), 0);
}

#[test]
fn files_with_a_name_outside_keep_their_owner() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fs::hard_link(fixture.outside("shadow"), fixture.work("innocent")).unwrap();
    fixture.take();
    assert_eq!(uid(&fixture.outside("shadow")), 0);
    // The other way: a session's file with a name outside does not become root's.
    fs::write(fixture.outside("planted"), "").unwrap();
    lchown(fixture.outside("planted"), Some(session().uid), None).unwrap();
    fs::hard_link(fixture.outside("planted"), fixture.work("link")).unwrap();
    fixture.give_back();
    assert_eq!(uid(&fixture.outside("planted")), session().uid);
}

#[test]
fn a_file_whose_names_are_all_inside_goes_back() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fixture.take();
    fs::create_dir(fixture.work("sub")).unwrap();
    fs::write(fixture.work("one"), "").unwrap();
    fs::hard_link(fixture.work("one"), fixture.work("sub/two")).unwrap();
    chown(
        fixture.work("one"),
        Some(session().uid),
        Some(session().gid),
    )
    .unwrap();
    fixture.give_back();
    let found = fs::metadata(fixture.work("sub/two")).unwrap();
    assert_eq!((found.uid(), found.gid()), (0, 0));
}

#[test]
fn devices_sockets_and_privileged_programs_keep_their_owner() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    let _socket = UnixListener::bind(fixture.work("docker.sock")).unwrap();
    let null = rustix::fs::makedev(1, 3);
    let is_made = mknodat(
        CWD,
        fixture.work("disk"),
        FileType::CharacterDevice,
        Mode::RUSR,
        null,
    );
    File::create(fixture.work("helper")).unwrap();
    fs::set_permissions(fixture.work("helper"), Permissions::from_mode(0o4755)).unwrap();
    fixture.take();
    assert_eq!(uid(&fixture.work("docker.sock")), 0);
    if is_made.is_ok() {
        assert_eq!(uid(&fixture.work("disk")), 0);
    }
    let helper = fs::metadata(fixture.work("helper")).unwrap();
    assert_eq!((helper.uid(), helper.mode() & 0o7777), (0, 0o4755));
    assert_eq!(uid(&fixture.work("")), session().uid);
}

#[test]
fn files_of_other_users_keep_their_owner() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    for (name, owner) in [("own", 0), ("of-a-person", 1_234)] {
        fs::write(fixture.work(name), "").unwrap();
        chown(fixture.work(name), Some(owner), None).unwrap();
    }
    fixture.take();
    assert_eq!(uid(&fixture.work("own")), session().uid);
    assert_eq!(uid(&fixture.work("of-a-person")), 1_234);
    fixture.give_back();
    assert_eq!(uid(&fixture.work("own")), 0);
    assert_eq!(uid(&fixture.work("of-a-person")), 1_234);
}

#[test]
fn a_program_left_behind_does_not_run_as_the_owner_it_gets() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fixture.take();
    for (name, mode) in [("suid", 0o4755), ("sgid", 0o2755), ("locking", 0o2644)] {
        File::create(fixture.work(name)).unwrap();
        chown(fixture.work(name), Some(session().uid), Some(session().gid)).unwrap();
        fs::set_permissions(fixture.work(name), Permissions::from_mode(mode)).unwrap();
    }
    fixture.give_back();
    for name in ["suid", "sgid", "locking"] {
        let found = fs::metadata(fixture.work(name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (0, 0), "{name}");
        assert_eq!(found.mode() & 0o6000, 0, "{name}: {:o}", found.mode());
    }
}

#[test]
fn a_tree_deeper_than_there_are_descriptors_changes_its_owner_and_back() {
    const DEPTH: usize = 2_500;
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    make_deep(&fixture.work(""), DEPTH);
    fixture.take();
    assert_eq!(owners(&fixture.work("")), vec![session().uid; DEPTH]);
    fixture.give_back();
    assert_eq!(owners(&fixture.work("")), vec![0; DEPTH]);
    tree::remove_path(&fixture.work("d")).unwrap();
}

#[tokio::test]
async fn another_mount_in_the_workspace_keeps_its_owner() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fs::create_dir(fixture.work("mounted")).unwrap();
    let (outside, mounted) = (fixture.outside(""), fixture.work("mounted"));
    // A mount of the same file system: device numbers do not tell it apart.
    let mount =
        Spawn::new("mount").args(["--bind".as_ref(), outside.as_os_str(), mounted.as_os_str()]);
    let (_, code) = output(mount).await;
    if code != Some(0) {
        return;
    }
    fixture.take();
    let owner = uid(&fixture.outside("shadow"));
    let removed = tree::remove_path(&mounted);
    let (_, code) = output(Spawn::new("umount").arg(&mounted)).await;
    assert_eq!(code, Some(0));
    assert_eq!(owner, 0);
    assert!(
        removed.is_err() && fixture.outside("shadow").exists(),
        "{removed:?}"
    );
}

#[test]
fn a_system_folder_is_refused_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/etc", folder.path().join("link")).unwrap();
    for path in ["link", "link/ssl"] {
        let refused = confinement::workspace(&folder.path().join(path), None);
        assert!(refused.is_err(), "{path}");
    }
}

/// Creates a chain of folders, each named `d`.
pub(super) fn make_deep(top: &Path, depth: usize) {
    let mut folder = rustix::fs::open(
        top,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        Mode::empty(),
    )
    .unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = open_d(&folder);
    }
}

fn open_d(folder: &std::os::fd::OwnedFd) -> std::os::fd::OwnedFd {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
    rustix::fs::openat(folder, "d", flags, Mode::empty()).unwrap()
}

/// The owner of each folder of the chain.
fn owners(top: &Path) -> Vec<u32> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
    let mut folder = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    let mut owners = Vec::new();
    while let Ok(found) = rustix::fs::statat(&folder, "d", rustix::fs::AtFlags::empty()) {
        owners.push(found.st_uid);
        folder = open_d(&folder);
    }
    owners
}

#[test]
fn a_workspace_of_an_earlier_session_goes_to_the_next_one() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    let earlier = Identity::unprivileged(3_902).unwrap();
    fs::write(fixture.work("own"), "").unwrap();
    fs::write(fixture.work("left"), "").unwrap();
    for path in [fixture.work(""), fixture.work("left")] {
        chown(path, Some(earlier.uid), Some(earlier.gid)).unwrap();
    }
    confinement::lend_workspace(&fixture.work(""), session(), ROOT).unwrap();
    for name in ["", "own", "left"] {
        assert_eq!(uid(&fixture.work(name)), session().uid, "{name}");
    }
    fixture.give_back();
    // Its owner has it, so there is no earlier session.
    confinement::lend_workspace(&fixture.work(""), session(), ROOT).unwrap();
    assert_eq!(uid(&fixture.work("own")), session().uid);
    let refused = confinement::lend_workspace(Path::new("/etc"), session(), ROOT);
    assert!(refused.is_err());
}

#[test]
fn a_workspace_that_is_shared_keeps_the_owners_of_its_files() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fs::write(fixture.work("own"), "").unwrap();
    confinement::join_workspace(&fixture.work(""), session(), ROOT).unwrap();
    assert_eq!((uid(&fixture.work("")), uid(&fixture.work("own"))), (0, 0));
    let refused = confinement::join_workspace(Path::new("/etc"), session(), ROOT);
    assert!(refused.is_err());
}
