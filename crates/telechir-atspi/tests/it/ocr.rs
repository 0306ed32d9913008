//! Windows that say nothing of themselves: their words are read off the pixels and aimed at.

use std::fs;
use std::time::{Duration, Instant};

use telechir_device::{Computer as _, DeviceError, MarkKind};
use telechir_protocol::{Named, Target};
use telechir_testkit::gate::{Part, require};
use telechir_testkit::scene::LEGIBLE_XTERM;

use crate::fixture::{Stage, click};

/// How long the terminal may take to show its words or to hear of a click, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal that shows these lines, each followed by three empty ones, and writes down where it
/// is clicked: in a file of the workspace, in terminals' own words.
async fn terminal(lines: &[&str]) -> Stage {
    require(Part::Tesseract);
    let shown = lines.join("\\r\\n\\r\\n\\r\\n\\r\\n");
    let script = format!(
        "stty raw -echo; printf '\\033[?1000h{shown}\\r\\n'; dd bs=1 count=6 of=clicked; sleep 600"
    );
    let command = ["-e", "sh", "-c", script.as_str()];
    let mut stage = Stage::with("xterm", &[&LEGIBLE_XTERM[..], &command].concat()).await;
    let last = lines.last().copied().unwrap_or_default();
    let began = Instant::now();
    loop {
        let words = stage.desktop.ocr_words(99).await.unwrap();
        if words
            .iter()
            .any(|word| word.line == format!("text {last:?}"))
        {
            return stage;
        }
        assert!(began.elapsed() < PATIENCE, "{words:?}");
    }
}

fn named(name: &str) -> Target {
    Target::Named(Named {
        name: Some(name.to_owned()),
        ..Named::default()
    })
}

#[tokio::test]
async fn words_in_a_terminal_are_clicked_by_what_they_say() {
    let mut stage = terminal(&["Delete all messages", "Keep them", "Ask me later"]).await;
    let words = stage.desktop.ocr_words(99).await.unwrap();
    assert!(
        words.iter().all(|word| word.kind == MarkKind::Words),
        "{words:?}"
    );
    assert_eq!(stage.desktop.ocr_words(2).await.unwrap().len(), 2);
    stage.perform(click(named("keep them"))).await.unwrap();
    let file = stage.workspace.join("clicked");
    let began = Instant::now();
    let told = loop {
        let told = fs::read(&file).unwrap_or_default();
        if told.len() == 6 {
            break told;
        }
        assert!(began.elapsed() < PATIENCE, "{told:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    // A press of the first button, its column and its row counted from 33: the fifth line.
    assert_eq!((&told[..4], told[5]), (&b"\x1b[M "[..], 32 + 5), "{told:?}");
    assert!((33..42).contains(&told[4]), "{told:?}");
    stage.close().await;
}

#[tokio::test]
async fn words_that_stand_twice_or_nowhere_are_errors_that_say_what_there_is() {
    let mut stage = terminal(&["Open this file", "Open that file", "Close"]).await;
    let error = stage.perform(click(named("Open"))).await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, DeviceError::Refused { .. }), "{said}");
    assert!(
        said.contains("read at 2 places")
            && said.contains("text \"Open this file\" at 1")
            && said.contains("text \"Open that file\" at 1"),
        "{said}"
    );
    let error = stage.perform(click(named("Print"))).await.unwrap_err();
    assert!(error.to_string().contains("there is none"), "{error}");
    stage.close().await;
}
