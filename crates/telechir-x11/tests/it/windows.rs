//! Windows by EWMH: under the private display's manager, under another, and under none.

use std::time::Duration;

use telechir_device::{ActionReport, Computer, DeviceError, Effect, ScreenPart};
use telechir_protocol::{Action, Point, Region, Size, Space};
use telechir_testkit::xvfb::connect;
use telechir_x11::Desktop;
use x11rb::connection::Connection as _;
use x11rb::properties::WmSizeHints;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};

use crate::fixture;
use crate::programs::started;

/// A terminal with a title, its size in pixels of a font that it always has.
const TERMINAL: [&str; 4] = ["-T", "first terminal", "-geometry", "40x10"];

pub(crate) async fn act(
    desktop: &mut Desktop,
    action: Action,
) -> Result<ActionReport, DeviceError> {
    let size = desktop.size();
    desktop.perform(&fixture::on_screen(size, action)).await
}

pub(crate) async fn told(desktop: &mut Desktop, action: Action) -> String {
    let performed = act(desktop, action).await.unwrap();
    performed.text.unwrap()
}

pub(crate) async fn refused(desktop: &mut Desktop, action: Action) -> String {
    match act(desktop, action).await {
        Err(DeviceError::Refused { message }) => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn window(words: &str) -> Option<String> {
    Some(words.to_owned())
}

pub(crate) fn region(x0: u32, y0: u32, x1: u32, y1: u32) -> Region {
    let at = |x: u32, y: u32| Point {
        x: x.into(),
        y: y.into(),
        space: Space::Screen,
    };
    Region {
        from: at(x0, y0),
        to: at(x1, y1),
    }
}

pub(crate) async fn launch(desktop: &mut Desktop, program: &str, args: &[&str], windows: usize) {
    let display = desktop.private_display().expect("it is our own");
    display.launch(program, args).await.unwrap();
    appear_listed(desktop, windows).await;
}

/// Waits until so many windows are listed.
pub(crate) async fn appear_listed(desktop: &mut Desktop, windows: usize) {
    for _ in 0..500 {
        let listed = told(desktop, Action::ListWindows).await;
        if listed.lines().count() > windows {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("fewer than {windows} windows");
}

/// Waits until the window in front has the keyboard: it is drawn a moment before.
pub(crate) async fn until_active(desktop: &mut Desktop) -> String {
    let mut listed = String::new();
    for _ in 0..500 {
        listed = told(desktop, Action::ListWindows).await;
        let front = listed.lines().nth(1);
        if front.is_some_and(|line| line.contains(", active")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    listed
}

#[tokio::test]
async fn windows_are_listed_and_one_is_made_active() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    launch(&mut desktop, "xterm", &["-T", "second terminal"], 2).await;
    let listed = until_active(&mut desktop).await;
    let lines: Vec<&str> = listed.lines().skip(1).collect();
    assert!(
        lines[0].starts_with("w2 \"second terminal\", class \"XTerm\""),
        "{listed}"
    );
    assert!(lines[0].contains(", active"), "{listed}");
    assert!(lines[1].starts_with("w1 \"first terminal\""), "{listed}");
    let ambiguous = Action::FocusWindow {
        window: "terminal".to_owned(),
    };
    let said = refused(&mut desktop, ambiguous).await;
    assert!(said.contains("w1") && said.contains("w2"), "{said}");
    let first = Action::FocusWindow {
        window: "FIRST".to_owned(),
    };
    let said = told(&mut desktop, first).await;
    assert_eq!(said, "w1 \"first terminal\" is active.");
    let listed = told(&mut desktop, Action::ListWindows).await;
    let front = listed.lines().nth(1).unwrap();
    assert!(
        front.starts_with("w1") && front.contains(", active"),
        "{listed}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn maximizing_says_what_was_before_and_may_be_repeated() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    let before = until_active(&mut desktop).await;
    let maximize = Action::MaximizeWindow { window: None };
    let said = told(&mut desktop, maximize.clone()).await;
    assert_eq!(
        said,
        "w1 \"first terminal\" is maximized; before it was not."
    );
    let listed = told(&mut desktop, Action::ListWindows).await;
    assert!(
        listed.contains("[0, 0, 1280, 800], active, maximized"),
        "{listed}"
    );
    let said = told(&mut desktop, maximize.clone()).await;
    assert_eq!(said, "w1 \"first terminal\" was maximized already.");
    let restore = Action::RestoreWindow { window: None };
    let said = told(&mut desktop, restore.clone()).await;
    assert_eq!(
        said,
        "w1 \"first terminal\" is restored; before it was maximized."
    );
    assert_eq!(told(&mut desktop, Action::ListWindows).await, before);
    let minimize = Action::MinimizeWindow { window: None };
    let said = told(&mut desktop, minimize).await;
    assert_eq!(said, "w1 \"first terminal\" is minimized.");
    let said = refused(&mut desktop, restore).await;
    assert!(said.starts_with("No window is active; name one."), "{said}");
    let maximize = Action::MaximizeWindow {
        window: window("w1"),
    };
    let said = told(&mut desktop, maximize).await;
    assert_eq!(
        said,
        "w1 \"first terminal\" is maximized; before it was minimized."
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_is_placed_with_its_frame() {
    let folder = fixture::session_dir();
    let path = fixture::workspace(&folder).join("text.txt");
    std::fs::write(&path, "").unwrap();
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    until_active(&mut desktop).await;
    let place = |region| Action::PlaceWindow {
        window: None,
        region,
    };
    let said = told(&mut desktop, place(region(100, 80, 900, 600))).await;
    assert!(said.ends_with("is at [100, 80, 900, 600]."), "{said}");
    // Also from its largest, and in the picture's pixels.
    told(&mut desktop, Action::MaximizeWindow { window: None }).await;
    desktop.set_viewport(telechir_device::Viewport::new(
        Size::new(1280, 800),
        Size::new(640, 400),
    ));
    let said = told(&mut desktop, place(region(200, 100, 1000, 700))).await;
    assert!(said.ends_with("is at [100, 50, 500, 350]."), "{said}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_is_found_with_what_is_in_front_of_it() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    launch(&mut desktop, "xterm", &["-T", "second terminal"], 2).await;
    until_active(&mut desktop).await;
    for (window, corner) in [("first", 40), ("second", 140)] {
        let place = Action::PlaceWindow {
            window: Some(window.to_owned()),
            region: region(corner, corner, corner + 300, corner + 300),
        };
        told(&mut desktop, place).await;
    }
    let part = |words: &str| ScreenPart::Window(window(words));
    let found = desktop.locate_part(&part("first")).await.unwrap();
    let origin = found.region.origin();
    assert_eq!((origin.x(), origin.y()), (40, 40));
    assert!(
        found
            .description
            .starts_with("w1 \"first terminal\" at [40, 40, ")
            && found
                .description
                .ends_with("In front of a part of it: w2 \"second terminal\"."),
        "{}",
        found.description
    );
    let front = desktop.locate_part(&part("second")).await.unwrap();
    assert!(front.description.ends_with("]."), "{}", front.description);
    let minimize = Action::MinimizeWindow {
        window: window("first"),
    };
    told(&mut desktop, minimize).await;
    let error = desktop.locate_part(&part("first")).await.unwrap_err();
    assert!(error.to_string().contains("not on the screen"), "{error}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_terminal_is_placed_as_near_as_its_lines_allow() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    let place = Action::PlaceWindow {
        window: window("xterm"),
        region: region(40, 50, 541, 351),
    };
    let said = told(&mut desktop, place).await;
    assert!(
        said.contains("is at [40, 50, ") && said.contains("as near as"),
        "{said}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_closes_or_says_what_it_asks() {
    let folder = fixture::session_dir();
    let path = fixture::workspace(&folder).join("text.txt");
    std::fs::write(&path, "").unwrap();
    fixture::own(&path);
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    desktop
        .perform(&fixture::type_text("unsaved"))
        .await
        .unwrap();
    let close = Action::CloseWindow {
        window: window("mousepad"),
    };
    let performed = act(&mut desktop, close).await.unwrap();
    assert_eq!(performed.effect, Effect::Delivered);
    let said = performed.text.unwrap();
    assert!(
        said.contains("is still open: w2") && said.contains("wants an answer"),
        "{said}"
    );
    let listed = told(&mut desktop, Action::ListWindows).await;
    assert!(listed.contains("dialog"), "{listed}");
    launch(&mut desktop, "xterm", &TERMINAL, 3).await;
    let close = Action::CloseWindow {
        window: window("first terminal"),
    };
    let performed = act(&mut desktop, close.clone()).await.unwrap();
    assert_eq!(performed.effect, Effect::Confirmed);
    assert!(performed.text.unwrap().ends_with("is closed."));
    let said = refused(&mut desktop, close).await;
    assert!(
        said.starts_with("There is no window \"first terminal\". There are: "),
        "{said}"
    );
    desktop.close().await.unwrap();
}

/// Shows a window that its program lets nobody resize.
fn show_fixed(environment: &[(String, String)]) -> telechir_testkit::xvfb::Client {
    let (client, screen, _) = connect(environment);
    let root = client.setup().roots[screen].root;
    let id = client.generate_id().unwrap();
    let (class, look) = (WindowClass::INPUT_OUTPUT, CreateWindowAux::new());
    client
        .create_window(0, id, root, 0, 0, 300, 200, 0, class, 0, &look)
        .unwrap();
    let hints = WmSizeHints {
        min_size: Some((300, 200)),
        max_size: Some((300, 200)),
        ..WmSizeHints::new()
    };
    hints.set_normal_hints(&client, id).unwrap();
    client.map_window(id).unwrap();
    client.flush().unwrap();
    client
}

#[tokio::test]
async fn a_window_of_a_fixed_size_says_that_it_cannot_be_maximized() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let environment = display.environment();
    let mut desktop = display.into_desktop().await.unwrap();
    let _client = show_fixed(&environment);
    appear_listed(&mut desktop, 1).await;
    let maximize = Action::MaximizeWindow {
        window: window("w1"),
    };
    let said = refused(&mut desktop, maximize).await;
    assert!(said.contains("of a fixed size"), "{said}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_display_without_a_manager_says_so() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::bare(&folder).await, "xterm", &TERMINAL).await;
    for action in [
        Action::ListWindows,
        Action::MaximizeWindow { window: None },
        Action::CloseWindow {
            window: window("w1"),
        },
    ] {
        let said = refused(&mut desktop, action).await;
        assert!(said.contains("no window manager"), "{said}");
    }
    desktop.close().await.unwrap();
}
