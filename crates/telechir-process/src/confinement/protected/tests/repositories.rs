//! Git's own folders: which are found, and what becomes of their configuration.

use super::*;

#[test]
fn repositories_of_submodules_and_worktrees_stay_writable_where_git_writes() {
    let deepest = "1/2/3/4/5/6/7/8";
    let mut files = Vec::new();
    for at in ["a/b", deepest, &format!("{deepest}x/9")] {
        files.extend(repository(&format!("sub/.git/modules/{at}"), ""));
    }
    files.extend(repository("sub/.git/worktrees/w", ""));
    files.extend(repository("sub/.git/worktrees/x/y", ""));
    let (_folder, real) = with_repository("sub/.git", "", &[]);
    for (name, text) in &files {
        write(&real, name, text);
    }
    let protected = masked(&real);
    for (name, expected) in [
        ("modules/a/b", PINNED),
        (&format!("modules/{deepest}"), PINNED),
        ("worktrees/w", PINNED),
    ] {
        assert_eq!(
            protected.access(&format!("sub/.git/{name}")),
            expected,
            "{name}"
        );
    }
}

#[test]
fn a_linked_repository_gets_no_placeholders() {
    let (_folder, real) = workspace(&[("sub/.git/HEAD", "x"), ("sub/.git/commondir", "../../r")]);
    let protected = masked(&real);
    assert_eq!(protected.access("sub/.git/commondir"), READ_ONLY);
    assert_eq!(protected.access("sub/.git/hooks"), None);
    assert!(!real.join("sub/.git/hooks").exists());
}

#[test]
fn only_a_small_regular_file_names_a_repository() {
    let (_folder, real) = workspace(&[
        ("link", "-> small"),
        ("folder/", ""),
        ("empty", ""),
        ("kernel", "-> /proc/kmsg"),
        ("zeros", "-> /dev/zero"),
    ]);
    pipe(&real.join("pipe"));
    let of_size = |name: &str, size: usize| {
        let mut text = "gitdir: data".to_owned();
        text.extend(std::iter::repeat_n(' ', size - text.len()));
        write(&real, name, &text);
    };
    of_size("small", 20);
    of_size("largest", 1 << 20);
    of_size("too large", (1 << 20) + 1);
    for (name, is_found) in [
        ("small", true),
        ("largest", true),
        ("too large", false),
        ("link", true),
        ("folder", false),
        ("missing", false),
        ("empty", false),
        ("pipe", false),
        ("kernel", false),
        ("zeros", false),
    ] {
        let expected = is_found.then(|| real.join("data"));
        assert_eq!(repository::named_by(&real.join(name)), expected, "{name}");
    }
}

#[test]
fn only_a_small_regular_file_names_a_common_repository() {
    let (_folder, real) = workspace(&[
        ("common/", ""),
        ("named/commondir", "../common\n"),
        ("linked/commondir", "-> ../named/commondir"),
        ("outside/commondir", "../missing"),
        ("kernel/commondir", "-> /proc/kmsg"),
        ("zeros/commondir", "-> /dev/zero"),
        ("folder/commondir/", ""),
        ("pipe/", ""),
        ("none/", ""),
    ]);
    pipe(&real.join("pipe/commondir"));
    write(&real, "large/commondir", &" ".repeat((1 << 20) + 1));
    for (name, is_found) in [
        ("named", true),
        ("linked", true),
        ("outside", false),
        ("kernel", false),
        ("zeros", false),
        ("folder", false),
        ("pipe", false),
        ("none", false),
        ("large", false),
    ] {
        let expected = is_found.then(|| real.join("common"));
        assert_eq!(repository::common_of(&real.join(name)), expected, "{name}");
    }
}

#[test]
fn git_reads_no_file_that_has_no_end() {
    for name in ["HEAD", "commondir", "config", "config.worktree"] {
        let (_folder, real) = workspace(&[
            ("x/HEAD", "ref: refs/heads/main\n"),
            ("x/objects/", ""),
            ("x/refs/", ""),
        ]);
        let endless = real.join("x").join(name);
        let _missing = fs::remove_file(&endless);
        symlink("/dev/zero", &endless).unwrap();
        let refused = git::GitUser::current().configuration(Some(&real.join("x")));
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains(&format!("x/{name} is no regular file")),
            "{refused}"
        );
    }
}

/// Makes a pipe with a name, which nobody writes to.
fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

#[test]
fn a_configuration_of_one_worktree_counts() {
    let (_folder, real) = with_repository(
        "sub/.git",
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n",
        &[("sub/.git/config.worktree", "[core]\n\thooksPath = own\n")],
    );
    let protected = masked(&real);
    assert_eq!(protected.access("sub/own"), READ_ONLY);
}

#[test]
fn a_folder_of_git_without_a_configuration_is_no_gap() {
    let (_folder, real) = workspace(&[("a/.git/description", "")]);
    let protected = Protected::find(&real, MissingFiles::Creatable).unwrap();
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn a_configuration_that_the_user_replaces_stays_if_it_executes_what_it_did() {
    let pager = "[core]\n\tpager = less\n";
    for (text, expected) in [
        ("[core]\n\tpager = less\n\tbare = false\n", &[][..]),
        (
            "[core]\n\tpager = evil\n",
            &[moved("sub/.git/config", "sub/.git/config.blocked")],
        ),
    ] {
        let (_folder, real) = with_repository("sub/.git", pager, &[]);
        let protected = masked(&real);
        write(&real, "new", text);
        fs::rename(real.join("new"), real.join("sub/.git/config")).unwrap();
        assert_eq!(undone(&protected), expected, "{text}");
    }
}
