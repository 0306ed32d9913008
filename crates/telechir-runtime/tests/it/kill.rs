//! A process that is killed at any instant loses nothing it had answered.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use telechir_protocol::Content;
use telechir_runtime::{Journal, JournalError, RecordKind, RunId, read, verify};

use crate::fakes::{carry_out, commands, open_policy, shell};

const FOLDER: &str = "TELECHIR_TEST_JOURNAL";

/// The same test is the process that is killed, when it is told a folder.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the killed process is this test again"
)]
fn a_killed_process_loses_nothing_it_answered() {
    if let Ok(folder) = std::env::var(FOLDER) {
        answer_until_killed(&PathBuf::from(folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut answered = 0;
    for round in 0..8 {
        answered += kill_after(folder.path(), 3 + round * 4);
        let checked = verify(folder.path()).unwrap();
        assert_eq!(checked.fault, None, "after round {round}");
        let records = read(folder.path()).unwrap();
        let kept = records
            .iter()
            .filter(|record| record.kind == RecordKind::Answer)
            .count();
        assert!(
            kept >= answered,
            "{answered} answers were given, {kept} are kept"
        );
    }
}

/// Starts the process, reads so many of its answers, kills it, and says how many it gave.
#[expect(
    clippy::disallowed_methods,
    reason = "the killed process is this test again"
)]
fn kill_after(folder: &Path, answers: usize) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::a_killed_process_loses_nothing_it_answered",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut given = 0;
    for line in lines {
        given += usize::from(line.unwrap().contains("answered"));
        if given == 1 {
            // Only one process writes to a folder; a killed one does not keep it.
            let refused = Journal::open(folder).unwrap_err();
            assert!(matches!(refused, JournalError::InUse { .. }), "{refused:?}");
        }
        if given == answers {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(
        given >= answers,
        "the process ended by itself after {given} answers"
    );
    given
}

#[expect(
    clippy::print_stdout,
    reason = "what it says is read by the test that kills it"
)]
#[tokio::main]
async fn answer_until_killed(folder: &Path) {
    let (builder, _log) = shell(open_policy());
    let run = RunId::unique();
    let mut session = builder
        .journal(Journal::open(folder).unwrap())
        .run(run)
        .build()
        .unwrap();
    for turn in 0.. {
        let call = commands(&format!("s{turn}"), &["make a", "make b"]);
        carry_out(&mut session, vec![Content::ShellCall(call)]).await;
        println!("answered {turn}");
    }
}
