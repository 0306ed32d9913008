//! A turn that is sent again to the same run of the same journal: nothing happens twice.

use std::path::Path;

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::{
    AnsweredTurn, ComputerResult, Content, FailureKind, ModelTurn, ShellAction, ShellCall,
    ShellOutcome, ShellResult, ToolResult,
};
use telechir_runtime::{ActionEffect, Journal, RunId, RuntimeError, SessionBuilder, read, verify};

use crate::fakes::{Log, action_json, call, click, commands, desktop, log_of, open_policy, shell};
use crate::journal::crash_after;

async fn send(
    folder: &Path,
    (builder, log): (SessionBuilder, Log),
    content: Content,
) -> (Result<AnsweredTurn, RuntimeError>, Vec<String>) {
    let builder = builder.journal(Journal::open(folder).unwrap());
    let mut session = builder.run(RunId::new("run")).build().unwrap();
    let turn = ModelTurn::new(vec![content]).unwrap();
    let answered = session.execute_once(turn).await;
    drop(session);
    assert_eq!(verify(folder).unwrap().fault, None);
    (answered, log_of(&log))
}

async fn in_shell(folder: &Path, policy: Policy, lines: &[&str]) -> (ShellResult, Vec<String>) {
    let content = Content::ShellCall(commands("s1", lines));
    let (answered, log) = send(folder, shell(policy), content).await;
    let answered = answered.unwrap();
    let [ToolResult::Shell(result)] = answered.results() else {
        panic!("not one result")
    };
    (result.clone(), log)
}

async fn on_screen(folder: &Path, actions: &[serde_json::Value]) -> (ComputerResult, Vec<String>) {
    let content = Content::ComputerCall(call("c1", actions));
    let (answered, log) = send(folder, desktop(open_policy()), content).await;
    let answered = answered.unwrap();
    let [ToolResult::Computer(result)] = answered.results() else {
        panic!("not one result")
    };
    (result.clone(), log)
}

#[tokio::test]
async fn a_complete_turn_is_answered_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (first, log) = in_shell(folder.path(), open_policy(), &["make a", "make b"]).await;
    assert_eq!(log.len(), 2);
    let (second, log) = in_shell(folder.path(), open_policy(), &["make a", "make b"]).await;
    assert_eq!(second, first);
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn performed_steps_are_answered_without_a_new_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = in_shell(folder.path(), open_policy(), &["make a"]).await;
    let (second, _) = in_shell(folder.path(), Policy::default_policy(), &["make a"]).await;
    assert_eq!(second, first);
    crash_after(folder.path(), "intent");
    let (third, log) = in_shell(folder.path(), Policy::default_policy(), &["make a"]).await;
    assert_eq!(third.error.unwrap().kind, FailureKind::Interrupted);
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn steps_not_started_are_judged_and_executed() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["make a", "make b"];
    in_shell(folder.path(), open_policy(), &lines).await;
    crash_between(folder.path());
    let (refused, log) = in_shell(folder.path(), Policy::default_policy(), &lines).await;
    let outcomes = refused.outputs.iter().map(|output| output.outcome.clone());
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [ShellOutcome::Success, ShellOutcome::NotStarted]
    );
    assert_eq!(refused.error.unwrap().kind, FailureKind::Denied);
    assert!(log.is_empty(), "{log:?}");
    let (done, log) = in_shell(folder.path(), open_policy(), &lines).await;
    assert_eq!(done.stdout(), "ran make a\nran make b\n");
    assert_eq!(log, ["make b [30000 ms]"]);
}

/// Truncates the journal as a crash does after the first of two steps.
fn crash_between(folder: &Path) {
    let store = rusqlite::Connection::open(folder.join("journal.sqlite")).unwrap();
    let statements = "PRAGMA foreign_keys = off;
        DELETE FROM record WHERE seq > (SELECT outcome FROM action WHERE step = 0);
        DELETE FROM action WHERE step = 1;
        UPDATE turn SET ended = 0;";
    store.execute_batch(statements).unwrap();
}

#[tokio::test]
async fn the_same_call_with_fewer_commands_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), open_policy(), &["make a", "make b"]).await;
    let content = Content::ShellCall(commands("s1", &["make a"]));
    let (answered, log) = send(folder.path(), shell(open_policy()), content).await;
    let error = format!("{:?}", answered.unwrap_err());
    assert!(error.contains("OtherDigest"), "{error}");
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn the_same_call_with_another_command_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), open_policy(), &["make a"]).await;
    let content = Content::ShellCall(commands("s1", &["make b"]));
    // Before the policy is asked: it would deny this command.
    let (answered, log) = send(folder.path(), shell(Policy::default_policy()), content).await;
    let error = format!("{:?}", answered.unwrap_err());
    assert!(error.contains("OtherDigest"), "{error}");
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn the_same_call_with_another_action_is_an_error() {
    // A screenshot may be repeated, but not as something else.
    let zoom = json!({ "action": "zoom", "region": [0, 0, 9, 9] });
    for (first, other) in [
        (click(1, 1), click(2, 2)),
        (action_json("screenshot"), zoom),
    ] {
        let folder = tempfile::tempdir().unwrap();
        on_screen(folder.path(), &[first]).await;
        let content = Content::ComputerCall(call("c1", &[other]));
        let (answered, log) = send(folder.path(), desktop(open_policy()), content).await;
        let error = format!("{:?}", answered.unwrap_err());
        assert!(error.contains("OtherDigest"), "{error}");
        assert!(log.is_empty(), "{log:?}");
    }
}

#[tokio::test]
async fn performed_actions_are_answered_without_a_new_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = on_screen(folder.path(), &[click(1, 1)]).await;
    let rules = "[[computer]]\nactions = ['click']\nverdict = 'deny'\nreason = 'Test.'";
    let strict = Policy::from_toml(rules, "test").unwrap();
    let content = Content::ComputerCall(call("c1", &[click(1, 1)]));
    let (answered, log) = send(folder.path(), desktop(strict), content).await;
    let answered = answered.unwrap();
    let [ToolResult::Computer(second)] = answered.results() else {
        panic!("not one result")
    };
    assert_eq!((&second.error, &second.steps), (&None, &first.steps));
    assert_eq!(log, ["capture"]);
}

#[tokio::test]
async fn the_same_id_for_another_device_or_for_none_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), open_policy(), &["make a"]).await;
    let screenshot = call("s1", &[action_json("screenshot")]);
    let function =
        json!({"type": "function_call", "call_id": "s1", "name": "shell", "arguments": {}});
    for content in [
        Content::ComputerCall(screenshot),
        serde_json::from_value(function).unwrap(),
    ] {
        let (answered, log) = send(folder.path(), shell(open_policy()), content).await;
        let error = format!("{:?}", answered.unwrap_err());
        assert!(error.contains("OtherDigest"), "{error}");
        assert!(log.is_empty(), "{log:?}");
    }
}

#[tokio::test]
async fn a_click_is_not_repeated_and_a_screenshot_is() {
    let folder = tempfile::tempdir().unwrap();
    let actions = [click(1, 1), action_json("screenshot"), click(2, 2)];
    let (_, log) = on_screen(folder.path(), &actions).await;
    assert_eq!(log, ["click 1,1", "capture", "click 2,2", "capture"]);
    let (result, log) = on_screen(folder.path(), &actions).await;
    assert_eq!(result.error, None);
    assert_eq!(result.steps.len(), 3);
    assert_eq!(log, ["capture", "capture"]);
}

#[tokio::test]
async fn an_interrupted_click_ends_its_call_with_a_new_screenshot() {
    let folder = tempfile::tempdir().unwrap();
    on_screen(folder.path(), &[click(1, 1), click(2, 2)]).await;
    crash_between(folder.path());
    crash_after(folder.path(), "intent");
    let (result, log) = on_screen(folder.path(), &[click(1, 1), click(2, 2)]).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Interrupted);
    assert!(result.screenshot.is_some());
    assert_eq!(log, ["capture"]);
}

#[tokio::test]
async fn an_interrupted_click_after_a_screenshot_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let actions = [action_json("screenshot"), click(1, 1)];
    on_screen(folder.path(), &actions).await;
    crash_after(folder.path(), "intent");
    let (result, log) = on_screen(folder.path(), &actions).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Interrupted);
    assert_eq!(log, ["capture", "capture"]);
}

#[tokio::test]
async fn a_url_that_is_stored_in_canonical_form_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = json!({ "action": "navigate", "url": "http://EXAMPLE.invalid" });
    let (first, log) = on_screen(folder.path(), std::slice::from_ref(&url)).await;
    assert_eq!(log, ["navigate", "capture"]);
    let (second, log) = on_screen(folder.path(), &[url]).await;
    assert_eq!(second.steps, first.steps);
    assert_eq!(log, ["capture"]);
}

#[tokio::test]
async fn input_is_not_sent_twice() {
    let folder = tempfile::tempdir().unwrap();
    let input = ShellCall {
        action: ShellAction::SendText("yes".to_owned()),
        ..commands("s1", &[])
    };
    let content = Content::ShellCall(input);
    let (_, log) = send(folder.path(), shell(open_policy()), content.clone()).await;
    assert_eq!(log, ["Text(3 characters)"]);
    let (_, log) = send(folder.path(), shell(open_policy()), content).await;
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn a_dropped_command_is_answered_as_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, log) = shell(open_policy());
    let builder = builder.journal(Journal::open(folder.path()).unwrap());
    let mut session = builder.run(RunId::new("run")).build().unwrap();
    let call = Content::ShellCall(commands("s1", &["forever"]));
    let turn = ModelTurn::new(vec![call]).unwrap();
    tokio::select! {
        _ = session.execute_once(turn) => panic!("it runs forever"),
        () = async {
            while log_of(&log).is_empty() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    drop(session);
    let (result, log) = in_shell(folder.path(), open_policy(), &["forever"]).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Cancelled);
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn events_name_the_steps_that_were_performed_earlier() {
    let effects = |folder: &Path| -> Vec<ActionEffect> {
        let rows = read(folder).unwrap().into_iter();
        rows.filter(|row| row.body["event"] == "action_finished")
            .map(|row| serde_json::from_value(row.body["effect"].clone()).unwrap())
            .collect()
    };
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), open_policy(), &["make a"]).await;
    in_shell(folder.path(), open_policy(), &["make a"]).await;
    assert_eq!(
        effects(folder.path()),
        [ActionEffect::Confirmed, ActionEffect::Recorded]
    );
    crash_after(folder.path(), "intent");
    in_shell(folder.path(), open_policy(), &["make a"]).await;
    assert_eq!(effects(folder.path()), [ActionEffect::Interrupted]);
}

#[tokio::test]
async fn a_received_call_is_described_by_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), open_policy(), &["make a", "make b"]).await;
    let rows = read(folder.path()).unwrap().into_iter();
    let received: Vec<_> = rows
        .filter(|row| row.body["event"] == "call_received")
        .map(|row| row.body["steps"].clone())
        .collect();
    assert_eq!(received, [serde_json::json!(["$ make a", "$ make b"])]);
}

#[tokio::test]
async fn a_restart_is_repeated_because_a_second_one_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let restart = async || {
        let call = ShellCall {
            action: ShellAction::Restart,
            ..commands("s1", &[])
        };
        let content = Content::ShellCall(call);
        let (answered, log) = send(folder.path(), shell(open_policy()), content).await;
        let answered = answered.unwrap();
        let [ToolResult::Shell(result)] = answered.results() else {
            panic!("not one result")
        };
        assert_eq!((&result.error, log), (&None, vec!["restart".to_owned()]));
    };
    restart().await;
    restart().await;
    crash_after(folder.path(), "intent");
    restart().await;
}
