//! Real bash, in the real sandbox and on the host.
#![expect(clippy::unwrap_used, reason = "a test fails where its setup fails")]

mod attacks;
mod comparison;
mod container;
mod corpus;
mod edit_cases;
mod editor;
mod escapes;
mod host;
mod limits;
mod network;
mod protected;
mod sandbox;
mod termination;

use std::time::Duration;

use telechir_device::{Shell, ShellCommand};
use telechir_process::{Identity, is_root};
use telechir_protocol::{Command, CommandOutput};
use telechir_shell::{Bash, Isolation, Sandbox};
use telechir_testkit::gate::{Component, require};
use tempfile::TempDir;

/// A folder that any user can access.
fn workspace() -> TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    folder
}

/// A sandbox around this folder, for the user who runs the tests.
fn settings(workspace: &TempDir) -> Sandbox {
    require(Component::Sandbox);
    let identity = is_root().then(|| Identity::unprivileged(3_850)).flatten();
    Sandbox {
        identity,
        ..Sandbox::new(workspace.path())
    }
}

async fn sandboxed() -> (Bash, TempDir) {
    let workspace = workspace();
    let isolation = Isolation::Sandbox(settings(&workspace));
    (Bash::start(isolation).await.unwrap(), workspace)
}

fn command(line: &str) -> ShellCommand {
    ShellCommand {
        command: Command::Line(line.to_owned()),
        timeout: Duration::from_secs(30),
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    }
}

async fn run(shell: &mut Bash, line: &str) -> CommandOutput {
    shell.run(&command(line)).await.unwrap()
}
