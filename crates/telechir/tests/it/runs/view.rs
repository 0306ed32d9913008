//! `run --view`: the live page of a run, read-only for whoever reads what is no terminal.

use std::fs;
use std::io::{BufRead as _, BufReader};

use serde_json::json;
use telechir_testkit::gate::{Component, require};

use super::command;
use super::model::{Model, bash};
use crate::telechir::{Ran, Telechir};
use crate::view::OpenedPage;

#[test]
fn the_page_of_a_run_ends_with_it() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let workspace = telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let model = Model::start(|_| bash("t1", "echo so far; sleep 1000"));
    let path = workspace.to_string_lossy();
    let flags = [
        "Wait.",
        "--view",
        "--workspace",
        &path,
        "--provider",
        "anthropic",
        "--model",
        "claude-opus-5-5",
    ];
    let mut run = command(&telechir, &model, &flags)
        .spawn()
        .expect("the binary starts");
    let stderr = BufReader::new(run.stderr.take().expect("a pipe"));
    let mut lines = stderr.lines().map(|line| line.expect("a line"));
    let line = lines
        .find(|line| line.contains("live page"))
        .expect("an address");
    assert!(
        line.contains("read-only") && line.contains("telechir view run-"),
        "{line}"
    );
    let url = line
        .split(' ')
        .find_map(|word| word.strip_suffix(';').filter(|url| url.starts_with("http")));
    let page = OpenedPage::of(url.expect("an address"));
    let id = format!("run-{}", run.id());
    assert_eq!(
        (page.role.as_str(), &page.shows),
        ("viewer", &format!("session={id}"))
    );
    // Other tests have sessions, too.
    let sessions = page.get("/v1/sessions").json()["sessions"].clone();
    let sessions = sessions.as_array().expect("sessions");
    let own = sessions.iter().find(|session| session["id"] == *id);
    assert_eq!(own.expect("the run")["devices"], json!(["shell"]));
    // What the run does, from its recording.
    page.wait_in_stream(&format!("/v1/sessions/{id}/events?from=1"), "echo so far");
    page.get(&format!("/v1/sessions/{id}/output"))
        .is_problem(403, "forbidden");
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    for _rest in lines {}
    assert_eq!(run.wait().expect("its end").code(), Some(130));
    assert!(page.is_gone());
    let tokens = Ran::of(&mut telechir.command(&["tokens", "list", "--json"]), "").json();
    assert_eq!(tokens, json!([]));
    telechir.assert_nothing_left();
}
