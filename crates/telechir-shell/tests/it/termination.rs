//! No process outlives a shell, and failures to start one are reported.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use telechir_device::{Shell, ShellCommand};
use telechir_process::{Identity, Signal, Spawn, is_root};
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, Sandbox};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, Privilege, lacks, require};
use tempfile::TempDir;

use crate::{command, run, sandboxed, settings, workspace};

/// Whether any process of this machine has `mark` in its command line.
pub(crate) fn runs(mark: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .into_iter()
        .any(|line| String::from_utf8_lossy(&line).contains(mark))
}

/// Starts processes that try to outlive their shell, with a sleep time that no other test uses.
pub(crate) async fn start_daemons(shell: &mut Bash, mark: &str) {
    let text = format!(
        "setsid nohup sleep {mark} & (sleep {mark} &); (trap '' TERM HUP; sleep {mark}) & disown -a"
    );
    assert_eq!(run(shell, &text).await.outcome, ShellOutcome::Success);
    assert_eventually!(runs(mark), "the daemons have started");
}

#[tokio::test]
async fn nothing_is_left_after_close() {
    let (mut shell, _workspace) = sandboxed().await;
    start_daemons(&mut shell, "98761.1").await;
    shell.close().await.unwrap();
    assert!(!runs("98761.1"));
}

#[tokio::test]
async fn nothing_is_left_after_restart() {
    let (mut shell, _workspace) = sandboxed().await;
    start_daemons(&mut shell, "98761.2").await;
    shell.restart().await.unwrap();
    assert!(!runs("98761.2"));
}

#[tokio::test]
async fn nothing_is_left_after_a_drop() {
    let (mut shell, _workspace) = sandboxed().await;
    start_daemons(&mut shell, "98761.3").await;
    drop(shell);
    assert_eventually!(!runs("98761.3"));
}

/// Helper, not a test: a process with a shell, killed by `kill -9`.
#[tokio::test]
async fn helper_that_owns_a_shell() {
    let Some(folder) = std::env::var_os("OWN_A_SHELL") else {
        return;
    };
    let identity = is_root().then(|| Identity::unprivileged(3_851)).flatten();
    let runtime_dir = PathBuf::from(&folder).join("runtime");
    let workspace = PathBuf::from(&folder).join("workspace");
    let sandbox = Sandbox {
        identity,
        runtime_dir,
        ..Sandbox::new(workspace)
    };
    let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
    start_daemons(&mut shell, "98761.4").await;
    run(&mut shell, "touch begun; sleep 98761.4").await;
}

#[tokio::test]
async fn nothing_is_left_after_we_are_killed() {
    require(Component::Sandbox);
    let folder = workspace();
    for name in ["runtime", "workspace"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let us = std::env::current_exe().unwrap();
    let helper = Spawn::new(us)
        .args(["--exact", "termination::helper_that_owns_a_shell"])
        .env("OWN_A_SHELL", folder.path());
    let helper = helper.spawn().await.unwrap();
    assert_eventually!(folder.path().join("workspace/begun").exists());
    assert!(runs("98761.4"));
    helper.signal(Signal::KILL).unwrap();
    helper.wait().await.unwrap();
    assert_eventually!(!runs("98761.4"));
}

#[tokio::test]
async fn nothing_is_left_in_the_runtime_folder() {
    let (workspace, runtime) = (workspace(), workspace());
    let sandbox = Sandbox {
        runtime_dir: runtime.path().into(),
        ..settings(&workspace)
    };
    let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
    run(&mut shell, "true").await;
    assert_eq!(fs::read_dir(runtime.path()).unwrap().count(), 1);
    shell.close().await.unwrap();
    assert_eq!(fs::read_dir(runtime.path()).unwrap().count(), 0);
}

/// Pid, outside, of the bash of a sandbox with this folder.
fn bash_of(folder: &std::path::Path) -> u32 {
    let is_it = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest: Vec<&str> = stat
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        let leads = rest.get(3) == Some(&pid.to_string().as_str()) && rest.get(4) != Some(&"0");
        let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
        stat.contains("(bash) ") && leads && cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_it).unwrap()
}

#[tokio::test]
async fn a_hung_up_terminal_fails_only_one_command() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let (mut shell, folder) = sandboxed().await;
    // 0x5437 is TIOCVHANGUP, which hangs up the terminal.
    let close = format!(
        "open(T, '+<', '/proc/{}/fd/0') or die $!; ioctl(T, 0x5437, 0) or die $!",
        bash_of(folder.path())
    );
    let perl = Spawn::new("perl")
        .args(["-e", &close])
        .spawn()
        .await
        .unwrap();
    assert!(perl.wait().await.unwrap().success());
    let output = run(&mut shell, "echo one").await;
    assert_eq!(output.outcome, ShellOutcome::Error, "{output:?}");
    assert!(
        output.stderr.contains("a new one was started"),
        "{output:?}"
    );
    assert_eq!(run(&mut shell, "echo two").await.stdout, "two\n");
    shell.close().await.unwrap();
}

/// Starts a long command and drops its future once it runs.
async fn drop_after_start(shell: &mut Bash, folder: &TempDir) {
    let long = command("echo begun; touch started; sleep 1000; touch after");
    let started = folder.path().join("started");
    tokio::select! {
        ended = shell.run(&long) => panic!("it ended: {ended:?}"),
        () = async { assert_eventually!(started.exists()) } => {}
    }
}

#[tokio::test]
async fn a_dropped_run_is_ended_before_the_next() {
    let (mut shell, folder) = sandboxed().await;
    run(&mut shell, "kept=1").await;
    drop_after_start(&mut shell, &folder).await;
    let output = run(&mut shell, "echo $kept; [[ ! -e after ]]").await;
    assert_eq!(
        (output.stdout.as_str(), output.outcome.clone()),
        ("1\n", ShellOutcome::Success)
    );
    assert!(
        output.stderr.contains("was still running and was ended"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_dropped_run_is_ended_by_end_command() {
    let (mut shell, folder) = sandboxed().await;
    run(&mut shell, "kept=1").await;
    drop_after_start(&mut shell, &folder).await;
    shell.end_command().await.unwrap();
    let output = run(&mut shell, "pgrep sleep; echo $kept; [[ ! -e after ]]").await;
    assert_eq!(
        (output.stdout.as_str(), output.outcome.clone()),
        ("1\n", ShellOutcome::Success)
    );
    drop(folder);
}

#[tokio::test]
async fn a_command_that_waits_for_input_is_reported_before_its_timeout() {
    let (mut shell, _workspace) = sandboxed().await;
    for text in [
        "read -s -p 'Password: ' x",
        "cat",
        "perl -e '<STDIN>'",
        "head -n1 < /dev/tty",
    ] {
        let output = run(&mut shell, text).await;
        assert_eq!(
            output.outcome,
            ShellOutcome::AwaitingInput,
            "{text}: {output:?}"
        );
        assert!(
            output.duration_ms.is_some_and(|took| took < 10_000),
            "{output:?}"
        );
    }
    for text in [
        "sleep 0.4",
        "sleep 0.4 | cat",
        "cat < /dev/null",
        "sh -c 'sleep 0.4; read x </dev/null; true'",
    ] {
        let output = run(&mut shell, text).await;
        assert_eq!(output.outcome, ShellOutcome::Success, "{text}: {output:?}");
    }
}

#[tokio::test]
async fn an_inaccessible_workspace_is_reported() {
    let workspace = workspace();
    let closed = workspace.path().join("closed");
    fs::create_dir_all(closed.join("inner")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(&closed, mode).unwrap();
    let sandbox = Sandbox {
        workspace: closed.join("inner"),
        ..settings(&workspace)
    };
    let error = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap_err();
    assert!(
        error.to_string().starts_with("start the sandboxed shell: "),
        "{error}"
    );
    let closed = closed.display().to_string();
    assert!(error.to_string().contains(&closed), "{error}");
}

#[tokio::test]
async fn a_zero_timeout_times_out() {
    let (mut shell, _workspace) = sandboxed().await;
    let at_once = ShellCommand {
        timeout: Duration::ZERO,
        ..command("sleep 1000")
    };
    assert_eq!(
        shell.run(&at_once).await.unwrap().outcome,
        ShellOutcome::Timeout
    );
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
}
