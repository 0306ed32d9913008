//! What is protected in a workspace, and what becomes of changes, without a sandbox around it.

mod links;
mod repositories;

use std::fs;
use std::os::unix::fs::{chown, symlink};

use telechir_testkit::gate::{Privilege, lacks};
use tempfile::TempDir;

use super::*;
use crate::is_root;

/// A workspace with these files; a name that ends with `/` is a folder, a text `-> x` a link to `x`.
fn workspace(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    for (name, text) in files {
        write(&real, name, text);
    }
    (folder, real)
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    if name.ends_with('/') {
        return fs::create_dir_all(path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match text.strip_prefix("-> ") {
        Some(target) => symlink(target, path).unwrap(),
        None => fs::write(path, text).unwrap(),
    }
}

fn masked(folder: &Path) -> Protected {
    Protected::find(folder, MissingFiles::Masked).unwrap()
}

impl Protected {
    fn access(&self, path: &str) -> Option<MountAccess> {
        self.mounts.get(&self.folder.join(path)).copied()
    }
}

const READ_ONLY: Option<MountAccess> = Some(MountAccess::ReadOnly);
const PINNED: Option<MountAccess> = Some(MountAccess::Pinned);

/// An empty repository at a path.
fn repository(at: &str, config: &str) -> [(String, String); 4] {
    [
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", config),
        ("objects/", ""),
        ("refs/", ""),
    ]
    .map(|(name, text)| (format!("{at}/{name}"), text.to_owned()))
}

fn with_repository(at: &str, config: &str, files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let (folder, real) = workspace(files);
    for (name, text) in repository(at, config) {
        write(&real, &name, &text);
    }
    (folder, real)
}

#[test]
fn placeholders_stay_until_the_last_device_has_ended() {
    let (_folder, real) = workspace(&[]);
    let names = || fs::read_dir(&real).unwrap().count();
    let first = masked(&real);
    let placeholders = names();
    assert!(placeholders > 10, "{placeholders}");
    let (second, third) = (masked(&real), masked(&real));
    assert_eq!(names(), placeholders);
    for protected in [&first, &second, &third] {
        for name in [".git", ".vscode"] {
            assert_eq!(protected.access(name), READ_ONLY, "{name}");
        }
        let patterns = protected.ignore_patterns();
        assert!(patterns.contains("/.vscode\n"), "{patterns}");
        assert_eq!(patterns.lines().count(), placeholders);
    }
    drop(first);
    drop(second);
    assert_eq!(names(), placeholders);
    drop(third);
    assert_eq!(names(), 0);
}

#[test]
fn a_placeholder_that_was_filled_is_not_removed() {
    let (_folder, real) = workspace(&[]);
    let protected = masked(&real);
    fs::remove_file(real.join(".vscode")).unwrap();
    fs::write(real.join(".vscode"), "").unwrap();
    let idea = real.join(".idea");
    fs::set_permissions(&idea, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(&idea, "mine").unwrap();
    assert!(!masks::is_placeholder(&idea));
    assert!(masks::is_reserved(&idea));
    protected.accept_changes();
    drop(protected);
    assert!(real.join(".vscode").exists());
    assert!(idea.exists());
    assert!(!masks::is_reserved(&idea));
}

#[test]
fn a_workspace_of_nobody_else_gets_no_placeholders() {
    let (_folder, real) = workspace(&[("sub/.curlrc", "")]);
    let protected = Protected::find(&real, MissingFiles::Creatable).unwrap();
    let mounts: Vec<_> = protected.mounts.iter().collect();
    let (pinned, file) = (real.join("sub"), real.join("sub/.curlrc"));
    assert_eq!(
        mounts,
        [
            (&pinned, &MountAccess::Pinned),
            (&file, &MountAccess::ReadOnly)
        ]
    );
    assert_eq!(fs::read_dir(&real).unwrap().count(), 1);
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn a_repository_is_writable_where_git_writes() {
    let (_folder, real) = with_repository(
        "sub/.git",
        "",
        &[
            ("sub/.git/hooks/update", ""),
            ("sub/.git/objects/info/", ""),
            ("sub/.git/modules/a/b/HEAD", ""),
            ("sub/.git/modules/a/b/commondir", ""),
            ("sub/.git/worktrees/w/HEAD", ""),
            ("sub/.git/worktrees/w/commondir", ""),
        ],
    );
    let protected = masked(&real);
    for name in [
        "config",
        "hooks",
        "info",
        "commondir",
        "branches",
        "remotes",
        "objects/info/alternates",
    ] {
        assert_eq!(
            protected.access(&format!("sub/.git/{name}")),
            READ_ONLY,
            "{name}"
        );
    }
    for name in [
        "sub",
        "sub/.git",
        "sub/.git/objects",
        "sub/.git/objects/info",
    ] {
        assert_eq!(protected.access(name), PINNED, "{name}");
    }
    for name in ["refs", "HEAD"] {
        assert_eq!(
            protected.access(&format!("sub/.git/{name}")),
            None,
            "{name}"
        );
    }
    // The folders around them are read-only already.
    for name in ["modules", "worktrees"] {
        assert_eq!(
            protected.access(&format!("sub/.git/{name}")),
            READ_ONLY,
            "{name}"
        );
    }
}

#[test]
fn a_repository_that_a_file_names_is_protected() {
    let (_folder, real) = with_repository(
        "elsewhere/data",
        "",
        &[
            ("sub/.git", "gitdir: ../elsewhere/data\n"),
            ("other/.git", "../elsewhere/data\n"),
        ],
    );
    let protected = masked(&real);
    assert_eq!(protected.access("elsewhere/data/config"), READ_ONLY);
    assert_eq!(protected.access("sub/.git"), READ_ONLY);
    assert_eq!(protected.access("other/.git"), READ_ONLY);
}

#[test]
fn a_repository_that_a_file_in_a_read_only_folder_names_is_protected() {
    // In Git's temporary folders no repository is searched for.
    let store = ".git/tmp_lfs/store";
    let files = [
        (".vscode/plugin/.git", "gitdir: ../../.git/tmp_lfs/store\n"),
        (
            ".git/tmp_lfs/store/hooks/lib/.git",
            "gitdir: ../../../inner\n",
        ),
        (".git/tmp_lfs/other/commondir", "../common\n"),
        (".git/tmp_lfs/other/HEAD", ""),
        ("sub/.git", "-> ../gitfile"),
        ("gitfile", "gitdir: ../.git/tmp_lfs/other\n"),
        ("late/.git", "gitdir: ../.git/tmp_lfs/late\n"),
        (".git/tmp_lfs/open/config", ""),
    ];
    let (_folder, real) = with_repository(".git", "", &files);
    for at in [
        store,
        ".git/tmp_lfs/inner",
        ".git/tmp_lfs/common",
        ".git/tmp_lfs/open",
    ] {
        for (name, text) in repository(at, "[user]\n\tname = n\n") {
            write(&real, &name, &text);
        }
    }
    let protected = masked(&real);
    for at in [store, ".git/tmp_lfs/inner", ".git/tmp_lfs/common"] {
        assert_eq!(protected.access(&format!("{at}/config")), READ_ONLY, "{at}");
    }
    assert_eq!(protected.access(".git/tmp_lfs/other/commondir"), READ_ONLY);
    assert_eq!(protected.access(".git/tmp_lfs/open/config"), None);
    assert_eq!(undone(&protected), []);
    // What a file names is judged as soon as it exists.
    for (name, text) in repository(".git/tmp_lfs/late", "[core]\n\tfsmonitor = x\n") {
        write(&real, &name, &text);
    }
    let config = ".git/tmp_lfs/late/config";
    assert_eq!(
        undone(&protected),
        [moved(config, ".git/tmp_lfs/late/config.blocked")]
    );
}

#[test]
fn what_appears_where_a_link_at_a_protected_path_leads_is_moved_away() {
    let links = [
        ("sub/deep/.envrc", "-> nowhere"),
        ("sub/.vscode", "-> ../cfg"),
        (".curlrc", "-> mid/file"),
        ("mid", "-> other"),
        ("CLAUDE.md", "-> first"),
        ("first", "-> sub/second"),
        ("sub/second", "-> ../third"),
        ("a/.bashrc", "-> ../new/.bashrc"),
        ("a/.zshrc", "-> existing"),
        ("a/existing", "-> real"),
        ("a/real", "own"),
        ("a/.netrc", "-> /nonexistent/x"),
        ("b/.sl", "-> .sl"),
    ];
    let (folder, real) = workspace(&links);
    let absolute = format!("-> {}", real.join("sub/target").display());
    write(&real, "sub/.gemrc", &absolute);
    let protected = masked(folder.path().canonicalize().unwrap().as_path());
    assert_eq!(protected.access("a/real"), READ_ONLY);
    assert_eq!(undone(&protected), []);
    for (path, blocked) in [
        ("sub/deep/nowhere", "sub/deep/nowhere.blocked"),
        ("sub/target", "sub/target.blocked"),
        ("cfg/", "cfg.blocked"),
        ("other/file", "other/file.blocked"),
        ("third", "third.blocked"),
        ("new/.bashrc", "new/.bashrc.blocked"),
    ] {
        write(&real, path, "evil");
        let path = path.trim_end_matches('/');
        assert_eq!(undone(&protected), [moved(path, blocked)]);
    }
    // A link on the way is replaced: by another one, or by a file.
    for (path, blocked, text) in [
        ("first", "first.blocked", "evil"),
        ("a/existing", "a/existing.blocked", "-> ../evil"),
    ] {
        fs::remove_file(real.join(path)).unwrap();
        write(&real, "evil", "evil");
        write(&real, path, text);
        assert_eq!(undone(&protected), [moved(path, blocked)]);
    }
    // What the user makes meanwhile stays.
    write(&real, "sub/deep/nowhere", "own");
    protected.accept_changes();
    assert_eq!(undone(&protected), []);
}

#[test]
fn a_path_of_a_configuration_is_relative_to_its_worktree() {
    let config =
        "[core]\n\thooksPath = own\n[include]\n\tpath = more\n[alias]\n\ta = !run/it -c x\n";
    let (_folder, real) = with_repository(
        "sub/.git",
        config,
        &[
            ("sub/run/it", ""),
            ("sub/own/update", ""),
            ("sub/x", ""),
            ("own/update", ""),
        ],
    );
    let protected = masked(&real);
    for name in ["sub/own", "sub/.git/more", "sub/run/it", "sub/x"] {
        assert_eq!(protected.access(name), READ_ONLY, "{name}");
    }
    assert_eq!(protected.access("own"), None);
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn what_a_command_of_a_configuration_starts_is_reserved_and_its_arguments_are_not() {
    let config = "[alias]\n\ta = !tools/later x\n\tb = !./now\n\tc = !run x/y\n\
                  [difftool \"d\"]\n\tpath = plain\n";
    let (_folder, real) = with_repository("sub/.git", config, &[]);
    let protected = masked(&real);
    for name in ["sub/tools", "sub/now"] {
        assert_eq!(protected.access(name), READ_ONLY, "{name}");
    }
    for name in ["sub/run", "sub/x", "sub/plain", "sub/.git/plain"] {
        assert_eq!(protected.access(name), None, "{name}");
    }
}

#[test]
fn a_file_that_is_included_under_a_condition_is_read() {
    let config = "[includeIf \"onbranch:other\"]\n\tpath = ../one\n";
    let (_folder, real) = with_repository(
        "sub/.git",
        config,
        &[
            (
                "sub/one",
                "[includeIf \"onbranch:third\"]\n\tpath = two\n[core]\n\thooksPath = own\n",
            ),
            (
                "sub/two",
                "[core]\n\tattributesFile = list\n[include]\n\tpath = ../.git/config\n",
            ),
        ],
    );
    let protected = masked(&real);
    for name in ["sub/one", "sub/two", "sub/own", "sub/list"] {
        assert_eq!(protected.access(name), READ_ONLY, "{name}");
    }
}

#[test]
fn the_configuration_of_the_repository_around_the_workspace_counts() {
    let config = "[core]\n\thooksPath = sub/own\n";
    let (_folder, real) = with_repository(".git", config, &[("sub/", "")]);
    let protected = masked(&real.join("sub"));
    assert_eq!(protected.access("own"), READ_ONLY);
}

#[test]
fn a_read_only_folder_has_no_writable_mount_and_none_that_it_does_not_need() {
    let (_folder, real) = with_repository(
        "folder/.git",
        "",
        &[
            (".husky/folder", "-> ../folder"),
            (".husky/own", ""),
            (".vscode/inner", "-> ../.husky/own"),
        ],
    );
    let protected = masked(&real);
    assert_eq!(protected.access("folder"), READ_ONLY);
    assert_eq!(protected.access("folder/.git/config"), READ_ONLY);
    assert_eq!(protected.access("folder/.git"), None);
    assert_eq!(protected.access(".husky/own"), None);
    // Except for a repository there, in which commits are possible.
    let (_folder, real) = with_repository(
        ".vscode/data",
        "",
        &[("sub/.git", "gitdir: ../.vscode/data\n")],
    );
    let protected = masked(&real);
    assert_eq!(protected.access(".vscode"), READ_ONLY);
    assert_eq!(protected.access(".vscode/data"), PINNED);
    assert_eq!(protected.access(".vscode/data/config"), READ_ONLY);
}

#[test]
fn nothing_outside_of_the_workspace_is_mounted() {
    let (_outside, other) = workspace(&[("config", "[core]\n\tpager = x\n")]);
    let config = format!(
        "[include]\n\tpath = {0}/config\n[core]\n\thooksPath = {0}\n",
        other.display()
    );
    let (_folder, real) = with_repository(".git", &config, &[]);
    let protected = masked(&real);
    let mut mounted = protected.mounts.keys();
    assert!(mounted.all(|path| path.starts_with(&real) && *path != real));
}

#[test]
fn the_configuration_of_an_incomplete_repository_counts() {
    let (_folder, real) = workspace(&[
        ("a/.git/config", "[core]\n\thooksPath = own\n"),
        ("b/.git/description", ""),
    ]);
    let protected = masked(&real);
    assert_eq!(protected.access("a/own"), READ_ONLY);
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn a_configuration_that_git_refuses_is_a_gap() {
    let (_folder, real) = with_repository(".git", "[core\n", &[]);
    let protected = masked(&real);
    assert!(!protected.gaps.is_empty());
    for gap in &protected.gaps {
        assert!(gap.starts_with("Git did not answer"), "{gap}");
        assert!(gap.contains("git failed"), "{gap}");
    }
}

#[test]
fn a_file_where_a_folder_is_expected_is_read_only() {
    let (_folder, real) = with_repository(
        ".git",
        "[core]\n\thooksPath = file/hooks\n",
        &[("file", "")],
    );
    assert_eq!(masked(&real).access("file"), READ_ONLY);
}

#[test]
fn the_target_of_a_link_in_a_protected_folder_is_protected() {
    let (_outside, other) = workspace(&[("file", "")]);
    let outside = format!("-> {}/file", other.display());
    let (_folder, real) = workspace(&[
        ("script", ""),
        ("folder/inner", ""),
        (".husky/update", "-> ../script"),
        (".husky/folder", "-> ../folder"),
        (".vscode/outside", outside.as_str()),
        (".hg/store/link", "-> ../../history"),
        ("history", ""),
    ]);
    // A way back over a link outside, which no command can replace.
    symlink(real.join("back"), other.join("there")).unwrap();
    write(&real, "back", "");
    symlink(other.join("there"), real.join(".vscode/back")).unwrap();
    let protected = masked(&real);
    for name in ["script", "folder", "back"] {
        assert_eq!(protected.access(name), READ_ONLY, "{name}");
    }
    assert_eq!(protected.access("history"), None);
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn a_link_in_a_protected_folder_over_another_link_or_to_nothing_is_refused() {
    for (name, target) in [
        (".husky/missing", "-> ../none"),
        (".husky/over", "-> ../link/file"),
    ] {
        let (_folder, real) = workspace(&[("real/file", ""), ("link", "-> real"), (name, target)]);
        let error = Protected::find(&real, MissingFiles::Masked)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("{name} is a link at a protected path")),
            "{error}"
        );
    }
    let (_folder, real) = workspace(&[(".husky/outside", "-> /no such file")]);
    assert_eq!(masked(&real).access(".husky"), READ_ONLY);
}

#[test]
fn the_owner_of_the_workspace_needs_an_account() {
    let (_folder, real) = workspace(&[("sub/.curlrc", "")]);
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let gap = |missing| Protected::find(&real, missing).unwrap().gaps.pop();
    assert_eq!(gap(MissingFiles::Masked), None);
    chown(&real, Some(3_901), Some(3_901)).unwrap();
    let why = gap(MissingFiles::Masked).unwrap_or_default();
    assert!(
        why.starts_with("user 3901, who owns the workspace, has no account"),
        "{why}"
    );
    assert_eq!(gap(MissingFiles::Creatable), None);
}

/// Moves away what is new; returns what became of each path.
fn undone(protected: &Protected) -> Vec<(PathBuf, Outcome)> {
    let undone = protected.undo_changes().into_iter();
    undone.map(|undone| (undone.path, undone.outcome)).collect()
}

fn moved(path: &str, to: &str) -> (PathBuf, Outcome) {
    (path.into(), Outcome::MovedTo(to.into()))
}

#[test]
fn a_new_file_at_a_protected_path_is_moved_away_once() {
    let (_folder, real) = workspace(&[("sub/file", "")]);
    let protected = masked(&real);
    assert_eq!(undone(&protected), []);
    write(&real, ".curlrc", "");
    write(&real, "sub/.curlrc", "");
    write(&real, "sub/plain", "");
    assert_eq!(
        undone(&protected),
        [
            moved(".curlrc", ".curlrc.blocked"),
            moved("sub/.curlrc", "sub/.curlrc.blocked")
        ]
    );
    assert_eq!(undone(&protected), []);
    write(&real, ".curlrc", "");
    assert_eq!(undone(&protected), [moved(".curlrc", ".curlrc.blocked-1")]);
}

#[test]
fn what_the_user_approved_or_made_stays() {
    let (_folder, real) = workspace(&[]);
    let protected = masked(&real);
    write(&real, ".curlrc", "approved");
    accept_edit(&real, Path::new(".curlrc"));
    write(&real, "sub/.curlrc", "");
    accept_edit(&real, Path::new("sub/.curlrc"));
    assert_eq!(undone(&protected), []);
    // A later change is another file.
    fs::remove_file(real.join(".curlrc")).unwrap();
    write(&real, ".curlrc", "changed");
    assert_eq!(undone(&protected), [moved(".curlrc", ".curlrc.blocked")]);
    write(&real, ".wgetrc", "");
    assert_eq!(protected.accept_changes(), [PathBuf::from(".wgetrc")]);
    assert_eq!(protected.accept_changes(), [""; 0].map(PathBuf::from));
    assert_eq!(undone(&protected), []);
}

#[test]
fn nothing_is_accepted_while_another_device_may_be_at_work() {
    let (_folder, real) = workspace(&[]);
    let (protected, other) = (masked(&real), masked(&real));
    drop(masked(&real));
    write(&real, ".curlrc", "");
    assert_eq!(protected.accept_changes(), [""; 0].map(PathBuf::from));
    drop(other);
    assert!(
        !real.join(".curlrc").exists(),
        "the end of a device undoes it"
    );
    write(&real, ".wgetrc", "");
    assert_eq!(protected.accept_changes(), [PathBuf::from(".wgetrc")]);
}

#[test]
fn what_the_user_replaces_while_programs_run_is_named_and_stays() {
    let (_folder, real) = workspace(&[("sub/.curlrc", "")]);
    let protected = masked(&real);
    write(&real, "new", "");
    fs::rename(real.join("new"), real.join("sub/.curlrc")).unwrap();
    assert_eq!(
        undone(&protected),
        [("sub/.curlrc".into(), Outcome::Replaced)]
    );
    assert_eq!(undone(&protected), []);
    assert_eq!(protected.accept_changes(), [PathBuf::from("sub/.curlrc")]);
}

#[test]
fn a_new_folder_keeps_its_files_and_is_named_once() {
    let (_folder, real) = workspace(&[("own/file", "")]);
    let protected = masked(&real);
    for name in ["new/.curlrc", "new/deep/.wgetrc", "own/deep/.curlrc"] {
        write(&real, name, "");
    }
    assert_eq!(
        undone(&protected),
        [
            ("new".into(), Outcome::InNewFolder(2)),
            ("own/deep".into(), Outcome::InNewFolder(1))
        ]
    );
    write(&real, "new/.curlrc", "changed");
    write(&real, "new/other/.curlrc", "");
    assert_eq!(undone(&protected), []);
    // Version control obeys its folder as soon as somebody looks.
    write(&real, "new/.hg/hgrc", "");
    assert_eq!(undone(&protected), [moved("new/.hg", "new/.hg.blocked")]);
}

#[test]
fn a_link_of_the_user_to_a_new_folder_is_moved_away() {
    let (_folder, real) = workspace(&[
        ("folder/", ""),
        ("link", "-> folder"),
        ("other", "-> plain"),
        ("plain/", ""),
    ]);
    let protected = masked(&real);
    fs::rename(real.join("folder"), real.join("old")).unwrap();
    symlink("new", real.join("next")).unwrap();
    fs::rename(real.join("next"), real.join("link")).unwrap();
    write(&real, "new/.curlrc", "");
    assert_eq!(
        undone(&protected),
        [
            moved("link", "link.blocked"),
            ("new".into(), Outcome::InNewFolder(1)),
        ]
    );
    assert_eq!(undone(&protected), []);
}

#[test]
fn a_repository_is_judged_again_after_a_change() {
    let (_folder, real) = with_repository("sub/.git", "", &[]);
    let protected = masked(&real);
    write(&real, "sub/.git/own", "");
    assert_eq!(
        undone(&protected),
        [moved("sub/.git/own", "sub/.git/own.blocked")]
    );
    write(&real, "sub/.git/refs/heads/main", "");
    write(&real, "sub/.git/ORIG_HEAD", "");
    assert_eq!(undone(&protected), []);
    write(&real, "sub/.git/refs/heads/link", "-> /etc/passwd");
    let link = "sub/.git/refs/heads/link";
    assert_eq!(
        undone(&protected),
        [moved(link, &format!("{link}.blocked"))]
    );
    write(&real, "sub/.git/index", "no index");
    assert_eq!(
        undone(&protected),
        [moved("sub/.git/index", "sub/.git/index.blocked")]
    );
}

#[test]
fn a_new_repository_is_obeyed_only_if_it_is_harmless() {
    let (_folder, real) = workspace(&[]);
    let protected = masked(&real);
    for (name, text) in repository("harmless/.git", "[core]\n\tbare = false\n") {
        write(&real, &name, &text);
    }
    for (name, text) in repository("bare", "[core]\n\tfsmonitor = x\n") {
        write(&real, &name, &text);
    }
    assert_eq!(
        undone(&protected),
        [moved("bare/HEAD", "bare/HEAD.blocked")]
    );
    write(&real, "harmless/.git/hooks/update", "");
    assert_eq!(
        undone(&protected),
        [moved("harmless/.git/hooks", "harmless/.git/hooks.blocked")]
    );
}

#[test]
fn each_outcome_is_a_sentence_with_the_path_and_the_reason() {
    let sentence = |outcome| {
        let undone = noticing::sample("a\nb", outcome);
        undone.to_string()
    };
    for (outcome, expected) in [
        (Outcome::MovedTo("c".into()), "a\\nb was moved to c: why"),
        (
            Outcome::NotMoved("no".to_owned()),
            "a\\nb is dangerous and could not be moved (no): why",
        ),
        (
            Outcome::Stays,
            "a\\nb was changed and stays so, because it is older than the session: why",
        ),
        (
            Outcome::NotSearched("no".to_owned()),
            "a\\nb and maybe other folders were not searched (no): why",
        ),
    ] {
        assert_eq!(sentence(outcome), expected);
    }
    let replaced = sentence(Outcome::Replaced);
    assert!(
        replaced.starts_with("a\\nb was replaced by a program outside"),
        "{replaced}"
    );
    let new = sentence(Outcome::InNewFolder(3));
    assert!(
        new.starts_with("a\\nb is new and has 3 paths such as why,"),
        "{new}"
    );
}
