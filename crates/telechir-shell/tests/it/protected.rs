//! Protected files of the workspace, which other programs execute or read as configuration.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use telechir_process::is_root;
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, MissingFiles, Sandbox};
use telechir_testkit::gate::{Privilege, lacks};
use tempfile::TempDir;

use crate::{run, settings, workspace};

async fn around(workspace: &TempDir, missing: MissingFiles) -> Bash {
    let sandbox = Sandbox {
        missing,
        ..settings(workspace)
    };
    Bash::start(Isolation::Sandbox(sandbox)).await.unwrap()
}

fn write(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "own\n").unwrap();
}

#[tokio::test]
async fn existing_files_cannot_be_changed_replaced_or_moved() {
    let workspace = workspace();
    let names = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".bashrc",
        ".mcp.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
    ];
    for name in names {
        write(workspace.path(), name);
    }
    let mut shell = around(&workspace, MissingFiles::Creatable).await;
    for name in names {
        for attempt in [
            format!("echo evil > {name}"),
            format!("rm -f {name}"),
            format!("mv {name} away"),
            format!("echo evil > new; mv -f new {name}"),
            format!("ln -f new {name}"),
            format!("echo evil > new; ln -sfn new {name}"),
            format!("chmod u+w {name} && echo evil >> {name}"),
        ] {
            run(&mut shell, &attempt).await;
            let path = workspace.path().join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), "own\n", "{attempt}");
        }
    }
    for attempt in [
        "mv .git away && mkdir -p .git/hooks",
        "mv .git/hooks away",
        "rm -rf .git",
        "touch .git/hooks/post-commit",
        "mv .vscode away",
        "ln -sfn /tmp .claude",
        "umount .git/hooks",
    ] {
        let output = run(&mut shell, attempt).await;
        assert_ne!(
            output.outcome,
            ShellOutcome::Success,
            "{attempt}: {output:?}"
        );
    }
    for name in names {
        let path = workspace.path().join(name);
        assert_eq!(fs::read_to_string(&path).unwrap(), "own\n", "{name}");
    }
    // The rest of the repository is writable.
    let output = run(
        &mut shell,
        "touch .git/index && mkdir src && echo x > src/file",
    )
    .await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn missing_files_cannot_be_created_and_masks_are_removed() {
    let workspace = workspace();
    fs::create_dir(workspace.path().join(".git")).unwrap();
    let mut shell = around(&workspace, MissingFiles::Masked).await;
    for attempt in [
        "echo evil > .mcp.json",
        "mkdir .vscode",
        "rm -f .bashrc && echo evil > .bashrc",
        "mv .claude away",
        "mkdir .git/hooks",
        "rm -f .git/hooks && mkdir .git/hooks",
        "echo x > new; mv -f new .profile",
    ] {
        let output = run(&mut shell, attempt).await;
        assert_ne!(
            output.outcome,
            ShellOutcome::Success,
            "{attempt}: {output:?}"
        );
    }
    run(&mut shell, "rm -f new; echo mine > kept").await;
    shell.close().await.unwrap();
    let mut left: Vec<String> = fs::read_dir(workspace.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".git", "kept"]);
    assert_eq!(
        fs::read_dir(workspace.path().join(".git")).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn missing_files_can_be_created_in_a_private_workspace() {
    let workspace = workspace();
    let mut shell = around(&workspace, MissingFiles::Creatable).await;
    let output = run(&mut shell, "echo x > .bashrc; mkdir -p .git/hooks").await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
}

/// Starts a shell around a shared folder, or returns the error.
async fn started(workspace: &TempDir) -> Result<Bash, String> {
    let sandbox = Sandbox {
        missing: MissingFiles::Masked,
        ..settings(workspace)
    };
    let started = Bash::start(Isolation::Sandbox(sandbox)).await;
    started.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_link_at_a_protected_path_is_refused_by_name() {
    for (link, target) in [
        (".git/hooks", "../githooks"),
        (".bashrc", "dotfiles/bashrc"),
        (".claude", "/nowhere"),
        (".git", "elsewhere"),
    ] {
        let workspace = workspace();
        write(workspace.path(), "githooks/pre-commit");
        write(workspace.path(), "dotfiles/bashrc");
        let path = workspace.path().join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        let error = started(&workspace).await.unwrap_err();
        assert!(
            error.contains(&format!("{} is a link", path.display())),
            "{error}"
        );
        assert!(
            !error.contains("shell=host"),
            "the host shell is no alternative: {error}"
        );
        let left = fs::read_dir(workspace.path()).unwrap().flatten();
        let masks = left.filter(|entry| entry.metadata().unwrap().len() == 0);
        assert_eq!(masks.count(), 0, "no empty file is left in the folder");
    }
}

#[tokio::test]
async fn the_target_of_a_protected_link_is_protected() {
    let workspace = workspace();
    write(workspace.path(), "scripts/hooks/check");
    write(workspace.path(), "scripts/build");
    fs::create_dir_all(workspace.path().join(".git/hooks")).unwrap();
    let hook = workspace.path().join(".git/hooks/pre-commit");
    symlink("../../scripts/hooks/check", &hook).unwrap();
    symlink("/usr/bin/true", hook.with_file_name("pre-push")).unwrap();
    let mut shell = started(&workspace).await.unwrap();
    for attempt in [
        "echo evil > scripts/hooks/check",
        "rm -f scripts/hooks/check",
        "mv scripts/hooks away",
        "mv scripts away",
        "rm -rf scripts/hooks",
        "echo evil > new; mv -f new scripts/hooks/check",
    ] {
        let output = run(&mut shell, attempt).await;
        assert_ne!(
            output.outcome,
            ShellOutcome::Success,
            "{attempt}: {output:?}"
        );
        assert_eq!(fs::read_to_string(&hook).unwrap(), "own\n", "{attempt}");
    }
    let work = "echo x > scripts/build && touch scripts/hooks/other && rm scripts/hooks/other";
    let output = run(&mut shell, work).await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_protected_link_over_another_link_or_to_a_missing_file_is_refused() {
    for target in ["../../scripts/current", "../../scripts/none"] {
        let workspace = workspace();
        write(workspace.path(), "scripts/one");
        symlink("one", workspace.path().join("scripts/current")).unwrap();
        fs::create_dir_all(workspace.path().join(".git/hooks")).unwrap();
        let hook = workspace.path().join(".git/hooks/pre-commit");
        symlink(target, &hook).unwrap();
        let error = started(&workspace).await.unwrap_err();
        assert!(
            error.contains(&format!("{} is a link", hook.display())),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_private_workspace_accepts_links() {
    let workspace = workspace();
    symlink("dotfiles/bashrc", workspace.path().join(".bashrc")).unwrap();
    let mut shell = around(&workspace, MissingFiles::Creatable).await;
    assert_eq!(run(&mut shell, "echo yes").await.stdout, "yes\n");
}

#[tokio::test]
async fn configured_hooks_paths_are_protected() {
    let workspace = workspace();
    write(workspace.path(), "tools/hooks/pre-commit");
    fs::create_dir_all(workspace.path().join(".git")).unwrap();
    let config = "[core]\n\thooksPath = tools/hooks\n";
    fs::write(workspace.path().join(".git/config"), config).unwrap();
    let mut shell = started(&workspace).await.unwrap();
    for attempt in [
        "echo evil > tools/hooks/pre-commit",
        "touch tools/hooks/post-commit",
        "mv tools away",
        "mv tools/hooks away",
    ] {
        let output = run(&mut shell, attempt).await;
        assert_ne!(
            output.outcome,
            ShellOutcome::Success,
            "{attempt}: {output:?}"
        );
    }
    assert_eq!(
        run(&mut shell, "touch tools/x").await.outcome,
        ShellOutcome::Success
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn differently_spelled_names_are_not_protected() {
    let workspace = workspace();
    write(workspace.path(), ".git/hooks/pre-commit");
    let mut shell = started(&workspace).await.unwrap();
    let text = "mkdir -p .GIT/HOOKS; echo evil > .GIT/HOOKS/pre-commit; echo evil > .BASHRC; \
                mkdir -p $'.g\\u0131t/hooks'; echo evil > $'.g\\u0131t/hooks/pre-commit'";
    run(&mut shell, text).await;
    let hook = workspace.path().join(".git/hooks/pre-commit");
    assert_eq!(fs::read_to_string(hook).unwrap(), "own\n");
    assert_eq!(
        fs::read_to_string(workspace.path().join(".bashrc")).unwrap(),
        ""
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_closed_folder_around_the_workspace_is_named() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let home = workspace();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::create_dir_all(home.path().join("person/projects/work")).unwrap();
    fs::set_permissions(home.path().join("person"), mode(0o700)).unwrap();
    let sandbox = || Sandbox {
        workspace: home.path().join("person/projects/work"),
        ..settings(&home)
    };
    let error = Bash::start(Isolation::Sandbox(sandbox()))
        .await
        .unwrap_err();
    let error = error.to_string();
    let closed = home.path().join("person").display().to_string();
    assert!(error.contains(&format!("is in {closed}, which")), "{error}");
    assert!(error.contains(&format!("chmod o+x {closed}")), "{error}");
    assert!(!error.contains("shell=host"), "{error}");
    fs::set_permissions(home.path().join("person"), mode(0o711)).unwrap();
    let mut shell = Bash::start(Isolation::Sandbox(sandbox())).await.unwrap();
    assert_eq!(run(&mut shell, "echo yes").await.stdout, "yes\n");
}

#[tokio::test]
async fn masks_last_until_the_last_device_ends() {
    let workspace = workspace();
    let first = started(&workspace).await.unwrap();
    let mut second = started(&workspace).await.unwrap();
    first.close().await.unwrap();
    let output = run(&mut second, "echo evil > .bashrc").await;
    assert_ne!(output.outcome, ShellOutcome::Success, "{output:?}");
    second.close().await.unwrap();
    assert_eq!(fs::read_dir(workspace.path()).unwrap().count(), 0);
}
