//! Another window gets the focus, or appears under the pointer, between judging and acting.

use serde_json::{Value, json};
use telechir_policy::Policy;
use telechir_protocol::{ComputerResult, FailureKind};
use telechir_runtime::Session;

use crate::fakes::{FakeApprover, FakeScreen, Log, call, click, log_of, on_screen};

/// The result of one action, and what the screen was called with. `focus` has the class of the
/// window with the focus at each look.
async fn act(
    action: Value,
    focus: &[&'static str],
    approver: Option<&FakeApprover>,
) -> (ComputerResult, Vec<String>) {
    let log = Log::default();
    let mut screen = FakeScreen::new(&log);
    screen.focus = focus.to_vec();
    let mut builder = Session::builder(Policy::default_policy()).desktop(Box::new(screen));
    if let Some(approver) = approver {
        builder = builder.approver(approver.clone());
    }
    let mut session = builder.build().unwrap();
    let result = on_screen(&mut session, call("c1", &[action])).await;
    session.close().await.unwrap();
    (result, log_of(&log))
}

fn text() -> Value {
    json!({"action": "type", "text": "id"})
}

fn is_typed(log: &[String]) -> bool {
    log.iter().any(|line| line.starts_with("type"))
}

#[tokio::test]
async fn nothing_is_typed_if_a_terminal_gets_the_focus_after_the_judgement() {
    let (result, log) = act(text(), &["Mousepad", "XTerm"], None).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind, FailureKind::Denied);
    assert!(
        error.message.contains("conditions have changed"),
        "{error:?}"
    );
    assert!(!is_typed(&log), "{log:?}");
    let (result, log) = act(text(), &["Mousepad"], None).await;
    assert_eq!(result.error, None);
    assert!(is_typed(&log), "{log:?}");
}

#[tokio::test]
async fn an_approval_for_another_window_is_none_for_a_terminal() {
    let approver = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    // Control characters need approval in any window.
    let hidden = json!({"action": "type", "text": "a\u{1b}b"});
    let focus = ["Mousepad", "Mousepad", "XTerm"];
    let (result, log) = act(hidden, &focus, Some(&approver)).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Denied);
    assert_eq!(approver.questions.lock().unwrap().len(), 1);
    assert!(!is_typed(&log), "{log:?}");
}

/// The device refuses input to other windows, since the focus can move after the last check, too.
#[tokio::test]
async fn the_device_gets_the_windows_that_the_input_was_judged_for() {
    let (_, log) = act(text(), &["Mousepad"], None).await;
    let limit = log.iter().position(|line| line == "only Mousepad");
    let typed = log.iter().position(|line| line.starts_with("type"));
    assert!(limit.is_some() && limit < typed, "{log:?}");
    let approver = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let (_, log) = act(text(), &["XTerm"], Some(&approver)).await;
    assert!(log.contains(&"only XTerm".to_owned()), "{log:?}");
}

#[tokio::test]
async fn a_click_on_another_window_needs_no_approval_while_a_terminal_has_the_focus() {
    let (result, log) = act(click(1, 2), &["XTerm"], None).await;
    assert_eq!(result.error, None);
    assert!(log.contains(&"only Mousepad".to_owned()), "{log:?}");
}
