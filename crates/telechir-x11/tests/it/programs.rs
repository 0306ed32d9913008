//! Typing into real programs: one that answers pings (GTK) and one that a ping would close.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use telechir_device::{Computer, Settle};
use telechir_protocol::{Action, Chord};
use telechir_testkit::assert_eventually;
use telechir_x11::{Desktop, PrivateDisplay};

use crate::fixture;

const TEXT: &str =
    "Grüße, мир! 中文汉字 日本語 한국어 עברית €½ 😀 naïve “x” ẞßİı Ω≈ç√∫ αβγδεζηθ ЖЗИЙКЛМ";

pub(crate) async fn press(desktop: &mut Desktop, chord: &str) {
    let chord = Chord::parse(chord).unwrap();
    desktop
        .perform(&Action::Key { chord, repeat: 1 })
        .await
        .unwrap();
}

/// Waits until the window of the program is shown and drawn.
pub(crate) async fn appear(desktop: &mut Desktop, blank: &telechir_device::Frame) {
    let settle = Settle {
        quiet: Duration::from_millis(300),
        ceiling: Duration::from_secs(10),
    };
    assert_eventually!(
        desktop.capture().await.unwrap() != *blank,
        "a window appears"
    );
    desktop.settle(settle).await.unwrap();
}

/// Waits until the file contains exactly this text.
pub(crate) async fn assert_saved(path: &Path, expected: &str) {
    assert_eventually!(
        fs::read_to_string(path).unwrap_or_default(),
        |text| text == expected,
        "the file contains {expected:?}"
    );
}

/// Starts a program on this display and waits for its window.
pub(crate) async fn started(display: PrivateDisplay, program: &str, args: &[&str]) -> Desktop {
    let mut desktop = display.into_desktop().await.unwrap();
    let blank = desktop.capture().await.unwrap();
    let display = desktop.private_display().expect("the display is private");
    display.launch(program, args).await.unwrap();
    appear(&mut desktop, &blank).await;
    has_focus(&mut desktop).await;
    desktop
}

/// Waits until a window has the focus, which a window manager gives it some time after it is drawn.
async fn has_focus(desktop: &mut Desktop) {
    let listed =
        assert_eventually!(
            desktop.perform(&Action::ListWindows).await,
            |listed| match listed {
                Ok(report) => report.text.iter().any(|text| text.contains(", active")),
                // Without a window manager there is nothing to wait for.
                Err(_) => true,
            }
        );
    drop(listed);
}

fn written(folder: &tempfile::TempDir) -> PathBuf {
    fixture::workspace(folder).join("written.txt")
}

#[tokio::test]
async fn a_text_editor_gets_every_character() {
    let folder = fixture::session_dir();
    let path = written(&folder);
    fs::write(&path, "").unwrap();
    fixture::own(&path);
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    desktop.perform(&fixture::type_text(TEXT)).await.unwrap();
    press(&mut desktop, "ctrl+s").await;
    assert_saved(&path, TEXT).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_terminal_gets_every_character_and_lives() {
    let folder = fixture::session_dir();
    let path = written(&folder);
    let display = fixture::managed(&folder).await;
    let command = format!("cat > {}", path.display());
    let mut desktop = started(display, "xterm", &["-u8", "-e", "sh", "-c", &command]).await;
    for _ in 0..2 {
        desktop.perform(&fixture::type_text(TEXT)).await.unwrap();
        press(&mut desktop, "Return").await;
    }
    let expected = format!("{TEXT}\n{TEXT}\n");
    assert_saved(&path, &expected).await;
    desktop.close().await.unwrap();
}
