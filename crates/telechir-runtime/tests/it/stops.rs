//! The kill switch stops a session while something is running.

use std::time::{Duration, Instant};

use serde_json::json;
use telechir_policy::{ContentTrust, Policy, Question};
use telechir_protocol::{ComputerCall, Content, FailureKind, ShellOutcome, StepState, ToolResult};
use telechir_runtime::{Answer, Approver, Session, SessionBuilder};
use tokio::sync::watch;

use crate::fakes::{
    FakeScreen, FakeShell, Log, call, carry_out, commands, in_shell, log_of, on_screen, open_policy,
};

const WHY: &str = "the stop key was pressed";

/// A desktop with a stop key, and a shell.
fn with_key(policy: Policy) -> (SessionBuilder, Log, watch::Sender<bool>) {
    let (log, (key, record)) = (Log::default(), watch::channel(false));
    let screen = FakeScreen {
        key: record,
        ..FakeScreen::new(&log)
    };
    let shell = FakeShell {
        log: Log::clone(&log),
        is_sandboxed: true,
        hides: false,
        trust: ContentTrust::default(),
    };
    let builder = Session::builder(policy).desktop(Box::new(screen));
    (builder.shell(Box::new(shell)), log, key)
}

/// Presses the key once the log has this entry.
async fn press_after(log: &Log, record: &str, key: &watch::Sender<bool>) {
    while !log_of(log).iter().any(|line| line.starts_with(record)) {
        tokio::task::yield_now().await;
    }
    key.send(true).unwrap();
}

#[tokio::test]
async fn a_running_command_is_ended_with_the_shell_and_cancelled() {
    let (builder, log, key) = with_key(open_policy());
    let mut session = builder.build().unwrap();
    let call = commands("c", &["echo", "forever", "echo"]);
    let started = Instant::now();
    let (result, ()) = tokio::join!(
        in_shell(&mut session, call),
        press_after(&log, "forever", &key)
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    let outcomes: Vec<_> = result
        .outputs
        .iter()
        .map(|output| &output.outcome)
        .collect();
    let expected = [
        &ShellOutcome::Success,
        &ShellOutcome::Cancelled,
        &ShellOutcome::NotStarted,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(result.outputs[1].stdout, "so far\n");
    let failure = result.error.unwrap();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    assert!(failure.message.contains(WHY), "{failure:?}");
    // Background jobs end with the shell.
    assert_eq!(log_of(&log)[2..], ["end the command", "close"]);
    let later = in_shell(&mut session, commands("d", &["echo"])).await;
    assert_eq!(later.error.unwrap().kind, FailureKind::Cancelled);
    assert_eq!(session.stopped(), Some(WHY));
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_wait_is_cut_short() {
    let (builder, log, key) = with_key(open_policy());
    let mut session = builder.build().unwrap();
    let wait = json!({ "action": "wait", "duration": 30 });
    let call = call(
        "a",
        &[json!({ "action": "click", "coordinate": [1, 1] }), wait],
    );
    let started = Instant::now();
    let (result, ()) = tokio::join!(
        on_screen(&mut session, call),
        press_after(&log, "click", &key)
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    let StepState::Failed { failure } = &result.steps[1].state else {
        panic!("{result:?}")
    };
    assert_eq!(failure.kind, FailureKind::Cancelled);
    session.close().await.unwrap();
}

/// An approver that never decides and logs when it is asked.
struct Thinker(Log);

impl Approver for Thinker {
    async fn decide(&mut self, _question: &Question) -> Answer {
        self.0.lock().unwrap().push("asked".to_owned());
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_question_is_not_waited_for() {
    let (builder, log, key) = with_key(Policy::default_policy());
    let mut session = builder.approver(Thinker(Log::clone(&log))).build().unwrap();
    let call = vec![Content::ShellCall(commands("c", &["rm x"]))];
    let (turn, ()) = tokio::join!(
        carry_out(&mut session, call),
        press_after(&log, "asked", &key)
    );
    let [ToolResult::Shell(result)] = turn.results() else {
        panic!("not one result")
    };
    assert_eq!(result.outputs[0].outcome, ShellOutcome::NotStarted);
    let message = &result.error.as_ref().unwrap().message;
    assert!(
        message.contains("The user stopped this session"),
        "{message}"
    );
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_waiting_caller_is_notified_and_can_end_background_jobs() {
    let (builder, log, key) = with_key(open_policy());
    let mut session = builder.build().unwrap();
    in_shell(&mut session, commands("c", &["echo"])).await;
    let record = session.until_stopped();
    key.send(true).unwrap();
    assert_eq!(record.await, WHY);
    session.finish_dropped_turn().await;
    assert!(log_of(&log).contains(&"close".to_owned()));
    assert_eq!(session.stopped(), Some(WHY));
    session.close().await.unwrap();
}

/// The screen that acts watches its own key; a device beside it has another.
#[tokio::test(start_paused = true)]
async fn the_desktops_key_ends_an_action_of_the_browser() {
    let (log, (key, is_pressed)) = (Log::default(), watch::channel(false));
    let desktop = FakeScreen {
        key: is_pressed,
        ..FakeScreen::new(&Log::default())
    };
    let builder = Session::builder(open_policy()).desktop(Box::new(desktop));
    let builder = builder.browser(Box::new(FakeScreen::new(&log)));
    let mut session = builder.build().unwrap();
    let never_ends = ComputerCall {
        target: Some("browser".into()),
        ..call("c", &[json!({ "action": "forward" })])
    };
    let (result, ()) = tokio::join!(
        on_screen(&mut session, never_ends),
        press_after(&log, "forward", &key)
    );
    let failure = result.error.unwrap();
    assert_eq!(failure.kind, FailureKind::Cancelled, "{failure:?}");
    session.close().await.unwrap();
}
