//! Attacks on the sandbox and on the machine outside by the commands in it, one test each.

mod edited_folders;
mod git;
mod mount_points;
mod processes;
mod protected_files;
mod protected_links;
mod set_id;
mod sockets;
mod system_calls;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use telechir_shell::{Bash, Isolation, MissingFiles, Sandbox};
use tempfile::TempDir;

use crate::{settings, workspace};

/// A user's project in a folder of its own, and a program that tells that it ran.
struct Project {
    workspace: TempDir,
    outside: TempDir,
}

impl Project {
    /// A folder without a repository.
    fn empty() -> Self {
        let outside = workspace();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(outside.path(), mode).unwrap();
        Self {
            workspace: workspace(),
            outside,
        }
    }

    /// A folder with a repository that has one commit.
    fn new() -> Self {
        let project = Self::empty();
        fs::write(project.path().join("file"), "text\n").unwrap();
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["add", "file"]);
        project.git(&["commit", "-qm", "first"]);
        project
    }

    fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// What an executed payload creates.
    fn canary(&self) -> PathBuf {
        self.outside.path().join("canary")
    }

    /// A command line that tells that it was executed.
    fn payload(&self) -> String {
        format!("touch {}", self.canary().display())
    }

    /// Runs Git as the user does, outside; returns its output.
    fn git(&self, arguments: &[&str]) -> String {
        self.git_in("", arguments)
    }

    #[expect(clippy::disallowed_methods, reason = "the user's own Git, outside")]
    fn git_in(&self, folder: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "safe.directory=*", "-c", "user.name=n"])
            .args(["-c", "user.email=n@example.org"])
            .args(arguments)
            .current_dir(self.path().join(folder))
            .env("HOME", self.outside.path())
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        out + &err
    }

    /// What a user does next in a folder.
    fn use_git(&self) {
        for folder in ["", "sub", "sub/deep"] {
            if !self.path().join(folder).is_dir() {
                continue;
            }
            for arguments in [
                &["status"][..],
                &["diff"],
                &["log", "-1"],
                &["branch", "-a"],
                &["stash", "list"],
                &["checkout", "-q", "."],
                &["restore", "."],
                &["add", "-A"],
                &["commit", "--allow-empty", "-qm", "next"],
                &["rebase", "--continue"],
                &["gc", "-q"],
                &["fetch", "--all", "-q"],
            ] {
                self.git_in(folder, arguments);
            }
        }
    }

    async fn shell(&self) -> Bash {
        let sandbox = Sandbox {
            missing: MissingFiles::Masked,
            ..settings(&self.workspace)
        };
        Bash::start(Isolation::Sandbox(sandbox)).await.unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }
}
