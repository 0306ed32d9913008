//! Kill switch, exit of the X server, and windows that close during an action.

use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError, StopSignal};
use telechir_protocol::{Action, Chord};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::xvfb::{connect, pressed};
use telechir_x11::{Corner, Desktop, DisplayOptions, KillSwitch, PrivateDisplay};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT};
use x11rb::protocol::xtest::ConnectionExt as _;

use crate::fixture;

type Environment = Vec<(String, String)>;

async fn guarded(folder: &tempfile::TempDir, switch: KillSwitch) -> (Desktop, Environment) {
    let display = fixture::managed(folder).await;
    let environment = display.environment();
    let desktop = display.into_desktop().await.unwrap();
    let desktop = desktop.with_kill_switch(&switch).await.unwrap();
    (desktop, environment)
}

fn hold(chord: &str, time: Duration) -> telechir_device::ScreenAction {
    Action::HoldKey {
        chord: Chord::parse(chord).unwrap(),
        duration: time,
    }
}

/// Waits until a key is pressed on the display, then calls `callback` as the user's input.
fn once_pressed(environment: Environment, callback: fn(&telechir_testkit::xvfb::XClient, u32)) {
    std::thread::spawn(move || {
        assert_eventually_blocking!(pressed(&environment), |(keys, _)| !keys.is_empty());
        let (client, screen, _) = connect(&environment);
        callback(&client, client.setup().roots[screen].root);
        client.get_input_focus().unwrap().reply().unwrap();
    });
}

async fn check_stopped(desktop: &mut Desktop, environment: &Environment) {
    let start = Instant::now();
    let error = desktop
        .perform(&hold("shift", Duration::from_secs(30)))
        .await
        .unwrap_err();
    assert!(matches!(error, DeviceError::Stopped { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(15));
    assert_eq!(pressed(environment), (Vec::new(), 0));
    assert!(
        desktop
            .kill_switch()
            .and_then(StopSignal::stopped)
            .is_some()
    );
    // All later actions are refused.
    let error = desktop.perform(&fixture::type_text("a")).await.unwrap_err();
    assert!(matches!(error, DeviceError::Stopped { .. }), "{error}");
}

#[tokio::test]
async fn the_user_stops_the_desktop_with_the_corner() {
    let folder = fixture::session_dir();
    let switch = KillSwitch {
        corner: Some(Corner::TopLeft),
        key: None,
    };
    let (mut desktop, environment) = guarded(&folder, switch).await;
    // Synthetic motions do not trigger the switch.
    let size = desktop.size();
    for (x, y) in [(0, 0), (300, 200)] {
        desktop
            .perform(&fixture::move_to(size, x, y))
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(desktop.kill_switch().and_then(StopSignal::stopped), None);
    once_pressed(environment.clone(), |client, root| {
        client
            .warp_pointer(x11rb::NONE, root, 0, 0, 0, 0, 0, 0)
            .unwrap();
    });
    check_stopped(&mut desktop, &environment).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn the_user_stops_the_desktop_with_a_key() {
    let folder = fixture::session_dir();
    let switch = KillSwitch {
        corner: None,
        key: Chord::parse("shift+F12"),
    };
    let (mut desktop, environment) = guarded(&folder, switch).await;
    once_pressed(environment.clone(), |client, _| {
        // F12 in the usual layout; Shift is already pressed.
        for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
            client.xtest_fake_input(kind, 96, 0, 0, 0, 0, 0).unwrap();
        }
    });
    check_stopped(&mut desktop, &environment).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn an_invalid_stop_key_is_refused() {
    let folder = fixture::session_dir();
    let desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let switch = KillSwitch {
        corner: None,
        key: Chord::parse("ctrl+a+b"),
    };
    let error = desktop.with_kill_switch(&switch).await.unwrap_err();
    assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
}

/// Kills the X server of the display.
fn kill_server(desktop: &mut Desktop) {
    let display = desktop.private_display().expect("the display is private");
    let pid = display.server_pid().unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_desktop_reports_a_lost_server_and_restarts_if_enabled() {
    let folder = fixture::session_dir();
    let desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let mut desktop = desktop.restarting();
    kill_server(&mut desktop);
    let error = desktop
        .perform(&hold("shift", Duration::from_millis(200)))
        .await
        .unwrap_err();
    assert!(matches!(error, DeviceError::Restarted { .. }), "{error}");
    // The restarted desktop works, including its window manager.
    let listed = desktop.perform(&Action::ListWindows).await.unwrap();
    assert_eq!(listed.text.as_deref(), Some("There is no window."));
    desktop.capture().await.unwrap();
    desktop.close().await.unwrap();

    let mut desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    kill_server(&mut desktop);
    let error = desktop.perform(&fixture::type_text("a")).await.unwrap_err();
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn a_server_lost_during_an_action_is_reported_at_once() {
    let folder = fixture::session_dir();
    let desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let mut desktop = desktop.restarting();
    let display = desktop.private_display().expect("the display is private");
    let (environment, pid) = (display.environment(), display.server_pid().unwrap());
    std::thread::spawn(move || {
        assert_eventually_blocking!(pressed(&environment), |(keys, _)| !keys.is_empty());
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    let start = Instant::now();
    let error = desktop
        .perform(&hold("shift", Duration::from_secs(2)))
        .await
        .unwrap_err();
    assert!(matches!(error, DeviceError::Restarted { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(12));
    desktop.perform(&fixture::type_text("aж")).await.unwrap();
    desktop.capture().await.unwrap();
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_window_may_close_under_the_pointer() {
    let folder = fixture::session_dir();
    let mut desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let size = desktop.size();
    for run in 0..5 {
        let display = desktop.private_display().expect("the display is private");
        let args = ["-geometry", "120x50+0+0", "-e", "sleep", "0.4"];
        display.launch("xterm", &args).await.unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(900) {
            let at = Some(fixture::pixel(200, 200 + run));
            let text = "x漢".to_owned();
            let action = Action::Type {
                text,
                at,
                clear_first: false,
                submit: true,
            };
            desktop
                .perform(&fixture::on_screen(size, action))
                .await
                .unwrap();
            desktop.perform(&Action::ListWindows).await.unwrap();
        }
    }
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_desktop_works_after_its_bus_exits() {
    let folder = fixture::session_dir();
    let options = DisplayOptions {
        accessibility: true,
        ..fixture::options(&folder)
    };
    let display = PrivateDisplay::start(options).await.unwrap();
    let environment = display.environment();
    let mut desktop = display.into_desktop().await.unwrap();
    let named = crate::lifecycle::processes_of(&environment);
    for (pid, _) in named.iter().filter(|(_, name)| name == "dbus-daemon") {
        let pid = rustix::process::Pid::from_raw(*pid).unwrap();
        let _may_have_gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let name = "xterm".to_owned();
    desktop.perform(&Action::OpenApp { name }).await.unwrap();
    desktop.perform(&fixture::type_text("a漢")).await.unwrap();
    desktop.capture().await.unwrap();
    desktop.close().await.unwrap();
}
