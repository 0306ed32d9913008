//! Text in the window of a real terminal, which has no accessibility.

use telechir_device::{Computer as _, DeviceError, Frame, TextLine, TextRecognizer as _};
use telechir_ocr::Tesseract;
use telechir_process::{Identity, is_root};
use telechir_protocol::Size;
use telechir_testkit::assert_eventually;
use telechir_testkit::desktop_fixture::LEGIBLE_XTERM;
use telechir_testkit::gate::{Component, require};
use telechir_x11::{DisplayOptions, PrivateDisplay};

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
    let mut read = async || {
        let frame = desktop.capture().await.unwrap();
        reader.read(&frame).await.unwrap()
    };
    let bounds = |lines: &[TextLine], text: &str| {
        let line = lines.iter().find(|line| line.text() == text);
        line.and_then(TextLine::bounds)
    };
    let both = ["Delete all messages", "Keep them"];
    let lines = assert_eventually!(read().await, |lines| {
        both.iter().all(|text| bounds(lines, text).is_some())
    });
    let [delete, keep] = both.map(|text| bounds(&lines, text).unwrap());
    assert!((100..130).contains(&delete.x), "{delete:?}");
    assert!((80..130).contains(&delete.y), "{delete:?}");
    assert!((3..6).contains(&((keep.y - delete.y) / 15)), "{keep:?}");
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
