//! Files of the workspace that make other programs run things later.

use std::fs;
use std::path::Path;

use telechir_device::Shell;
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, Missing, Sandbox};
use tempfile::TempDir;

use crate::{run, settings, workspace};

async fn around(workspace: &TempDir, missing: Missing) -> Bash {
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
async fn what_is_there_cannot_be_changed_replaced_or_moved_away() {
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
    let mut shell = around(&workspace, Missing::MayBeMade).await;
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
    // The rest of the repository is there to work in.
    let output = run(
        &mut shell,
        "touch .git/index && mkdir src && echo x > src/file",
    )
    .await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn what_is_missing_cannot_be_made_and_nothing_of_that_is_left() {
    let workspace = workspace();
    fs::create_dir(workspace.path().join(".git")).unwrap();
    let mut shell = around(&workspace, Missing::AreMasked).await;
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
async fn in_a_private_workspace_they_can_be_made() {
    let workspace = workspace();
    let mut shell = around(&workspace, Missing::MayBeMade).await;
    let output = run(&mut shell, "echo x > .bashrc; mkdir -p .git/hooks").await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
}
