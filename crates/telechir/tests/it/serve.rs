//! `serve`: sessions, calls, events and approvals over HTTP, by the real binary.

mod action_service;
mod approvals;
mod cdp;
mod cdp_attacks;
pub(crate) mod client;
mod config;
mod contexts;
mod events;
mod front;
mod mcp;
mod metrics;
mod own_policy;
mod recordings;
mod shutdown;
mod tls;
mod tokens;
mod turns;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::sessions::{SessionFixture, bash, response};
use crate::telechir::{Ran, Telechir};
use client::{Client, Server, exchange};

fn turn_path(id: &str) -> String {
    format!("/v1/sessions/{id}/anthropic-messages")
}

/// The text of the results of a command in a session.
fn shell(client: &Client, id: &str, command: &str) -> String {
    let reply = client.post(&turn_path(id), &bash(command));
    reply["items"][0]["content"].to_string()
}

/// A response with a command whose call has this id.
fn bash_with_id(id: &str, command: &str) -> String {
    bash(command).replace("toolu_1", id)
}

#[test]
fn a_providers_response_is_answered_with_its_reply_items() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let opened = agent.request(
        "POST",
        "/v1/sessions",
        Some("{\"name\": \"my task\", \"idle_seconds\": 60}"),
    );
    assert_eq!(opened.status, 201, "{opened:?}");
    let session = opened.json();
    let id = session["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        opened.header("location"),
        Some(format!("/v1/sessions/{id}").as_str())
    );
    assert_eq!(session["name"], "my task");
    assert_eq!(session["opened_by"], "agent/test");
    assert_eq!(session["devices"], json!(["shell"]));
    assert_eq!(session["state"], "idle");
    assert_eq!(session["idle_limit_seconds"], 60);

    let reply = agent.post(
        &turn_path(&id),
        &bash_with_id("a1", "x=41; echo $((x + 1))"),
    );
    assert_eq!(reply["items"][0]["type"], "tool_result");
    assert_eq!(reply["items"][0]["tool_use_id"], "a1");
    let content = reply["items"][0]["content"].to_string();
    assert!(content.contains("42"), "{content}");
    assert_eq!(reply["report"], json!([]));
    let later = agent.post(&turn_path(&id), &bash_with_id("a2", "echo $x"));
    assert!(later["items"][0]["content"].to_string().contains("41"));

    let failed = agent.post(
        &turn_path(&id),
        &bash_with_id("a3", "exit_with() { return 3; }; exit_with"),
    );
    assert!(
        failed["items"][0].is_object(),
        "a failed call is answered: {failed}"
    );
    let described = agent.get(&format!("/v1/sessions/{id}"));
    assert_eq!(described["state"], "idle");
    server.assert_closes(&agent, &id);
    let gone = agent.request("GET", &format!("/v1/sessions/{id}"), None);
    gone.is_problem(404, "not-found");
    server.assert_leaves_nothing();
}

#[test]
fn a_desktop_is_seen_over_http() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop", "--shell"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"devices": ["desktop"], "display": "800x600"}));
    let tools = agent.get(&format!(
        "/v1/sessions/{id}/tools?dialect=anthropic-messages&model=claude-sonnet-4-5"
    ));
    assert_eq!(tools["tools"][0]["display_width_px"], 800, "{tools}");
    let look = response("computer", None, json!({"action": "screenshot"}));
    let reply = agent.post(&turn_path(&id), &look);
    let image = &reply["items"][0]["content"][0];
    assert_eq!(image["type"], "image", "{reply}");
    let data = image["source"]["data"].as_str().expect("an image");
    assert_eq!(crate::telechir::image_size(data), (800, 600));
    let refused = agent.post(&turn_path(&id), &bash_with_id("b1", "true"));
    assert_eq!(refused["items"][0]["is_error"], true, "no shell: {refused}");
    server.assert_closes(&agent, &id);
}

#[test]
fn sessions_survive_a_server_that_is_killed() {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let agent = server.client("agent");
    // One session had calls, the other none.
    let used = agent.open(&json!({}));
    let unused = agent.open(&json!({"name": "later"}));
    shell(&agent, &used, "x=survived; echo done > file");
    server.kill_and_restart();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    let sessions = agent.get("/v1/sessions");
    let mut ids: Vec<_> = sessions["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|session| session["id"].as_str().expect("an id").to_owned())
        .collect();
    let mut expected = vec![used.clone(), unused.clone()];
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected);
    let output = agent.post(&turn_path(&used), &bash_with_id("k2", "echo $x; cat file"));
    let output = output["items"][0]["content"].to_string();
    assert!(
        output.contains("survived") && output.contains("done"),
        "{output}"
    );
    for id in [&used, &unused] {
        let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
    assert_eq!(server.sessions.list(), json!([]));
}

#[test]
fn a_session_is_its_openers_and_looks_absent_to_other_agents() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let (anna, ben) = (
        Client::new(&server.address, &server.token("agent", "anna")),
        Client::new(&server.address, &server.token("agent", "ben")),
    );
    let (viewer, operator) = (server.client("viewer"), server.client("operator"));
    let id = anna.open(&json!({}));
    let path = format!("/v1/sessions/{id}");
    let turn = turn_path(&id);
    let foreign = ben.request("GET", &path, None);
    let missing = ben.request("GET", &path.replace("http-", "http-x"), None);
    foreign.is_problem(404, "not-found");
    assert_eq!(foreign.body, missing.body);
    for (method, path, body) in [
        ("POST", turn.clone(), Some(bash("true"))),
        (
            "POST",
            format!("{path}/calls"),
            Some("{\"contents\": []}".to_owned()),
        ),
        ("POST", format!("{path}/cancel"), Some("{}".to_owned())),
        (
            "POST",
            format!("{path}/extend"),
            Some("{\"seconds\": 9}".to_owned()),
        ),
        ("GET", format!("{path}/events"), None),
        ("GET", format!("{path}/tools?dialect=neutral"), None),
        ("GET", format!("{path}/turns/http-open"), None),
        ("DELETE", path.clone(), None),
    ] {
        let answer = ben.request(method, &path, body.as_deref());
        answer.is_problem(404, "not-found");
    }
    assert_eq!(ben.get("/v1/sessions"), json!({"sessions": []}));

    assert_eq!(viewer.get(&path)["id"], *id);
    viewer
        .request("POST", &turn, Some(&bash("true")))
        .is_problem(403, "forbidden");
    viewer
        .request("DELETE", &path, None)
        .is_problem(403, "forbidden");
    // Another token of the same owner replaces the first.
    let again = Client::new(&server.address, &server.token("agent", "anna"));
    assert!(shell(&again, &id, "echo again").contains("again"));
    let output = operator.post(&turn, &bash_with_id("o1", "echo operator"));
    assert!(
        output["items"][0]["content"]
            .to_string()
            .contains("operator")
    );
    server.assert_closes(&operator, &id);
}

#[test]
fn sessions_of_other_interfaces_are_read_and_never_used_over_http() {
    let server = Server::of_shells();
    server.sessions.start_shell("local", &[]);
    let (agent, operator) = (server.client("agent"), server.client("operator"));
    assert_eq!(agent.get("/v1/sessions"), json!({"sessions": []}));
    let listed = operator.get("/v1/sessions");
    assert_eq!(listed["sessions"][0]["id"], "local");
    assert_eq!(listed["sessions"][0]["opened_by"], Value::Null);
    let refused = operator.request("POST", &turn_path("local"), Some(&bash("true")));
    refused.is_problem(404, "not-found");
    let refused = operator.request("DELETE", "/v1/sessions/local", None);
    refused.is_problem(404, "not-found");
    assert_eq!(server.sessions.close("local").code, Some(0));
}

#[test]
fn a_session_has_no_more_than_the_server_was_started_with() {
    require(Component::Sandbox);
    let server = Server::with_flags(&["--shell", "--max-sessions=1"]);
    let agent = server.client("agent");
    let open = |body: Value| agent.request("POST", "/v1/sessions", Some(&body.to_string()));
    for body in [
        json!({"devices": ["desktop"]}),
        json!({"devices": ["shell", "browser"]}),
        json!({"devices": []}),
        json!({"policy": "allow everything"}),
        json!({"policy": 7}),
        json!({"record": true}),
        json!({"shell": "host"}),
        json!({"workspace": "/"}),
        json!({"idle_seconds": 0}),
        json!({"name": "x".repeat(101)}),
        json!({"display": "abc"}),
        json!({"display": "0x0"}),
    ] {
        open(body).is_problem(422, "unreadable");
    }
    let repeated = "{\"devices\": [\"shell\"], \"devices\": [\"shell\"]}";
    agent
        .request("POST", "/v1/sessions", Some(repeated))
        .is_problem(422, "unreadable");
    assert_eq!(server.sessions.list(), json!([]), "nothing was started");
    let id = agent.open(&json!({}));
    let full = open(json!({}));
    full.is_problem(429, "too-many");
    assert!(full.header("retry-after").is_some(), "{full:?}");
    assert!(full.body.contains("1 of 1 sessions"), "{full:?}");
    open(json!({"display": "abc"})).is_problem(422, "unreadable");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_session_on_a_display_that_does_not_exist_is_not_opened() {
    let server = Server::in_folder(SessionFixture::new(), &["--desktop=:4711"]);
    let agent = server.client("agent");
    let refused = agent.request("POST", "/v1/sessions", Some("{}"));
    refused.is_problem(502, "not-started");
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains(":4711"), "{detail}");
    // Its session host ends after it has answered.
    assert_eventually_blocking!(server.sessions.list(), |left| *left == json!([]));
}

#[test]
fn events_resume_after_the_last_that_was_read() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    shell(&agent, &id, "echo one");
    let path = format!("/v1/sessions/{id}/events");
    let from_start = format!("{path}?from=1");
    let mut all = events(agent.stream(&[], &from_start));
    let is_end = |event: &(u64, Value)| event.1["event"] == "turn_completed";
    let first: Vec<_> = take_until(&mut all, |event| is_end(event), 2);
    let rows: Vec<u64> = first.iter().map(|(row, _)| *row).collect();
    assert!(rows.is_sorted_by(|a, b| a < b), "{rows:?}");
    // The connection breaks in the middle, and more happens meanwhile.
    let cut = rows.len() / 2;
    drop(all);
    agent.post(&turn_path(&id), &bash_with_id("e2", "echo two"));
    let last = format!("Last-Event-ID: {}", rows[cut]);
    let mut resumed = events(agent.stream(&[&last], &path));
    let rest = take_until(&mut resumed, |event| is_end(event), 2);
    let mut joined = first[..=cut].to_vec();
    joined.extend(rest);
    let mut complete = events(agent.stream(&[], &from_start));
    let complete = take_until(&mut complete, |event| is_end(event), 3);
    assert_eq!(joined, complete, "nothing is lost and nothing is doubled");
    server.assert_closes(&agent, &id);
}

/// The events of a stream, each with its id.
pub(crate) fn events(reader: BufReader<TcpStream>) -> impl Iterator<Item = (u64, Value)> {
    let mut lines = reader.lines();
    let mut id = 0;
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?.expect("a line");
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().expect("a row");
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(data).expect("JSON")));
            }
        }
    })
}

/// The events up to the one with which `is_end` is true for the `count`th time.
fn take_until(
    events: &mut impl Iterator<Item = (u64, Value)>,
    is_end: impl Fn(&(u64, Value)) -> bool,
    count: usize,
) -> Vec<(u64, Value)> {
    let mut taken = Vec::new();
    let mut ends = 0;
    while ends < count {
        let event = events.next().expect("an event");
        ends += usize::from(is_end(&event));
        taken.push(event);
    }
    taken
}

#[test]
fn histories_are_translated_without_a_session() {
    let server = Server::of_shells();
    let agent = server.client("agent");
    let history = json!([{"role": "user", "content": "hello"}]).to_string();
    let translated = agent.post(
        "/v1/translate?from=openai-responses&to=anthropic-messages",
        &history,
    );
    assert_eq!(translated["document"][0]["role"], "user", "{translated}");
    let decoded = agent.post("/v1/decode?dialect=openai-responses", &history);
    let messages = &decoded["messages"];
    assert_eq!(messages[0]["role"], "user", "{decoded}");
    let encoded = agent.post(
        "/v1/encode?dialect=anthropic-messages",
        &messages.to_string(),
    );
    assert_eq!(encoded["document"], translated["document"]);
    let request = json!({"model": "m", "max_tokens": 9, "system": "Be brief.",
        "messages": [{"role": "user", "content": "hello"}]});
    let around = agent.post(
        "/v1/translate?from=anthropic-messages&to=functions",
        &request.to_string(),
    );
    assert_eq!(around["document"][0]["content"], "Be brief.", "{around}");
    let what = around["report"][0]["what"].as_str().expect("an entry");
    assert!(what.contains("`max_tokens`"), "{around}");
    let unknown = agent.request("POST", "/v1/decode?dialect=latin", Some("[]"));
    unknown.is_problem(400, "bad-request");
    let missing = agent.request("POST", "/v1/decode", Some("[]"));
    missing.is_problem(400, "bad-request");
    let broken = agent.request("POST", "/v1/decode?dialect=neutral", Some("[{"));
    broken.is_problem(422, "unreadable");
}

#[test]
fn every_operation_of_the_document_is_served_and_needs_a_token() {
    let server = Server::of_shells();
    let document = server.client("viewer").get("/v1/openapi.json");
    let paths = document["paths"].as_object().expect("paths");
    let mut operations = 0;
    for (path, methods) in paths {
        let methods = methods.as_object().expect("methods");
        for method in ["get", "post", "put", "patch", "delete"] {
            let request = format!(
                "{} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                method.to_ascii_uppercase(),
                server.address
            );
            let answer = server.send(&request);
            match methods.contains_key(method) {
                // A secret or a ticket instead of a token: the request has neither.
                true if methods[method]["security"] == json!([]) => {
                    assert!((400..500).contains(&answer.status), "{method} {path}");
                }
                true => answer.is_problem(401, "unauthorized"),
                // A path with parameters also matches others.
                false => assert!([401, 405].contains(&answer.status), "{method} {path}"),
            }
            operations += usize::from(methods.contains_key(method));
        }
    }
    assert!(operations >= 19, "{operations}");
}

#[test]
fn a_token_counts_until_it_is_revoked() {
    let server = Server::of_shells();
    let agent = server.client("agent");
    assert_eq!(agent.get("/v1/health")["status"], "ok");
    let listed = Ran::of(
        &mut server.sessions.command(&["tokens", "list", "--json"]),
        "",
    )
    .json();
    assert_eq!(listed[0]["role"], "agent");
    let id = listed[0]["id"].as_str().expect("an id");
    let file = server.sessions.file(".local/state/telechir/tokens.json");
    let mode = std::fs::metadata(&file)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let revoke = |id: &str| Ran::of(&mut server.sessions.command(&["tokens", "revoke", id]), "");
    assert_eq!(revoke(id).code, Some(0));
    agent
        .request("GET", "/v1/health", None)
        .is_problem(401, "unauthorized");
    revoke(id).fails(1, &["no token has the id", "telechir tokens list"]);
    let bad = Ran::of(&mut server.sessions.command(&["tokens", "new", "root"]), "");
    assert_eq!(bad.code, Some(2), "{bad:?}");
    // A file that others can read is not used.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("permissions");
    agent
        .request("GET", "/v1/health", None)
        .is_problem(500, "internal");
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let telechir = Telechir::new();
    let refused = telechir.run(&["serve", "--shell", "--listen=0.0.0.0:0"], "");
    refused.fails(2, &["--listen 0.0.0.0:0", "--behind-proxy", "--tls-cert"]);
    let refused = telechir.run(&["serve"], "");
    refused.fails(2, &["no device", "--shell"]);
    let server = Server::with_flags(&["--shell", "--behind-proxy=192.0.2.1"]);
    let unanswered = exchange(&server.address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(unanswered.status, 0, "not the proxy: {unanswered:?}");
}

#[test]
fn a_principal_has_64_streams_at_the_same_time() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    let path = format!("/v1/sessions/{id}/events");
    let mut streams: Vec<_> = (0..64).map(|_| agent.stream(&[], &path)).collect();
    let refused = agent.request("GET", &path, None);
    refused.is_problem(429, "too-many");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Others have theirs, and calls go on.
    let viewer = server.client("viewer");
    drop(viewer.stream(&[], &path));
    assert!(shell(&agent, &id, "echo on").contains("on"));
    streams.pop();
    let status = || agent.request_until_head(&path);
    assert_eventually_blocking!(status(), |status| *status == 200);
    drop(streams);
    server.assert_closes(&agent, &id);
}

#[test]
fn a_unix_socket_serves_its_user() {
    let sessions = SessionFixture::new();
    let socket = sessions.file("serve.sock");
    std::fs::write(&socket, "no socket").expect("a file");
    let listen = format!("--listen=unix:{}", socket.display());
    let mut command = sessions.command(&["serve", "--shell", &listen]);
    Ran::of(&mut command, "").fails(1, &["failed to listen", "not a socket"]);
    std::fs::remove_file(&socket).expect("no file");
    let mut server = command.spawn().expect("the server starts");
    assert_eventually_blocking!(socket.exists(), "it listens");
    let mode = std::fs::metadata(&socket)
        .expect("a socket")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    let send = |token: &str| {
        let mut stream = UnixStream::connect(&socket).expect("a connection");
        let request = format!(
            "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let token = Ran::of(&mut sessions.command(&["tokens", "new", "viewer"]), "").stdout;
    assert!(send(token.trim()).starts_with("HTTP/1.1 200"));
    assert!(send("").starts_with("HTTP/1.1 401"), "also here");
    let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::TERM).expect("a signal");
    let status = server.wait().expect("its end");
    assert_eq!(status.code(), Some(143));
    assert!(!socket.exists(), "the socket is removed");
}

#[test]
fn a_server_that_stops_leaves_the_socket_of_the_next_one() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let (socket, work) = (sessions.file("serve.sock"), sessions.file("work"));
    std::fs::create_dir(&work).expect("a folder");
    let flags = [
        "serve".to_owned(),
        "--shell".to_owned(),
        "--min-free-memory=0".to_owned(),
        "--shutdown-timeout=600".to_owned(),
        format!("--policy={}", sessions.file("policy.toml").display()),
        format!("--workspace={}", work.display()),
        format!("--listen=unix:{}", socket.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let start = || {
        let server = sessions.command(&flags).spawn();
        let is_listening = || UnixStream::connect(&socket).is_ok();
        assert_eventually_blocking!(is_listening(), "it listens");
        server.expect("the server starts")
    };
    let signal = |server: &std::process::Child| {
        let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), Signal::TERM).expect("a signal");
    };
    let token = Ran::of(&mut sessions.command(&["tokens", "new", "agent"]), "").stdout;
    let request = |path: &str, body: &str| {
        let mut stream = UnixStream::connect(&socket).expect("a connection");
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a request");
        stream
    };
    let read = |mut stream: UnixStream| {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let mut first = start();
    let opened = read(request("/v1/sessions", "{}"));
    let (_, id) = opened.split_once("\"id\":\"").expect("an id");
    let (id, _) = id.split_once('"').expect("its end");
    let command = "echo > ran; until [[ -e go ]]; do sleep 0.01; done; echo went";
    let running = request(&turn_path(id), &bash(command));
    assert_eventually_blocking!(work.join("ran").exists(), "the command runs");
    signal(&first);
    let is_closed = || UnixStream::connect(&socket).is_err();
    assert_eventually_blocking!(is_closed(), "the first accepts nothing");
    let mut second = start();
    std::fs::write(work.join("go"), "").expect("a file");
    assert!(read(running).contains("went"));
    assert_eq!(first.wait().expect("its end").code(), Some(143));
    let answer = read(request(&turn_path(id), &bash_with_id("u2", "echo on")));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(sessions.close(id).code, Some(0));
    signal(&second);
    assert_eq!(second.wait().expect("its end").code(), Some(143));
    assert!(!socket.exists(), "its own is removed");
}

/// The commands of the documentation, as a reader types them.
#[test]
fn the_commands_of_the_documentation_work() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let text = include_str!("../../../../docs/http.md");
    // Other tests do what needs a screen.
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| Some(block.split_once("```")?.0));
    let blocks = blocks.filter(|block| !block.contains("browser") && !block.contains("$BASE"));
    let commands = blocks.collect::<String>();
    assert!(commands.matches("api \"$AGENT\"").count() > 9, "{commands}");
    let mut bash = std::process::Command::new("/bin/bash");
    bash.args(["-euo", "pipefail", "-c", &commands])
        .env("URL", format!("http://{}", server.address))
        .env("AGENT", server.token("agent", "reader"))
        .env("OPERATOR", server.token("operator", "reader"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let ran = Ran::of(&mut bash, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for printed in [
        "bash_20",
        "tool_result",
        "hello",
        "event: turn_completed",
        "\"approvals\":[]",
        "event: result",
        "event: events_started",
        "\"document\":",
    ] {
        assert!(ran.stdout.contains(printed), "{printed}: {}", ran.stdout);
    }
    assert_eq!(server.sessions.list(), json!([]));
}
