//! A sandboxed command leaves a file that a program outside executes or obeys.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use telechir_device::{Editor, Shell as _};
use telechir_protocol::{EditStep, EditTool, PROTECTED_PATHS, ShellOutcome};
use telechir_shell::FileEditor;
use telechir_testkit::assert_eventually;

use super::Project;
use crate::termination::runs;
use crate::{command, run, settings};

/// A folder of the user, in which every user can write.
pub(super) fn shared_folder(project: &Project, name: &str) {
    fs::create_dir_all(project.path().join(name)).unwrap();
    for folder in Path::new(name)
        .ancestors()
        .filter(|path| *path != Path::new(""))
    {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(project.path().join(folder), open).unwrap();
    }
}

#[tokio::test]
async fn no_path_of_the_list_can_be_left_at_any_depth() {
    let project = Project::empty();
    shared_folder(&project, "sub/deep/er");
    let mut shell = project.shell().await;
    let folders = ["", "sub/", "sub/deep/er/"];
    for (path, _) in PROTECTED_PATHS {
        let paths = folders.map(|folder| format!("{folder}{path}"));
        let attack = format!(
            "for path in ./{}; do mkdir -p \"${{path%/*}}\"; echo evil > $path; done",
            paths.join(" ./")
        );
        run(&mut shell, &attack).await;
        for path in paths {
            assert_eq!(project.read(&path), "", "{path}");
        }
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn another_spelling_is_the_same_name() {
    let project = Project::empty();
    shared_folder(&project, "sub");
    let mut shell = project.shell().await;
    for name in [
        "sub/.ENVRC",
        "sub/.VsCode",
        "sub/claude.MD",
        "sub/.git\u{200c}config",
        "sub/.git\u{200d}",
        "sub/.gitcon\u{fb01}g",
        "sub/.ba\u{17f}hrc",
        "sub/\u{ff0e}envrc",
        "sub/.envrc.",
        "sub/.envrc::$DATA",
        "sub/GIT~1",
    ] {
        run(&mut shell, &format!("mkdir -p sub; echo evil > '{name}'")).await;
        assert_eq!(project.read(name), "", "{name:?}");
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn existing_files_in_subfolders_cannot_be_changed() {
    let project = Project::empty();
    let names = [
        "sub/.envrc",
        "sub/deep/.vscode/tasks.json",
        "sub/.cargo/config.toml",
        ".github/hooks/hook.json",
        "sub/deep/AGENTS.md",
    ];
    for name in names {
        let path = project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "own\n").unwrap();
    }
    let mut shell = project.shell().await;
    for name in names {
        for attempt in [
            format!("echo evil > {name}"),
            format!("rm -f {name}"),
            format!("echo evil > new; mv -f new {name}"),
            format!("mv {name} away; echo evil > {name}"),
            "mv sub away; mkdir -p sub/deep; mv sub/deep away".to_owned(),
        ] {
            run(&mut shell, &attempt).await;
            assert_eq!(project.read(name), "own\n", "{attempt}");
        }
    }
    let output = run(&mut shell, "echo x > sub/file && mkdir sub/other").await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
    shell.close().await.unwrap();
    for name in names {
        assert_eq!(project.read(name), "own\n");
    }
}

#[tokio::test]
async fn a_new_file_is_moved_and_reported_however_it_arrives() {
    let project = Project::empty();
    shared_folder(&project, "sub");
    let mut shell = project.shell().await;
    for attack in [
        "mkdir sub; echo evil > sub/.envrc",
        "echo evil > x; mv x sub/.envrc",
        "echo evil > x; ln x sub/.envrc",
        "ln -s x sub/.envrc",
        "mkdir -p a/.b; echo evil > a/x; mv a/x a/.envrc; mv a sub/a; mv sub/a/.envrc sub/.envrc",
        "mkdir sub/.envrc",
        "mkdir o; echo evil > o/.envrc; mv sub old; mv o sub",
        "(sleep 0.1; echo evil > sub/.envrc) & wait",
        "mkfifo sub/.envrc",
    ] {
        let output = run(&mut shell, attack).await;
        assert!(
            output.stderr.contains("sub/.envrc was moved to"),
            "{attack}: {output:?}"
        );
        let left = fs::symlink_metadata(project.path().join("sub/.envrc"));
        assert!(left.is_err(), "{attack}");
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn what_a_background_program_leaves_is_not_the_user_s() {
    let program =
        "sh -c 'until [ -e go ]; do sleep 0.01; done; echo evil > sub/.envrc' left-behind-1";
    for attack in [
        format!("{program} &"),
        format!("setsid {program} & disown"),
        format!("({program} &)"),
    ] {
        let project = Project::empty();
        shared_folder(&project, "sub");
        let mut shell = project.shell().await;
        run(&mut shell, &attack).await;
        // Only now: what it leaves while the command runs is moved at the end of that command.
        fs::write(project.path().join("go"), "").unwrap();
        let path = project.path().join("sub/.envrc");
        assert_eventually!(path.exists() && !runs("left-behind-1"));
        let output = run(&mut shell, "true").await;
        assert!(
            output.stderr.contains("sub/.envrc was moved to"),
            "{attack}: {output:?}"
        );
        assert!(!path.exists(), "{attack}");
        // What the user creates afterwards is the user's.
        fs::write(&path, "own\n").unwrap();
        let refused = shell.run(&command("true")).await.unwrap_err().to_string();
        assert!(refused.contains("restarted"), "{refused}");
        shell.close().await.unwrap();
        assert_eq!(project.read("sub/.envrc"), "own\n", "{attack}");
    }
}

#[tokio::test]
async fn a_reserved_path_stays_reserved_if_the_user_cleans_up() {
    let project = Project::empty();
    let path = project.path().join(".envrc");
    let mut shell = project.shell().await;
    // As `git clean -fdx` does.
    fs::remove_file(&path).unwrap();
    let attack = "echo evil > .envrc";
    let refused = shell.run(&command(attack)).await.unwrap_err().to_string();
    assert!(refused.contains("restarted"), "{refused}");
    run(&mut shell, attack).await;
    assert_eq!(project.read(".envrc"), "");
    shell.close().await.unwrap();
    let left = fs::read_dir(project.path()).unwrap();
    assert_eq!(left.count(), 0, "no placeholder is left");
}

#[tokio::test]
async fn what_appears_at_a_reserved_path_is_undone_even_as_the_same_inode() {
    for text in ["evil", ""] {
        let project = Project::empty();
        let path = project.path().join(".envrc");
        let mut shell = project.shell().await;
        // A file system may give the new file the number of the removed one.
        let attack = format!(
            "touch ready; until [ -w .envrc ]; do \
             (printf '{text}' > .envrc) 2>/dev/null; sleep 0.01; done"
        );
        let user = async {
            assert_eventually!(project.path().join("ready").exists());
            fs::remove_file(&path).unwrap();
        };
        let (output, ()) = tokio::join!(run(&mut shell, &attack), user);
        assert!(
            output.stderr.contains(".envrc was moved to .envrc.blocked"),
            "{output:?}"
        );
        shell.close().await.unwrap();
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn a_file_that_the_user_replaces_while_a_command_runs_is_named() {
    let project = Project::empty();
    fs::write(project.path().join("CLAUDE.md"), "old\n").unwrap();
    let mut shell = project.shell().await;
    let wait = "touch ready; until [ -e go ]; do sleep 0.01; done";
    let user = async {
        assert_eventually!(project.path().join("ready").exists());
        fs::write(project.path().join("new"), "own\n").unwrap();
        fs::rename(project.path().join("new"), project.path().join("CLAUDE.md")).unwrap();
        fs::write(project.path().join("go"), "").unwrap();
    };
    let (output, ()) = tokio::join!(run(&mut shell, wait), user);
    assert!(
        output
            .stderr
            .contains("CLAUDE.md was replaced by a program outside"),
        "{output:?}"
    );
    let attack = "echo evil > CLAUDE.md";
    let refused = shell.run(&command(attack)).await.unwrap_err().to_string();
    assert!(refused.contains("restarted"), "{refused}");
    run(&mut shell, attack).await;
    shell.close().await.unwrap();
    assert_eq!(project.read("CLAUDE.md"), "own\n");
}

#[tokio::test]
async fn a_folder_that_is_moved_away_and_back_hides_nothing() {
    for (away, back) in [
        ("mv sub away", "mv away sub"),
        ("mv sub away; mv other sub", "mv sub other; mv away sub"),
        ("mv sub/deep away", "mv away sub/deep"),
        (
            "mv sub away; mv away other/sub",
            "mv other/sub other/away; mv other/away sub",
        ),
    ] {
        let project = Project::empty();
        for folder in ["sub/deep/er", "other"] {
            shared_folder(&project, folder);
        }
        let mut shell = project.shell().await;
        // A folder that changed a moment ago is read again in any case.
        for command in ["true", away, back, "true"] {
            run(&mut shell, &format!("sleep 0.1; {command}")).await;
        }
        let output = run(&mut shell, "echo evil > sub/deep/er/.envrc").await;
        assert!(
            output.stderr.contains("sub/deep/er/.envrc was moved to"),
            "{away}, then {back}: {output:?}"
        );
        shell.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_folder_without_permissions_hides_nothing() {
    let project = Project::empty();
    shared_folder(&project, "sub");
    shared_folder(&project, "hidden");
    let mut shell = project.shell().await;
    let attack = "mkdir sub; echo evil > sub/.envrc; chmod 555 sub";
    let output = run(&mut shell, attack).await;
    assert!(output.stderr.contains("was moved"), "{output:?}");
    let attack = "mkdir hidden; echo evil > hidden/.envrc; chmod 0 hidden";
    run(&mut shell, attack).await;
    run(&mut shell, "chmod 755 hidden").await;
    assert_eq!(project.read("hidden/.envrc"), "");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn nothing_outside_is_moved_over_a_link() {
    let project = Project::empty();
    let own = project.outside.path().join(".envrc");
    fs::write(&own, "own\n").unwrap();
    let mut shell = project.shell().await;
    let attack = format!(
        "mkdir -p sub/real; echo evil > sub/real/.envrc; mv sub/real sub/old; ln -s {} sub/real",
        project.outside.path().display()
    );
    run(&mut shell, "mkdir -p sub/real").await;
    run(&mut shell, &attack).await;
    shell.close().await.unwrap();
    assert_eq!(fs::read_to_string(own).unwrap(), "own\n");
}

#[tokio::test]
async fn a_link_of_the_user_stays_and_its_target_is_protected() {
    let project = Project::empty();
    fs::write(project.path().join("AGENTS.md"), "own\n").unwrap();
    symlink("AGENTS.md", project.path().join("CLAUDE.md")).unwrap();
    let mut shell = project.shell().await;
    let output = run(&mut shell, "echo evil > CLAUDE.md; touch new").await;
    assert!(!output.stderr.contains("moved"), "{output:?}");
    assert_eq!(project.read("CLAUDE.md"), "own\n");
    let output = run(&mut shell, "rm CLAUDE.md; echo evil > CLAUDE.md").await;
    assert!(output.stderr.contains("CLAUDE.md was moved"), "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn what_the_user_creates_during_the_session_stays_and_is_protected() {
    let project = Project::empty();
    fs::create_dir(project.path().join("sub")).unwrap();
    let mut shell = project.shell().await;
    fs::write(project.path().join("sub/.envrc"), "own\n").unwrap();
    let attack = "echo evil >> sub/.envrc; rm -f sub/.envrc";
    let refused = shell.run(&command(attack)).await.unwrap_err().to_string();
    assert!(refused.contains("restarted"), "{refused}");
    run(&mut shell, attack).await;
    assert_eq!(project.read("sub/.envrc"), "own\n");
    shell.close().await.unwrap();
    assert_eq!(project.read("sub/.envrc"), "own\n");
}

#[tokio::test]
async fn what_an_approved_edit_creates_stays() {
    let project = Project::empty();
    let identity = settings(&project.workspace).identity;
    let mut editor = FileEditor::new(project.path(), identity).unwrap();
    let mut shell = project.shell().await;
    for name in ["sub/.envrc", "sub/.vscode/tasks.json"] {
        let path = project.path().join(name).to_str().unwrap().to_owned();
        let step = EditStep::Create {
            path,
            text: "own\n".to_owned(),
        };
        let located = editor.locate(EditTool::Editor, &step).await.unwrap();
        editor.edit(EditTool::Editor, &located).await.unwrap();
    }
    let attack = "echo evil >> sub/.envrc";
    shell.run(&command(attack)).await.unwrap_err();
    run(&mut shell, attack).await;
    assert_eq!(project.read("sub/.envrc"), "own\n");
    assert_eq!(project.read("sub/.vscode/tasks.json"), "own\n");
    shell.close().await.unwrap();
    assert_eq!(project.read("sub/.envrc"), "own\n");
}

#[tokio::test]
async fn placeholders_are_not_committed() {
    let project = Project::new();
    let mut shell = project.shell().await;
    let output = run(&mut shell, "git add -A && git status --porcelain").await;
    assert_eq!(output.stdout, "", "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_folder_that_looks_like_a_repository_hides_nothing() {
    let project = Project::empty();
    shared_folder(&project, "app/objects/x");
    shared_folder(&project, "app/refs/y");
    shared_folder(&project, "app/logs");
    let mut shell = project.shell().await;
    let attack = "mkdir -p app/objects/x app/refs/y app/logs && touch app/HEAD && \
                  for f in app/objects/.envrc app/objects/x/.envrc app/refs/y/.envrc app/logs/CLAUDE.md; \
                  do echo evil > $f; done";
    run(&mut shell, attack).await;
    for path in [
        "app/objects/.envrc",
        "app/objects/x/.envrc",
        "app/refs/y/.envrc",
        "app/logs/CLAUDE.md",
    ] {
        assert!(!project.path().join(path).exists(), "{path}");
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn files_of_a_project_stay_where_it_comes_to_look_like_a_repository() {
    let project = Project::new();
    for name in ["README.md", "config"] {
        fs::write(project.path().join(name), "own = 1\n").unwrap();
    }
    symlink("README.md", project.path().join("link")).unwrap();
    let mut shell = project.shell().await;
    run(
        &mut shell,
        "touch HEAD; mkdir objects refs; echo new > new.txt",
    )
    .await;
    for name in ["README.md", "config", "link", "new.txt", "file"] {
        assert!(project.path().join(name).exists(), "{name}");
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn names_that_are_taken_keep_no_protected_file() {
    let project = Project::empty();
    shared_folder(&project, "d");
    let mut shell = project.shell().await;
    let attack = "mkdir d; cd d; touch .envrc.blocked; \
                  for i in $(seq 1 30); do touch .envrc.blocked-$i; done; echo evil > .envrc";
    run(&mut shell, attack).await;
    assert!(!project.path().join("d/.envrc").exists());
    shell.close().await.unwrap();
}

#[tokio::test]
async fn files_of_the_user_that_cannot_be_mounted_are_named_and_never_moved() {
    let project = Project::empty();
    let mut names = Vec::new();
    for number in 0..620 {
        let name = format!("sub/{number}/CLAUDE.md");
        fs::create_dir_all(project.path().join(&name).parent().unwrap()).unwrap();
        fs::write(project.path().join(&name), "own\n").unwrap();
        let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(project.path().join(&name), writable).unwrap();
        names.push(name);
    }
    let mut shell = project.shell().await;
    let output = run(
        &mut shell,
        "for file in sub/*/CLAUDE.md; do echo evil 2>/dev/null >> $file; done 2>/dev/null",
    )
    .await;
    assert!(
        output
            .stderr
            .contains("was changed and stays so, because it is older"),
        "{output:?}"
    );
    assert!(!output.stderr.contains(".blocked"), "{output:?}");
    let output = run(&mut shell, "true").await;
    assert_eq!(output.stderr, "", "each is named once");
    shell.close().await.unwrap();
    let changed = |name: &&String| project.read(name) != "own\n";
    assert!(
        names
            .iter()
            .all(|name| project.read(name).starts_with("own\n"))
    );
    let changed = names.iter().filter(changed).count();
    assert!((1..420).contains(&changed), "{changed}");
}

#[tokio::test]
async fn a_file_in_a_folder_that_cannot_be_listed_or_has_a_long_path_is_found() {
    let project = Project::empty();
    shared_folder(&project, "sub/dark");
    let mut shell = project.shell().await;
    let dark = "echo evil > sub/dark/.envrc; chmod 311 sub/dark";
    let output = run(&mut shell, dark).await;
    assert!(
        output.stderr.contains("sub/dark/.envrc was moved to"),
        "{output:?}"
    );
    let deep = "d".repeat(200);
    let attack = format!("cd sub; for i in {{1..30}}; do mkdir {deep}; cd {deep}; done; mkdir .hg");
    let output = run(&mut shell, &format!("({attack})")).await;
    assert!(
        output.stderr.contains(".hg was moved to"),
        "{}",
        output.stderr.replace(&deep, "d")
    );
    shell.close().await.unwrap();
    assert_eq!(project.read("sub/dark/.envrc"), "");
}

#[tokio::test]
async fn a_new_folder_keeps_what_a_clone_or_an_installation_brings_and_is_named_once() {
    let project = Project::empty();
    let mut shell = project.shell().await;
    let install = "git init -q lib; mkdir -p lib/.vscode lib/.cargo node_modules/a/b; \
        echo x | tee lib/CLAUDE.md lib/.npmrc lib/.cargo/config.toml node_modules/a/b/.npmrc; \
        cd lib && git add -A && git -c user.name=n -c user.email=n commit -qm all; cd ..";
    let output = run(&mut shell, install).await;
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{output:?}");
    assert!(
        lines[0].starts_with("[lib is new and has 4 paths"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("[node_modules is new and has 1 paths"),
        "{lines:?}"
    );
    let output = run(
        &mut shell,
        "cd lib && git status --porcelain; echo y > .npmrc; cd ..",
    )
    .await;
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    // Version control obeys its own folders wherever they are.
    let output = run(
        &mut shell,
        "mkdir lib/.hg; echo 'gitdir: /x' > lib/a; mv lib/a lib/GIT~1",
    )
    .await;
    assert!(
        output
            .stderr
            .contains("lib/.hg was moved to lib/.hg.blocked"),
        "{output:?}"
    );
    assert!(output.stderr.contains("lib/GIT~1 was moved"), "{output:?}");
    shell.close().await.unwrap();
    assert_eq!(project.read("lib/CLAUDE.md"), "x\n");
    assert_eq!(project.read("lib/.npmrc"), "y\n");
}

#[tokio::test]
async fn a_new_folder_at_a_path_of_the_user_is_not_new() {
    for take_over in [
        "rm -r src; mv new src",
        "rm -r src; ln -s new src",
        "rm -r src; ln -s new src; rm new/.envrc; echo evil > new/.envrc",
        "rm current; ln -s new current",
        "ln -sfn new current; ln -sfn current src/link",
    ] {
        for first in ["true", "mkdir new; echo evil > new/.envrc"] {
            let project = Project::empty();
            shared_folder(&project, "src");
            shared_folder(&project, "old");
            symlink("old", project.path().join("current")).unwrap();
            symlink("../old", project.path().join("src/link")).unwrap();
            let mut shell = project.shell().await;
            run(&mut shell, first).await;
            let attack = format!("mkdir -p new; echo evil > new/.envrc; {take_over}");
            run(&mut shell, &attack).await;
            shell.close().await.unwrap();
            for path in ["src/.envrc", "current/.envrc", "src/link/.envrc"] {
                assert_eq!(
                    project.read(path),
                    "",
                    "{path} after {first} and {take_over}"
                );
            }
        }
    }
}
