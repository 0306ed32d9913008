//! Tasks in real programs from their first window to the end state in a file, step by step through
//! `do`. `scripts/tasks.py` has the steps; benchmarks/tasks.md describes the tasks.

use std::path::Path;
use std::process::{Command, Stdio};

use telechir_testkit::gate::{Component, require};

use crate::sessions::SessionFixture;
use crate::telechir::Ran;

fn is_done(task: &str) {
    for component in [Component::XServer, Component::Dbus] {
        require(component);
    }
    let fixture = SessionFixture::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tasks.py");
    let telechir = fixture.command(&[]);
    let variables = telechir.get_envs();
    let mut python = Command::new("python3");
    python
        .arg(script)
        .arg(telechir.get_program())
        .arg(task)
        .env_clear()
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        // A loaded machine may take longer than the limit of the measurement.
        .env("SECONDS", "120")
        .env("RUNS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = Ran::of(&mut python, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 of 1"), "{ran:?}");
}

#[test]
fn words_are_replaced_in_a_letter() {
    is_done("replace");
}

#[test]
fn a_text_is_saved_in_a_folder_by_the_file_dialog() {
    is_done("save-as");
}

#[test]
fn a_result_is_copied_into_another_program() {
    is_done("sum");
}

#[test]
fn a_calculators_session_is_exported() {
    is_done("history");
}
