//! What becomes of links, and of files that programs find over them.

use super::*;

/// A workspace whose links are the user's.
fn with_links(files: &[(&str, &str)]) -> (TempDir, PathBuf, Protected) {
    let (folder, real) = workspace(files);
    let protected = masked(&real);
    (folder, real, protected)
}

/// Replaces a path by a link, as a program in the sandbox does.
fn relink(real: &Path, name: &str, target: &str) {
    symlink(target, real.join("next")).unwrap();
    fs::rename(real.join("next"), real.join(name)).unwrap();
}

#[test]
fn a_file_that_is_listed_only_over_a_link_of_the_user_is_read_only_or_moved_away() {
    let (_folder, real, protected) =
        with_links(&[("sub/.cargo", "-> ../data"), ("data/config.toml", "")]);
    assert_eq!(protected.access("data/config.toml"), READ_ONLY);
    drop(protected);
    fs::remove_file(real.join("data/config.toml")).unwrap();
    let protected = masked(&real);
    write(&real, "data/config.toml", "");
    let expected = [moved("data/config.toml", "data/config.toml.blocked")];
    assert_eq!(undone(&protected), expected);
    assert_eq!(undone(&protected), []);
}

#[test]
fn a_link_of_the_session_is_moved_away_if_it_makes_a_file_listed() {
    let (_folder, real, protected) =
        with_links(&[("sub/", ""), ("data/config.toml", ""), ("empty/", "")]);
    write(&real, "sub/.cargo", "-> ../data");
    assert_eq!(
        undone(&protected),
        [moved("sub/.cargo", "sub/.cargo.blocked")]
    );
    write(&real, "sub/.cargo", "-> ../empty");
    assert_eq!(undone(&protected), []);
    relink(&real, "sub/.cargo", "/proc/self/cwd");
    assert_eq!(
        undone(&protected),
        [moved("sub/.cargo", "sub/.cargo.blocked-1")]
    );
}

#[test]
fn a_folder_where_a_link_of_the_user_leads_is_the_user_s() {
    let (_folder, real, protected) = with_links(&[("link", "-> missing")]);
    write(&real, "own", "-> new");
    assert_eq!(undone(&protected), []);
    write(&real, "missing/.curlrc", "");
    write(&real, "new/.curlrc", "");
    assert_eq!(
        undone(&protected),
        [
            moved("missing/.curlrc", "missing/.curlrc.blocked"),
            ("new".into(), Outcome::InNewFolder(1)),
        ]
    );
}

#[test]
fn a_link_over_one_of_the_user_s_stays_unless_it_misleads() {
    let (_folder, real, protected) = with_links(&[("link", "-> plain"), ("plain/", "")]);
    write(&real, "new/deep/.curlrc", "");
    let outside = tempfile::tempdir().unwrap();
    if is_root() {
        chown(outside.path(), Some(3_902), Some(3_902)).unwrap();
    }
    let mut blocked = 0;
    for (target, is_misleading) in [
        ("/usr", false),
        ("/etc/passwd", false),
        ("link", false),
        ("/no such file", false),
        (outside.path().to_str().unwrap(), true),
        ("/proc/self/cwd", true),
        ("new", true),
    ] {
        relink(&real, "link", target);
        let mut all = undone(&protected);
        all.retain(|(path, _)| path == Path::new("link"));
        let name = match blocked {
            0 => "link.blocked".to_owned(),
            number => format!("link.blocked-{number}"),
        };
        let expected: &[_] = match is_misleading {
            true => &[moved("link", &name)],
            false => &[],
        };
        assert_eq!(all, expected, "{target}");
        blocked += usize::from(is_misleading);
    }
}

#[test]
fn a_new_link_where_the_user_has_nothing_stays() {
    let (_folder, real, protected) = with_links(&[("file", "")]);
    write(&real, "new/.curlrc", "");
    write(&real, "fresh", "-> new");
    assert_eq!(
        undone(&protected),
        [("new".into(), Outcome::InNewFolder(1))]
    );
}

#[test]
fn a_link_to_more_links_than_can_be_followed_is_moved_away() {
    let (_folder, real, protected) = with_links(&[("link", "-> plain"), ("plain/", "")]);
    // With the first one as many as are followed.
    for number in 1..1_000 {
        write(&real, &format!("new/{number}"), "-> /usr");
    }
    relink(&real, "link", "new");
    assert_eq!(undone(&protected), []);
    write(&real, "new/more", "-> /usr");
    assert_eq!(undone(&protected), [moved("link", "link.blocked")]);
}

#[test]
fn other_names_of_protected_files_are_read_only() {
    let (_folder, real) = workspace(&[(".husky/update", "")]);
    fs::hard_link(real.join(".husky/update"), real.join("script")).unwrap();
    let protected = masked(&real);
    assert_eq!(protected.access("script"), READ_ONLY);
    assert_eq!(protected.gaps, [""; 0]);
}

#[test]
fn a_link_in_a_protected_folder_over_one_that_leads_outside_is_refused() {
    let (_folder, real) = workspace(&[("out", "-> /usr"), (".husky/over", "-> ../out")]);
    let error = Protected::find(&real, MissingFiles::Masked).unwrap_err();
    assert!(error.to_string().contains(".husky/over is a link"));
}
