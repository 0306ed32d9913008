//! The clipboard with real programs, large texts and unresponsive owners.

use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError};
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;
use telechir_testkit::xvfb::{XClient, connect};
use telechir_x11::{Desktop, Typing};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};

use crate::fixture;
use crate::programs::{assert_saved, press, started};

/// Larger than one request, so that it is transferred incrementally.
fn long() -> String {
    let line = "Zeile für Zeile, 一行一行 😀\n";
    line.repeat(400_000 / line.len())
}

async fn read(desktop: &mut Desktop) -> Result<String, DeviceError> {
    let performed = desktop.perform(&Action::ReadClipboard).await?;
    Ok(performed.text.unwrap())
}

async fn write(desktop: &mut Desktop, text: &str) {
    let text = text.to_owned();
    let performed = desktop.perform(&Action::WriteClipboard { text }).await;
    performed.unwrap();
}

/// An editor with a file of this text, and the path of the file.
async fn editor(folder: &tempfile::TempDir, text: &str) -> (Desktop, std::path::PathBuf) {
    let path = fixture::workspace(folder).join("text.txt");
    std::fs::write(&path, text).unwrap();
    fixture::own(&path);
    let display = fixture::managed(folder).await;
    let desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    (desktop, path)
}

#[tokio::test]
async fn copied_text_is_read() {
    let folder = fixture::session_dir();
    let text = "Grüße, 漢字 😀\n\tzweite Zeile";
    let (mut desktop, _) = editor(&folder, text).await;
    assert_eq!(read(&mut desktop).await.unwrap(), "The clipboard is empty.");
    press(&mut desktop, "ctrl+a").await;
    press(&mut desktop, "ctrl+c").await;
    assert_eventually!(read(&mut desktop).await.unwrap(), |copied| copied == text);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn written_text_can_be_pasted_incrementally() {
    let folder = fixture::session_dir();
    let (mut desktop, path) = editor(&folder, "").await;
    let text = long();
    write(&mut desktop, &text).await;
    press(&mut desktop, "ctrl+v").await;
    let settle = telechir_device::Settle {
        quiet: Duration::from_millis(300),
        ceiling: Duration::from_secs(10),
    };
    desktop.settle(settle).await.unwrap();
    press(&mut desktop, "ctrl+s").await;
    assert_saved(&path, &text).await;
    // Read it again from our own selection.
    let head: String = text.chars().take(1000).collect();
    assert!(read(&mut desktop).await.unwrap().starts_with(&head));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn long_text_is_read_incrementally() {
    let folder = fixture::session_dir();
    let text = long();
    let (mut desktop, _) = editor(&folder, &text).await;
    press(&mut desktop, "ctrl+a").await;
    press(&mut desktop, "ctrl+c").await;
    let copied = assert_eventually!(read(&mut desktop).await.unwrap(), |copied| copied
        .contains("more characters]"));
    assert!(text.starts_with(copied.split("\n[…").next().unwrap()));
    desktop.close().await.unwrap();
}

/// Takes ownership of the clipboard and never serves it.
fn own_in_silence(environment: &[(String, String)]) -> XClient {
    let (client, screen, _) = connect(environment);
    let root = client.setup().roots[screen].root;
    let id = client.generate_id().unwrap();
    let (class, look) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
    client
        .create_window(0, id, root, 0, 0, 1, 1, 0, class, 0, &look)
        .unwrap();
    let name = client.intern_atom(false, b"CLIPBOARD").unwrap();
    let clipboard = name.reply().unwrap().atom;
    let taken = client.set_selection_owner(id, clipboard, x11rb::CURRENT_TIME);
    taken.unwrap().check().unwrap();
    client
}

#[tokio::test]
async fn a_silent_selection_owner_times_out() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let environment = display.environment();
    let mut desktop = display.into_desktop().await.unwrap();
    let _silent = own_in_silence(&environment);
    let start = Instant::now();
    let error = read(&mut desktop).await.unwrap_err();
    assert!(matches!(error, DeviceError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(4));
    // The ownership can still be taken over.
    write(&mut desktop, "ours").await;
    assert_eq!(read(&mut desktop).await.unwrap(), "ours");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn typing_leaves_the_clipboard_as_it_was() {
    let folder = fixture::session_dir();
    let (desktop, path) = editor(&folder, "").await;
    let mut desktop = desktop.typing(Typing::Paste);
    write(&mut desktop, "the user's own").await;
    let text = format!("{}漢字 한글 😀 e\u{301}\nend", "long ".repeat(60));
    desktop.perform(&fixture::type_text(&text)).await.unwrap();
    assert_eq!(read(&mut desktop).await.unwrap(), "the user's own");
    press(&mut desktop, "ctrl+s").await;
    assert_saved(&path, &text).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_terminal_is_pasted_into_with_shift_insert() {
    let folder = fixture::session_dir();
    let path = fixture::workspace(&folder).join("written.txt");
    let display = fixture::managed(&folder).await;
    let command = format!("cat > {}", path.display());
    let args = ["-u8", "-e", "sh", "-c", &command];
    let desktop = started(display, "xterm", &args).await;
    let mut desktop = desktop.typing(Typing::Paste);
    let text = "echo 漢字 한글 Ж".to_owned();
    desktop.perform(&fixture::type_text(&text)).await.unwrap();
    press(&mut desktop, "Return").await;
    assert_saved(&path, &format!("{text}\n")).await;
    assert_eq!(read(&mut desktop).await.unwrap(), "The clipboard is empty.");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn text_is_typed_if_the_clipboard_cannot_be_saved() {
    let folder = fixture::session_dir();
    let (desktop, path) = editor(&folder, "").await;
    let _silent = own_in_silence(&desktop.environment());
    let mut desktop = desktop.typing(Typing::Paste);
    let text = "漢字 한글 ".repeat(3);
    desktop.perform(&fixture::type_text(&text)).await.unwrap();
    press(&mut desktop, "ctrl+s").await;
    assert_saved(&path, &text).await;
    desktop.close().await.unwrap();
}
