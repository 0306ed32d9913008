//! The live page of a run: read-only for whoever reads what is no terminal, and people who take control.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::model::{Model, bash, computer, message, responses};
use super::{KEY, command};
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

/// A running `telechir view` and its page, which can be answered.
struct View {
    child: Child,
    page: OpenedPage,
}

impl View {
    fn of(telechir: &Telechir, session: &str) -> Self {
        let mut command = telechir.command(&["view", session]);
        let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("an address");
        let page = OpenedPage::of(line.trim());
        Self { child, page }
    }

    /// Waits for an event of the session that was not seen before.
    fn wait_for(events: &mut impl Iterator<Item = Value>, name: &str) {
        let found = events.find(|event| event["event"] == name);
        assert!(found.is_some(), "no {name}");
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn a_person_takes_control_of_a_run_and_its_calls_wait() {
    require(Component::XServer);
    let telechir = Telechir::new();
    // The model answers when the test lets it.
    let (answers, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let model = Model::start(move |request| {
        let _test_ended = waits.lock().expect("one request at a time").recv();
        match responses(request) {
            0 => computer("t1", "cursor_position", json!({})),
            _ => message("Found."),
        }
    });
    let (policy, base_url) = (telechir.permissive_policy(), model.base_url());
    let mut run = telechir.command(&[
        "run",
        "Where is the pointer?",
        "--desktop",
        "--display=640x480",
        "--policy",
        &policy,
        "--base-url",
        &base_url,
        "--provider",
        "anthropic",
        "--model",
        "claude-opus-5-5",
    ]);
    run.env(KEY.0, KEY.1);
    let mut run = run.spawn().expect("the binary starts");
    let id = format!("run-{}", run.id());
    assert_eventually_blocking!(model.requests().len() == 1, "the model is asked");
    let view = View::of(&telechir, &id);
    let mut viewer = view.page.viewer(&id);
    let mut events = view.page.events(&id);

    // While the model thinks, the person acts; its call then waits until they are done.
    let control = viewer.take()["control"]["id"].clone();
    assert!(control.is_string(), "{control}");
    let to = json!({"move": {"x": 123, "y": 45}});
    viewer.send(&json!({"input": {"control": control, "input": to}}));
    answers.send(()).expect("the model waits");
    View::wait_for(&mut events, "response_received");
    viewer.send(&json!("give"));
    assert_eq!(viewer.answer(), json!({"control": {"id": null}}));
    let mut then = events.by_ref().map(|event| event["event"].clone());
    let first = then.find(|name| *name == "control_given_back" || *name == "turn_started");
    assert_eq!(first, Some(json!("control_given_back")));
    assert_eventually_blocking!(model.requests().len() == 2, "the call is executed");
    let result = model.requests()[1]["messages"].to_string();
    assert!(result.contains("X=123,Y=45"), "{result}");

    // The run is over, and its devices stay until the person gives control back.
    assert!(viewer.take()["control"]["id"].is_string());
    answers.send(()).expect("the model waits");
    View::wait_for(&mut events, "task_ended");
    assert_eq!(run.try_wait().expect("a status"), None);
    let sessions = view.page.get("/v1/sessions").json()["sessions"].clone();
    let own = sessions.as_array().expect("sessions").iter();
    let own = own.clone().find(|session| session["id"] == *id);
    let by = own.expect("the run")["control"]["by"].clone();
    assert!(
        by.as_str()
            .is_some_and(|by| by.starts_with("operator/view-")),
        "{by}"
    );
    viewer.send(&json!("give"));
    assert_eq!(viewer.answer(), json!({"control": {"id": null}}));
    assert_eq!(run.wait().expect("its end").code(), Some(0));
    drop(view);
    telechir.assert_nothing_left();
}

#[test]
fn the_page_of_a_call_ends_with_it() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let workspace = telechir.folder().join("place");
    fs::create_dir(&workspace).expect("a workspace");
    let mut command = telechir.command(&[
        "exec",
        "--dialect=anthropic-messages",
        "--shell",
        "--view",
        "--policy",
        &policy,
        "--workspace",
        &workspace.to_string_lossy(),
    ]);
    let mut exec = command.spawn().expect("the binary starts");
    let response = crate::sessions::bash("until [ -e go ]; do sleep 0.1; done");
    let mut stdin = exec.stdin.take().expect("a pipe");
    stdin.write_all(response.as_bytes()).expect("it reads");
    drop(stdin);
    let stderr = BufReader::new(exec.stderr.take().expect("a pipe"));
    let mut lines = stderr.lines().map(|line| line.expect("a line"));
    let line = lines
        .find(|line| line.contains("live page"))
        .expect("an address");
    let id = format!("exec-{}", exec.id());
    assert!(line.contains(&format!("telechir view {id}")), "{line}");
    let url = line
        .split(' ')
        .find_map(|word| word.strip_suffix(';').filter(|url| url.starts_with("http")));
    let page = OpenedPage::of(url.expect("an address"));
    assert_eq!(page.role, "viewer");
    View::wait_for(&mut page.events(&id), "action_started");
    fs::write(workspace.join("go"), "").expect("a file");
    for _rest in lines {}
    assert_eq!(exec.wait().expect("its end").code(), Some(0));
    assert!(page.is_gone());
    telechir.assert_nothing_left();
}
