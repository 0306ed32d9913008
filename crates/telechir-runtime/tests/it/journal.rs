//! The journal: durable, chained, one writer, and never a second effect.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use telechir_protocol::{Content, FailureKind, ModelTurn};
use telechir_runtime::{
    Journal, JournalError, RecordKind, RunId, Session, SessionEvent, VerifyFault, read, verify,
    verify_since,
};

use crate::fakes::{
    call, carry_out, click, commands, desktop, in_shell, log_of, open_policy, shell,
};

fn edit(folder: &Path, statements: &str) {
    let store = rusqlite::Connection::open(folder.join("journal.sqlite")).unwrap();
    store.execute_batch(statements).unwrap();
}

async fn recorded(folder: &Path) {
    let (builder, _log) = desktop(open_policy());
    let mut session = builder
        .journal(Journal::open(folder).unwrap())
        .build()
        .unwrap();
    let typing = json!({ "action": "type", "text": "hi" });
    carry_out(
        &mut session,
        vec![Content::ComputerCall(call("c1", &[click(1, 1), typing]))],
    )
    .await;
    session.close().await.unwrap();
}

#[tokio::test]
async fn intents_precede_outcomes_and_screenshots_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let records = read(folder.path()).unwrap();
    let kinds: Vec<&str> = records
        .iter()
        .filter(|record| record.kind != RecordKind::Event)
        .map(|record| record.kind.name())
        .collect();
    assert_eq!(
        kinds,
        ["call", "intent", "outcome", "intent", "outcome", "answer"]
    );
    let answer = records
        .iter()
        .find(|record| record.kind == RecordKind::Answer)
        .unwrap();
    let uri = answer.body["screenshot"]["uri"].as_str().unwrap();
    let screenshot = telechir_runtime::read_blob(folder.path(), uri.strip_prefix("blob:").unwrap());
    assert!(screenshot.unwrap().unwrap().starts_with(b"\x89PNG"));
    assert_eq!(records.last().unwrap().body["event"], "session_closed");
    assert_eq!(verify(folder.path()).unwrap().fault, None);
}

#[tokio::test]
async fn the_folder_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("a/b");
    recorded(&journal).await;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&journal), 0o700);
    assert_eq!(mode(&journal.join("journal.sqlite")), 0o600);
    assert_eq!(mode(&journal.join("blobs")), 0o700);
}

#[test]
fn a_journal_killed_before_its_tables_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal.sqlite"), "").unwrap();
    let checked = verify(folder.path()).unwrap();
    assert_eq!((checked.rows, checked.fault), (0, None));
    assert_eq!(read(folder.path()).unwrap(), []);
    Journal::open(folder.path()).unwrap();
}

#[tokio::test]
async fn two_writers_on_one_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Journal::open(folder.path()).unwrap();
    assert!(matches!(
        Journal::open(folder.path()),
        Err(JournalError::InUse { .. })
    ));
    drop(first);
    Journal::open(folder.path()).unwrap();
}

#[tokio::test]
async fn a_recording_of_format_1_is_read_and_continued_in_the_present_format() {
    let events = |folder: &Path| -> Vec<SessionEvent> {
        let rows = read(folder).unwrap().into_iter();
        rows.filter(|row| row.kind == RecordKind::Event)
            .map(|row| serde_json::from_value(row.body).unwrap())
            .collect()
    };
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let written = events(folder.path());
    edit(folder.path(), "PRAGMA user_version = 1");
    for (name, old) in [
        ("session_started", "session_opened"),
        ("turn_started", "turn_began"),
        ("turn_completed", "turn_answered"),
        ("screenshot_taken", "picture_taken"),
        ("identical_to", "same_as"),
    ] {
        let rename = format!("UPDATE record SET body = replace(body, '\"{name}\"', '\"{old}\"')");
        edit(folder.path(), &rename);
    }
    let is_old = |row: &telechir_runtime::JournalRecord| row.body["event"] == "picture_taken";
    assert!(read(folder.path()).unwrap().iter().any(is_old));
    assert_eq!(events(folder.path()), written);
    drop(Journal::open(folder.path()).unwrap());
    let store = rusqlite::Connection::open(folder.path().join("journal.sqlite")).unwrap();
    let version: i32 = store
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 3);
}

#[tokio::test]
async fn a_later_format_and_a_foreign_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    edit(folder.path(), "PRAGMA user_version = 4");
    let error = Journal::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("its format is 4"), "{error}");
    for error in [
        verify(folder.path()).unwrap_err(),
        read(folder.path()).unwrap_err(),
    ] {
        assert!(error.to_string().contains("its format is 4"), "{error}");
    }
    let foreign = tempfile::tempdir().unwrap();
    edit(foreign.path(), "CREATE TABLE x (y)");
    let error = Journal::open(foreign.path()).unwrap_err().to_string();
    assert!(error.contains("not a telechir journal"), "{error}");
}

#[tokio::test]
async fn a_changed_row_is_named() {
    let check = async |statements: &str, wanted: VerifyFault| {
        let folder = tempfile::tempdir().unwrap();
        recorded(folder.path()).await;
        edit(folder.path(), "PRAGMA foreign_keys = off");
        edit(folder.path(), statements);
        assert_eq!(
            verify(folder.path()).unwrap().fault,
            Some(wanted),
            "{statements}"
        );
    };
    let off = "PRAGMA foreign_keys = off;";
    check(
        "UPDATE record SET body = replace(body, 'c1', 'c2') WHERE seq = 5",
        VerifyFault::Edited { seq: 5 },
    )
    .await;
    check(
        "UPDATE record SET at_ms = at_ms + 1 WHERE seq = 4",
        VerifyFault::Edited { seq: 4 },
    )
    .await;
    check(
        "UPDATE record SET hash = zeroblob(32) WHERE seq = 3",
        VerifyFault::Edited { seq: 3 },
    )
    .await;
    check(
        &format!("{off} DELETE FROM record WHERE seq = 4"),
        VerifyFault::Missing { seq: 4 },
    )
    .await;
    check(
        &format!("{off} DELETE FROM record WHERE seq = 1"),
        VerifyFault::Missing { seq: 1 },
    )
    .await;
    check(
        &format!("{off} UPDATE record SET seq = -1 WHERE seq = 4; UPDATE record SET seq = 4 WHERE seq = 5; UPDATE record SET seq = 5 WHERE seq = -1"),
        VerifyFault::Reordered { seq: 4 },
    )
    .await;
    check(
        &format!("{off} UPDATE record SET previous = (SELECT previous FROM record WHERE seq = 1) WHERE seq = 4"),
        VerifyFault::Reordered { seq: 4 },
    )
    .await;
}

#[tokio::test]
async fn truncation_is_detected_with_a_hash_stored_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let head = verify(folder.path()).unwrap().head;
    assert_eq!(verify_since(folder.path(), &head).unwrap().fault, None);
    recorded(folder.path()).await;
    assert_eq!(verify_since(folder.path(), &head).unwrap().fault, None);
    let last = verify(folder.path()).unwrap().head;
    edit(
        folder.path(),
        "PRAGMA foreign_keys = off; DELETE FROM record WHERE seq = (SELECT max(seq) FROM record)",
    );
    assert_eq!(verify(folder.path()).unwrap().fault, None);
    assert_eq!(verify_since(folder.path(), &head).unwrap().fault, None);
    assert_eq!(
        verify_since(folder.path(), &last).unwrap().fault,
        Some(VerifyFault::Cut { head: last })
    );
}

#[tokio::test]
async fn a_changed_screenshot_is_named() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let records = read(folder.path()).unwrap();
    let taken = records
        .iter()
        .find(|record| record.body["event"] == "screenshot_taken")
        .unwrap();
    let digest = taken.body["blob"].as_str().unwrap().to_owned();
    std::fs::write(
        folder.path().join("blobs").join(&digest[..2]).join(&digest),
        "x",
    )
    .unwrap();
    let seq = i64::try_from(taken.seq).unwrap();
    assert_eq!(
        verify(folder.path()).unwrap().fault,
        Some(VerifyFault::Blob { seq, digest })
    );
}

/// Truncates the journal as a crash does: the turn is open and later rows are missing.
pub(crate) fn crash_after(folder: &Path, kind: &str) {
    let statements = format!(
        "PRAGMA foreign_keys = off;
         DELETE FROM record WHERE seq > (SELECT max(seq) FROM record WHERE kind = '{kind}');
         UPDATE action SET outcome = NULL WHERE outcome > (SELECT max(seq) FROM record);
         UPDATE turn SET ended = 0;"
    );
    edit(folder, &statements);
}

async fn again(folder: &Path) -> (telechir_protocol::ShellResult, Vec<String>) {
    let (builder, log) = shell(open_policy());
    let journal = Journal::open(folder).unwrap();
    let mut session = builder
        .journal(journal)
        .run(RunId::new("run"))
        .build()
        .unwrap();
    let result = in_shell(&mut session, commands("s1", &["make a"])).await;
    session.close().await.unwrap();
    (result, log_of(&log))
}

#[tokio::test]
async fn a_command_with_unknown_end_is_interrupted_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(again(folder.path()).await.1, ["make a [30000 ms]", "close"]);
    crash_after(folder.path(), "intent");
    let (result, log) = again(folder.path()).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Interrupted);
    assert_eq!(log, ["close"]);
    assert_eq!(verify(folder.path()).unwrap().fault, None);
}

#[tokio::test]
async fn a_command_that_ended_is_answered_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = again(folder.path()).await;
    crash_after(folder.path(), "outcome");
    let (second, log) = again(folder.path()).await;
    assert_eq!(second, first);
    assert_eq!(log, ["close"]);
}

#[tokio::test]
async fn a_turn_that_ended_does_not_bind_the_next() {
    let folder = tempfile::tempdir().unwrap();
    again(folder.path()).await;
    assert_eq!(again(folder.path()).await.1, ["make a [30000 ms]", "close"]);
}

#[tokio::test]
async fn the_same_key_with_another_action_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    again(folder.path()).await;
    crash_after(folder.path(), "outcome");
    let (builder, log) = shell(open_policy());
    let journal = Journal::open(folder.path()).unwrap();
    let mut session = builder
        .journal(journal)
        .run(RunId::new("run"))
        .build()
        .unwrap();
    let turn = ModelTurn::new(vec![Content::ShellCall(commands("s1", &["make b"]))]).unwrap();
    let error = session.execute(turn).await.unwrap_err();
    assert!(format!("{error:?}").contains("OtherDigest"), "{error:?}");
    assert!(log_of(&log).is_empty());
}

#[tokio::test]
async fn an_action_that_cannot_be_recorded_is_not_performed() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, log) = shell(open_policy());
    let journal = Journal::open(folder.path()).unwrap();
    let mut session = builder.journal(journal).build().unwrap();
    in_shell(&mut session, commands("s1", &["make a"])).await;
    edit(
        folder.path(),
        "CREATE TRIGGER full BEFORE INSERT ON record WHEN NEW.kind = 'intent' BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    let turn = ModelTurn::new(vec![Content::ShellCall(commands("s2", &["make b"]))]).unwrap();
    let error = session.execute(turn).await.unwrap_err();
    assert!(format!("{error:?}").contains("disk full"), "{error:?}");
    assert_eq!(log_of(&log), ["make a [30000 ms]"]);
}

#[tokio::test]
async fn after_an_outcome_that_cannot_be_recorded_no_step_is_performed() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, log) = shell(open_policy());
    let journal = Journal::open(folder.path()).unwrap();
    let mut session = builder.journal(journal).build().unwrap();
    edit(
        folder.path(),
        "CREATE TRIGGER full BEFORE INSERT ON record WHEN NEW.kind = 'outcome' BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    let call = Content::ShellCall(commands("s1", &["make a", "make b"]));
    let turn = ModelTurn::new(vec![call]).unwrap();
    let error = session.execute(turn).await.unwrap_err();
    assert!(format!("{error:?}").contains("disk full"), "{error:?}");
    assert_eq!(log_of(&log), ["make a [30000 ms]"]);
}

#[tokio::test]
async fn two_sessions_share_one_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    let open = |journal: &Journal| -> Session {
        shell(open_policy())
            .0
            .journal(journal.clone())
            .build()
            .unwrap()
    };
    let (mut one, mut two) = (open(&journal), open(&journal));
    for turn in 0..20 {
        let (a, b) = (
            commands(&format!("a{turn}"), &["pwd"]),
            commands(&format!("b{turn}"), &["pwd"]),
        );
        tokio::join!(in_shell(&mut one, a), in_shell(&mut two, b));
    }
    one.close().await.unwrap();
    two.close().await.unwrap();
    drop(journal);
    assert_eq!(verify(folder.path()).unwrap().fault, None);
    let runs: std::collections::HashSet<_> = read(folder.path())
        .unwrap()
        .into_iter()
        .map(|record| record.run)
        .collect();
    assert_eq!(runs.len(), 2);
}

#[tokio::test]
async fn a_temporary_journal_is_gone_with_its_session() {
    let (builder, _log) = shell(open_policy());
    let journal = Journal::temporary().unwrap();
    let folder = journal.folder();
    let session = builder.journal(journal).build().unwrap();
    assert!(folder.join("journal.sqlite").exists());
    session.close().await.unwrap();
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_that_write_beside_each_other_keep_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let journal = journal.clone();
        sessions.spawn(async move {
            let (builder, _log) = shell(open_policy());
            let mut session = builder.journal(journal).build().unwrap();
            for number in 0..50 {
                let questions = commands(&format!("c{number}"), &["one", "two"]);
                in_shell(&mut session, questions).await;
            }
            session.close().await.unwrap();
        });
    }
    sessions.join_all().await;
    drop(journal);
    assert_eq!(verify(folder.path()).unwrap().fault, None);
    let records = read(folder.path()).unwrap();
    let count = |kind| records.iter().filter(|record| record.kind == kind).count();
    assert_eq!(count(RecordKind::Answer), 8 * 50);
    assert_eq!(count(RecordKind::Intent), 8 * 100);
    assert_eq!(count(RecordKind::Outcome), 8 * 100);
}

#[tokio::test]
async fn the_log_of_a_long_session_is_preallocated() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, _log) = shell(open_policy());
    let journal = Journal::open(folder.path()).unwrap();
    let mut session = builder.journal(journal).build().unwrap();
    let length = || {
        folder
            .path()
            .join("journal.sqlite-wal")
            .metadata()
            .unwrap()
            .len()
    };
    let mut number = 0;
    while length() < 1_000_000 {
        in_shell(&mut session, commands(&format!("c{number}"), &["one"])).await;
        number += 1;
        assert!(number < 100, "the log grows as it is written");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // The preallocated log misleads neither a concurrent reader nor the next writer after a kill.
    let answers = |records: Vec<telechir_runtime::JournalRecord>| {
        let answers = records
            .iter()
            .filter(|record| record.kind == RecordKind::Answer);
        answers.count()
    };
    assert_eq!(answers(read(folder.path()).unwrap()), number);
    let copy = tempfile::tempdir().unwrap();
    for file in ["journal.sqlite", "journal.sqlite-wal"] {
        std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
    }
    drop(Journal::open(copy.path()).unwrap());
    assert_eq!(answers(read(copy.path()).unwrap()), number);
    assert_eq!(verify(copy.path()).unwrap().fault, None);
}
