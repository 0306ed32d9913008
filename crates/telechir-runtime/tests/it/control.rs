//! Calls of which some were done when a person takes control.

use telechir_protocol::{FailureKind, StepState};
use telechir_runtime::{ControlLease, Session};

use crate::fakes::{FakeScreen, Log, call, click, log_of, on_screen, open_policy};

/// A session whose person takes control during the first action.
fn session(log: &Log) -> (Session, ControlLease) {
    let lease = ControlLease::default();
    let screen = FakeScreen {
        person: Some(lease.clone()),
        ..FakeScreen::new(log)
    };
    let builder = Session::builder(open_policy()).desktop(Box::new(screen));
    let mut session = builder.build().unwrap();
    session.set_control(lease.clone());
    (session, lease)
}

#[tokio::test]
async fn what_was_done_is_not_reported_as_undone() {
    let log = Log::default();
    let (mut session, lease) = session(&log);
    let result = on_screen(&mut session, call("a", &[click(1, 1)])).await;
    assert_eq!(result.steps[0].state, StepState::Delivered);
    assert_eq!(result.screenshot, None);
    let failure = result.error.unwrap();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    let message = failure.message;
    assert!(message.contains("The actions were done"), "{message}");
    assert!(!message.contains("not done"), "{message}");
    lease.give_back();
    let screenshot = serde_json::json!({ "action": "screenshot" });
    let result = on_screen(&mut session, call("b", &[screenshot])).await;
    assert_eq!(result.error, None);
    assert_eq!(log_of(&log), ["click 1,1", "capture"]);
}

#[tokio::test]
async fn what_was_not_done_any_more_is_reported_so() {
    let log = Log::default();
    let (mut session, _lease) = session(&log);
    let result = on_screen(&mut session, call("a", &[click(1, 1), click(2, 2)])).await;
    assert_eq!(result.steps[0].state, StepState::Delivered);
    let message = result.error.unwrap().message;
    assert!(message.contains("so this was not done"), "{message}");
    assert_eq!(log_of(&log), ["click 1,1"]);
}
