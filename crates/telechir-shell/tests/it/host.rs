//! The shell contract, on the host.

use telechir_device::Shell;
use telechir_shell::{Bash, Host, Isolation};
use tempfile::TempDir;

use crate::termination::{runs, start_daemons};
use crate::workspace;

async fn unsandboxed() -> (Bash, TempDir) {
    let workspace = workspace();
    let host = Host::new(workspace.path());
    (Bash::start(Isolation::Host(host)).await.unwrap(), workspace)
}

telechir_testkit::shell_contract!(unsandboxed);

#[tokio::test]
async fn reports_that_it_is_not_sandboxed() {
    let (shell, _workspace) = unsandboxed().await;
    assert!(!shell.is_sandboxed());
}

#[tokio::test]
async fn nothing_is_left_after_close() {
    let (mut shell, _workspace) = unsandboxed().await;
    start_daemons(&mut shell, "98761.5").await;
    shell.close().await.unwrap();
    assert!(!runs("98761.5"));
}
