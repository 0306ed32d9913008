//! bash in a real container, if an engine and an image are configured, as by `make container`.

use std::fs;
use std::time::Duration;

use telechir_device::{Shell, ShellCommand, ShellInput, Typed};
use telechir_process::{Identity, is_root};
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Docker, Isolation};
use tempfile::TempDir;

use crate::termination::runs;
use crate::{command, run, workspace};

const ENGINE: &str = "TELECHIR_TEST_ENGINE";
const IMAGE: &str = "TELECHIR_TEST_IMAGE";

fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test process is configured by its environment"
    )]
    std::env::var(name).ok()
}

/// A container around this folder; `None` without a configured engine.
fn settings(workspace: &TempDir) -> Option<Docker> {
    let (engine, image) = (variable(ENGINE)?, variable(IMAGE)?);
    let unprivileged = is_root().then(|| Identity::unprivileged(3_851)).flatten();
    let identity = unprivileged.unwrap_or_else(Identity::current);
    let names = ["PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST"];
    let known = names.map(|name| Some((name.to_owned(), variable(name)?)));
    let mut docker = Docker::new(engine, image, workspace.path(), identity);
    docker.engine_env = known.into_iter().flatten().collect();
    // Some machines that run containers do not allow more.
    docker.limits.open_files = docker.limits.open_files.min(1024);
    Some(docker)
}

async fn contained() -> Option<(Bash, TempDir)> {
    let workspace = workspace();
    let isolation = Isolation::Docker(settings(&workspace)?);
    Some((Bash::start(isolation).await.unwrap(), workspace))
}

async fn text(shell: &mut Bash, line: &str) -> String {
    let output = run(shell, line).await;
    format!("{}{}", output.stdout, output.stderr)
}

#[tokio::test]
async fn it_keeps_state_and_separates_outputs() {
    let Some((mut shell, folder)) = contained().await else {
        return;
    };
    assert!(shell.is_sandboxed());
    run(&mut shell, "x=1; cd /tmp; f() { echo f$x; }").await;
    let output = run(&mut shell, "f; pwd; echo err >&2; (exit 7)").await;
    assert_eq!(output.stdout, "f1\n/tmp\n");
    assert_eq!(
        (output.stderr.as_str(), output.exit_code),
        ("err\n", Some(7))
    );
    assert_eq!(shell.cwd().as_deref(), Some("/tmp"));
    run(&mut shell, "cd; echo kept > file").await;
    let file = fs::read_to_string(folder.path().join("file")).unwrap();
    assert_eq!(file, "kept\n");
    let lost = run(&mut shell, "exit 3").await;
    assert_eq!(lost.exit_code, Some(3));
    assert!(lost.stderr.contains("a new one was started"), "{lost:?}");
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn it_has_no_network_and_no_capabilities() {
    let Some((mut shell, _workspace)) = contained().await else {
        return;
    };
    let lines = text(
        &mut shell,
        "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\\t\\n' ' '",
    )
    .await;
    let zeros = "0".repeat(16);
    assert_eq!(
        lines.trim(),
        format!("CapEff: {zeros} CapBnd: {zeros} NoNewPrivs: 1 Seccomp: 2")
    );
    for refused in [
        "touch /usr/evil",
        "touch /run/telechir/evil",
        "echo x > /dev/tcp/127.0.0.1/22",
        "cat /etc/shadow",
        "mount -t tmpfs none /tmp",
    ] {
        let output = run(&mut shell, refused).await;
        assert_eq!(output.outcome, ShellOutcome::Error, "{refused}: {output:?}");
    }
    shell.close().await.unwrap();
}

#[tokio::test]
async fn it_reports_and_accepts_terminal_input() {
    let Some((mut shell, _workspace)) = contained().await else {
        return;
    };
    let output = run(&mut shell, "read -s -p 'Password: ' p; echo ${#p}").await;
    assert_eq!(output.outcome, ShellOutcome::AwaitingInput);
    assert!(shell.hides_input(None));
    let input = ShellInput {
        job: None,
        typed: Typed::Text("hunter2\n".to_owned()),
        timeout: Duration::from_secs(20),
        max_output_bytes: 1024,
    };
    assert_eq!(shell.send(&input).await.unwrap().stdout, "7\n");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_timeout_kills_all_of_a_command_but_not_the_shell() {
    let Some((mut shell, _workspace)) = contained().await else {
        return;
    };
    run(&mut shell, "x=1").await;
    let forks = "(setsid sh -c 'sleep 98754.1 & exec sleep 98754.1' &); sleep 98754.1";
    let brief = ShellCommand {
        timeout: Duration::from_millis(600),
        ..command(forks)
    };
    let output = shell.run(&brief).await.unwrap();
    assert_eq!(output.outcome, ShellOutcome::Timeout);
    assert!(!runs("98754.1"));
    assert_eq!(run(&mut shell, "echo $x").await.stdout, "1\n");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn jobs_run_in_the_background_and_end_with_the_shell() {
    let Some((mut shell, _workspace)) = contained().await else {
        return;
    };
    let started = shell.start(&command("echo begun; sleep 98755.1")).await;
    let started = started.unwrap();
    assert_eq!(started.outcome, ShellOutcome::Running, "{started:?}");
    run(
        &mut shell,
        "trap '' HUP; nohup sleep 98755.1 >/dev/null 2>&1 &",
    )
    .await;
    assert!(runs("98755.1"));
    let mut output = String::new();
    for _ in 0..100 {
        output += &shell.read("job1", 1024).await.unwrap().stdout;
        if !output.is_empty() {
            break;
        }
        run(&mut shell, "sleep 0.05").await;
    }
    assert_eq!(output, "begun\n");
    let stopped = shell.stop("job1", 1024).await.unwrap();
    assert_eq!(stopped.outcome, ShellOutcome::Cancelled);
    shell.close().await.unwrap();
    assert!(!runs("98755.1"));
}

#[tokio::test]
async fn a_missing_image_is_reported() {
    let workspace = workspace();
    let Some(mut docker) = settings(&workspace) else {
        return;
    };
    docker.image = "localhost/no-such-image:1".to_owned();
    let error = Bash::start(Isolation::Docker(docker)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("has no image `localhost/no-such-image:1`"),
        "{text}"
    );
}
