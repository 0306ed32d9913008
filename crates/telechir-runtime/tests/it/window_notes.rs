//! What a result says of windows that opened and closed since the one before.

use std::sync::{Arc, Mutex};

use telechir_device::{ScreenBounds, Window};
use telechir_runtime::{Session, SessionBuilder};

use crate::fakes::{FakeScreen, Log, action_json, call, on_screen, open_policy};

type Windows = Arc<Mutex<Vec<Window>>>;

fn window(id: &str, title: &str) -> Window {
    let bounds = ScreenBounds {
        x: 0,
        y: 0,
        width: 10,
        height: 10,
    };
    Window {
        id: id.to_owned(),
        title: title.to_owned(),
        class: "Editor".to_owned(),
        instance: "editor".to_owned(),
        bounds,
        content: bounds,
        is_active: false,
        is_dialog: false,
        is_shown: true,
    }
}

type Connect = fn(SessionBuilder, Box<FakeScreen>) -> SessionBuilder;

fn session(connect: Connect) -> (Session, Windows) {
    let screen = FakeScreen {
        focus: vec!["Editor"],
        ..FakeScreen::new(&Log::default())
    };
    let windows = Arc::clone(&screen.windows);
    let builder = connect(Session::builder(open_policy()), Box::new(screen));
    (builder.build().unwrap(), windows)
}

async fn text(session: &mut Session, id: &str, actions: &[&str]) -> String {
    let actions: Vec<_> = actions.iter().map(|name| action_json(name)).collect();
    let result = on_screen(session, call(id, &actions)).await;
    assert_eq!(result.error, None);
    result.text_output.unwrap_or_default()
}

#[tokio::test]
async fn windows_of_a_private_display_that_opened_or_closed_are_named() {
    let (mut session, windows) = session(|builder, screen| builder.desktop(screen));
    windows.lock().unwrap().push(window("w1", "one"));
    assert_eq!(text(&mut session, "a", &["screenshot"]).await, "");
    windows.lock().unwrap().push(window("w2", "two"));
    let opened = text(&mut session, "b", &["screenshot"]).await;
    assert!(
        opened.contains("two") && opened.contains("opened"),
        "{opened}"
    );
    assert!(!opened.contains("one"), "{opened}");
    assert_eq!(text(&mut session, "c", &["screenshot"]).await, "");
    // A list of windows says so itself.
    windows.lock().unwrap().push(window("w3", "three"));
    let listed = text(&mut session, "d", &["list_windows"]).await;
    assert!(!listed.contains("opened"), "{listed}");
    windows.lock().unwrap().remove(0);
    let closed = text(&mut session, "e", &["screenshot"]).await;
    assert!(
        closed.contains("one") && closed.contains("closed"),
        "{closed}"
    );
    assert!(!closed.contains("three"), "{closed}");
}

#[tokio::test]
async fn windows_of_an_existing_display_and_of_a_browser_are_not_named() {
    let connects: [Connect; 2] = [
        |builder, screen| builder.existing_desktop(screen),
        |builder, screen| builder.browser(screen),
    ];
    for connect in connects {
        let (mut session, windows) = session(connect);
        assert_eq!(text(&mut session, "a", &["screenshot"]).await, "");
        windows.lock().unwrap().push(window("w1", "one"));
        assert_eq!(text(&mut session, "b", &["screenshot"]).await, "");
    }
}
