//! Windows under another window manager (jwm), and after its exit.

use telechir_device::{Computer, DeviceError, Effect};
use telechir_process::Pid;
use telechir_protocol::{Action, Button};
use telechir_testkit::assert_eventually;
use telechir_testkit::contract::computer::{ObservedInput, Witness};
use telechir_testkit::witness::XWitness;
use telechir_x11::Desktop;

use crate::fixture::{self, POLITE};
use crate::windows::{launch, perform_on, refused, region, report_of, window};

/// No bar and no menu, only frames and focus.
const CONFIG: &str = "<?xml version=\"1.0\"?><JWM></JWM>";

/// A desktop that jwm manages.
async fn managed(folder: &tempfile::TempDir) -> (Desktop, Pid) {
    let config = fixture::workspace(folder).join("jwmrc");
    std::fs::write(&config, CONFIG).unwrap();
    fixture::own(&config);
    let mut display = fixture::bare(folder).await;
    let args = ["-f", config.to_str().unwrap()];
    let pid = display.launch("jwm", &args).await.unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    for _ in 0..500 {
        if perform_on(&mut desktop, Action::ListWindows).await.is_ok() {
            return (desktop, pid);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("jwm does not start");
}

#[tokio::test]
async fn window_actions_work_with_another_manager() {
    let folder = fixture::session_dir();
    let (mut desktop, _) = managed(&folder).await;
    launch(&mut desktop, "xterm", &["-T", "first terminal"], 1).await;
    launch(&mut desktop, "xterm", &["-T", "second terminal"], 2).await;
    // This manager may leave the focused window below another.
    let second_is_active =
        |line: &str| line.contains("second terminal") && line.contains(", active");
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.lines().any(second_is_active)
    );
    let focus = Action::FocusWindow {
        window: "first".to_owned(),
    };
    assert_eq!(
        report_of(&mut desktop, focus).await,
        "w1 \"first terminal\" is active."
    );
    let maximize = Action::MaximizeWindow { window: None };
    assert_eq!(
        report_of(&mut desktop, maximize.clone()).await,
        "w1 \"first terminal\" is maximized; before it was not."
    );
    assert_eq!(
        report_of(&mut desktop, maximize).await,
        "w1 \"first terminal\" was already maximized."
    );
    let restore = Action::RestoreWindow { window: None };
    assert_eq!(
        report_of(&mut desktop, restore).await,
        "w1 \"first terminal\" is restored; before it was maximized."
    );
    let position = Action::PlaceWindow {
        window: window("first"),
        region: region(60, 70, 560, 420),
    };
    let text = report_of(&mut desktop, position).await;
    assert!(text.contains("is at [60, 70, "), "{text}");
    let minimize = Action::MinimizeWindow {
        window: window("w1"),
    };
    assert_eq!(
        report_of(&mut desktop, minimize).await,
        "w1 \"first terminal\" is minimized."
    );
    let close = Action::CloseWindow {
        window: window("second"),
    };
    let closed = perform_on(&mut desktop, close).await.unwrap();
    assert_eq!(closed.effect, Effect::Confirmed);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_click_and_text_pass_through_another_manager() {
    let folder = fixture::session_dir();
    let (mut desktop, _) = managed(&folder).await;
    let mut witness = XWitness::open(&desktop.environment(), POLITE).await;
    let size = desktop.size();
    let click = Action::Click {
        at: Some(fixture::pixel(200, 300)),
        button: Button::Right,
        count: Default::default(),
        modifiers: Vec::new(),
    };
    desktop
        .perform(&fixture::on_screen(size, click))
        .await
        .unwrap();
    let is_there = |seen: &[ObservedInput]| {
        seen.iter().any(|one| {
            matches!(one, ObservedInput::ButtonDown { button: Button::Right, at, .. } if *at == (200, 300))
        })
    };
    let seen = witness.observed(&is_there).await;
    assert!(is_there(&seen), "{seen:?}");
    let text = "plain, then ж漢😀";
    desktop.perform(&fixture::type_text(text)).await.unwrap();
    assert_eq!(witness.text(text).await, text);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn only_window_actions_fail_after_the_manager_exits() {
    let folder = fixture::session_dir();
    let (mut desktop, pid) = managed(&folder).await;
    launch(&mut desktop, "xterm", &["-T", "a terminal"], 1).await;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    for _ in 0..500 {
        match perform_on(&mut desktop, Action::ListWindows).await {
            Err(DeviceError::Refused { message }) => {
                assert!(message.contains("no EWMH window manager"), "{message}");
                break;
            }
            other => drop(other.unwrap()),
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let text = refused(&mut desktop, Action::ListWindows).await;
    assert!(text.contains("no EWMH window manager"), "{text}");
    desktop.perform(&fixture::type_text("aж")).await.unwrap();
    desktop.capture().await.unwrap();
    desktop.close().await.unwrap();
}
