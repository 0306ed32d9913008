//! Nothing outlives its owner.

use std::time::{Duration, Instant};

use telechir_process::{Identity, Pid, Signal, Spawn, Stdio, is_root};
use tokio::time::timeout;

use crate::{CEILING, lifeline, read_all, read_line, reopen, sh};

/// Makes a child that has a child, both holding the lifeline, and says so.
const FAMILY: &str = "(sleep 1000 & echo ready; wait)";

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let child = sh("exit 7").spawn().await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(7));
    assert_eq!(
        child.wait().await.unwrap().code(),
        Some(7),
        "asking again is harmless"
    );
    let child = sh("kill -9 $$").spawn().await.unwrap();
    let status = child.wait().await.unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[tokio::test]
async fn waiting_can_be_given_up_and_begun_again() {
    let child = Spawn::new("sleep").arg("1000").spawn().await.unwrap();
    assert!(
        timeout(Duration::from_millis(10), child.wait())
            .await
            .is_err()
    );
    assert_eq!(child.try_wait().unwrap(), None);
    child.signal(Signal::TERM).unwrap();
    assert!(
        !timeout(CEILING, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_signal_to_the_group_reaches_grandchildren() {
    let (reader, writer) = lifeline();
    let mut child = sh(FAMILY)
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
async fn dropping_ends_the_whole_group() {
    let (reader, writer) = lifeline();
    let mut child = sh(FAMILY)
        .fd(3, writer)
        .stdout(Stdio::Piped)
        .spawn()
        .await
        .unwrap();
    let pid = child.pid();
    assert_eq!(read_line(&mut child).await, "ready");
    drop(child);
    assert_eq!(read_all(reader).await, "");
    let started = Instant::now();
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(started.elapsed() < CEILING, "it was not reaped");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_the_program_left_in_its_group_ends_with_its_child() {
    let (reader, writer) = lifeline();
    let child = sh("sleep 1000 & exit 0")
        .fd(3, writer)
        .spawn()
        .await
        .unwrap();
    assert!(
        timeout(CEILING, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    child.end(Duration::from_secs(5)).await.unwrap();
    assert_eq!(read_all(reader).await, "");
}

#[tokio::test]
async fn a_program_that_ignores_the_request_is_killed_after_the_grace() {
    let script = "trap '' TERM; echo ready; while :; do sleep 1000; done";
    let mut child = sh(script).stdout(Stdio::Piped).spawn().await.unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    let status = timeout(CEILING, child.end(Duration::from_millis(50)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[tokio::test]
async fn a_program_that_heeds_the_request_ends_by_itself() {
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = sh(script).stdout(Stdio::Piped).spawn().await.unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    let status = timeout(CEILING, child.end(CEILING)).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(5));
}

/// Not a test of its own: the process between, which `kill -9` ends before its child.
#[tokio::test]
async fn helper_that_holds_a_child() {
    if std::env::var_os("HOLD_A_CHILD").is_none() {
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
async fn a_child_dies_with_us_even_by_kill_9() {
    let (reader, writer) = lifeline();
    let us = std::env::current_exe().unwrap();
    let helper = Spawn::new(us)
        .args(["--exact", "termination::helper_that_holds_a_child"])
        .env("HOLD_A_CHILD", "1")
        .fd(3, writer);
    let helper = helper.spawn().await.unwrap();
    let mut ready = [0];
    let reader = tokio::task::spawn_blocking(move || {
        assert_eq!(rustix::io::read(&reader, &mut ready), Ok(1));
        reader
    });
    let reader = timeout(CEILING, reader).await.unwrap().unwrap();
    helper.signal(Signal::KILL).unwrap();
    assert_eq!(read_all(reader).await, "");
}

/// Not a test of its own: it starts a program that outlives it, says its number, and ends.
#[tokio::test]
async fn helper_that_leaves_a_child() {
    if std::env::var_os("LEAVE_A_CHILD").is_none() {
        return;
    }
    let child = Spawn::new("sleep").arg("1000").detached();
    let child = child.fd(3, reopen(3)).spawn().await.unwrap();
    let pid = child.leave().as_raw_nonzero().to_string();
    rustix::io::write(reopen(3), pid.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_program_that_was_left_outlives_us() {
    let (reader, writer) = lifeline();
    let helper = Spawn::new(std::env::current_exe().unwrap())
        .args(["--exact", "termination::helper_that_leaves_a_child"])
        .env("LEAVE_A_CHILD", "1")
        .fd(3, writer);
    let helper = helper.spawn().await.unwrap();
    assert!(helper.wait().await.unwrap().success());
    let mut pid = [0; 16];
    let length = rustix::io::read(&reader, &mut pid).unwrap();
    let pid = std::str::from_utf8(&pid[..length]).unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    // Its session is its own, so ending the helper and its group did not reach it.
    helper.end(CEILING).await.unwrap();
    assert_eq!(rustix::process::getsid(Some(pid)), Ok(pid));
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(read_all(reader).await, "");
}
