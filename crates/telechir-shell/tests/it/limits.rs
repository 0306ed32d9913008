//! What one command can use up.

use std::time::Duration;

use telechir_device::Shell;
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, Limits, Sandbox};
use tempfile::TempDir;

use crate::{command, run, settings, workspace};

const MIB: u64 = 1 << 20;

async fn limited() -> (Bash, TempDir) {
    let workspace = workspace();
    let limits = Limits {
        processes: 64,
        memory_bytes: 256 * MIB,
        file_bytes: 32 * MIB,
        tmp_bytes: 8 * MIB,
        shared_memory_bytes: 8 * MIB,
        ..Limits::default()
    };
    let sandbox = Sandbox {
        limits,
        ..settings(&workspace)
    };
    (
        Bash::start(Isolation::Sandbox(sandbox)).await.unwrap(),
        workspace,
    )
}

#[tokio::test]
async fn a_fork_bomb_is_stopped_and_the_shell_lives() {
    let (mut shell, _kept) = limited().await;
    let bomb = "kept=1; bash -c 'bomb() { bomb | bomb & }; bomb' 2>/dev/null; sleep 1000";
    let brief = telechir_device::ShellCommand {
        timeout: Duration::from_secs(1),
        ..command(bomb)
    };
    assert_eq!(
        shell.run(&brief).await.unwrap().outcome,
        ShellOutcome::Timeout
    );
    let output = run(&mut shell, "echo next").await;
    assert_eq!(
        (output.stdout.as_str(), output.outcome),
        ("next\n", ShellOutcome::Success)
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn processes_are_counted() {
    let (mut shell, _kept) = limited().await;
    let many = "perl -e 'for (1..400) { $p = fork; last unless defined $p; \
        if (!$p) { sleep 1000; exit } push @all, $p } print scalar @all; kill 9, @all'";
    let begun = run(&mut shell, many).await.stdout.parse::<u32>().unwrap();
    assert!((40..64).contains(&begun), "{begun}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn memory_disks_have_a_size() {
    let (mut shell, _kept) = limited().await;
    for folder in ["/tmp", "/dev/shm"] {
        let output = run(
            &mut shell,
            &format!("head -c 20M /dev/zero > {folder}/big; stat -c %s {folder}/big"),
        )
        .await;
        let size = output.stdout.trim().parse::<u64>().unwrap();
        assert!(size <= 8 * MIB, "{folder}: {size}");
    }
}

#[tokio::test]
async fn a_file_has_a_largest_size() {
    let (mut shell, kept) = limited().await;
    assert_eq!(
        run(&mut shell, "head -c 100M /dev/zero > big")
            .await
            .outcome,
        ShellOutcome::Error
    );
    assert_eq!(kept.path().join("big").metadata().unwrap().len(), 32 * MIB);
}

#[tokio::test]
async fn a_memory_hog_ends_and_the_shell_lives() {
    let (mut shell, _kept) = limited().await;
    let output = run(
        &mut shell,
        "kept=1; perl -e '$x = \"x\" x (1 << 30); print length $x'",
    )
    .await;
    assert_eq!(
        (output.outcome, output.stdout.as_str()),
        (ShellOutcome::Error, "")
    );
    assert_eq!(run(&mut shell, "echo $kept").await.stdout, "1\n");
}

#[tokio::test]
async fn an_endless_output_ends_by_timeout() {
    let (mut shell, _kept) = limited().await;
    let brief = telechir_device::ShellCommand {
        timeout: Duration::from_millis(500),
        ..command("yes")
    };
    let output = shell.run(&brief).await.unwrap();
    assert_eq!(output.outcome, ShellOutcome::Timeout);
    assert!(output.truncated_bytes > 1_000_000 && output.stdout.len() < 70_000);
}

#[tokio::test]
async fn a_gigabyte_is_kept_in_part_and_counted_whole() {
    let (mut shell, _kept) = limited().await;
    let output = run(&mut shell, "yes 0123456789abcde | head -c 1G; echo end").await;
    assert_eq!(output.outcome, ShellOutcome::Success);
    assert!(output.stdout.len() < 70_000 && output.stdout.ends_with("end\n"));
    let (first, gone) = (256 * MIB, 768 * MIB + 4);
    let said = format!(
        "its first {first} bytes are in /run/telechir-output/output-1, the other {gone} are gone"
    );
    assert!(
        output.stdout.contains(&said),
        "{}",
        &output.stdout[32_000..34_000]
    );
    let kept = run(&mut shell, "stat -c %s /run/telechir-output/output-1").await;
    assert_eq!(kept.stdout, format!("{first}\n"));
}

#[tokio::test]
async fn a_flood_from_the_background_does_not_hold_up_the_next() {
    let (mut shell, _kept) = limited().await;
    let output = run(&mut shell, "yes & yes >&2 & echo begun").await;
    assert_eq!(output.outcome, ShellOutcome::Success);
    let output = run(&mut shell, "echo next").await;
    assert_eq!(
        (output.stdout.as_str(), output.outcome),
        ("next\n", ShellOutcome::Success)
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_flood_of_reports_does_not_hide_the_end_of_time() {
    let (mut shell, _kept) = limited().await;
    run(
        &mut shell,
        "for n in 1 2; do yes >/run/telechir/control & done",
    )
    .await;
    let brief = telechir_device::ShellCommand {
        timeout: Duration::from_millis(500),
        ..command("sleep 1000")
    };
    assert_eq!(
        shell.run(&brief).await.unwrap().outcome,
        ShellOutcome::Timeout
    );
    shell.restart().await.unwrap();
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
}
