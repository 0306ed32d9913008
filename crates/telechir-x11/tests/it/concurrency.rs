//! A desktop with 200 windows: they are listed, focused and moved in bounded time and text.

use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError};
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;
use telechir_testkit::xvfb::{XClient, connect};
use x11rb::connection::Connection as _;
use x11rb::properties::{WmSizeHints, WmSizeHintsSpecification};
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, PropMode, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use crate::fixture;
use crate::windows::{perform_on, report_of, window};

const WINDOWS: u32 = 200;

/// Shows this many windows with distinct titles.
fn show_windows(environment: &[(String, String)]) -> XClient {
    let (client, screen, _) = connect(environment);
    let root = client.setup().roots[screen].root;
    for number in 1..=WINDOWS {
        let id = client.generate_id().unwrap();
        let (class, look) = (WindowClass::INPUT_OUTPUT, CreateWindowAux::new());
        client
            .create_window(0, id, root, 0, 0, 120, 80, 0, class, 0, &look)
            .unwrap();
        let title = format!("Document {number} of a crowd");
        let (name, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
        client
            .change_property8(PropMode::REPLACE, id, name, text, title.as_bytes())
            .unwrap();
        // Without explicit positions a manager may search for free space for a long time.
        let position = (number % 30 * 35, number / 30 * 40);
        let (x, y) = (i32::try_from(position.0), i32::try_from(position.1));
        let hints = WmSizeHints {
            position: Some((
                WmSizeHintsSpecification::UserSpecified,
                x.unwrap(),
                y.unwrap(),
            )),
            ..WmSizeHints::new()
        };
        hints.set_normal_hints(&client, id).unwrap();
        client.map_window(id).unwrap();
    }
    client.flush().unwrap();
    client
}

async fn timed(what: &str, limit: Duration, work: impl Future<Output = ()>) {
    let start = Instant::now();
    work.await;
    let took = start.elapsed();
    assert!(took < limit, "{what} takes {took:?}");
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[tokio::test]
async fn two_hundred_windows_are_handled() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let environment = display.environment();
    let mut desktop = display.into_desktop().await.unwrap();
    let _client = show_windows(&environment);
    let start = Instant::now();
    let all = format!("and {} more", WINDOWS - 100);
    let listed = assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains(&all)
    );
    assert_eq!(listed.lines().count(), 1 + 100 + 1);
    assert!(listed.len() < 16 << 10, "{} bytes", listed.len());
    let before = resident();
    let second = Duration::from_secs(1);
    timed("five lists", 10 * second, async {
        for _ in 0..5 {
            report_of(&mut desktop, Action::ListWindows).await;
        }
    })
    .await;
    // A busy window manager may keep arranging windows for a while.
    timed("a focus", 30 * second, async {
        let window = "Document 7 of".to_owned();
        let focus = Action::FocusWindow { window };
        let mut focused = perform_on(&mut desktop, focus.clone()).await;
        while start.elapsed() < 90 * second && focused.is_err() {
            focused = perform_on(&mut desktop, focus.clone()).await;
        }
        let text = focused.unwrap().text.unwrap();
        assert!(
            text.ends_with("\"Document 7 of a crowd\" is active."),
            "{text}"
        );
    })
    .await;
    timed("a click by position and a screenshot", 10 * second, async {
        let at = fixture::move_to(desktop.size(), 640, 400);
        desktop.perform(&at).await.unwrap();
        desktop.capture().await.unwrap();
    })
    .await;
    timed("an ambiguous name", 5 * second, async {
        let window = window("crowd");
        match perform_on(&mut desktop, Action::CloseWindow { window }).await {
            Err(DeviceError::Refused { message }) => {
                assert!(message.contains("matches 200 windows"), "{message}");
                assert!(message.len() < 2_000, "{message}");
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    desktop.close().await.unwrap();
}
