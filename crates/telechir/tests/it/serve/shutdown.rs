//! The end of a server: running requests end, sessions stay, and nothing is executed twice.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server, read};
use super::{bash_with_id, turn_path};
use crate::sessions::SessionFixture;

/// A server whose sessions have the folder `work` as their workspace.
fn server(flags: &[&str]) -> Server {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let work = sessions.file("work");
    fs::create_dir(&work).expect("a folder");
    let workspace = format!("--workspace={}", work.display());
    Server::in_folder(
        sessions,
        &[&["--shell", workspace.as_str()], flags].concat(),
    )
}

/// A command that says when it runs, and ends when the file `go` is there.
const WAITING: &str = "echo x >> ran; until [[ -e go ]]; do sleep 0.01; done; echo went";

#[test]
fn running_requests_end_and_nothing_new_begins() {
    let mut server = server(&["--shutdown-timeout=60"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let running = agent.start(&[], &turn_path(&id), &bash_with_id("g1", WAITING));
    let ran = server.sessions.file("work/ran");
    assert_eventually_blocking!(ran.exists(), "the command runs");
    let events = agent.stream(&[], &format!("/v1/sessions/{id}/events"));
    server.signal(Signal::TERM);
    assert_eventually_blocking!(
        TcpStream::connect(&server.address).is_err(),
        "no new connection"
    );
    // A stream without an end ends.
    let mut rest = String::new();
    let mut events = events;
    events
        .read_to_string(&mut rest)
        .expect("the end of the stream");
    fs::write(server.sessions.file("work/go"), "").expect("a file");
    let answer = read(running);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("went"), "{answer:?}");
    assert_eq!(server.exit_code(), Some(143));
    let list = server.sessions.list();
    assert_eq!(list[0]["name"], *id, "the session stays: {list}");
    server.start_again();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    server.assert_closes(&agent, &id);
}

#[test]
fn what_does_not_end_in_time_is_cancelled() {
    let mut server = server(&["--shutdown-timeout=0"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let running = agent.start(&[], &turn_path(&id), &bash_with_id("c1", WAITING));
    let ran = server.sessions.file("work/ran");
    assert_eventually_blocking!(ran.exists(), "the command runs");
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(143));
    assert_eq!(read(running).status, 0, "its connection is closed");
    server.start_again();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    // Nothing lets the command end.
    let state = || agent.get(&format!("/v1/sessions/{id}"))["state"].clone();
    assert_eventually_blocking!(state(), |state| state == "idle");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_turn_without_its_connection_outlives_the_server() {
    let mut server = server(&["--shutdown-timeout=0"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let accepted = agent.request_with(
        &["Prefer: respond-async", "Idempotency-Key: later"],
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("c2", WAITING)),
    );
    assert_eq!(accepted.status, 202, "{accepted:?}");
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(143));
    server.start_again();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    fs::write(server.sessions.file("work/go"), "").expect("a file");
    let path = format!("/v1/sessions/{id}/turns/later");
    let found = agent.request_with(&["Prefer: wait=60"], "GET", &path, None);
    assert!(
        found.status == 200 && found.body.contains("went"),
        "{found:?}"
    );
    server.assert_closes(&agent, &id);
}

#[test]
fn a_turn_sent_again_to_a_server_that_was_killed_is_executed_once() {
    let mut server = server(&[]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let done = bash_with_id("k1", "echo x >> done; echo first");
    let before = agent.post(&turn_path(&id), &done);
    let key = ["Prefer: respond-async", "Idempotency-Key: during"];
    let body = bash_with_id("k2", WAITING);
    let accepted = agent.request_with(&key, "POST", &turn_path(&id), Some(&body));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let ran = server.sessions.file("work/ran");
    assert_eventually_blocking!(ran.exists(), "the command runs");
    server.kill_and_restart();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    fs::write(server.sessions.file("work/go"), "").expect("a file");
    let answer = agent.request_with(
        &["Idempotency-Key: during"],
        "POST",
        &turn_path(&id),
        Some(&body),
    );
    assert!(
        answer.status == 200 && answer.body.contains("went"),
        "{answer:?}"
    );
    let after = agent.post(&turn_path(&id), &done);
    assert_eq!(before["items"], after["items"], "from the recording");
    for name in ["done", "ran"] {
        let text = fs::read_to_string(server.sessions.file("work").join(name)).expect("a file");
        assert_eq!(text, "x\n", "{name}");
    }
    server.assert_closes(&agent, &id);
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let mut server = server(&["--shutdown-timeout=600"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let running = agent.start(&[], &turn_path(&id), &bash_with_id("s1", WAITING));
    let ran = server.sessions.file("work/ran");
    assert_eventually_blocking!(ran.exists(), "the command runs");
    server.signal(Signal::INT);
    assert_eventually_blocking!(server.log(), |log| log.contains("stopping"));
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(130));
    assert_eq!(read(running).status, 0);
    server.start_again();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    server.assert_closes(&agent, &id);
}
