//! Key input that is specific to a desktop.

use telechir_device::{Computer, DeviceError};
use telechir_protocol::{Action, Chord, Key};
use telechir_testkit::contract::computer::{ObservedInput, Witness};

use crate::fixture::{self, POLITE};

fn press(chord: &str) -> telechir_device::ScreenAction {
    Action::Key {
        chord: Chord::parse(chord).unwrap(),
        repeat: 1,
    }
}

#[tokio::test]
async fn a_key_missing_in_the_layout_is_assigned() {
    let folder = fixture::session_dir();
    let (mut desktop, mut witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    for (name, key) in [("F35", Key::parse("F35")), ("ctrl+ж", Key::Char('ж'))] {
        witness.forget().await;
        desktop.perform(&press(name)).await.unwrap();
        let down = ObservedInput::KeyDown { key };
        let seen = witness.observed(&|seen| seen.contains(&down)).await;
        assert!(seen.contains(&down), "{name}: {seen:?}");
    }
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn control_characters_are_refused_before_anything_is_typed() {
    let folder = fixture::session_dir();
    let (mut desktop, mut witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    let error = desktop
        .perform(&fixture::type_text("abc\u{3}"))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, DeviceError::Refused { message } if message.contains("U+0003")),
        "{error}"
    );
    assert_eq!(witness.text("").await, "");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn typing_follows_a_click_into_another_window() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let environment = display.environment();
    let (mut desktop, mut first) = fixture::watched(display, POLITE).await;
    // The second window covers the first, has the focus, and is destroyed.
    let second = telechir_testkit::witness::XWitness::open(&environment, POLITE).await;
    drop(second);
    let size = desktop.size();
    let at = Some(fixture::pixel(200, 200));
    let text = "hello ж".to_owned();
    let action = Action::Type {
        text,
        at,
        clear_first: false,
        submit: false,
    };
    desktop
        .perform(&fixture::on_screen(size, action))
        .await
        .unwrap();
    assert_eq!(first.text("hello ж").await, "hello ж");
    desktop.close().await.unwrap();
}
