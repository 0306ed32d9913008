//! Windows by EWMH: with the window manager of a private display, with another one, and without.

use telechir_device::{ActionReport, Computer, DeviceError, Effect, ScreenPart, WindowSystem as _};
use telechir_protocol::{Action, Point, Region, Size, Space};
use telechir_testkit::assert_eventually;
use telechir_testkit::xvfb::connect;
use telechir_x11::Desktop;
use x11rb::connection::Connection as _;
use x11rb::properties::WmSizeHints;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};

use crate::fixture;
use crate::programs::started;

/// A terminal with a title and a size in character cells.
const TERMINAL: [&str; 4] = ["-T", "first terminal", "-geometry", "40x10"];

pub(crate) async fn perform_on(
    desktop: &mut Desktop,
    action: Action,
) -> Result<ActionReport, DeviceError> {
    let size = desktop.size();
    desktop.perform(&fixture::on_screen(size, action)).await
}

pub(crate) async fn report_of(desktop: &mut Desktop, action: Action) -> String {
    let performed = perform_on(desktop, action).await.unwrap();
    performed.text.unwrap()
}

pub(crate) async fn refused(desktop: &mut Desktop, action: Action) -> String {
    match perform_on(desktop, action).await {
        Err(DeviceError::Refused { message }) => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn window(args: &str) -> Option<String> {
    Some(args.to_owned())
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
    let display = desktop.private_display().expect("the display is private");
    display.launch(program, args).await.unwrap();
    appear_listed(desktop, windows).await;
}

/// Waits until this many windows are listed.
pub(crate) async fn appear_listed(desktop: &mut Desktop, windows: usize) {
    assert_eventually!(
        report_of(desktop, Action::ListWindows).await,
        |listed| listed.lines().count() > windows
    );
}

/// Waits until the topmost window has the focus, which it gets shortly after it is drawn.
pub(crate) async fn until_active(desktop: &mut Desktop) -> String {
    let is_active = |line: &str| line.contains(", active");
    assert_eventually!(report_of(desktop, Action::ListWindows).await, |listed| {
        listed.lines().nth(1).is_some_and(is_active)
    })
}

#[tokio::test]
async fn windows_are_listed_and_activated() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    launch(&mut desktop, "xterm", &["-T", "second terminal"], 2).await;
    until_active(&mut desktop).await;
    // Two programs that start at once may get the focus in either order.
    let second = Action::FocusWindow {
        window: "w2".to_owned(),
    };
    report_of(&mut desktop, second).await;
    let listed = report_of(&mut desktop, Action::ListWindows).await;
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
    let text = refused(&mut desktop, ambiguous).await;
    assert!(text.contains("w1") && text.contains("w2"), "{text}");
    let first = Action::FocusWindow {
        window: "FIRST".to_owned(),
    };
    let text = report_of(&mut desktop, first).await;
    assert_eq!(text, "w1 \"first terminal\" is active.");
    let listed = report_of(&mut desktop, Action::ListWindows).await;
    let front = listed.lines().nth(1).unwrap();
    assert!(
        front.starts_with("w1") && front.contains(", active"),
        "{listed}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn maximizing_reports_the_previous_state_and_can_be_repeated() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    let before = until_active(&mut desktop).await;
    let maximize = Action::MaximizeWindow { window: None };
    let text = report_of(&mut desktop, maximize.clone()).await;
    assert_eq!(
        text,
        "w1 \"first terminal\" is maximized; before it was not."
    );
    let listed = report_of(&mut desktop, Action::ListWindows).await;
    assert!(
        listed.contains("[0, 0, 1280, 800], active, maximized"),
        "{listed}"
    );
    let text = report_of(&mut desktop, maximize.clone()).await;
    assert_eq!(text, "w1 \"first terminal\" was already maximized.");
    let restore = Action::RestoreWindow { window: None };
    let text = report_of(&mut desktop, restore.clone()).await;
    assert_eq!(
        text,
        "w1 \"first terminal\" is restored; before it was maximized."
    );
    assert_eq!(report_of(&mut desktop, Action::ListWindows).await, before);
    let minimize = Action::MinimizeWindow { window: None };
    let text = report_of(&mut desktop, minimize).await;
    assert_eq!(text, "w1 \"first terminal\" is minimized.");
    let text = refused(&mut desktop, restore).await;
    assert!(text.starts_with("No window is active; name one."), "{text}");
    let maximize = Action::MaximizeWindow {
        window: window("w1"),
    };
    let text = report_of(&mut desktop, maximize).await;
    assert_eq!(
        text,
        "w1 \"first terminal\" is maximized; before it was minimized."
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_is_moved_and_resized_with_its_frame() {
    let folder = fixture::session_dir();
    let path = fixture::workspace(&folder).join("text.txt");
    std::fs::write(&path, "").unwrap();
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    until_active(&mut desktop).await;
    let position = |region| Action::PlaceWindow {
        window: None,
        region,
    };
    let text = report_of(&mut desktop, position(region(100, 80, 900, 600))).await;
    assert!(text.ends_with("is at [100, 80, 900, 600]."), "{text}");
    // Also from the maximized state, in screenshot coordinates.
    report_of(&mut desktop, Action::MaximizeWindow { window: None }).await;
    desktop.set_viewport(telechir_device::Viewport::new(
        Size::new(1280, 800),
        Size::new(640, 400),
    ));
    let text = report_of(&mut desktop, position(region(200, 100, 1000, 700))).await;
    assert!(text.ends_with("is at [100, 50, 500, 350]."), "{text}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_is_located_with_the_windows_covering_it() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    launch(&mut desktop, "xterm", &["-T", "second terminal"], 2).await;
    until_active(&mut desktop).await;
    for (window, corner) in [("first", 40), ("second", 140)] {
        let position = Action::PlaceWindow {
            window: Some(window.to_owned()),
            region: region(corner, corner, corner + 300, corner + 300),
        };
        report_of(&mut desktop, position).await;
    }
    let part = |args: &str| ScreenPart::Window(window(args));
    let found = desktop.locate_part(&part("first")).await.unwrap();
    let origin = found.region.origin();
    assert_eq!((origin.x(), origin.y()), (40, 40));
    assert!(
        found
            .description
            .starts_with("w1 \"first terminal\" at [40, 40, ")
            && found
                .description
                .ends_with("Partly covered by w2 \"second terminal\"."),
        "{}",
        found.description
    );
    let front = desktop.locate_part(&part("second")).await.unwrap();
    assert!(front.description.ends_with("]."), "{}", front.description);
    let minimize = Action::MinimizeWindow {
        window: window("first"),
    };
    report_of(&mut desktop, minimize).await;
    let error = desktop.locate_part(&part("first")).await.unwrap_err();
    assert!(error.to_string().contains("not on the screen"), "{error}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_terminal_is_resized_in_steps_of_a_line() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &TERMINAL).await;
    let position = Action::PlaceWindow {
        window: window("xterm"),
        region: region(40, 50, 541, 351),
    };
    let text = report_of(&mut desktop, position).await;
    assert!(
        text.contains("is at [40, 50, ") && text.contains("as close as"),
        "{text}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_closes_or_its_question_is_reported() {
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
    let performed = perform_on(&mut desktop, close).await.unwrap();
    assert_eq!(performed.effect, Effect::Delivered);
    let text = performed.text.unwrap();
    assert!(
        text.contains("is still open: w2") && text.contains("expects an answer"),
        "{text}"
    );
    let listed = report_of(&mut desktop, Action::ListWindows).await;
    assert!(listed.contains("dialog"), "{listed}");
    // A terminal that is asked to close before its shell runs ignores it; here the shell sets the
    // title.
    let shell = r"printf '\033]0;ready terminal\007'; exec sleep 60";
    launch(&mut desktop, "xterm", &["-e", "sh", "-c", shell], 3).await;
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("ready terminal")
    );
    let close = Action::CloseWindow {
        window: window("ready terminal"),
    };
    let performed = perform_on(&mut desktop, close.clone()).await.unwrap();
    assert_eq!(performed.effect, Effect::Confirmed, "{:?}", performed.text);
    assert!(performed.text.unwrap().ends_with("is closed."));
    let text = refused(&mut desktop, close).await;
    assert!(
        text.starts_with("There is no window \"ready terminal\". There are: "),
        "{text}"
    );
    desktop.close().await.unwrap();
}

/// Shows a window with a fixed size.
fn show_fixed(environment: &[(String, String)]) -> telechir_testkit::xvfb::XClient {
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
async fn maximizing_a_fixed_size_window_is_refused() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let environment = display.environment();
    let mut desktop = display.into_desktop().await.unwrap();
    let _client = show_fixed(&environment);
    appear_listed(&mut desktop, 1).await;
    let maximize = Action::MaximizeWindow {
        window: window("w1"),
    };
    let text = refused(&mut desktop, maximize).await;
    assert!(text.contains("of a fixed size"), "{text}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn window_actions_are_refused_without_a_manager() {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::bare(&folder).await, "xterm", &TERMINAL).await;
    for action in [
        Action::ListWindows,
        Action::MaximizeWindow { window: None },
        Action::CloseWindow {
            window: window("w1"),
        },
    ] {
        let text = refused(&mut desktop, action).await;
        assert!(text.contains("no EWMH window manager"), "{text}");
    }
    desktop.close().await.unwrap();
}
