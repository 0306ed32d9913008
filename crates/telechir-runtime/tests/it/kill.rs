//! A process that is killed at any time loses nothing it has answered.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use telechir_protocol::Content;
use telechir_runtime::{Journal, JournalError, RecordKind, RunId, read, verify};

use crate::fakes::{carry_out, commands, open_policy, shell};

const FOLDER: &str = "TELECHIR_TEST_JOURNAL";

/// The test starts itself again as the process that is killed, if it gets a folder.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the killed process is this test itself"
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
        let stored = records
            .iter()
            .filter(|record| record.kind == RecordKind::Answer)
            .count();
        assert!(
            stored >= answered,
            "{answered} answers were given, {stored} are stored"
        );
    }
}

/// Starts the process, kills it after some of its answers, and returns how many it gave.
#[expect(
    clippy::disallowed_methods,
    reason = "the killed process is this test itself"
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
            // Only one process writes to a folder; a killed one releases it.
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
    reason = "the test that kills this process reads its output"
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

/// Leaves a journal as a kill does within the transaction that creates the tables.
#[test]
fn a_partly_created_journal_reads_as_empty_and_opens() {
    let (made, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = rusqlite::Connection::open(made.path().join("journal.sqlite")).unwrap();
    store
        .execute_batch(
            "PRAGMA page_size = 512; CREATE TABLE t (x); DROP TABLE t;
             PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (made);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO half SELECT hex(randomblob(200)) FROM n;",
        )
        .unwrap();
    for file in ["journal.sqlite", "journal.sqlite-journal"] {
        std::fs::copy(made.path().join(file), left.path().join(file)).unwrap();
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader =
        rusqlite::Connection::open_with_flags(left.path().join("journal.sqlite"), flags).unwrap();
    let half = reader.execute_batch("SELECT count(*) FROM sqlite_schema");
    assert!(half.is_err(), "the journal needs a rollback");
    drop(reader);
    let checked = verify(left.path()).unwrap();
    assert_eq!((checked.rows, checked.fault), (0, None));
    Journal::open(left.path()).unwrap();
}
