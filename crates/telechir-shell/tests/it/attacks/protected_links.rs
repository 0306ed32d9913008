//! A sandboxed command gives a file that a program outside obeys another name, by links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use telechir_device::Shell as _;
use telechir_protocol::{PROTECTED_PATHS, ShellOutcome};

use super::Project;
use super::protected_files::shared_folder;
use crate::{command, run, settings};

#[tokio::test]
async fn a_link_is_moved_by_the_command_that_makes_it_with_its_target() {
    let target = "mkdir n2; echo evil > n2/.envrc";
    for take_over in [
        "rm -r src; ln -s n2 src",
        "rm -r src; ln -s n2 mid; ln -s mid last; ln -s last src",
        "rm -r src; ln -s old/../n2 src",
        "rm -r src; ln -s \"$PWD/n2\" src",
        "mkdir away; mv src away; ln -s n2 src",
        "rm -r src; ln -s n2 link; mv link src",
        "rm -r src; ln -s n2 link; ln link src",
        "rm -r src/deep; ln -s ../n2 src/deep",
        // The user had a folder src/deep.
        "rm -r src; mkdir n3; ln -s ../n2 n3/deep; ln -s n3 src",
        "rm -r src; ln -s old src; mv n2 old/deep",
        "rm -r src; ln -s old src; ln -s ../n2 old/deep",
        // Elsewhere for the user's programs than for those that check.
        "rm -r src; ln -s /proc/self/cwd/n2 src",
        "rm -r src; ln -s /dev/fd/../cwd/n2 src",
        // Git would accept the workspace as a repository.
        "touch HEAD; mkdir objects refs; rm -r src; ln -s n2 src",
    ] {
        let project = Project::empty();
        shared_folder(&project, "src/deep");
        shared_folder(&project, "old");
        let mut shell = project.shell().await;
        let output = run(&mut shell, &format!("{target}; {take_over}")).await;
        assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
        for path in ["src/.envrc", "src/deep/.envrc"] {
            assert_eq!(project.read(path), "", "{path} after {take_over}");
        }
        for path in ["src", "src/deep"] {
            let found = fs::symlink_metadata(project.path().join(path));
            let is_link = found.is_ok_and(|found| found.is_symlink());
            assert!(!is_link, "{path} after {take_over}: {output:?}");
        }
        shell.close().await.unwrap();
    }
}

#[tokio::test]
async fn links_without_protected_files_stay() {
    let project = Project::empty();
    shared_folder(&project, "build");
    let mut shell = project.shell().await;
    let release = "rm -r build; mkdir release; echo x > release/file; ln -s release build; \
                   ln -s missing other; ln -s release/../release again";
    let output = run(&mut shell, release).await;
    assert_eq!(output.stderr, "", "{output:?}");
    assert_eq!(project.read("build/file"), "x\n");
    shell.close().await.unwrap();
    assert_eq!(project.read("again/file"), "x\n");
}

#[tokio::test]
async fn what_appears_where_a_link_of_the_user_leads_is_moved_and_the_link_stays() {
    let project = Project::empty();
    shared_folder(&project, "releases");
    symlink("releases/next", project.path().join("current")).unwrap();
    let mut shell = project.shell().await;
    run(
        &mut shell,
        "mkdir releases/next; echo evil > releases/next/.envrc",
    )
    .await;
    assert_eq!(project.read("current/.envrc"), "");
    let link = fs::read_link(project.path().join("current")).unwrap();
    assert_eq!(link, Path::new("releases/next"));
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_link_that_completes_a_path_of_the_list_is_moved() {
    let project = Project::empty();
    shared_folder(&project, "sub");
    let mut shell = project.shell().await;
    let long = PROTECTED_PATHS.iter().map(|(path, _)| *path);
    for path in long.filter(|path| path.contains('/')) {
        for (at, _) in path.match_indices('/') {
            let (link, rest) = (&path[..at], &path[at + 1..]);
            let attack = format!(
                "rm -rf sub/.[a-z]* sub/mise n2; mkdir -p $(dirname n2/{rest} sub/{link}); \
                 echo evil > n2/{rest}; ln -s $PWD/n2 sub/{link}"
            );
            let output = run(&mut shell, &attack).await;
            assert_eq!(project.read(&format!("n2/{rest}")), "evil\n", "{output:?}");
            assert_eq!(project.read(&format!("sub/{path}")), "", "{link}");
        }
    }
    // The target may come later.
    run(&mut shell, "rm -rf n2; ln -s ../n2 sub/.cargo").await;
    run(&mut shell, "mkdir n2; echo evil > n2/config.toml").await;
    assert_eq!(project.read("sub/.cargo/config.toml"), "");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn what_a_link_of_the_user_adds_to_the_list_is_protected() {
    let project = Project::empty();
    shared_folder(&project, "tools");
    fs::write(project.path().join("tools/config.toml"), "own\n").unwrap();
    symlink("tools", project.path().join(".cargo")).unwrap();
    let mut shell = project.shell().await;
    for attack in [
        "echo evil > tools/config.toml",
        "rm -f tools/config.toml; echo evil > tools/config.toml",
        "mv tools away; mkdir tools; echo evil > tools/config.toml",
    ] {
        run(&mut shell, attack).await;
        assert_eq!(project.read(".cargo/config.toml"), "own\n", "{attack}");
    }
    let output = run(&mut shell, "echo evil > tools/env").await;
    assert!(output.stderr.contains("tools/env was moved"), "{output:?}");
    assert_eq!(project.read(".cargo/env"), "");
    shell.close().await.unwrap();
    assert_eq!(project.read(".cargo/config.toml"), "own\n");
}

#[tokio::test]
async fn a_protected_file_is_not_changed_by_another_name_that_it_had() {
    let project = Project::new();
    for folder in ["sub", "scripts"] {
        shared_folder(&project, folder);
    }
    for (path, other) in [
        ("sub/.envrc", "sub/copy"),
        (".git/hooks/pre-commit", "scripts/check"),
        ("CLAUDE.md", ".git/objects/notes"),
    ] {
        let (path, other) = (project.path().join(path), project.path().join(other));
        fs::write(&path, "own\n").unwrap();
        let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(&path, writable).unwrap();
        fs::hard_link(path, other).unwrap();
    }
    let mut shell = project.shell().await;
    for name in ["sub/copy", "scripts/check", ".git/objects/notes"] {
        let attack = format!("echo evil >> {name}; truncate -s 0 {name}; cp /etc/hostname {name}");
        run(&mut shell, &attack).await;
    }
    shell.close().await.unwrap();
    for path in ["sub/.envrc", ".git/hooks/pre-commit", "CLAUDE.md"] {
        assert_eq!(project.read(path), "own\n", "{path}");
    }
}

#[tokio::test]
async fn a_restart_does_not_make_what_a_command_left_the_user_s() {
    for (end, take_over) in [
        ("true", "rm -r src; ln -s n2 src"),
        ("exit 3", "rm -r src; ln -s n2 src"),
        (
            "kill -9 $$",
            "mkdir n3; ln -s ../n2 n3/deep; rm -r src; ln -s n3 src",
        ),
        ("true", "rm -r src; mv n2 src"),
    ] {
        let project = Project::empty();
        shared_folder(&project, "src/deep");
        let mut shell = project.shell().await;
        run(&mut shell, "mkdir n2; echo evil > n2/.envrc").await;
        let _the_shell_may_be_gone = shell.run(&command(end)).await;
        shell.restart().await.unwrap();
        run(&mut shell, take_over).await;
        for path in ["src/.envrc", "src/deep/.envrc"] {
            assert_eq!(project.read(path), "", "{path} after {end} and {take_over}");
        }
        assert_eq!(project.read("n2/.envrc"), "evil\n");
        shell.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_link_gives_a_folder_outside_no_name_of_the_user_s() {
    let project = Project::empty();
    let outside = project.outside.path();
    fs::write(outside.join(".envrc"), "evil\n").unwrap();
    // As the home of a program of the session, which ends with the session.
    if let Some(identity) = settings(&project.workspace).identity {
        std::os::unix::fs::chown(outside, Some(identity.uid), None).unwrap();
    }
    shared_folder(&project, "src/deep");
    let mut shell = project.shell().await;
    for (path, take_over) in [
        (
            "src/deep",
            format!("rm -r src/deep; ln -s {} src/deep", outside.display()),
        ),
        (
            "src",
            format!("ln -s {} n2; rm -r src; ln -s n2 src", outside.display()),
        ),
    ] {
        run(&mut shell, &take_over).await;
        assert_eq!(project.read(&format!("{path}/.envrc")), "", "{take_over}");
    }
    // Folders of the system are no session's.
    let output = run(&mut shell, "ln -s /usr/share src").await;
    assert_eq!(output.stderr, "", "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_link_of_the_user_at_a_protected_path_gets_no_content() {
    let project = Project::empty();
    shared_folder(&project, "sub/deep");
    for (link, target) in [
        ("sub/deep/.envrc", "nowhere"),
        ("sub/.vscode", "../settings"),
        ("AGENTS.md", "mid"),
        ("mid", "sub/end"),
    ] {
        symlink(target, project.path().join(link)).unwrap();
    }
    let mut shell = project.shell().await;
    for attack in [
        "echo evil > sub/deep/nowhere",
        "echo evil > sub/deep/.envrc",
        "mkdir settings; echo evil > settings/tasks.json",
        "echo evil > AGENTS.md",
        "rm mid; ln -s sub/other mid; echo evil > sub/other",
        "rm -f mid; echo evil > mid",
    ] {
        let output = run(&mut shell, attack).await;
        assert!(
            output.stderr.contains("was moved to"),
            "{attack}: {output:?}"
        );
        for path in ["sub/deep/.envrc", "sub/.vscode/tasks.json", "AGENTS.md"] {
            assert_eq!(project.read(path), "", "{path} after {attack}");
        }
    }
    shell.close().await.unwrap();
}
