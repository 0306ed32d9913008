//! Opening and closing browsers and contexts repeatedly leaves nothing behind.
#![expect(
    clippy::disallowed_methods,
    reason = "the number of cycles comes from the command line"
)]
#![expect(clippy::print_stdout, reason = "a long run prints its results")]

use std::fs;

use telechir_browser::{Browser, Options};
use telechir_process::Cgroup;
use telechir_process::confinement::ResourceLimits;

use crate::common::{SIZE, go, launched, launched_with, options, page, script};
use crate::isolation::{eventually, folder, group};
use crate::window::windowed_with;

/// The number of cycles, unless the environment sets more.
fn cycles(usual: u32) -> u32 {
    let requested = std::env::var("TELECHIR_CYCLES").ok();
    requested
        .and_then(|cycles| cycles.parse().ok())
        .unwrap_or(usual)
}

/// Whether no other test runs in this process, so that its resources are ours.
fn is_alone() -> bool {
    std::env::var_os("TELECHIR_CYCLES").is_some()
}

/// Descriptors, threads and memory in KiB of this process.
fn usage() -> (usize, usize, u64) {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.unwrap().trim().trim_end_matches(" kB");
    (
        count("/proc/self/fd"),
        count("/proc/self/task"),
        memory.parse().unwrap(),
    )
}

/// Descriptors and threads that the last browser may still use for a moment.
const CLOSING: usize = 8;

/// Fails if more is used than after the first cycle.
#[track_caller]
fn assert_no_growth(before: (usize, usize, u64)) {
    if is_alone() {
        let after = usage();
        println!("descriptors, threads, KiB: {before:?}, then {after:?}");
        // The last browser may still be closing; a leak grows with each cycle.
        assert!(
            after.0 <= before.0 + CLOSING && after.1 <= before.1 + CLOSING,
            "{before:?} {after:?}"
        );
        assert!(after.2 < before.2 + 16 * 1024, "{before:?} {after:?}");
    }
}

#[tokio::test]
async fn closed_or_dropped_browsers_leave_nothing() {
    leave_nothing(cycles(4), launched_with).await;
}

#[tokio::test]
async fn closed_or_dropped_browsers_with_windows_leave_nothing() {
    leave_nothing(cycles(4), windowed_with).await;
}

/// Opens browsers and ends them alternately by `close` and by drop.
async fn leave_nothing(cycles: u32, open: impl AsyncFn(Options) -> Browser) {
    let folder = folder();
    let mut before = None;
    for cycle in 0..cycles {
        let mut browser = open(Options {
            temp_dir: folder.path().to_owned(),
            ..options()
        })
        .await;
        go(&mut browser, &page("<p>x")).await.unwrap();
        let pid = browser.pid().unwrap();
        if cycle % 2 == 0 {
            browser.close().await.unwrap();
        } else {
            drop(browser);
        }
        let is_gone = || group(pid).is_empty() && fs::read_dir(folder.path()).unwrap().count() == 0;
        assert!(
            eventually(is_gone).await,
            "in cycle {cycle}: {:?}",
            group(pid)
        );
        if cycle == 1 {
            before = Some(usage());
        }
    }
    assert_no_growth(before.unwrap());
}

#[tokio::test]
async fn closed_or_dropped_contexts_leave_nothing() {
    let browser = launched().await;
    let pid = browser.pid().unwrap();
    let (mut before, mut processes) = (None, usize::MAX);
    for cycle in 0..cycles(8) {
        let mut context = browser.isolated(SIZE, options()).await.unwrap();
        go(&mut context, &page("<p>x")).await.unwrap();
        if cycle % 2 == 0 {
            context.close().await.unwrap();
        } else {
            drop(context);
        }
        if cycle == 1 {
            // Chromium keeps some processes ready from now on.
            processes = group(pid).len() + 1;
            before = Some(usage());
        }
    }
    assert!(
        eventually(|| group(pid).len() <= processes).await,
        "{} processes, {processes} after the first two",
        group(pid).len()
    );
    assert_no_growth(before.unwrap());
    browser.close().await.unwrap();
}

#[tokio::test]
async fn a_page_that_exceeds_the_memory_limit_is_killed_with_a_reason() {
    if !Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals()
    {
        return;
    }
    let mut browser = launched_with(Options {
        allows_scripts: true,
        max_memory_bytes: 512 << 20,
        ..options()
    })
    .await;
    go(&mut browser, &page("<title>x</title>")).await.unwrap();
    let script_text = "window.kept = []; for (let i = 0; i < 4000; i++) {\
        kept.push(new Uint8Array(1 << 20).fill(i)) } 'all of it'";
    let action = telechir_protocol::Action::Javascript {
        script: script_text.to_owned(),
        tab: None,
    };
    let ended = crate::common::perform(&mut browser, action)
        .await
        .unwrap_err();
    // The kernel may kill the browser's main process, which then is the error.
    let message = match (ended, browser.lost_reason()) {
        (_, Some(lost)) => lost,
        (ended, None) => ended.to_string(),
    };
    assert!(message.contains("more than 512 MiB of memory"), "{message}");
    if browser.lost_reason().is_none() {
        go(&mut browser, &page("<title>y</title>")).await.unwrap();
        assert_eq!(script(&mut browser, "1 + 1").await, "2");
    }
}
