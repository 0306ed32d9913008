//! When a row counts as durable, and what that costs.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use super::*;

const LOG: &str = "journal.sqlite-wal";

/// SQLite's log with 250 pages: a header, then each page with a header of its own.
const LONG_LOG: u64 = 32 + 250 * (24 + 4096);

/// An operation that need not be durable.
async fn read(journal: &Journal, run: &RunId) -> Result<Option<String>, JournalError> {
    journal.untrusted_source(run).await
}

async fn write(journal: &Journal, run: &RunId) -> Result<(), JournalError> {
    journal.write(run, RecordKind::Event, json!({})).await
}

/// Makes more groups than the writer commits before it looks at the log's length.
async fn pass(journal: &Journal, run: &RunId) {
    for _ in 0..8 {
        read(journal, run).await.unwrap();
    }
}

#[tokio::test]
async fn the_log_is_preallocated_once_after_the_fourth_durable_write() {
    let journal = Journal::temporary().unwrap();
    let run = RunId::new("run");
    let log = journal.folder().join(LOG);
    pass(&journal, &run).await;
    for number in 1..=4 {
        write(&journal, &run).await.unwrap();
        pass(&journal, &run).await;
        let length = log.metadata().unwrap().len();
        assert_eq!(length == LONG_LOG, number == 4, "{number}: {length}");
    }
    let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(LONG_LOG - 4096).unwrap();
    write(&journal, &run).await.unwrap();
    pass(&journal, &run).await;
    assert_eq!(log.metadata().unwrap().len(), LONG_LOG - 4096);
}

#[tokio::test]
async fn after_a_failed_sync_no_later_write_counts_as_durable() {
    let journal = Journal::temporary().unwrap();
    let run = RunId::new("run");
    let (log, aside) = (journal.folder().join(LOG), journal.folder().join("aside"));
    let is_write_error = |result| matches!(result, Err(JournalError::Write { .. }));
    // SQLite writes to the file that it has open; a sync opens it by name.
    fs::rename(&log, &aside).unwrap();
    assert_eq!(read(&journal, &run).await.unwrap(), None);
    assert!(is_write_error(write(&journal, &run).await));
    fs::rename(&aside, &log).unwrap();
    assert!(is_write_error(write(&journal, &run).await));
}

#[tokio::test]
async fn the_receipt_of_an_outcome_reports_whether_it_was_written() {
    let journal = Journal::temporary().unwrap();
    let run = RunId::new("run");
    let key = ActionKey {
        turn: 0,
        call_id: "c1".into(),
        step: 0,
        digest: Digest::of_json(&json!(1)),
    };
    journal.begin_turn(&run, Vec::new()).await.unwrap();
    let started = journal.begin(&run, &key, json!({}), Repeat::Never).await;
    assert!(matches!(started, Ok(BeginOutcome::Fresh)));
    let written = journal.finish(&run, &key, json!({})).await.unwrap();
    written.done().await.unwrap();
    let store = Connection::open(journal.folder().join(schema::FILE)).unwrap();
    store
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        .unwrap();
    let refused = journal.finish(&run, &key, json!({})).await.unwrap();
    let error = refused.done().await.unwrap_err().to_string();
    assert!(error.contains("disk full"), "{error}");
}
