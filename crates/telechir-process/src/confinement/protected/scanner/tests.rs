//! Tests of the search for protected paths.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use telechir_testkit::assert_eventually_blocking;

use super::*;

fn paths(findings: &[Finding]) -> Vec<&Path> {
    findings.iter().map(Finding::path).collect()
}

#[test]
fn folders_beyond_the_limit_are_named_and_searched_once_there_is_room() {
    let top = tempfile::tempdir().unwrap();
    let mut scanner = Scanner::new(top.path()).unwrap();
    scanner.max_folders = 4;
    assert_eq!(
        (scanner.scan(MadeBy::Session), &scanner.unsearched),
        (Vec::new(), &None)
    );
    for name in ["a", "b", "c", "d", "e"] {
        fs::create_dir(top.path().join(name)).unwrap();
        fs::write(top.path().join(name).join(".envrc"), "").unwrap();
    }
    assert_eq!(scanner.scan(MadeBy::Session).len(), 3);
    assert!(matches!(
        &scanner.unsearched,
        Some((_, Unsearched::TooMany))
    ));
    for (path, _) in scanner.folders.clone() {
        if path != Path::new("") {
            fs::remove_dir_all(top.path().join(path)).unwrap();
        }
    }
    // The first of them may find them, or only make room.
    let mut left: HashSet<_> = scanner.scan(MadeBy::Session).into_iter().collect();
    left.extend(scanner.scan(MadeBy::Session));
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(scanner.unsearched, None);
    assert!(!left.iter().any(|found| scanner.may_be_older(found.path())));
}

#[test]
fn what_was_not_searched_first_may_be_older_than_the_session() {
    let top = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(top.path().join(name)).unwrap();
        fs::write(top.path().join(name).join(".envrc"), "").unwrap();
    }
    let mut scanner = Scanner::new(top.path()).unwrap();
    scanner.max_folders = 2;
    let findings = scanner.scan(MadeBy::Session);
    let [first] = paths(&findings)[..] else {
        panic!("{findings:?}");
    };
    let other = if first == Path::new("a/.envrc") {
        "b/.envrc"
    } else {
        "a/.envrc"
    };
    assert!(!scanner.may_be_older(first));
    assert!(scanner.may_be_older(Path::new(other)));
}

#[test]
fn a_change_is_recent_for_a_step_of_the_clock() {
    let stamp = Stamp {
        device: 1,
        inode: 1,
        changed: (100, 7),
    };
    let after = |step: Duration| UNIX_EPOCH + Duration::new(100, 7) + step;
    assert!(stamp.is_recent(after(Duration::ZERO)));
    assert!(stamp.is_recent(after(CLOCK_STEP)));
    assert!(!stamp.is_recent(after(CLOCK_STEP + Duration::from_nanos(1))));
    assert!(stamp.is_recent(UNIX_EPOCH));
    let program = std::env::current_exe().unwrap();
    let root = open(program.parent().unwrap(), OFlags::PATH, Mode::empty()).unwrap();
    let name = Path::new(program.file_name().unwrap());
    assert_eq!(Stamp::settled(&root, name), Stamp::of(&root, name));
    assert!(Stamp::settled(&root, name).is_some());
}

#[test]
fn without_watches_changes_are_found_by_the_stamps_of_folders() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("a")).unwrap();
    let mut scanner = Scanner::new(top.path()).unwrap();
    scanner.watches = None;
    settle(&mut scanner);
    assert_eq!(scanner.scan(MadeBy::Session), []);
    fs::write(top.path().join("a/.envrc"), "").unwrap();
    let found = Finding::Protected("a/.envrc".into());
    assert_eq!(scanner.scan(MadeBy::Session), [found]);
}

/// Waits until no folder has changed so recently that it is read again in any case.
fn settle(scanner: &mut Scanner) {
    assert_eventually_blocking!({
        scanner.scan(MadeBy::User);
        let mut folders = scanner.folders.values();
        folders.all(|folder| folder.stamp.is_some())
    });
}

#[test]
fn a_folder_in_a_folder_that_was_moved_away_and_back_is_read_again() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    for name in ["a/deep", "other"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    let mut scanner = Scanner::new(top.path()).unwrap();
    settle(&mut scanner);
    for (from, to) in [("a", "b"), ("other", "a"), ("a", "other"), ("b", "a")] {
        fs::rename(at(from), at(to)).unwrap();
        settle(&mut scanner);
    }
    fs::write(at("a/deep/.envrc"), "").unwrap();
    let found = Finding::Protected("a/deep/.envrc".into());
    assert_eq!(scanner.scan(MadeBy::Session), [found]);
}

#[test]
fn paths_longer_than_the_kernel_s_limit_are_searched() {
    let top = tempfile::tempdir().unwrap();
    let mut scanner = Scanner::new(top.path()).unwrap();
    scanner.scan(MadeBy::Session);
    let mut deep = PathBuf::new();
    for _ in 0..30 {
        deep.push("d".repeat(200));
        let (parent, name) = tree::open_parent(scanner.root(), &deep).unwrap();
        rustix::fs::mkdirat(parent, name, Mode::RWXU).unwrap();
    }
    deep.push(".envrc");
    let (parent, name) = tree::open_parent(scanner.root(), &deep).unwrap();
    rustix::fs::mkdirat(parent, name, Mode::RWXU).unwrap();
    assert_eq!(
        scanner.scan(MadeBy::Session),
        [Finding::Protected(deep.clone())]
    );
    assert!(Stamp::of(scanner.root(), &deep).is_some());
    assert_eq!(scanner.unsearched, None);
}

#[test]
fn only_a_folder_is_opened_and_its_descriptor_is_not_inherited() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("file"), "").unwrap();
    let refused = Scanner::new(&top.path().join("file")).map(|_| ());
    assert_eq!(refused, Err(Errno::NOTDIR));
    let scanner = Scanner::new(top.path()).unwrap();
    let opened = open_folder(scanner.root(), Path::new("file")).map(|_| ());
    assert_eq!(opened, Err(Errno::NOTDIR));
    let flags = rustix::io::fcntl_getfd(scanner.root()).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
}

#[test]
fn a_folder_without_a_watch_of_its_own_is_compared_by_its_stamp() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("a")).unwrap();
    let found = |path: &str| [Finding::Protected(path.into())];
    let mut scanner = Scanner::new(top.path()).unwrap();
    settle(&mut scanner);
    // One that watches nothing yet.
    scanner.watches = Watches::new();
    fs::write(top.path().join("a/.envrc"), "").unwrap();
    assert_eq!(scanner.scan(MadeBy::Session), found("a/.envrc"));
    scanner.watches = None;
    settle(&mut scanner);
    fs::write(top.path().join(".envrc"), "").unwrap();
    assert_eq!(scanner.scan(MadeBy::Session), found(".envrc"));
}

#[test]
fn a_known_folder_that_becomes_part_of_a_repository_is_read_as_one() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    fs::create_dir_all(at("bare/objects")).unwrap();
    let mut scanner = Scanner::new(top.path()).unwrap();
    settle(&mut scanner);
    fs::write(at("bare/HEAD"), "").unwrap();
    fs::create_dir(at("bare/refs")).unwrap();
    settle(&mut scanner);
    std::os::unix::fs::symlink("/", at("bare/objects/link")).unwrap();
    let written = Finding::LinkInRepository("bare/objects/link".into());
    assert_eq!(scanner.scan(MadeBy::Session), [written]);
}

#[test]
fn a_workspace_that_was_removed_is_named_unless_it_never_was_searched() {
    let removed = |mut scanner: Scanner, top: tempfile::TempDir| {
        top.close().unwrap();
        assert_eq!(scanner.scan(MadeBy::Session), []);
        scanner
    };
    let top = tempfile::tempdir().unwrap();
    let scanner = removed(Scanner::new(top.path()).unwrap(), top);
    assert_eq!(scanner.unsearched, None);
    assert!(scanner.may_be_older(Path::new("a")));
    let top = tempfile::tempdir().unwrap();
    let mut searched = Scanner::new(top.path()).unwrap();
    searched.scan(MadeBy::User);
    let mut searched = removed(searched, top);
    // Also later: it may have been replaced.
    for _ in 0..2 {
        let denied = (PathBuf::new(), Unsearched::Denied(Errno::NOENT));
        assert_eq!(searched.unsearched, Some(denied));
        searched.scan(MadeBy::Session);
    }
}

#[test]
fn a_command_s_folder_that_cannot_be_read_is_opened_and_the_user_s_is_not() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    let close =
        |name: &str| fs::set_permissions(at(name), PermissionsExt::from_mode(0o000)).unwrap();
    for folder in ["", "user", "command"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let search = || {
        close("user");
        let mut scanner = Scanner::new(top.path()).unwrap();
        assert_eq!(scanner.scan(MadeBy::User), []);
        fs::write(at("command/.envrc"), "").unwrap();
        close("command");
        let found = Finding::Protected("command/.envrc".into());
        // It is read twice: for its own change and as a folder of the workspace.
        let findings: HashSet<_> = scanner.scan(MadeBy::Session).into_iter().collect();
        assert_eq!(findings, HashSet::from([found]));
        assert_eq!((mode("user"), mode("command")), (0, 0o700));
        assert_eq!(scanner.unsearched, None);
    };
    as_an_unprivileged_user(&[&at(""), &at("user"), &at("command")], search);
}

/// Runs a test as a user who cannot read everything: if that is not the present one, in a thread of
/// another, to whom these folders are given.
pub(in super::super) fn as_an_unprivileged_user(folders: &[&Path], test: impl FnOnce() + Send) {
    if !crate::is_root() {
        return test();
    }
    for folder in folders {
        std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
    }
    let test = || {
        let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
        set_thread_groups(&[]).unwrap();
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
        test();
    };
    std::thread::scope(|scope| scope.spawn(test).join()).unwrap();
}

/// What a folder with these names means, and the folders to read in it. A name that ends with
/// `/` is a folder, one that ends with `@` a link.
fn judged(
    folder: &str,
    kind: FolderKind,
    names: &[&str],
) -> (Vec<Finding>, Vec<(PathBuf, FolderKind)>) {
    let typed = names.iter().map(|name| {
        let (plain, file_type) = match name.strip_suffix('/') {
            Some(plain) => (plain, FileType::Directory),
            None => match name.strip_suffix('@') {
                Some(plain) => (plain, FileType::Symlink),
                None => (*name, FileType::RegularFile),
            },
        };
        (PathBuf::from(plain), file_type)
    });
    let names: Names = typed.collect();
    let mut findings = Vec::new();
    let inner = judge(Path::new(folder), kind, &names, &mut findings);
    (findings, inner)
}

#[test]
fn a_folder_is_a_repository_if_git_would_take_it_for_one() {
    for (names, expected) in [
        (&["HEAD", "objects/", "refs/"][..], true),
        (&["head", "Objects/", "REFS/"], true),
        (&["HEAD", "commondir"], true),
        (&["HEAD", "objects/"], false),
        (&["HEAD", "refs/"], false),
        (&["HEAD"], false),
        (&["commondir"], false),
        (&["objects/", "refs/"], false),
    ] {
        let (findings, _) = judged("a", FolderKind::Plain, names);
        let found = findings.contains(&Finding::Repository("a".into()));
        assert_eq!(found, expected, "{names:?}");
    }
    let (findings, _) = judged("a/.git", FolderKind::Repository, &[]);
    assert_eq!(findings, [Finding::Repository("a/.git".into())]);
}

#[test]
fn what_is_read_below_a_folder_depends_on_what_the_folder_is() {
    use FolderKind::{Plain, Repository, RepositoryData};
    let bare = ["HEAD", "objects/", "refs/", "src/", "link@"];
    let git = ["objects/", "logs/", "modules/", "worktrees/", "hooks/"];
    for (folder, kind, names, expected) in [
        (
            "a",
            Plain,
            &["b/", "file", "link@", ".git/"][..],
            &[("a/b", Plain), ("a/.git", Repository)][..],
        ),
        (
            "a/.git",
            Repository,
            &git,
            &[
                ("a/.git/objects", RepositoryData),
                ("a/.git/logs", RepositoryData),
                ("a/.git/modules", Plain),
                ("a/.git/worktrees", Plain),
            ],
        ),
        (
            "bare",
            Plain,
            &bare,
            &[
                ("bare/objects", RepositoryData),
                ("bare/refs", RepositoryData),
                ("bare/src", Plain),
            ],
        ),
        (
            "a/.git/refs",
            RepositoryData,
            &["heads/"],
            &[("a/.git/refs/heads", RepositoryData)],
        ),
        (
            "a/.git",
            Repository,
            &[
                "lfs/",
                "rebase-apply/",
                "rebase-merge/",
                "reftable/",
                "rr-cache/",
                "sequencer/",
            ],
            &[
                ("a/.git/lfs", RepositoryData),
                ("a/.git/rebase-apply", RepositoryData),
                ("a/.git/rebase-merge", RepositoryData),
                ("a/.git/reftable", RepositoryData),
                ("a/.git/rr-cache", RepositoryData),
                ("a/.git/sequencer", RepositoryData),
            ],
        ),
        (
            "a/.git/lfs/objects",
            RepositoryData,
            &["0a/"],
            &[("a/.git/lfs/objects/0a", RepositoryData)],
        ),
        // Tens of thousands of folders, in which Git LFS writes over no link.
        ("a/.git/lfs/objects/0a", RepositoryData, &["1b/"], &[]),
        (
            "a/.git/modules",
            Plain,
            &["name/"],
            &[("a/.git/modules/name", Plain)],
        ),
    ] {
        let (_, inner) = judged(folder, kind, names);
        let inner: Vec<(&Path, FolderKind)> = inner
            .iter()
            .map(|(path, kind)| (path.as_path(), *kind))
            .collect();
        let expected: Vec<(&Path, FolderKind)> = expected
            .iter()
            .map(|(path, kind)| (Path::new(*path), *kind))
            .collect();
        assert_eq!(inner, expected, "{folder}");
    }
}

#[test]
fn protected_names_and_links_are_found_where_programs_obey_or_git_writes_them() {
    use FolderKind::{Plain, Repository, RepositoryData};
    let protected = |path: &str| Finding::Protected(path.into());
    let written = |path: &str| Finding::LinkInRepository(path.into());
    let link = |path: &str| Finding::Link(path.into());
    let repository = |path: &str| Finding::Repository(path.into());
    for (folder, kind, names, expected) in [
        (
            "a",
            Plain,
            &[".envrc", ".vscode/", "x", "l@", ".git", ".GIT@"][..],
            vec![
                protected("a/.envrc"),
                protected("a/.vscode"),
                link("a/l"),
                protected("a/.git"),
                protected("a/.GIT"),
            ],
        ),
        // Git's own data may have any name; elsewhere such a name counts.
        ("a/.git/refs", RepositoryData, &[".envrc"], vec![]),
        (
            "bare/refs",
            RepositoryData,
            &[".envrc", "l@"],
            vec![protected("bare/refs/.envrc"), written("bare/refs/l")],
        ),
        (
            "a/.git",
            Repository,
            &["unknown@"],
            vec![repository("a/.git"), written("a/.git/unknown")],
        ),
        (
            "bare",
            Plain,
            &["HEAD@", "objects", "refs@", "l@"],
            vec![
                repository("bare"),
                written("bare/HEAD"),
                written("bare/refs"),
                link("bare/l"),
            ],
        ),
    ] {
        let (findings, _) = judged(folder, kind, names);
        assert_eq!(findings, expected, "{folder}");
    }
}
