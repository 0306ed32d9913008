//! Numbers on pictures: drawn, told in words, aimed at, and stale when a newer picture has some.

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::FailureKind;

use crate::fakes::{call, click, desktop, does, log_of, on_screen};

#[tokio::test]
async fn a_label_is_aimed_at_until_a_newer_screenshot_has_some() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.marks(9).build().unwrap();
    let first = on_screen(&mut session, call("c1", &[does("screenshot")])).await;
    assert_eq!(
        first.text_output.as_deref(),
        Some("Labels of frame_1:\n1: button [e1] at 25,25\n2: button [e2] at 45,25")
    );
    let at = json!({ "action": "click", "label": 2, "frame": "frame_1" });
    let second = on_screen(&mut session, call("c2", std::slice::from_ref(&at))).await;
    assert_eq!(second.error, None);
    assert_eq!(log_of(&log), ["capture", "click e2", "capture"]);
    // The click was answered with a labelled picture of its own.
    let third = on_screen(&mut session, call("c3", &[at])).await;
    let error = third.error.unwrap();
    assert_eq!(error.kind, FailureKind::Stale);
    assert!(error.message.contains("frame_2"), "{}", error.message);
    let none = json!({ "action": "click", "label": 3 });
    let fourth = on_screen(&mut session, call("c4", &[none])).await;
    let error = fourth.error.unwrap();
    assert!(
        error.message.contains("1 to 2 on frame_3"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn without_the_option_screenshots_have_no_labels() {
    let (builder, _) = desktop(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let first = on_screen(&mut session, call("c1", &[click(1, 1)])).await;
    assert_eq!(first.text_output, None);
    let at = json!({ "action": "click", "label": 1 });
    let error = on_screen(&mut session, call("c2", &[at]))
        .await
        .error
        .unwrap();
    assert_eq!(error.kind, FailureKind::InvalidInput);
}

#[tokio::test]
async fn a_look_to_act_gives_numbers_and_says_what_fits() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let look = json!({ "action": "observe_screen", "intent": "the [e2]" });
    let seen = on_screen(&mut session, call("c1", &[look])).await;
    assert_eq!(seen.error, None);
    assert!(seen.screenshot.is_some());
    assert_eq!(
        seen.text_output.as_deref(),
        Some(
            "Labels of frame_1:\n1: button [e1] at 25,25\n2: button [e2] at 45,25\n\
             For \"the [e2]\":\n2: button [e2] at 45,25"
        )
    );
    // Later pictures without numbers leave these as they are.
    for id in ["c2", "c3"] {
        let at = json!({ "action": "click", "label": 2, "frame": "frame_1" });
        let clicked = on_screen(&mut session, call(id, &[at])).await;
        assert_eq!(clicked.error, None);
    }
    let clicks: Vec<String> = log_of(&log)
        .into_iter()
        .filter(|line| line.starts_with("click"))
        .collect();
    assert_eq!(clicks, ["click e2", "click e2"]);
}

#[tokio::test]
async fn a_look_to_understand_gives_words() {
    let (builder, _) = desktop(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let look = json!({ "action": "observe_screen", "mode": "understanding" });
    let seen = on_screen(&mut session, call("c1", &[look])).await;
    assert_eq!(seen.error, None);
    assert!(
        seen.text_output
            .is_some_and(|text| !text.contains("Labels"))
    );
}
