//! Which windows input reaches, and the limit to those that the caller has judged.

use std::fs;
use std::thread;

use telechir_device::{
    Computer as _, DeviceError, PointedWindows, ScreenAction, WindowSystem as _,
};
use telechir_protocol::{Action, Button, ClickCount, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::xvfb::connect;
use telechir_x11::Desktop;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use crate::fixture;
use crate::programs::{press, started};
use crate::windows::{launch, perform_on, region};

/// A program whose window is named `class`, at the left.
const LEFT: [&str; 8] = [
    "-class",
    "Writer",
    "-name",
    "writer",
    "-geometry",
    "30x10+0+0",
    "-e",
    "cat",
];

fn names(class: &str, instance: &str) -> Vec<String> {
    vec![class.to_owned(), instance.to_owned()]
}

fn click(at: Option<Target>) -> Action {
    Action::Click {
        at,
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: Vec::new(),
    }
}

/// The windows under the points of an action.
async fn under(desktop: &mut Desktop, action: Action) -> Option<PointedWindows> {
    let action: ScreenAction = fixture::on_screen(desktop.size(), action);
    let listed = desktop.input_windows(&[Some(action), None]).await.unwrap();
    assert_eq!(listed.under.len(), 2);
    assert_eq!(listed.under[1], None);
    let mut under = listed.under.into_iter().next().unwrap();
    for names in under.iter_mut().flat_map(|under| &mut under.names) {
        names.sort();
    }
    under
}

async fn move_and_resize(desktop: &mut Desktop, window: &str, corners: [u32; 4]) {
    let [left, top, right, bottom] = corners;
    let action = Action::PlaceWindow {
        window: Some(window.to_owned()),
        region: region(left, top, right, bottom),
    };
    perform_on(desktop, action).await.unwrap();
}

async fn focus(desktop: &mut Desktop, window: &str, names: &[String]) {
    let window = window.to_owned();
    let focus = Action::FocusWindow { window };
    perform_on(desktop, focus).await.unwrap();
    assert_eventually!(desktop.input_windows(&[]).await.unwrap(), |windows| {
        windows.focused.as_deref() == Some(names)
    });
}

/// Two windows on a managed display, left and right of x = 400; the left one has the focus.
async fn two_windows(command: &str) -> (tempfile::TempDir, Desktop) {
    let folder = fixture::session_dir();
    let mut desktop = started(fixture::managed(&folder).await, "xterm", &LEFT).await;
    let command = command.replace("FOLDER", fixture::workspace(&folder).to_str().unwrap());
    launch(&mut desktop, "xterm", &["-e", "sh", "-c", &command], 2).await;
    move_and_resize(&mut desktop, "w1", [0, 0, 390, 300]).await;
    move_and_resize(&mut desktop, "w2", [410, 0, 800, 300]).await;
    focus(&mut desktop, "w1", &names("Writer", "writer")).await;
    (folder, desktop)
}

#[tokio::test]
async fn the_window_that_receives_input_is_known_with_and_without_a_manager() {
    let (_folder, mut desktop) = two_windows("cat").await;
    let listed = desktop.input_windows(&[]).await.unwrap();
    assert_eq!(listed.focused, Some(names("Writer", "writer")));
    assert!(listed.all.contains(&names("XTerm", "xterm")), "{listed:?}");
    // Inside of both, and the title bar of the second.
    for (x, y, sorted) in [
        (100, 150, names("Writer", "writer")),
        (600, 150, names("XTerm", "xterm")),
        (600, 5, names("XTerm", "xterm")),
    ] {
        let expected = PointedWindows {
            names: vec![sorted],
            passes_on: false,
        };
        let found = under(&mut desktop, click(Some(fixture::pixel(x, y)))).await;
        assert_eq!(found, Some(expected), "{x}, {y}");
    }
    // No window, and the window under the pointer.
    let found = under(&mut desktop, click(Some(fixture::pixel(600, 500)))).await;
    assert_eq!(found, Some(PointedWindows::default()));
    let pointer = fixture::move_to(desktop.size(), 600, 150);
    desktop.perform(&pointer).await.unwrap();
    for action in [
        click(None),
        Action::MouseDown {
            at: None,
            button: Button::Left,
        },
        Action::MouseUp {
            at: None,
            button: Button::Left,
        },
    ] {
        let found = under(&mut desktop, action).await.unwrap();
        assert_eq!(found.names, [names("XTerm", "xterm")]);
    }
    // A drag reaches all windows on its path; one with a single point begins at the pointer.
    for path in [vec![(100, 150), (600, 150)], vec![(100, 150)]] {
        let path = path
            .into_iter()
            .map(|(x, y)| fixture::pixel(x, y))
            .collect();
        let (button, modifiers, duration) = (Button::Left, Vec::new(), None);
        let drag = Action::Drag {
            path,
            button,
            modifiers,
            duration,
        };
        let mut found = under(&mut desktop, drag).await.unwrap().names;
        found.sort();
        assert_eq!(found, [names("Writer", "writer"), names("XTerm", "xterm")]);
    }
    let text = fixture::type_text("a");
    let listed = desktop.input_windows(&[Some(text)]).await.unwrap();
    assert_eq!(listed.under, [None]);
    desktop.close().await.unwrap();
}

/// Such windows may be menus or on-screen keyboards of the window with the focus.
#[tokio::test]
async fn windows_without_a_manager_pass_input_on() {
    let folder = fixture::session_dir();
    let mut bare = started(
        fixture::bare(&folder).await,
        "xterm",
        &["-geometry", "30x10+0+0"],
    )
    .await;
    let found = under(&mut bare, click(Some(fixture::pixel(50, 50))))
        .await
        .unwrap();
    assert_eq!(found.names, [names("XTerm", "xterm")]);
    assert!(found.passes_on);
    bare.close().await.unwrap();
    let (_folder, mut desktop) = two_windows("cat").await;
    let (client, screen, _guard) = connect(&desktop.environment());
    let root = client.setup().roots[screen].root;
    let menu = client.generate_id().unwrap();
    let attributes = CreateWindowAux::new().override_redirect(1);
    let class = WindowClass::INPUT_OUTPUT;
    client
        .create_window(0, menu, root, 20, 100, 200, 100, 0, class, 0, &attributes)
        .unwrap();
    client.map_window(menu).unwrap();
    client.flush().unwrap();
    let expected = PointedWindows {
        names: vec![Vec::new()],
        passes_on: true,
    };
    assert_eventually!(
        under(&mut desktop, click(Some(fixture::pixel(100, 150)))).await,
        |found| *found == Some(expected.clone())
    );
    desktop.limit_input(Some(vec![names("Writer", "writer")]));
    let refused = perform_on(&mut desktop, click(Some(fixture::pixel(100, 150)))).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_click_waits_for_a_tooltip_to_leave_its_point() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let (client, screen, guard) = connect(&display.environment());
    let mut desktop = display.into_desktop().await.unwrap();
    let root = client.setup().roots[screen].root;
    let window = |events: EventMask| {
        let window = client.generate_id().unwrap();
        let attributes = CreateWindowAux::new()
            .override_redirect(1)
            .event_mask(events);
        let class = WindowClass::INPUT_OUTPUT;
        client
            .create_window(0, window, root, 0, 0, 200, 100, 0, class, 0, &attributes)
            .unwrap();
        client.map_window(window).unwrap();
        window
    };
    let button = window(EventMask::BUTTON_PRESS);
    let tooltip = window(EventMask::BUTTON_PRESS | EventMask::ENTER_WINDOW);
    let atom = |name: &str| {
        let atom = client.intern_atom(false, name.as_bytes()).unwrap();
        atom.reply().unwrap().atom
    };
    let (kind, of_tooltips) = (
        atom("_NET_WM_WINDOW_TYPE"),
        atom("_NET_WM_WINDOW_TYPE_TOOLTIP"),
    );
    client
        .change_property32(
            PropMode::REPLACE,
            tooltip,
            kind,
            AtomEnum::ATOM,
            &[of_tooltips],
        )
        .unwrap()
        .check()
        .unwrap();
    let pressed = thread::spawn(move || {
        loop {
            let event = client.wait_for_event().unwrap();
            if let Event::ButtonPress(press) = event {
                return press.event;
            }
            if matches!(event, Event::EnterNotify(_)) {
                // Programs notice the pointer a little later.
                for _ in 0..200 {
                    client.sync().unwrap();
                }
                client.unmap_window(tooltip).unwrap().check().unwrap();
            }
        }
    });
    let at = Some(fixture::pixel(100, 50));
    perform_on(&mut desktop, click(at)).await.unwrap();
    assert_eventually!(pressed.is_finished(), |done| *done);
    assert_eq!(pressed.join().unwrap(), button);
    drop(guard);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn input_for_another_window_than_the_judged_one_is_refused() {
    let (folder, mut desktop) = two_windows("cat > FOLDER/typed").await;
    let typed = fixture::workspace(&folder).join("typed");
    let (writer, xterm) = (names("Writer", "writer"), names("XTerm", "xterm"));
    focus(&mut desktop, "w2", &xterm).await;
    desktop.limit_input(Some(vec![writer.clone()]));
    let at = Some(fixture::pixel(600, 150));
    let chord = || telechir_protocol::Chord::parse("Return").unwrap();
    let text = |at: Option<Target>| Action::Type {
        text: "x".to_owned(),
        at,
        clear_first: false,
        submit: true,
    };
    for action in [
        text(None),
        text(at.clone()),
        click(at.clone()),
        Action::MouseDown {
            at,
            button: Button::Left,
        },
        Action::Key {
            chord: chord(),
            repeat: 1,
        },
        Action::KeyDown { chord: chord() },
        Action::HoldKey {
            chord: chord(),
            duration: std::time::Duration::from_millis(1),
        },
    ] {
        match perform_on(&mut desktop, action.clone()).await {
            Err(DeviceError::Refused { message }) => {
                assert!(message.contains("\"XTerm\""), "{message}");
            }
            other => panic!("{action:?}: {other:?}"),
        }
    }
    // A click gives its window the focus before the text follows.
    desktop.limit_input(Some(vec![writer, xterm.clone()]));
    perform_on(&mut desktop, click(Some(fixture::pixel(100, 150))))
        .await
        .unwrap();
    desktop.limit_input(Some(vec![xterm]));
    perform_on(&mut desktop, text(Some(fixture::pixel(600, 150))))
        .await
        .unwrap();
    press(&mut desktop, "ctrl+d").await;
    // Nothing that was refused is in it.
    assert_eventually!(fs::read_to_string(&typed).unwrap_or_default(), |text| text
        == "x\n");
    desktop.limit_input(None);
    perform_on(&mut desktop, click(Some(fixture::pixel(100, 150))))
        .await
        .unwrap();
    desktop.close().await.unwrap();
}
