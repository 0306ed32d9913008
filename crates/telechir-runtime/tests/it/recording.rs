//! A recording that is read while it is written: its events from any row, and the results of turns.

use std::future::Future;
use std::task::Poll;

use base64::Engine as _;
use serde_json::json;
use telechir_image::Format;
use telechir_policy::{Digest, Policy};
use telechir_protocol::{Content, ModelTurn, ToolResult};
use telechir_runtime::{
    Journal, RecordedEvent, RecordingReader, RunId, ScreenshotRule, Session, SessionBuilder,
    SessionEvent, TurnIdentity,
};
use tempfile::TempDir;

use crate::fakes::{action_json, call, commands, desktop, open_policy, shell};

fn session(folder: &TempDir, builder: SessionBuilder, run: &str) -> Session {
    let builder = builder.journal(Journal::open(folder.path()).unwrap());
    builder.run(RunId::new(run)).build().unwrap()
}

fn identity(key: &str) -> TurnIdentity {
    TurnIdentity {
        key: key.to_owned(),
        digest: Digest::of_json(&json!(key)),
    }
}

/// Executes a turn with this key; returns its results.
async fn execute(session: &mut Session, key: &str, contents: Vec<Content>) -> Vec<Content> {
    let turn = ModelTurn::new(contents).unwrap();
    let answered = session.execute_identified(turn, identity(key), false).await;
    let answered = answered.unwrap();
    let results = answered.results().iter().cloned();
    results.map(ToolResult::into_content).collect()
}

fn in_shell(id: &str, line: &str) -> Content {
    Content::ShellCall(commands(id, &[line]))
}

async fn results(recording: &RecordingReader, key: &str) -> Option<Vec<Content>> {
    let turn = recording.turn(key).await.unwrap()?;
    assert_eq!(turn.digest, identity(key).digest);
    turn.has_ended.then_some(turn.results)
}

#[tokio::test]
async fn the_results_of_ended_turns_are_read_by_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, shell(open_policy()).0, "run");
    let recording = session.recording().unwrap();
    assert_eq!(recording.turns().await.unwrap(), []);
    let calls = vec![in_shell("a1", "make a"), in_shell("a2", "fail")];
    let first = execute(&mut session, "first", calls).await;
    assert_eq!(first.len(), 2);
    execute(&mut session, "empty", vec![]).await;
    let second = execute(&mut session, "second", vec![in_shell("b", "pwd")]).await;
    let turn = ModelTurn::new(vec![in_shell("c", "unnamed")]).unwrap();
    session.execute(turn).await.unwrap();
    assert_eq!(results(&recording, "first").await, Some(first));
    assert_eq!(results(&recording, "empty").await, Some(vec![]));
    assert_eq!(results(&recording, "second").await, Some(second.clone()));
    assert_eq!(results(&recording, "third").await, None);
    // A later turn of the same key counts.
    let again = execute(&mut session, "second", vec![in_shell("b2", "make b")]).await;
    assert_ne!(again, second);
    assert_eq!(results(&recording, "second").await, Some(again));
    let keys: Vec<_> = recording.turns().await.unwrap();
    let expected = ["first", "second", "second"].map(|key| (key.to_owned(), identity(key).digest));
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_turn_that_was_dropped_has_not_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, shell(open_policy()).0, "run");
    let recording = session.recording().unwrap();
    let calls = vec![in_shell("a1", "make a"), in_shell("a2", "forever")];
    let turn = ModelTurn::new(calls).unwrap();
    let mut executing = Box::pin(session.execute_identified(turn, identity("dropped"), false));
    // Until the first call is answered and the second one runs.
    let mut answered = recording.clone();
    tokio::select! {
        _ = &mut executing => panic!("it runs forever"),
        () = async {
            while !has_event(&mut answered, "action_started", 2).await {}
        } => {}
    }
    drop(executing);
    execute(&mut session, "next", vec![in_shell("b", "pwd")]).await;
    assert_eq!(results(&recording, "dropped").await, None);
    assert!(results(&recording, "next").await.is_some());
    let keys = recording.turns().await.unwrap();
    assert_eq!(keys, [("next".to_owned(), identity("next").digest)]);
}

/// Whether there are as many events of a kind; waits for another row otherwise.
async fn has_event(recording: &mut RecordingReader, kind: &str, count: usize) -> bool {
    let last = recording.last_row();
    let batch = recording.events(0, usize::MAX).await.unwrap();
    let events = batch.events.iter();
    if events.filter(|one| one.event["event"] == kind).count() >= count {
        return true;
    }
    assert!(recording.wait_for_row(last + 1).await);
    false
}

#[tokio::test]
async fn screenshots_are_in_the_results_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, desktop(Policy::default_policy()).0, "run");
    let recording = session.recording().unwrap();
    let screenshot = Content::ComputerCall(call("c1", &[action_json("screenshot")]));
    let results_of_turn = execute(&mut session, "seen", vec![screenshot]).await;
    let read = results(&recording, "seen").await.unwrap();
    assert_eq!(json!(read), json!(results_of_turn));
    assert!(json!(read).to_string().contains("data:image/png;base64,"));
}

#[tokio::test]
async fn a_screenshot_is_read_by_its_digest_as_it_was_sent() {
    for (format, media_type) in [
        (Format::Png, "image/png"),
        (Format::Webp, "image/webp"),
        (Format::JPEGS[0], "image/jpeg"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let rule = ScreenshotRule {
            format: Some(format),
            accepts_webp: true,
            ..ScreenshotRule::native()
        };
        let builder = desktop(Policy::default_policy()).0.screenshot(rule);
        let mut session = session(&folder, builder, "run");
        let recording = session.recording().unwrap();
        let call = Content::ComputerCall(call("c1", &[action_json("screenshot")]));
        let results = json!(execute(&mut session, "seen", vec![call]).await);
        let batch = recording.events(0, usize::MAX).await.unwrap();
        let mut events = batch.events.iter().map(|event| &event.event);
        let taken = events.find(|event| event["event"] == "screenshot_taken");
        let digest = taken.unwrap()["blob"].as_str().unwrap();
        let (read_type, bytes) = recording.screenshot(digest).await.unwrap().unwrap();
        assert_eq!(read_type, media_type);
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let uri = format!("data:{media_type};base64,{data}");
        assert_eq!(results[0]["screenshot"]["uri"], json!(uri));
        let other = digest.replace(|_| true, "0");
        for absent in [&other, "../journal.sqlite", ""] {
            assert_eq!(
                recording.screenshot(absent).await.unwrap(),
                None,
                "{absent}"
            );
        }
    }
}

#[tokio::test]
async fn events_are_read_from_any_row_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, shell(open_policy()).0, "run");
    let mut recording = session.recording().unwrap();
    execute(&mut session, "a", vec![in_shell("a", "make a")]).await;
    session.emit(SessionEvent::Warning {
        message: "the last".to_owned(),
    });
    while !has_event(&mut recording, "warning", 1).await {}
    let all = recording.events(0, usize::MAX).await.unwrap();
    assert_eq!(all.next, recording.last_row() + 1);
    let rows: Vec<u64> = all.events.iter().map(|event| event.row).collect();
    assert!(rows.is_sorted() && rows.len() > 5, "{rows:?}");
    assert_eq!(all.events[0].event["event"], "session_started");
    assert!(all.events[0].at_ms > 1_500_000_000_000);
    // Batches of any size, one after the other, are the same events.
    for max in [1, 2, 3] {
        let (mut next, mut read): (u64, Vec<RecordedEvent>) = (0, Vec::new());
        loop {
            let batch = recording.events(next, max).await.unwrap();
            assert!(batch.events.len() <= max);
            if batch.events.is_empty() {
                break;
            }
            next = batch.next;
            read.extend(batch.events);
        }
        assert_eq!(read, all.events);
    }
    let from = recording.events(rows[2], 1).await.unwrap();
    assert_eq!((from.events[0].row, from.next), (rows[2], rows[2] + 1));
    let beyond = recording.events(all.next + 7, 1).await.unwrap();
    assert_eq!((beyond.events.len(), beyond.next), (0, all.next + 7));
}

#[tokio::test]
async fn a_reader_sees_one_run_and_the_end_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    let open = |run: &str| {
        let builder = shell(open_policy()).0.journal(journal.clone());
        builder.run(RunId::new(run)).build().unwrap()
    };
    let (mut one, mut other) = (open("one"), open("other"));
    let mut recording = one.recording().unwrap();
    execute(&mut one, "mine", vec![in_shell("a", "pwd")]).await;
    execute(&mut other, "other's", vec![in_shell("b", "pwd")]).await;
    assert_eq!(results(&recording, "other's").await, None);
    assert_eq!(recording.turns().await.unwrap().len(), 1);
    let next = recording.last_row() + 1;
    assert!(recording.wait_for_row(next - 1).await);
    {
        let mut waiting = Box::pin(recording.wait_for_row(next + 1_000));
        let is_pending = std::future::poll_fn(|context| {
            Poll::Ready(waiting.as_mut().poll(context).is_pending())
        });
        assert!(is_pending.await, "it waits for rows that may come");
    }
    one.close().await.unwrap();
    other.close().await.unwrap();
    drop(journal);
    assert!(
        !recording.wait_for_row(next + 1_000).await,
        "no more rows come"
    );
    // What was written can still be read.
    assert!(results(&recording, "mine").await.is_some());
    let batch = recording.events(next, usize::MAX).await.unwrap();
    // Later rows belong to the other run.
    assert_eq!(batch.next, recording.last_row() + 1);
    let last = batch.events.last().map(|last| last.event["event"].clone());
    assert_eq!(last, Some(json!("session_closed")));
}

#[tokio::test]
async fn a_call_is_found_by_the_row_of_its_event_with_its_own_result() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, shell(open_policy()).0, "run");
    let recording = session.recording().unwrap();
    let calls = vec![in_shell("a1", "make a"), in_shell("a2", "fail")];
    execute(&mut session, "first", calls).await;
    let batch = recording.events(1, 1000).await.unwrap();
    let mut found = Vec::new();
    for event in &batch.events {
        let is_call = event.event["event"] == "call_received";
        match recording.call(event.row).await.unwrap() {
            Some(recorded) => {
                assert!(is_call, "{event:?}");
                let result = recorded.result.unwrap();
                assert_eq!(result["call_id"], recorded.call["call_id"]);
                found.push(recorded.call["call_id"].as_str().unwrap().to_owned());
            }
            None => assert!(!is_call, "{event:?}"),
        }
    }
    assert_eq!(found, ["a1", "a2"]);
    assert_eq!(recording.call(u64::MAX).await.unwrap(), None);
}

#[tokio::test]
async fn a_call_that_has_no_result_yet_is_found_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder, shell(open_policy()).0, "run");
    let recording = session.recording().unwrap();
    execute(&mut session, "first", vec![in_shell("a1", "make a")]).await;
    let contents = vec![in_shell("a2", "forever")];
    let mut running = Box::pin(execute(&mut session, "second", contents));
    let is_received = async || {
        let batch = recording.events(1, 1000).await.unwrap();
        let events = batch.events.into_iter();
        let is_its = |event: &RecordedEvent| {
            event.event["event"] == "call_received" && event.event["call_id"] == "a2"
        };
        let mut rows = events.filter(is_its).map(|event| event.row);
        rows.next()
    };
    let row = loop {
        let next = std::future::poll_fn(|context| {
            assert!(running.as_mut().poll(context).is_pending());
            Poll::Ready(())
        });
        next.await;
        if let Some(row) = is_received().await {
            break row;
        }
    };
    let recorded = recording.call(row).await.unwrap().unwrap();
    assert_eq!(recorded.call["call_id"], "a2");
    assert_eq!(recorded.result, None);
}

#[tokio::test]
async fn an_event_is_recorded_beside_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    let event = SessionEvent::Warning {
        message: "before the session".to_owned(),
    };
    journal.record(&RunId::new("run"), &event).await.unwrap();
    let rows = telechir_runtime::read(folder.path()).unwrap();
    let rows: Vec<String> = rows.iter().map(|row| row.body.to_string()).collect();
    assert!(
        rows.iter().any(|row| row.contains("before the session")),
        "{rows:?}"
    );
}
