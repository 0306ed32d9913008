//! Text in the window of a real terminal, which has no accessibility.

use std::time::{Duration, Instant};

use telechir_device::{Computer as _, DeviceError, Frame, TextRecognizer as _};
use telechir_ocr::Tesseract;
use telechir_process::{Identity, is_root};
use telechir_protocol::Size;
use telechir_testkit::desktop_fixture::LEGIBLE_XTERM;
use telechir_testkit::gate::{Component, require};
use telechir_x11::{DisplayOptions, PrivateDisplay};

/// How long the terminal may take to show its text on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The user for programs, which no session uses.
fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_830)).flatten()
}

#[tokio::test]
async fn terminal_text_is_recognized_at_its_position() {
    require(Component::XServer);
    require(Component::Tesseract);
    let folder = tempfile::tempdir().unwrap();
    let options = DisplayOptions::new(folder.path(), identity());
    let mut display = PrivateDisplay::start(options).await.unwrap();
    let script = "printf 'Delete all messages\\n\\n\\n\\nKeep them\\n'; sleep 600";
    let command = ["-e", "sh", "-c", script];
    display
        .launch("xterm", &[&LEGIBLE_XTERM[..], &command].concat())
        .await
        .unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    let mut reader = Tesseract::new(identity());
    let start = Instant::now();
    loop {
        let frame = desktop.capture().await.unwrap();
        let lines = reader.read(&frame).await.unwrap();
        let line = |text: &str| lines.iter().find(|line| line.text() == text);
        if let (Some(delete), Some(keep)) = (line("Delete all messages"), line("Keep them")) {
            let (delete, keep) = (delete.bounds().unwrap(), keep.bounds().unwrap());
            assert!((100..130).contains(&delete.x), "{delete:?}");
            assert!((80..130).contains(&delete.y), "{delete:?}");
            assert!((3..6).contains(&((keep.y - delete.y) / 15)), "{keep:?}");
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{lines:?}");
    }
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_missing_tesseract_is_reported_with_its_package() {
    let mut reader = Tesseract::new(identity()).with_program("/nonexistent/tesseract");
    let frame = Frame::new(Size::new(2, 2), vec![0; 16]).unwrap();
    let error = reader.read(&frame).await.unwrap_err();
    let DeviceError::Unavailable { message, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        message,
        "`tesseract` is not installed; it comes with the package `tesseract-ocr`"
    );
}
