//! Starting applications by name: each outcome is reported.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use telechir_device::{ActionReport, Computer, DeviceError, Effect};
use telechir_protocol::{Action, ActionKind};
use telechir_x11::{Desktop, ExistingDisplay, PrivateDisplay};

use crate::fixture;

async fn open(desktop: &mut Desktop, name: &str) -> Result<ActionReport, DeviceError> {
    let name = name.to_owned();
    desktop.perform(&Action::OpenApp { name }).await
}

#[tokio::test]
async fn an_application_is_started_by_its_name_and_outlives_the_call() {
    let folder = fixture::session_dir();
    let mut desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    for name in ["Mousepad", "xterm"] {
        let performed = open(&mut desktop, name).await.unwrap();
        assert_eq!(performed.effect, Effect::Confirmed);
        let text = performed.text.unwrap();
        assert!(text.contains("was started and shows w"), "{text}");
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let listed = desktop.perform(&Action::ListWindows).await.unwrap();
    let listed = listed.text.unwrap();
    assert!(
        listed.contains("Mousepad") && listed.contains("XTerm"),
        "{listed}"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn an_application_is_seen_without_a_window_manager_too() {
    let folder = fixture::session_dir();
    let mut desktop = fixture::bare(&folder).await.into_desktop().await.unwrap();
    let performed = open(&mut desktop, "xterm").await.unwrap();
    assert_eq!(performed.effect, Effect::Confirmed);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_missing_application_lists_the_installed_ones() {
    let folder = fixture::session_dir();
    // Applications of its own, whatever is installed on this machine.
    let entries = folder.path().join("share/applications");
    std::fs::create_dir_all(&entries).unwrap();
    let entry = "[Desktop Entry]\nType=Application\nName=Own Editor\nExec=xterm\n";
    std::fs::write(entries.join("own-editor.desktop"), entry).unwrap();
    let display = fixture::managed(&folder).await;
    let mut variables = display.environment();
    let data = folder.path().join("share").to_string_lossy().into_owned();
    variables.retain(|(name, _)| name != "HOME" && name != "XDG_DATA_DIRS");
    variables.push(("XDG_DATA_DIRS".to_owned(), data));
    let mut desktop = connect(&display)
        .await
        .starting_programs(variables)
        .into_desktop()
        .await
        .unwrap();
    let error = open(&mut desktop, "no such application").await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("Installed: Own Editor [own-editor]."),
        "{text}"
    );
    desktop.close().await.unwrap();
    display.close().await.unwrap();
}

/// Connects to a running display as to one that someone else started.
async fn connect(display: &PrivateDisplay) -> ExistingDisplay {
    let environment = display.environment();
    let value = |name: &str| {
        let found = environment.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    let (name, cookie) = (value("DISPLAY"), value("XAUTHORITY"));
    let existing = ExistingDisplay::connect(&name, Some(cookie.as_ref())).await;
    existing.unwrap()
}

/// A program in the workspace that runs this script.
fn program(folder: &tempfile::TempDir, script: &str) -> String {
    let path = fixture::workspace(folder).join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture::own(&path);
    path.to_string_lossy().into_owned()
}

#[tokio::test]
async fn a_failing_program_is_reported_with_its_stderr_tail() {
    let folder = fixture::session_dir();
    let path = program(
        &folder,
        "seq 1 3000 >&2; echo 'cannot open the thing' >&2; exit 3",
    );
    let mut desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let text = open(&mut desktop, &path).await.unwrap_err().to_string();
    assert!(
        text.contains("exit status: 3") && text.ends_with("cannot open the thing"),
        "{text}"
    );
    assert!(text.len() < 6_000, "{}", text.len());
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_successful_exit_without_a_window_is_not_confirmed() {
    let folder = fixture::session_dir();
    let path = program(&folder, "exit 0");
    let mut desktop = fixture::managed(&folder)
        .await
        .into_desktop()
        .await
        .unwrap();
    let performed = open(&mut desktop, &path).await.unwrap();
    assert_eq!(performed.effect, Effect::Delivered);
    assert!(performed.text.unwrap().contains("without a window"));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn an_existing_display_starts_programs_only_if_enabled() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let plain = connect(&display).await.into_desktop().await.unwrap();
    assert!(!plain.supports(&ActionKind::OpenApp));
    plain.close().await.unwrap();
    let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    let existing = connect(&display).await.starting_programs(vec![path]);
    let mut desktop = existing.into_desktop().await.unwrap();
    assert!(desktop.supports(&ActionKind::OpenApp));
    let text = open(&mut desktop, "xterm").await.unwrap().text.unwrap();
    assert!(text.contains("shows w1"), "{text}");
    desktop.close().await.unwrap();
    display.close().await.unwrap();
}
