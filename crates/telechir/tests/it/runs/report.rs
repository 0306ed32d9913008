//! The report of a run: its task, its pictures each once, and where the model pointed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::json;
use telechir_testkit::gate::{Component, require};

use super::KEY;
use super::model::{Model, computer, message, responses};
use crate::telechir::{Ran, Telechir};

#[test]
fn a_report_shows_the_task_and_where_the_model_pointed() {
    require(Component::XServer);
    let telechir = Telechir::new();
    let model = Model::start(|request| match responses(request) {
        at @ (0 | 3 | 4) => computer(&format!("t{at}"), "screenshot", json!({})),
        1 => computer("t1", "left_click", json!({"coordinate": [100, 80]})),
        2 => computer(
            "t2",
            "left_click_drag",
            json!({"start_coordinate": [50, 60], "coordinate": [300, 200]}),
        ),
        _ => message("Pointed."),
    });
    let recording = telechir.folder().join("recording");
    let folder = recording.to_string_lossy();
    let base_url = model.base_url();
    let mut run = telechir.command(&[
        "run",
        "Point at <two> things.",
        "--provider",
        "anthropic",
        "--model",
        "claude-opus-5-5",
        "--desktop",
        "--base-url",
        &base_url,
        "--record",
        &folder,
    ]);
    let ran = Ran::of(run.env(KEY.0, KEY.1), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = telechir.folder().join("report.html");
    let made = telechir.run(&["report", &folder, "--out", &page.to_string_lossy()], "");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let html = fs::read_to_string(&page).expect("a page");
    for shown in [
        "Point at &lt;two&gt; things.",
        "Pointed.",
        " GMT</td>",
        r#"<circle cx="100.0" cy="80.0""#,
        r#"<polyline points="50.0,60.0 300.0,200.0 "/>"#,
        r#"id="on-desktop""#,
        r#"id="was-allow""#,
        r#"<article class="on-desktop was-allow">"#,
        "5, 0 not settled",
    ] {
        assert!(html.contains(shown), "{shown}");
    }
    assert!(!html.contains("<script"));
    let images: Vec<&str> = html.split(";base64,").skip(1).collect();
    let distinct: HashSet<&str> = images
        .iter()
        .filter_map(|image| image.split(')').next())
        .collect();
    assert_eq!(distinct.len(), images.len(), "an image is there twice");
    let bytes = size_of(&recording);
    assert!(
        html.len() as u64 <= bytes + bytes / 10,
        "{} of {bytes}",
        html.len()
    );
}

/// Bytes of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| match entry.file_type().expect("a type").is_dir() {
            true => size_of(&entry.path()),
            false => entry.metadata().expect("a size").len(),
        })
        .sum()
}
