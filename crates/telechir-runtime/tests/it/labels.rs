//! Labels on screenshots: drawn, described in text, valid as targets, and stale after newer labels.

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::FailureKind;
use telechir_runtime::Session;

use crate::fakes::{FakeScreen, Log, action_json, call, click, desktop, log_of, on_screen};

#[tokio::test]
async fn a_label_is_valid_until_a_newer_labelled_screenshot() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.marks(9).build().unwrap();
    let first = on_screen(&mut session, call("c1", &[action_json("screenshot")])).await;
    assert_eq!(
        first.text_output.as_deref(),
        Some("Labels of frame_1:\n1: button [e1] at 25,25\n2: button [e2] at 45,25")
    );
    let at = json!({ "action": "click", "label": 2, "frame": "frame_1" });
    let second = on_screen(&mut session, call("c2", std::slice::from_ref(&at))).await;
    assert_eq!(second.error, None);
    assert_eq!(log_of(&log), ["capture", "click e2", "capture"]);
    // The click was answered with a new labelled screenshot.
    let third = on_screen(&mut session, call("c3", &[at])).await;
    let error = third.error.unwrap();
    assert_eq!(error.kind, FailureKind::Stale);
    assert!(error.message.contains("frame_2"), "{}", error.message);
    let none = json!({ "action": "click", "label": 3 });
    let fourth = on_screen(&mut session, call("c4", &[none])).await;
    let error = fourth.error.unwrap();
    assert!(
        error.message.contains("frame_3 has labels from 1 to 2"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn screenshots_have_no_labels_by_default() {
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
async fn grounding_labels_elements_and_repeats_matches() {
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
    // Later screenshots without labels keep these valid.
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
async fn understanding_returns_elements_and_recognized_words() {
    let nothing = "No text description of the screen is available; use a screenshot.";
    let recognized = "Text recognized in windows without accessibility information:\n\
                      text \"Quit\" at 25,25\ntext \"Help\" at 45,25";
    let both = format!("heading \"News\"\n{recognized}");
    let (outline, words) = (Some("heading \"News\""), Ok(vec!["Quit", "Help"]));
    for (outline, words, expected) in [
        (None, Ok(Vec::new()), nothing),
        (outline, Ok(Vec::new()), "heading \"News\""),
        (None, words.clone(), recognized),
        (outline, words, &both),
        (
            None,
            Err("Install it."),
            "Failed to perform the action: Install it.",
        ),
    ] {
        let mut screen = FakeScreen::new(&Log::default());
        (screen.outline, screen.words) = (outline, words);
        let builder = Session::builder(Policy::default_policy()).desktop(Box::new(screen));
        let mut session = builder.build().unwrap();
        let look = json!({ "action": "observe_screen", "mode": "understanding" });
        let seen = on_screen(&mut session, call("c1", &[look])).await;
        assert_eq!(seen.error, None);
        assert_eq!(seen.text_output.as_deref(), Some(expected));
    }
}
