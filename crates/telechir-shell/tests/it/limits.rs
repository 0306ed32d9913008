//! Resource limits of commands.

use std::time::{Duration, Instant};

use telechir_device::Shell;
use telechir_process::{Cgroup, Spawn};
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, ResourceLimits, Sandbox};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Privilege, lacks};
use tempfile::TempDir;

use crate::{command, run, settings, workspace};

const MIB: u64 = 1 << 20;

async fn limited() -> (Bash, TempDir) {
    let workspace = workspace();
    let limits = ResourceLimits {
        processes: 64,
        memory_bytes: 256 * MIB,
        total_memory_bytes: 384 * MIB,
        file_bytes: 32 * MIB,
        tmp_bytes: 8 * MIB,
        shared_memory_bytes: 8 * MIB,
        ..ResourceLimits::default()
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
async fn a_fork_bomb_is_stopped_and_the_shell_survives() {
    let (mut shell, _workspace) = limited().await;
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

/// Time to start a program and see its end.
async fn start_takes() -> Duration {
    let start = Instant::now();
    let child = Spawn::new("true").spawn().await.unwrap();
    child.wait().await.unwrap();
    start.elapsed()
}

#[tokio::test]
async fn the_host_stays_usable_beside_a_fork_bomb_a_flood_and_a_disk_filler() {
    let (mut shell, _workspace) = limited().await;
    let attacks = "bash -c 'bomb() { bomb | bomb & }; bomb' 2>/dev/null; \
                   while :; do head -c 20M /dev/zero >/tmp/a; done 2>/dev/null & \
                   while :; do head -c 20M /dev/zero >/dev/shm/a; done 2>/dev/null & \
                   while :; do head -c 9M /dev/zero >/run/a; done 2>/dev/null & yes";
    let brief = telechir_device::ShellCommand {
        timeout: Duration::from_secs(8),
        ..command(attacks)
    };
    let starts = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            slowest = slowest.max(start_takes().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        slowest
    };
    let (output, slowest) = tokio::join!(shell.run(&brief), starts);
    assert_eq!(output.unwrap().outcome, ShellOutcome::Timeout);
    // The attacks go on for longer.
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn total_memory_is_limited_and_a_kill_is_reported() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let (mut shell, _workspace) = limited().await;
    // Each process is within its own limit.
    let hog = "perl -e '$x = \"x\" x (60 << 20); print \"whole\\n\"; sleep 1000'";
    let text = format!(
        "kept=1; for i in 1 2 3 4; do {hog} & done; wait -n; x=$?; kill %1 %2 %3 %4 2>/dev/null; wait; exit_with() {{ return $1; }}; exit_with $x"
    );
    let output = run(&mut shell, &text).await;
    assert_eq!(output.exit_code, Some(137), "{output:?}");
    let text = "total memory use exceeded 384 MiB]";
    assert!(output.stderr.contains(text), "{output:?}");
    assert!(shell.bounds().unwrap().starts_with("in total: 384 MiB"));
    // It is reported once, and not for other failures.
    let output = run(&mut shell, "echo $kept; false").await;
    assert_eq!(output.stdout, "1\n");
    assert!(!output.stderr.contains(text), "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn memory_disks_count_as_total_memory() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let workspace = workspace();
    let limits = ResourceLimits {
        total_memory_bytes: 64 * MIB,
        ..ResourceLimits::default()
    };
    let sandbox = Sandbox {
        limits,
        ..settings(&workspace)
    };
    let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
    let text = "head -c 200M /dev/zero >/tmp/big; stat -c %s /tmp/big; rm /tmp/big; false";
    let output = run(&mut shell, text).await;
    assert!(
        output.stderr.contains("total memory use exceeded 64 MiB]"),
        "{output:?}"
    );
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn memory_kills_in_pipelines_and_jobs_are_reported() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let (mut shell, _workspace) = limited().await;
    let text = "total memory use exceeded 384 MiB]";
    // Three processes within their own limits, of which the end of the pipeline knows nothing.
    let hog = "perl -e '$x = \"x\" x (1 << 20); push @all, $x . $_ for 1..150; sleep 1'";
    let hogs = format!("{{ {hog} & {hog} & {hog} & wait; }} 2>/dev/null");
    let output = run(&mut shell, &format!("{hogs} | cat")).await;
    assert_eq!(output.exit_code, Some(0), "{output:?}");
    assert!(output.stderr.contains(text), "{output:?}");
    let started = shell
        .start(&command(&format!("{hogs}; exec sleep 1000")))
        .await;
    assert_eq!(started.unwrap().outcome, ShellOutcome::Running);
    assert_eventually!(shell.read("job1", 4096).await.unwrap().stderr, |output| {
        output.contains(text)
    });
    // Not reported again for a job that was read.
    assert_eq!(shell.read("job1", 4096).await.unwrap().stderr, "");
    shell.close().await.unwrap();
}

/// Free bytes of a file system for unprivileged users.
fn free_bytes(folder: &std::path::Path) -> u64 {
    let found = rustix::fs::statvfs(folder).unwrap();
    found.f_bavail * found.f_frsize
}

/// A shell that may use this much more of its workspace's disk.
async fn with_free_bytes(bytes: u64) -> (Bash, TempDir, u64) {
    let workspace = workspace();
    let left = free_bytes(workspace.path()) - bytes;
    let limits = ResourceLimits {
        min_free_bytes: left,
        ..ResourceLimits::default()
    };
    let sandbox = Sandbox {
        limits,
        ..settings(&workspace)
    };
    let shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
    (shell, workspace, left)
}

/// The tests share a disk: one filler at a time, with nextest by its group.
static DISK: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A file that takes this much of the disk. Other processes write to the same disk: removing the
/// file gives back more than they take meanwhile.
fn ballast(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(file.as_file(), flags, 0, bytes).unwrap();
    file
}

/// Runs a filler in a shell that may write 96 MiB.
async fn fill(filler: &str) {
    let _alone = DISK.lock().await;
    let ballast = ballast(1024 * MIB);
    let (mut shell, folder, left) = with_free_bytes(96 * MIB).await;
    let limited = telechir_device::ShellCommand {
        timeout: Duration::from_secs(60),
        ..command(&format!("kept=1; {filler}"))
    };
    let output = shell.run(&limited).await.unwrap();
    assert_eq!(output.outcome, ShellOutcome::Error, "{filler}: {output:?}");
    let text = "that kept writing: the file system of";
    assert!(output.stderr.contains(text), "{filler}: {output:?}");
    // It can write between two checks, and other processes write, too.
    assert!(free_bytes(folder.path()) + 4096 * MIB > left, "{filler}");
    drop(ballast);
    let next = run(&mut shell, "rm -rf ./*; echo $kept").await;
    assert_eq!(next.stdout, "1\n", "{filler}: {next:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn one_big_file_does_not_fill_the_disk_of_the_workspace() {
    fill("head -c 12G /dev/zero >big").await;
}

#[tokio::test]
async fn many_small_files_do_not_fill_the_disk_of_the_workspace() {
    let perl = "perl -e 'for (1..4000000) { open F, \">\", \"f$_\" or die; print F \"x\" x 4096 }'";
    fill(perl).await;
}

#[tokio::test]
async fn files_written_by_bash_itself_do_not_fill_the_disk_of_the_workspace() {
    fill("printf -v x '%65536s'; for ((i = 0; i < 1000000; i++)); do echo \"$x\" >f$i; done").await;
}

#[tokio::test]
async fn space_allocated_without_writing_is_limited() {
    fill("for ((i = 0; i < 400; i++)); do fallocate -l 30M f$i; sleep 0.01; done; false").await;
}

#[tokio::test]
async fn many_small_writers_do_not_fill_the_disk_of_the_workspace() {
    fill("for ((i = 0; i < 100000; i++)); do (head -c 1M /dev/zero >f$i &); done; false").await;
}

#[tokio::test]
async fn the_number_of_processes_is_limited() {
    let (mut shell, _workspace) = limited().await;
    let many = "perl -e 'for (1..400) { $p = fork; last unless defined $p; \
        if (!$p) { sleep 1000; exit } push @all, $p } print scalar @all; kill 9, @all'";
    let started = run(&mut shell, many).await.stdout.parse::<u32>().unwrap();
    // With a cgroup 72 in all, of which four are ours; without one 80.
    assert!((60..80).contains(&started), "{started}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn the_size_of_memory_disks_is_limited() {
    let (mut shell, _workspace) = limited().await;
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
async fn the_size_of_a_file_is_limited() {
    let (mut shell, stored) = limited().await;
    assert_eq!(
        run(&mut shell, "head -c 100M /dev/zero > big")
            .await
            .outcome,
        ShellOutcome::Error
    );
    assert_eq!(
        stored.path().join("big").metadata().unwrap().len(),
        32 * MIB
    );
}

#[tokio::test]
async fn a_memory_hog_is_killed_and_the_shell_survives() {
    let (mut shell, _workspace) = limited().await;
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
    let (mut shell, _workspace) = limited().await;
    let brief = telechir_device::ShellCommand {
        timeout: Duration::from_secs(3),
        ..command("yes")
    };
    let output = shell.run(&brief).await.unwrap();
    assert_eq!(output.outcome, ShellOutcome::Timeout);
    assert!(output.truncated_bytes > 1_000_000 && output.stdout.len() < 70_000);
}

#[tokio::test]
async fn a_gigabyte_of_output_is_stored_in_part_and_counted() {
    let (mut shell, _workspace) = limited().await;
    let output = run(&mut shell, "yes 0123456789abcde | head -c 1G; echo end").await;
    assert_eq!(output.outcome, ShellOutcome::Success);
    assert!(output.stdout.len() < 70_000 && output.stdout.ends_with("end\n"));
    let (first, gone) = (256 * MIB, 768 * MIB + 4);
    let text = format!(
        "its first {first} bytes are in /run/telechir-output/output-1, the other {gone} were discarded"
    );
    assert!(
        output.stdout.contains(&text),
        "{}",
        &output.stdout[32_000..34_000]
    );
    let stored = run(&mut shell, "stat -c %s /run/telechir-output/output-1").await;
    assert_eq!(stored.stdout, format!("{first}\n"));
}

#[tokio::test]
async fn background_output_does_not_delay_the_next_command() {
    let (mut shell, _workspace) = limited().await;
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
async fn forged_reports_do_not_prevent_a_timeout() {
    let (mut shell, _workspace) = limited().await;
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

#[tokio::test]
async fn a_refused_process_is_explained_once() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let (mut shell, _workspace) = limited().await;
    let text =
        "[the kernel did not start a process or thread: the limit of 72 in total was reached]";
    let many = "perl -e 'for (1..400) { $p = fork; last unless defined $p; \
        if (!$p) { sleep 1000; exit } push @all, $p } kill 9, @all; waitpid $_, 0 for @all'";
    let output = run(&mut shell, many).await;
    assert_eq!(output.stderr.matches(text).count(), 1, "{output:?}");
    let output = run(&mut shell, "false").await;
    assert!(!output.stderr.contains(text), "{output:?}");
    let started = shell
        .start(&command(&format!("{many}; exec sleep 1000")))
        .await;
    assert_eq!(started.unwrap().outcome, ShellOutcome::Running);
    assert_eventually!(shell.read("job1", 4096).await.unwrap().stderr, |output| {
        output.contains(text)
    });
    shell.close().await.unwrap();
}
