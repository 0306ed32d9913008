//! Pointer, wheel and keyboard input arrives as trusted events.

use std::time::Duration;

use telechir_protocol::{Action, Button, Chord, ClickCount, Modifier, ScrollUnit};
use telechir_testkit::page::{PageEvent, TEXT_AREA};

use crate::common::{at, click, key, perform, witnessed, write};
use telechir_device::{Computer as _, PageContextSource as _};

fn kinds(events: &[PageEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[tokio::test]
async fn a_click_arrives_exactly_where_it_was_aimed() {
    let (mut browser, witness) = witnessed().await;
    for (x, y) in [(0, 0), (511, 383), (1000, 740)] {
        perform(&mut browser, click(x, y)).await.unwrap();
        let events = witness.take().await;
        assert_eq!(
            kinds(&events),
            ["mousemove", "mousedown", "mouseup", "click"]
        );
        for event in events {
            assert_eq!(
                (event.client_x, event.client_y),
                (f64::from(x), f64::from(y)),
                "{event:?}"
            );
            assert!(event.is_trusted);
        }
    }
}

#[tokio::test]
async fn a_triple_click_counts_its_clicks() {
    let (mut browser, witness) = witnessed().await;
    let action = Action::Click {
        at: Some(at(700, 500)),
        button: Button::Left,
        count: ClickCount::Triple,
        modifiers: vec![Modifier::Ctrl],
    };
    perform(&mut browser, action).await.unwrap();
    let events = witness.take().await;
    let clicks: Vec<_> = events
        .iter()
        .filter(|event| event.kind == "click")
        .collect();
    assert_eq!(
        clicks.iter().map(|event| event.detail).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(clicks.iter().all(|event| event.ctrl_key));
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind == "dblclick")
            .count(),
        1
    );
    assert_eq!(
        events
            .last()
            .map(|event| (event.kind.as_str(), event.key.as_str())),
        Some(("keyup", "Control"))
    );
}

#[tokio::test]
async fn every_button_is_the_page_s_button() {
    let (mut browser, witness) = witnessed().await;
    for (button, number, bit) in [
        (Button::Left, 0, 1),
        (Button::Middle, 1, 4),
        (Button::Right, 2, 2),
    ] {
        let action = Action::Click {
            at: Some(at(700, 500)),
            button,
            count: ClickCount::Single,
            modifiers: vec![],
        };
        perform(&mut browser, action).await.unwrap();
        let events = witness.take().await;
        let down = events
            .iter()
            .find(|event| event.kind == "mousedown")
            .unwrap();
        let up = events.iter().find(|event| event.kind == "mouseup").unwrap();
        assert_eq!(
            (down.button, down.buttons, up.button, up.buttons),
            (number, bit, number, 0)
        );
    }
}

#[tokio::test]
async fn moves_report_a_pressed_button_until_its_release() {
    let (mut browser, witness) = witnessed().await;
    let down = Action::MouseDown {
        at: Some(at(700, 500)),
        button: Button::Left,
    };
    perform(&mut browser, down).await.unwrap();
    perform(&mut browser, Action::Move { at: at(720, 510) })
        .await
        .unwrap();
    let moved = witness.take().await.pop().unwrap();
    assert_eq!((moved.kind.as_str(), moved.buttons), ("mousemove", 1));
    browser.release_inputs().await.unwrap();
    let released = witness.take().await;
    assert!(
        released
            .iter()
            .any(|event| event.kind == "mouseup" && event.buttons == 0),
        "{released:?}"
    );
}

#[tokio::test]
async fn a_drag_passes_through_its_path() {
    let (mut browser, witness) = witnessed().await;
    let path = vec![at(700, 300), at(800, 350), at(620, 600)];
    perform(
        &mut browser,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers: vec![],
            duration: None,
        },
    )
    .await
    .unwrap();
    let events = witness.take().await;
    let down = events
        .iter()
        .find(|event| event.kind == "mousedown")
        .unwrap();
    let up = events.iter().find(|event| event.kind == "mouseup").unwrap();
    assert_eq!(
        (down.client_x, down.client_y, up.client_x, up.client_y),
        (700.0, 300.0, 620.0, 600.0)
    );
    let on_the_way = |event: &PageEvent| event.kind == "mousemove" && event.buttons == 1;
    assert!(
        events
            .iter()
            .any(|event| on_the_way(event) && (event.client_x, event.client_y) == (800.0, 350.0))
    );
}

#[tokio::test]
async fn an_element_is_dragged_and_dropped() {
    let (mut browser, witness) = witnessed().await;
    let path = vec![at(120, 310), at(340, 330)];
    perform(
        &mut browser,
        Action::Drag {
            path,
            button: Button::Left,
            modifiers: vec![],
            duration: None,
        },
    )
    .await
    .unwrap();
    let events = witness.take().await;
    let dropped = events.iter().find(|event| event.kind == "drop");
    assert_eq!(
        dropped.map(|event| event.target.as_str()),
        Some("bin"),
        "{:?}",
        kinds(&events)
    );
    // The next click is an ordinary one.
    perform(&mut browser, click(700, 500)).await.unwrap();
    assert!(
        witness
            .take()
            .await
            .iter()
            .any(|event| event.kind == "click")
    );
}

#[tokio::test]
async fn a_click_of_the_wheel_is_a_hundred_pixels() {
    let (mut browser, witness) = witnessed().await;
    let scroll = |dx, dy, unit| Action::Scroll {
        at: Some(at(700, 500)),
        dx,
        dy,
        unit,
        modifiers: vec![],
    };
    perform(&mut browser, scroll(0.0, 3.0, ScrollUnit::Clicks))
        .await
        .unwrap();
    perform(&mut browser, scroll(-120.0, 7.0, ScrollUnit::Pixels))
        .await
        .unwrap();
    let events = witness.take().await;
    let wheels: Vec<_> = events
        .iter()
        .filter(|event| event.kind == "wheel")
        .map(|event| (event.delta_x, event.delta_y))
        .collect();
    assert_eq!(wheels, [(0.0, 300.0), (-120.0, 7.0)]);
}

const MIXED: &str = "Grüße, мир! 你好 こんにちは 안녕 नमस्ते שלום e\u{301} 👩‍👩‍👧‍👦 𝒳 €\"'`\\<>&{}|~";

#[tokio::test]
async fn any_text_arrives_exactly() {
    let (mut browser, witness) = witnessed().await;
    let (x, y) = TEXT_AREA;
    perform(&mut browser, click(x, y)).await.unwrap();
    let text = format!("{MIXED}\nsecond line\n\nfourth {}", "long ".repeat(60));
    perform(&mut browser, write(&text)).await.unwrap();
    let events = witness.take().await;
    let value = events
        .iter()
        .rev()
        .find_map(|event| event.value.clone())
        .unwrap();
    assert_eq!(value, text);
}

#[tokio::test]
async fn typing_can_replace_the_content_of_a_field() {
    let (mut browser, witness) = witnessed().await;
    let (x, y) = TEXT_AREA;
    let fill = |text: &str, clear_first| Action::Type {
        text: text.to_owned(),
        at: Some(at(x, y)),
        clear_first,
        submit: false,
    };
    perform(&mut browser, fill("first", false)).await.unwrap();
    perform(&mut browser, fill("second", true)).await.unwrap();
    let events = witness.take().await;
    assert_eq!(
        events
            .iter()
            .rev()
            .find_map(|event| event.value.clone())
            .unwrap(),
        "second"
    );
}

#[tokio::test]
async fn editing_chords_edit() {
    let (mut browser, witness) = witnessed().await;
    let (x, y) = TEXT_AREA;
    perform(&mut browser, click(x, y)).await.unwrap();
    perform(&mut browser, write("abc")).await.unwrap();
    for chord in [
        "ctrl+a",
        "ctrl+c",
        "Right",
        "ctrl+v",
        "Left",
        "shift+Home",
        "ctrl+x",
        "End",
        "Backspace",
        "Enter",
        "A",
    ] {
        perform(&mut browser, key(chord)).await.unwrap();
    }
    let events = witness.take().await;
    let value = events
        .iter()
        .rev()
        .find_map(|event| event.value.clone())
        .unwrap();
    assert_eq!(value, "\nA", "{:?}", kinds(&events));
}

#[tokio::test]
async fn keys_carry_their_names_and_codes() {
    let (mut browser, witness) = witnessed().await;
    perform(&mut browser, key("ctrl+shift+t")).await.unwrap();
    let events = witness.take().await;
    // Chromium reports the pointer when it first lays out the page.
    let seen: Vec<_> = events
        .iter()
        .filter(|event| event.kind.starts_with("key"))
        .map(|event| (event.kind.as_str(), event.key.as_str(), event.code.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("keydown", "Control", "ControlLeft"),
            ("keydown", "Shift", "ShiftLeft"),
            ("keydown", "T", "KeyT"),
            ("keyup", "T", "KeyT"),
            ("keyup", "Shift", "ShiftLeft"),
            ("keyup", "Control", "ControlLeft"),
        ]
    );
}

#[tokio::test]
async fn a_pressed_key_repeats_and_is_released() {
    let (mut browser, witness) = witnessed().await;
    let hold = Action::HoldKey {
        chord: Chord::parse("x").unwrap(),
        duration: Duration::from_millis(1500),
    };
    perform(&mut browser, hold).await.unwrap();
    let events = witness.take().await;
    assert!(
        events
            .iter()
            .any(|event| event.kind == "keydown" && event.repeat)
    );
    assert_eq!(
        events.last().map(|event| event.kind.as_str()),
        Some("keyup")
    );
}

#[tokio::test]
async fn a_dropped_action_leaves_nothing_pressed() {
    let (mut browser, witness) = witnessed().await;
    let hold = Action::HoldKey {
        chord: Chord::parse("shift+x").unwrap(),
        duration: Duration::from_secs(60),
    };
    let is_pressed = witness.until(|event| event.kind == "keydown" && event.code == "KeyX");
    tokio::select! {
        ended = perform(&mut browser, hold) => panic!("{ended:?}"),
        pressed = is_pressed => pressed.unwrap(),
    }
    witness
        .until(|event| event.kind == "keyup" && event.code == "ShiftLeft")
        .await
        .unwrap();
    let events = witness.take().await;
    let ups: Vec<_> = events
        .iter()
        .filter(|event| event.kind == "keyup")
        .map(|event| event.code.as_str())
        .collect();
    assert!(
        ups.contains(&"KeyX") && ups.contains(&"ShiftLeft"),
        "{ups:?}"
    );
}

#[tokio::test]
async fn chromium_s_own_shortcuts_do_nothing() {
    let (mut browser, witness) = witnessed().await;
    let before = browser.page_context().await.unwrap();
    for chord in [
        "ctrl+t", "ctrl+u", "ctrl+h", "ctrl+j", "F12", "ctrl+n", "F1", "F5", "ctrl+w",
    ] {
        perform(&mut browser, key(chord)).await.unwrap();
    }
    let events = witness.take().await;
    assert!(
        events.iter().all(|event| event.kind != "ready"),
        "the page was reloaded"
    );
    assert_eq!(browser.page_context().await.unwrap(), before);
}
