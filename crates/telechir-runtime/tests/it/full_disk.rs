//! A journal on a disk that becomes full: outcomes of started actions are written, and no new
//! action starts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use async_trait::async_trait;
use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_protocol::{CommandOutput, Content, ModelTurn, ShellOutcome};
use telechir_runtime::{Journal, JournalError, RecordKind, RuntimeError, Session, read, verify};

use crate::fakes::{commands, open_policy};

const DISK: &str = "TELECHIR_TEST_SMALL_DISK";

/// The test starts itself again as the process that uses the small disk, in its own mount
/// namespace.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the process on the small disk is this test itself"
)]
fn on_a_full_disk_the_recording_ends_in_order() {
    if let Ok(disk) = std::env::var(DISK) {
        fill_while_running(&PathBuf::from(disk));
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=8m tmpfs \"${DISK}\" && exec \"$0\" --exact \
         full_disk::on_a_full_disk_the_recording_ends_in_order --nocapture"
    );
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(DISK, disk.path())
        .output()
        .unwrap();
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(ran.status.success(), "{output}");
    assert!(output.contains("the small disk was full"), "{output}");
}

/// A shell whose commands fill the disk and have a long output.
#[derive(Debug)]
struct Filler(PathBuf);

#[async_trait]
impl Shell for Filler {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let line = command.command.to_line();
        if line == "fill" {
            fill(&self.0);
        }
        Ok(CommandOutput {
            stdout: format!("{line} {}", "x".repeat(60_000)),
            exit_code: Some(0),
            outcome: ShellOutcome::Success,
            ..CommandOutput::default()
        })
    }

    async fn restart(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn cwd(&self) -> Option<String> {
        None
    }

    fn is_sandboxed(&self) -> bool {
        true
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }
}

fn fill(disk: &Path) {
    let mut file = fs::File::options();
    let mut file = file
        .create(true)
        .append(true)
        .open(disk.join("filler"))
        .unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
}

fn session(disk: &Path) -> Session {
    let journal = Journal::open(disk.join("recording")).unwrap();
    Session::builder(open_policy())
        .shell(Box::new(Filler(disk.to_owned())))
        .journal(journal)
        .build()
        .unwrap()
}

async fn send(session: &mut Session, id: &str, line: &str) -> Result<(), RuntimeError> {
    let turn = ModelTurn::new(vec![Content::ShellCall(commands(id, &[line]))]).unwrap();
    session.execute(turn).await.map(drop)
}

#[expect(
    clippy::print_stdout,
    reason = "the test that started this process reads its output"
)]
#[tokio::main]
async fn fill_while_running(disk: &Path) {
    let recording = disk.join("recording");
    let count = |kind| {
        let records = read(&recording).unwrap();
        records.iter().filter(|record| record.kind == kind).count()
    };
    let mut first = session(disk);
    send(&mut first, "s1", "make").await.unwrap();
    assert_eq!(reserved(&recording), Some(1024 * 1024));
    send(&mut first, "s2", "fill").await.unwrap();
    let mut started = 2;
    // The log may still have had free space for more rows.
    while reserved(&recording).is_some() {
        send(&mut first, &format!("more {started}"), "make")
            .await
            .unwrap();
        started += 1;
        assert!(started < 50, "the disk does not fill");
    }
    assert_eq!(
        count(RecordKind::Outcome),
        started,
        "the outcome is written"
    );
    assert_eq!(
        count(RecordKind::Answer),
        started,
        "the answer to the model is written"
    );
    let refused = send(&mut first, "s3", "make").await.unwrap_err();
    assert!(
        matches!(refused, RuntimeError::Journal(JournalError::Full { .. })),
        "{refused:?}"
    );
    println!("the small disk was full");
    assert_eq!(count(RecordKind::Intent), started, "no action was started");

    // With space again the same session continues, and reserves some of it for its end.
    fs::remove_file(disk.join("filler")).unwrap();
    send(&mut first, "s4", "make").await.unwrap();
    started += 1;
    assert_eq!(count(RecordKind::Outcome), started);
    assert_eq!(reserved(&recording), Some(1024 * 1024));
    first.close().await.unwrap();
    let records = read(&recording).unwrap();
    assert_eq!(records.last().unwrap().body["event"], "session_closed");
    assert_eq!(verify(&recording).unwrap().fault, None);

    // Opening the journal on the full disk fails before anything starts; with space it continues.
    fill(disk);
    let error = Journal::open(&recording).unwrap_err().to_string();
    assert!(error.contains("reserve 1 MiB"), "{error}");
    fs::remove_file(disk.join("filler")).unwrap();
    let mut second = session(disk);
    send(&mut second, "s3", "make").await.unwrap();
    second.close().await.unwrap();
    assert_eq!(count(RecordKind::Outcome), started + 1);
    assert_eq!(
        reserved(&recording),
        None,
        "a closed recording has no reserve"
    );
    assert_eq!(verify(&recording).unwrap().fault, None);
}

fn reserved(recording: &Path) -> Option<u64> {
    Some(recording.join("reserve").metadata().ok()?.len())
}
