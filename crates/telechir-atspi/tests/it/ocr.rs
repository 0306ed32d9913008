//! Windows without accessibility: their text is recognized on the pixels and clicked.

use std::fs;

use telechir_device::{DeviceError, ElementMarks as _, MarkKind};
use telechir_protocol::{NamedElement, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::desktop_fixture::LEGIBLE_XTERM;
use telechir_testkit::gate::{Component, require};

use crate::fixture::{DesktopFixture, click};

/// A terminal that shows these lines, each followed by three empty ones, and writes the mouse
/// report of a click to a file.
async fn terminal(lines: &[&str]) -> DesktopFixture {
    require(Component::Tesseract);
    let shown = lines.join("\\r\\n\\r\\n\\r\\n\\r\\n");
    let script = format!(
        "stty raw -echo; printf '\\033[?1000h{shown}\\r\\n'; dd bs=1 count=6 of=clicked; sleep 600"
    );
    let command = ["-e", "sh", "-c", script.as_str()];
    let mut fixture = DesktopFixture::with("xterm", &[&LEGIBLE_XTERM[..], &command].concat()).await;
    let last = lines.last().copied().unwrap_or_default();
    let line = format!("text {last:?}");
    assert_eventually!(fixture.desktop.ocr_words(99).await.unwrap(), |recognized| {
        recognized.iter().any(|item| item.line == line)
    });
    fixture
}

fn named(name: &str) -> Target {
    Target::Named(NamedElement {
        name: Some(name.to_owned()),
        ..NamedElement::default()
    })
}

#[tokio::test]
async fn terminal_text_is_clicked_by_its_content() {
    let mut fixture = terminal(&["Delete all messages", "Keep them", "Ask me later"]).await;
    let recognized = fixture.desktop.ocr_words(99).await.unwrap();
    assert!(
        recognized.iter().all(|item| item.kind == MarkKind::OcrText),
        "{recognized:?}"
    );
    assert_eq!(fixture.desktop.ocr_words(2).await.unwrap().len(), 2);
    fixture.perform(click(named("keep them"))).await.unwrap();
    let file = fixture.workspace.join("clicked");
    let report = assert_eventually!(fs::read(&file).unwrap_or_default(), |report| report.len()
        == 6);
    // A press of button 1 at column and row, counted from 33: the fifth line.
    assert_eq!(
        (&report[..4], report[5]),
        (&b"\x1b[M "[..], 32 + 5),
        "{report:?}"
    );
    assert!((33..42).contains(&report[4]), "{report:?}");
    fixture.close().await;
}

#[tokio::test]
async fn ambiguous_or_missing_text_lists_the_candidates() {
    let mut fixture = terminal(&["Open this file", "Open that file", "Close"]).await;
    let error = fixture.perform(click(named("Open"))).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, DeviceError::Refused { .. }), "{text}");
    assert!(
        text.contains("OCR found it at 2 points")
            && text.contains("text \"Open this file\" at 1")
            && text.contains("text \"Open that file\" at 1"),
        "{text}"
    );
    let error = fixture.perform(click(named("Print"))).await.unwrap_err();
    assert!(error.to_string().contains("no element matches"), "{error}");
    fixture.close().await;
}
