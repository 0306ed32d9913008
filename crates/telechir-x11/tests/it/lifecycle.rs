//! Displays refuse other clients and leave nothing behind.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError, Settle};
use telechir_process::{Pid, is_root};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Privilege, lacks};
use telechir_testkit::xvfb::{connect, connect_without_cookie, keyboard, value};
use telechir_x11::{DisplayOptions, ExistingDisplay, PrivateDisplay};

use crate::fixture::{self, POLITE};

fn number(environment: &[(String, String)]) -> String {
    value(environment, "DISPLAY")
        .trim_start_matches(':')
        .to_owned()
}

fn traces(environment: &[(String, String)]) -> Vec<PathBuf> {
    let number = number(environment);
    let authority = Path::new(value(environment, "XAUTHORITY"));
    [
        format!("/tmp/.X{number}-lock").into(),
        format!("/tmp/.X11-unix/X{number}").into(),
        authority.to_owned(),
        authority.parent().unwrap().to_owned(),
    ]
    .into()
}

fn is_running(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    status.is_ok_and(|status| !status.contains(") Z"))
}

/// Names of the processes with this display in their environment.
fn programs_of(environment: &[(String, String)]) -> Vec<String> {
    let named = processes_of(environment).into_iter();
    named.map(|(_, name)| name).collect()
}

/// Process IDs and names of these processes.
pub(crate) fn processes_of(environment: &[(String, String)]) -> Vec<(i32, String)> {
    let authority = format!("XAUTHORITY={}", value(environment, "XAUTHORITY"));
    let of_process = |entry: std::fs::DirEntry| {
        let variables = std::fs::read(entry.path().join("environ")).ok()?;
        let has_it = variables
            .split(|byte| *byte == 0)
            .any(|found| found == authority.as_bytes());
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        has_it.then(|| (pid, name.trim().to_owned()))
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| of_process(entry.ok()?))
        .collect()
}

#[tokio::test]
async fn a_client_without_the_cookie_is_refused() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let Err(text) = connect_without_cookie(&display.environment()) else {
        panic!("let in")
    };
    assert!(text.to_lowercase().contains("auth"), "{text}");
    // With the cookie the same connection succeeds.
    connect(&display.environment());
    let name = display.name();
    let refused = ExistingDisplay::connect(&name, None).await.unwrap_err();
    assert!(
        matches!(refused, DeviceError::Unavailable { .. }),
        "{refused}"
    );
    display.close().await.unwrap();
}

#[tokio::test]
async fn the_cookie_is_for_its_user_alone_and_there_is_no_abstract_socket() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let environment = display.environment();
    let authority = std::fs::metadata(value(&environment, "XAUTHORITY")).unwrap();
    assert_eq!(authority.permissions().mode() & 0o777, 0o600);
    if let Some(identity) = fixture::identity() {
        assert_eq!(authority.uid(), identity.uid);
    }
    let path = format!("/tmp/.X11-unix/X{}", number(&environment));
    let address = SocketAddr::from_abstract_name(path).unwrap();
    let refused = UnixStream::connect_addr(&address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    display.close().await.unwrap();
}

#[tokio::test]
async fn the_server_does_not_run_as_root() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let pid = display.server_pid().unwrap().as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let uids = status
        .lines()
        .find(|line| line.starts_with("Uid:"))
        .unwrap();
    assert!(
        !uids.split_whitespace().skip(1).any(|uid| uid == "0"),
        "{uids}"
    );
    display.close().await.unwrap();
}

#[tokio::test]
async fn root_must_name_a_user() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let folder = fixture::session_dir();
    let options = DisplayOptions {
        identity: None,
        ..fixture::options(&folder)
    };
    let error = PrivateDisplay::start(options).await.unwrap_err();
    assert!(matches!(error, DeviceError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn two_displays_are_independent() {
    let (one, other) = (fixture::session_dir(), fixture::session_dir());
    let (one, other) = tokio::join!(fixture::bare(&one), fixture::bare(&other));
    assert_ne!(one.name(), other.name());
    let (mut one, first) = fixture::watched(one, POLITE).await;
    let (mut other, second) = fixture::watched(other, POLITE).await;
    first.paint(0, 0, 1280, 800, 0x00ff_0000);
    second.paint(0, 0, 1280, 800, 0x0000_00ff);
    assert_eq!(one.capture().await.unwrap().pixel(9, 9), Some([255, 0, 0]));
    assert_eq!(
        other.capture().await.unwrap().pixel(9, 9),
        Some([0, 0, 255])
    );
    one.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_killed_server_is_noticed_at_once() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let pid = display.server_pid().unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let start = Instant::now();
    let settle = Settle {
        quiet: Duration::from_secs(30),
        ceiling: Duration::from_secs(60),
    };
    let error = desktop.settle(settle).await.unwrap_err();
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
    let error = desktop.capture().await.unwrap_err();
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
    let error = desktop.perform(&fixture::type_text("x")).await.unwrap_err();
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_hanging_server_times_out() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let pid = display.server_pid().unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let error = desktop.capture().await.unwrap_err();
    assert!(matches!(error, DeviceError::Timeout { .. }), "{error}");
    drop(desktop);
    assert_eventually!(!is_running(pid), "the server ends");
}

#[tokio::test]
async fn closing_leaves_no_process_and_no_file() {
    let folder = fixture::session_dir();
    let mut display = fixture::managed(&folder).await;
    let pids = [
        display.server_pid().unwrap(),
        display.launch("sleep", &["1000"]).await.unwrap(),
    ];
    let environment = display.environment();
    let traces = traces(&environment);
    assert_eq!(
        programs_of(&environment).len(),
        2,
        "the window manager and the application"
    );
    assert!(traces.iter().all(|trace| trace.exists()), "{traces:?}");
    display.into_screen().await.unwrap().close().await.unwrap();
    assert!(!pids.into_iter().any(is_running));
    assert_eq!(programs_of(&environment), Vec::<String>::new());
    assert!(!traces.iter().any(|trace| trace.exists()), "{traces:?}");
}

#[tokio::test]
async fn dropping_leaves_no_process_and_no_file() {
    let folder = fixture::session_dir();
    let mut display = fixture::managed(&folder).await;
    let pids = [
        display.server_pid().unwrap(),
        display.launch("sleep", &["1000"]).await.unwrap(),
    ];
    let traces = traces(&display.environment());
    drop(display.into_desktop().await.unwrap());
    assert_eventually!(!pids.into_iter().any(is_running));
    assert!(!traces.iter().any(|trace| trace.exists()), "{traces:?}");
}

#[tokio::test]
async fn an_existing_display_is_left_unchanged() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let environment = display.environment();
    let authority = Path::new(value(&environment, "XAUTHORITY"));
    let existing = ExistingDisplay::connect(&display.name(), Some(authority))
        .await
        .unwrap();
    let mut desktop = existing.into_desktop().await.unwrap();
    let before = keyboard(&environment);
    desktop.perform(&fixture::type_text("漢")).await.unwrap();
    assert_ne!(keyboard(&environment), before);
    desktop.close().await.unwrap();
    assert_eq!(keyboard(&environment), before);
    display.close().await.unwrap();
}

#[tokio::test]
async fn accessible_applications_get_a_bus() {
    telechir_testkit::gate::require(telechir_testkit::gate::Component::Dbus);
    let folder = fixture::session_dir();
    let options = DisplayOptions {
        accessibility: true,
        ..fixture::options(&folder)
    };
    let display = PrivateDisplay::start(options).await.unwrap();
    let environment = display.environment();
    let address = value(&environment, "DBUS_SESSION_BUS_ADDRESS");
    let socket = address.trim_start_matches("unix:path=");
    assert!(Path::new(socket).exists(), "{address}");
    let programs = programs_of(&environment);
    assert!(
        programs.iter().any(|name| name.starts_with("at-spi")),
        "{programs:?}"
    );
    display.close().await.unwrap();
    assert_eventually!(programs_of(&environment), |left| left.is_empty());
}
