//! Events as they come: of all sessions in one stream that resumes, and of one turn before its answer.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::{approvals, bash_with_id, turn_path};
use crate::sessions::SessionFixture;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sent {
    id: String,
    pub(super) kind: String,
    data: Value,
}

impl Sent {
    /// Whether it is the end of this call.
    fn answers(&self, call: &str) -> bool {
        self.kind == "call_answered" && self.data["call_id"] == call
    }
}

/// The events of a stream as they come.
pub(super) struct Events(BufReader<TcpStream>);

impl Events {
    /// All sessions' events, after the one with this id.
    fn of_all(client: &Client, last: Option<&str>) -> Self {
        let last = last.map(|last| format!("Last-Event-ID: {last}"));
        let headers: Vec<&str> = last.as_deref().into_iter().collect();
        Self(client.stream(&headers, "/v1/events"))
    }

    /// The events of a turn that has begun or is joined when this returns.
    pub(super) fn of_turn(client: &Client, session: &str, response: &str) -> Self {
        let accept = ["Accept: text/event-stream"];
        Self(client.stream_post(&accept, &turn_path(session), response))
    }

    /// The answer of a turn, which is its last event.
    pub(super) fn answer(&mut self) -> Value {
        let is_last = |sent: &[Sent]| sent.last().is_some_and(|one| one.kind == "result");
        let last = self.until(is_last).pop();
        last.expect("an answer").data
    }

    /// What a session has recorded up to the answer of this call.
    fn recorded(client: &Client, session: &str, call: &str) -> Vec<Value> {
        let path = format!("/v1/sessions/{session}/events?from=1");
        let mut events = Self(client.stream(&[], &path));
        let sent = events.until(|sent| sent.iter().any(|sent| sent.answers(call)));
        sent.into_iter().map(|sent| sent.data).collect()
    }

    /// The next event; none after the end of the stream.
    pub(super) fn next(&mut self) -> Option<Sent> {
        let (mut id, mut kind) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => text.clone_into(&mut id),
                Some(("event", text)) => text.clone_into(&mut kind),
                Some(("data", text)) => {
                    let data = serde_json::from_str(text).expect("JSON");
                    return Some(Sent { id, kind, data });
                }
                _ => {}
            }
        }
    }

    /// The events up to the first with which this is true of all of them.
    pub(super) fn until(&mut self, is_all: impl Fn(&[Sent]) -> bool) -> Vec<Sent> {
        let mut sent = Vec::new();
        while !is_all(&sent) {
            sent.push(self.next().expect("an event"));
        }
        sent
    }

    /// The sessions with which the stream begins, sorted.
    fn started(&mut self) -> (Vec<String>, String) {
        let Sent { id, kind, data } = self.next().expect("an event");
        assert_eq!(kind, "events_started", "{data}");
        let names = data["sessions"].as_array().expect("sessions");
        let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
        (names.collect(), id)
    }

    /// What comes until the server ends the stream.
    pub(super) fn until_closed(&mut self) -> Vec<Sent> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The event that says that no more of a session follow, and those before it.
    fn until_ended(&mut self) -> (Vec<Sent>, Value) {
        let mut sent = self.until(|sent| sent.last().is_some_and(|l| l.kind == "events_ended"));
        let ended = sent.pop().expect("an event").data;
        (sent, ended)
    }
}

/// The events of a session up to the answer of this call, as the session's own stream has them.
fn of_session(sent: &[Sent], session: &str, call: &str) -> Vec<Value> {
    let own = sent
        .iter()
        .filter(|sent| sent.data["session_id"] == *session);
    let mut own: Vec<Sent> = own.cloned().collect();
    let end = own.iter().position(|sent| sent.answers(call));
    own.truncate(end.expect("the call was answered") + 1);
    let without_session = |mut sent: Sent| {
        if let Some(data) = sent.data.as_object_mut() {
            data.remove("session_id");
        }
        sent.data
    };
    own.into_iter().map(without_session).collect()
}

fn sorted<const N: usize>(mut ids: [&String; N]) -> Vec<String> {
    ids.sort();
    ids.map(String::clone).to_vec()
}

#[test]
fn the_events_of_all_sessions_resume_at_another_server_with_nothing_lost_or_doubled() {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let agent = server.client("agent");
    let (one, two) = (agent.open(&json!({})), agent.open(&json!({})));
    agent.post(&turn_path(&one), &bash_with_id("e0", "echo before"));
    // The end of a turn is recorded after its answer.
    let path = format!("/v1/sessions/{one}/events?from=1");
    let is_completed = |sent: &[Sent]| sent.last().is_some_and(|l| l.kind == "turn_completed");
    Events(agent.stream(&[], &path)).until(is_completed);
    let mut events = Events::of_all(&agent, None);
    let (names, first_id) = events.started();
    assert_eq!(names, sorted([&one, &two]));
    agent.post(&turn_path(&one), &bash_with_id("e1", "echo one"));
    agent.post(&turn_path(&two), &bash_with_id("e2", "echo two"));
    let has = |call: &'static str| move |sent: &[Sent]| sent.iter().any(|sent| sent.answers(call));
    let mut sent = events.until(|sent| has("e1")(sent) && has("e2")(sent));
    // The client has read half of it when the connection breaks; more happens, the server is killed, and
    // another session is opened.
    drop(events);
    sent.truncate(sent.len() / 2);
    let last = sent.last().expect("an event").id.clone();
    agent.post(&turn_path(&one), &bash_with_id("e3", "echo three"));
    server.kill_and_restart();
    let agent = server.client("agent");
    let three = agent.open(&json!({}));
    agent.post(&turn_path(&three), &bash_with_id("e4", "echo four"));
    let mut events = Events::of_all(&agent, Some(&last));
    assert_eq!(events.started().0, sorted([&one, &two, &three]));
    // The sessions' events come in no particular order beside each other.
    let rest = events.until(|rest| {
        let is_answered = |call| has(call)(&sent) || has(call)(rest);
        ["e2", "e3", "e4"].into_iter().all(is_answered)
    });
    sent.extend(rest);
    let mut uncut = Events::of_all(&agent, Some(&first_id));
    uncut.started();
    let uncut = uncut.until(|sent| has("e2")(sent) && has("e3")(sent) && has("e4")(sent));
    for (session, call, first) in [
        (&one, "e3", "turn_started"),
        (&two, "e2", "turn_started"),
        (&three, "e4", "session_started"),
    ] {
        let recorded = Events::recorded(&agent, session, call);
        let joined = of_session(&sent, session, call);
        assert!(recorded.ends_with(&joined), "{joined:#?}");
        assert_eq!(joined[0]["event"], first, "{joined:#?}");
        // A stream that was never cut has the same.
        assert_eq!(of_session(&uncut, session, call), joined);
    }
    let mut start = Events(agent.stream(&[], "/v1/events?from=start"));
    start.started();
    let start = start.until(|sent| has("e3")(sent));
    let recorded = Events::recorded(&agent, &one, "e3");
    assert_eq!(of_session(&start, &one, "e3"), recorded);
    for id in [&one, &two, &three] {
        let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
}

#[test]
fn a_stream_reports_the_end_of_a_session_and_whether_anything_is_missing() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    let flags = ["--shell", &record, "--record-on-request"];
    let server = Server::in_folder(sessions, &flags);
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    let open = |record: bool| agent.open(&json!({"record": record}));
    let (recorded, other) = (open(true), open(false));
    let mut live = Events::of_all(&viewer, None);
    let (names, last) = live.started();
    assert_eq!(names, sorted([&recorded, &other]));
    let mut own = Events::of_all(&agent, None);
    let (_, own_last) = own.started();
    agent.post(&turn_path(&recorded), &bash_with_id("a1", "echo recorded"));
    let close = |id: &str| {
        let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    };
    close(&recorded);
    let complete = |id: &str| json!({"event": "events_ended", "session_id": id, "complete": true});
    let (sent, ended) = live.until_ended();
    assert_eq!(ended, complete(&recorded));
    assert_eq!(sent.last().expect("an event").kind, "session_closed");
    // An agent reads no recordings: the session itself has said that this was all.
    let (_, ended) = own.until_ended();
    assert_eq!(ended, complete(&recorded));
    // Who was cut off has the rest from the recording.
    let mut resumed = Events::of_all(&viewer, Some(&last));
    assert_eq!(resumed.started().0, sorted([&other]));
    let (again, ended) = resumed.until_ended();
    assert_eq!(ended, complete(&recorded));
    let data = |sent: &[Sent]| sent.iter().map(|one| one.data.clone()).collect::<Vec<_>>();
    assert_eq!(data(&again), data(&sent));
    // An agent reads no recordings, and the session is gone.
    let mut cut_off = Events::of_all(&agent, Some(&own_last));
    let missing = json!({"event": "events_ended", "session_id": null, "complete": false});
    cut_off.started();
    let (nothing, ended) = cut_off.until_ended();
    assert_eq!((nothing, ended), (Vec::new(), missing));
    // A session that was killed has not said that this was all.
    kill_process(server.sessions.session_host(), Signal::KILL).expect("a signal");
    let (_, ended) = live.until_ended();
    let killed = json!({"event": "events_ended", "session_id": other, "complete": false});
    assert_eq!(ended, killed);
}

#[test]
fn a_session_opened_again_goes_on_in_the_same_stream() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    let server = Server::in_folder(sessions, &["--shell", &record]);
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    let mut streams = [&agent, &viewer].map(|client| Events::of_all(client, None));
    for events in &mut streams {
        events.started();
    }
    // Its recording goes on under the same key.
    let open = || {
        let key = ["Idempotency-Key: same"];
        let answer = agent.request_with(&key, "POST", "/v1/sessions", Some("{}"));
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.json()["id"].as_str().map(str::to_owned);
        id.expect("an id")
    };
    let run = |id: &str, call: &str| {
        agent.post(&turn_path(id), &bash_with_id(call, "echo done"));
    };
    let close = |id: &str| {
        let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    };
    let id = open();
    for call in ["g1", "g2", "g3"] {
        run(&id, call);
        close(&id);
        assert_eq!(open(), id);
    }
    // After this one a viewer reads the rest from the recording, and the next session may be open by then.
    run(&id, "g4");
    kill_process(server.sessions.session_host(), Signal::KILL).expect("a signal");
    assert_eq!(open(), id);
    run(&id, "g5");
    let recorded = Events::recorded(&agent, &id, "g5");
    for events in &mut streams {
        let mut sent = events.until(|sent| sent.iter().any(|sent| sent.answers("g5")));
        sent.retain(|sent| sent.kind != "events_ended");
        assert_eq!(of_session(&sent, &id, "g5"), recorded);
    }
    close(&id);
    for mut events in streams {
        let (rest, ended) = events.until_ended();
        assert_eq!(ended["complete"], true, "{ended}");
        assert!(!rest.iter().any(|sent| sent.kind == "call_answered"));
    }
}

#[test]
fn a_stream_of_all_events_has_those_that_its_token_may_read() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    server.sessions.start_shell("local", &[]);
    let anna = Client::new(&server.address, &server.token("agent", "anna"));
    let ben = Client::new(&server.address, &server.token("agent", "ben"));
    let (viewer, id) = (server.client("viewer"), anna.open(&json!({})));
    let bound = anna.post("/v1/sessions", &json!({"token": true}).to_string());
    let (bound_id, token) = (bound["id"].as_str(), bound["token"].as_str());
    let bound = Client::new(&server.address, token.expect("a token"));
    let started = |client: &Client| Events::of_all(client, None).started().0;
    let bound_id = bound_id.expect("an id").to_owned();
    assert_eq!(started(&anna), sorted([&id, &bound_id]));
    assert_eq!(started(&ben), Vec::<String>::new());
    assert_eq!(started(&bound), sorted([&bound_id]));
    let local = "local".to_owned();
    assert_eq!(started(&viewer), sorted([&id, &bound_id, &local]));
    for wrong in ["x", "0.0", "7", "http-a"] {
        let header = format!("Last-Event-ID: {wrong}");
        let refused = anna.request_with(&[&header], "GET", "/v1/events", None);
        refused.is_problem(400, "bad-request");
    }
    let refused = anna.request("GET", "/v1/events?from=1", None);
    refused.is_problem(400, "bad-request");
    // The others' streams may not be over yet.
    let cleo = Client::new(&server.address, &server.token("agent", "cleo"));
    let streams: Vec<Events> = (0..4).map(|_| Events::of_all(&cleo, None)).collect();
    let fifth = cleo.request("GET", "/v1/events", None);
    fifth.is_problem(429, "too-many");
    drop(streams);
    // With its token a stream ends, also while nothing happens.
    let mut ends = Events::of_all(&anna, None);
    ends.started();
    server.revoke("anna");
    assert_eq!(ends.until_closed(), Vec::new());
    assert_eq!(server.sessions.close("local").code, Some(0));
    let operator = server.client("operator");
    for id in [&id, &bound_id] {
        let closed = operator.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
}

#[test]
fn a_turn_reports_what_happens_before_its_answer() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    fs::write(sessions.file("policy.toml"), approvals::POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--shell"]);
    let (agent, operator) = (server.client("agent"), server.client("operator"));
    let id = agent.open(&json!({}));
    let accept = ["Accept: text/event-stream", "Idempotency-Key: turn"];
    let response = bash_with_id("t1", "touch t1 && echo made");
    let mut events = Events(agent.stream_post(&accept, &turn_path(&id), &response));
    let requested = |sent: &[Sent]| {
        sent.iter()
            .any(|one| one.data["state"] == "awaiting_approval")
    };
    let before = events.until(requested);
    let question = approvals::question(&operator);
    let state = before.last().expect("an event");
    assert_eq!(state.data["approval"], question["id"]);
    let approve = json!({"decision": "approve", "digest": question["digest"]});
    let approved = approvals::answer(&operator, &question, &approve);
    assert_eq!(approved.status, 204, "{approved:?}");
    let is_last = |sent: &[Sent]| sent.last().is_some_and(|one| one.kind == "result");
    let mut sent = before;
    sent.extend(events.until(is_last));
    assert_eq!(events.next(), None, "the answer is the last event");
    let result = sent.pop().expect("the answer").data;
    let kinds: Vec<&str> = sent.iter().map(|one| one.kind.as_str()).collect();
    let recorded = kinds.iter().copied().filter(|kind| *kind != "state");
    let recorded: Vec<&str> = recorded.collect();
    assert_eq!(recorded.first(), Some(&"turn_started"), "{kinds:?}");
    assert_eq!(recorded.last(), Some(&"turn_completed"), "{kinds:?}");
    for kind in [
        "call_received",
        "question_asked",
        "action_finished",
        "call_answered",
    ] {
        assert!(recorded.contains(&kind), "{kind}: {kinds:?}");
    }
    let text = result["items"][0]["content"].to_string();
    assert!(text.contains("made"), "{result}");
    // The same as without events. A second request has the events of the first.
    let key = ["Idempotency-Key: turn"];
    let alone = agent.request_with(&key, "POST", &turn_path(&id), Some(&response));
    assert_eq!(alone.json(), result);
    let mut again = Events(agent.stream_post(&accept, &turn_path(&id), &response));
    let mut again = again.until(is_last);
    assert_eq!(again.pop().expect("the answer").data, result);
    let again = again.iter().map(|one| one.kind.as_str());
    let again: Vec<&str> = again.filter(|kind| *kind != "state").collect();
    assert_eq!(again, recorded);
    // A turn that its client does not wait for, one that fails, and neutral calls.
    let headers = ["Accept: text/event-stream", "Prefer: respond-async"];
    let slow = bash_with_id("t2", "sleep 1000");
    let mut pending = Events(agent.stream_post(&headers, &turn_path(&id), &slow));
    let pending = pending.until(|sent| sent.last().is_some_and(|one| one.kind == "pending"));
    let turn = pending.last().expect("an event").data["turn"].clone();
    let cancel = json!({"turn": turn}).to_string();
    let mut waits = Events::of_turn(&agent, &id, &slow);
    waits.until(|sent| sent.last().is_some_and(|one| one.kind == "state"));
    let cancelled = agent.request("POST", &format!("/v1/sessions/{id}/cancel"), Some(&cancel));
    assert_eq!(cancelled.status, 204, "{cancelled:?}");
    let failed = waits.until(|sent| sent.last().is_some_and(|one| one.kind == "problem"));
    let problem = &failed.last().expect("an event").data;
    assert_eq!(problem["type"], "urn:telechir:problem:not-answered");
    let calls = json!({"contents": [{"type": "shell_call", "call_id": "n1", "action": "execute",
        "commands": ["echo neutral"]}]});
    let path = format!("/v1/sessions/{id}/calls");
    let mut neutral = Events(agent.stream_post(&accept[..1], &path, &calls.to_string()));
    let result = neutral.answer();
    assert!(
        result["results"].to_string().contains("neutral"),
        "{result}"
    );
    server.assert_closes(&agent, &id);
}

#[test]
fn a_turn_ends_with_the_connection_of_its_events() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let slow = bash_with_id("s1", "sleep 1000");
    let mut events = Events::of_turn(&agent, &id, &slow);
    events.until(|sent| sent.iter().any(|one| one.kind == "action_started"));
    drop(events);
    let idle = || agent.get(&format!("/v1/sessions/{id}"))["state"] == "idle";
    assert_eventually_blocking!(idle(), "the command was killed");
    server.assert_closes(&agent, &id);
}
