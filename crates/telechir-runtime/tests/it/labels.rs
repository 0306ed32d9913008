//! Numbers on pictures: drawn, told in words, aimed at, and stale when a newer picture has some.

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::FailureKind;

use crate::fakes::{call, click, desktop, does, log_of, on_screen};

#[tokio::test]
async fn a_label_is_aimed_at_until_a_newer_picture_has_some() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.marks(9).build().unwrap();
    let first = on_screen(&mut session, call("c1", &[does("screenshot")])).await;
    assert_eq!(
        first.text_output.as_deref(),
        Some("Labels of frame_1:\n1: button [e1]\n2: button [e2]")
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
async fn without_the_option_pictures_have_no_labels() {
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
