//! No process outlives its owner.

use std::time::Duration;

use telechir_process::{Identity, Pid, Signal, Spawn, Stdio, is_root};
use telechir_testkit::assert_eventually;
use tokio::time::timeout;

use crate::{PATIENCE, lifeline, read_all, read_line, reopen, sh};

/// Starts a child that has a child, both with the lifeline, and prints `ready`.
const PROCESS_TREE: &str = "(sleep 1000 & echo ready; wait)";

#[tokio::test]
async fn exit_codes_and_signals_are_distinguished() {
    let child = sh("exit 7").spawn().await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(7));
    assert_eq!(
        child.wait().await.unwrap().code(),
        Some(7),
        "a second call returns the same"
    );
    let child = sh("kill -9 $$").spawn().await.unwrap();
    let status = child.wait().await.unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_repeated() {
    let child = Spawn::new("sleep").arg("1000").spawn().await.unwrap();
    assert!(
        timeout(Duration::from_millis(10), child.wait())
            .await
            .is_err()
    );
    assert_eq!(child.try_wait().unwrap(), None);
    child.signal(Signal::TERM).unwrap();
    assert!(
        !timeout(PATIENCE, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_signal_to_the_group_reaches_grandchildren() {
    let (reader, writer) = lifeline();
    let mut child = sh(PROCESS_TREE)
        .fd(3, writer)
        .stdout(Stdio::Piped)
        .spawn()
        .await
        .unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    child.signal_group(Signal::KILL).unwrap();
    assert_eq!(read_all(reader).await, "");
}

#[tokio::test]
async fn dropping_kills_the_process_group() {
    let (reader, writer) = lifeline();
    let mut child = sh(PROCESS_TREE)
        .fd(3, writer)
        .stdout(Stdio::Piped)
        .spawn()
        .await
        .unwrap();
    let pid = child.pid();
    assert_eq!(read_line(&mut child).await, "ready");
    drop(child);
    assert_eq!(read_all(reader).await, "");
    assert_eventually!(
        rustix::process::test_kill_process(pid).is_err(),
        "it is reaped"
    );
}

#[tokio::test]
async fn background_processes_of_the_group_are_killed_at_the_end() {
    let (reader, writer) = lifeline();
    let child = sh("sleep 1000 & exit 0")
        .fd(3, writer)
        .spawn()
        .await
        .unwrap();
    assert!(
        timeout(PATIENCE, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    child.end(Duration::from_secs(5)).await.unwrap();
    assert_eq!(read_all(reader).await, "");
}

#[tokio::test]
async fn a_program_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let script = "trap '' TERM; echo ready; while :; do sleep 1000; done";
    let mut child = sh(script).stdout(Stdio::Piped).spawn().await.unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    let status = timeout(PATIENCE, child.end(Duration::from_millis(50)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[tokio::test]
async fn a_program_that_handles_sigterm_exits_by_itself() {
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = sh(script).stdout(Stdio::Piped).spawn().await.unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    let status = timeout(PATIENCE, child.end(PATIENCE))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(5));
}

/// Helper, not a test: the process in the middle, killed before its child.
#[tokio::test]
async fn helper_that_owns_a_child() {
    if std::env::var_os("OWN_A_CHILD").is_none() {
        return;
    }
    let identity = is_root().then(|| Identity::unprivileged(8)).flatten();
    let sleep = Spawn::new("sleep").arg("1000").identity(identity);
    let child = sleep
        .fd(3, reopen(3))
        .stdout(Stdio::Fd(reopen(3)))
        .spawn()
        .await
        .unwrap();
    rustix::io::write(reopen(3), b"r").unwrap();
    child.wait().await.unwrap();
}

#[tokio::test]
async fn a_child_dies_when_its_parent_is_killed() {
    let (reader, writer) = lifeline();
    let us = std::env::current_exe().unwrap();
    let helper = Spawn::new(us)
        .args(["--exact", "termination::helper_that_owns_a_child"])
        .env("OWN_A_CHILD", "1")
        .fd(3, writer);
    let helper = helper.spawn().await.unwrap();
    let mut ready = [0];
    let reader = tokio::task::spawn_blocking(move || {
        assert_eq!(rustix::io::read(&reader, &mut ready), Ok(1));
        reader
    });
    let reader = timeout(PATIENCE, reader).await.unwrap().unwrap();
    helper.signal(Signal::KILL).unwrap();
    assert_eq!(read_all(reader).await, "");
}

/// Helper, not a test: starts a program that outlives it, prints its pid, and exits.
#[tokio::test]
async fn helper_that_detaches_a_child() {
    if std::env::var_os("DETACH_A_CHILD").is_none() {
        return;
    }
    let child = Spawn::new("sleep").arg("1000").detached();
    let child = child.fd(3, reopen(3)).spawn().await.unwrap();
    let pid = child.pid().as_raw_nonzero().to_string();
    drop(child);
    rustix::io::write(reopen(3), pid.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_detached_program_outlives_its_parent() {
    let (reader, writer) = lifeline();
    let helper = Spawn::new(std::env::current_exe().unwrap())
        .args(["--exact", "termination::helper_that_detaches_a_child"])
        .env("DETACH_A_CHILD", "1")
        .fd(3, writer);
    let helper = helper.spawn().await.unwrap();
    assert!(helper.wait().await.unwrap().success());
    let mut pid = [0; 16];
    let length = rustix::io::read(&reader, &mut pid).unwrap();
    let pid = std::str::from_utf8(&pid[..length]).unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    // It has its own session, so killing the helper and its group did not reach it.
    helper.end(PATIENCE).await.unwrap();
    assert_eq!(rustix::process::getsid(Some(pid)), Ok(pid));
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(read_all(reader).await, "");
}

#[tokio::test]
async fn a_detached_program_continues_when_its_start_is_cancelled() {
    let (reader, writer) = lifeline();
    let spawn = Spawn::new("sh").args(["-c", "read line; echo $line"]);
    let (input, sender) = std::io::pipe().unwrap();
    let spawn = spawn.detached().stdin(Stdio::Fd(input.into()));
    let start = spawn.stdout(Stdio::Fd(writer)).spawn();
    // Polled once, the start is under way.
    let mut start = Box::pin(start);
    let started = std::future::poll_fn(|context| {
        std::task::Poll::Ready(start.as_mut().poll(context).is_ready())
    });
    let _may_be_complete = started.await;
    drop(start);
    rustix::io::write(&sender, b"continues\n").unwrap();
    assert_eq!(read_all(reader).await, "continues\n");
}
