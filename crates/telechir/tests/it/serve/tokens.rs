//! Tokens: which roles use which routes, tokens of one session, and how tokens end and are replaced.

use std::io::Read;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::events::Events;
use super::{bash_with_id, turn_path};
use crate::sessions::{SessionFixture, bash};
use crate::telechir::Ran;

/// A session and a client with a token for it alone.
fn session_with_token(server: &Server, agent: &Client) -> (String, Client) {
    let opened = agent.post("/v1/sessions", "{\"token\": true}");
    let token = opened["token"].as_str().expect("a token").to_owned();
    assert!(token.starts_with("tch_agent_"), "{opened}");
    let id = opened["id"].as_str().expect("an id").to_owned();
    (id, Client::new(&server.address, &token))
}

fn run(server: &Server, arguments: &[&str]) -> Ran {
    let ran = Ran::of(&mut server.sessions.command(arguments), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// Creates a token with these flags, and returns it with its id.
fn token(server: &Server, flags: &[&str]) -> (String, String) {
    let arguments = [&["tokens", "new"], flags].concat();
    let text = run(server, &arguments).stdout.trim().to_owned();
    let listed = run(server, &["tokens", "list", "--json"]).json();
    let last = listed
        .as_array()
        .and_then(|all| all.last())
        .expect("a token")
        .clone();
    (text, last["id"].as_str().expect("an id").to_owned())
}

#[test]
fn every_route_is_for_the_roles_that_the_table_lists() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let (id, bound) = session_with_token(&server, &agent);
    let callers = [
        ("agent", &agent),
        ("viewer", &server.client("viewer")),
        ("operator", &server.client("operator")),
        ("session", &bound),
    ];
    let document = agent.get("/v1/openapi.json");
    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let roles: Vec<&str> = operation["x-roles"]
                .as_array()
                .expect("roles")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            if operation["security"] == json!([]) {
                // Not by a token.
                continue;
            }
            if path.starts_with("/v1/approvals") {
                assert_eq!(roles, ["operator"], "an agent never answers a question");
            }
            // No session, recording or question has this id.
            let path = path
                .replace("{dialect}", "anthropic-messages")
                .replace('{', "no-")
                .replace('}', "");
            for (role, client) in callers {
                let may_use = match role {
                    "session" => roles.contains(&"agent") && operation["x-session-tokens"] == true,
                    role => roles.contains(&role),
                };
                let status = match path.as_str() {
                    // It has no end.
                    "/v1/events" => client.request_until_head(&path),
                    _ => {
                        let method = method.to_ascii_uppercase();
                        client.request(&method, &path, None).status
                    }
                };
                assert_eq!(status != 403, may_use, "{role} {method} {path}: {status}");
                assert_ne!(status, 401, "{role} {method} {path}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 4 * 25, "{checked}");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_token_of_a_session_sees_and_does_nothing_else() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let other = agent.open(&json!({}));
    let (id, bound) = session_with_token(&server, &agent);
    let listed = bound.get("/v1/sessions");
    assert_eq!(
        listed["sessions"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    assert_eq!(listed["sessions"][0]["id"], *id);
    let reply = bound.post(&turn_path(&id), &bash_with_id("t1", "echo mine"));
    assert!(
        reply["items"][0]["content"].to_string().contains("mine"),
        "{reply}"
    );
    let refused = bound.request("POST", &turn_path(&other), Some(&bash("true")));
    refused.is_problem(404, "not-found");
    for (method, rest) in [("GET", ""), ("GET", "/events"), ("DELETE", "")] {
        let path = format!("/v1/sessions/{other}{rest}");
        bound
            .request(method, &path, None)
            .is_problem(404, "not-found");
    }
    bound
        .request("POST", "/v1/sessions", Some("{}"))
        .is_problem(403, "forbidden");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    bound
        .request("POST", "/mcp", Some(&message))
        .is_problem(403, "forbidden");
    // It ends with its session.
    let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
    assert_eq!(closed.status, 204, "{closed:?}");
    bound
        .request("GET", "/v1/health", None)
        .is_problem(401, "unauthorized");
    server.assert_closes(&agent, &other);
}

#[test]
fn a_session_opened_again_under_its_key_has_new_tokens() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let open = || {
        let key = ["Idempotency-Key: same"];
        let answer = agent.request_with(&key, "POST", "/v1/sessions", Some("{\"token\": true}"));
        assert_eq!(answer.status, 201, "{answer:?}");
        let session = answer.json();
        let text = |member: &str| session[member].as_str().expect("a text").to_owned();
        (text("id"), Client::new(&server.address, &text("token")))
    };
    let (id, first) = open();
    // The session ends without a request to the server.
    assert_eq!(server.sessions.close(&id).code, Some(0));
    let (again, second) = open();
    assert_eq!(id, again);
    first
        .request("GET", "/v1/sessions", None)
        .is_problem(401, "unauthorized");
    assert_eq!(second.get("/v1/sessions")["sessions"][0]["id"], *id);
    server.assert_closes(&agent, &id);
}

/// The sessions of the tokens that are for one alone.
fn sessions_of_tokens(server: &Server) -> Vec<String> {
    let listed = run(server, &["tokens", "list", "--json"]).json();
    let rows = listed.as_array().into_iter().flatten();
    let sessions = rows.filter_map(|row| row["session"].as_str());
    sessions.map(str::to_owned).collect()
}

#[test]
fn a_session_has_one_token_however_often_it_is_requested() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let agent = server.client("agent");
    let open = || {
        let key = ["Idempotency-Key: same"];
        let answer = agent.request_with(&key, "POST", "/v1/sessions", Some("{\"token\": true}"));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    };
    let first = open();
    let id = first["id"].as_str().expect("an id");
    let mut last = first.clone();
    for _ in 0..40 {
        last = open();
    }
    assert_eq!(sessions_of_tokens(&server), [id]);
    let client = |opened: &Value| Client::new(&server.address, opened["token"].as_str().unwrap());
    client(&first)
        .request("GET", "/v1/sessions", None)
        .is_problem(401, "unauthorized");
    assert_eq!(client(&last).get("/v1/sessions")["sessions"][0]["id"], id);
    // The token ends with a session that the server did not close.
    assert_eq!(server.sessions.close(id).code, Some(0));
    assert_eventually_blocking!(sessions_of_tokens(&server), |left| left.is_empty());
}

/// A server that was away while the hosts of its two sessions were killed, the ids of both, and a token
/// for the second alone.
fn killed_sessions() -> (Server, [String; 2], String) {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let agent = server.client("agent");
    let (id, _) = session_with_token(&server, &agent);
    let opened = agent.post("/v1/sessions", "{\"token\": true}");
    let token = opened["token"].as_str().expect("a token").to_owned();
    let other = opened["id"].as_str().expect("an id").to_owned();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(143));
    // One that ends by itself revokes its tokens.
    for host in server.sessions.session_hosts() {
        kill_process(host, Signal::KILL).expect("a signal");
    }
    assert_eventually_blocking!(server.sessions.nothing_left(), "their guardians are done");
    (server, [id, other], token)
}

#[test]
fn tokens_of_sessions_that_were_killed_are_revoked_when_the_list_finds_them() {
    let (mut server, _, token) = killed_sessions();
    assert_eq!(sessions_of_tokens(&server).len(), 2);
    // A server that starts looks for its sessions.
    server.start_again();
    assert_eventually_blocking!(sessions_of_tokens(&server), |left| left.is_empty());
    Client::new(&server.address, &token)
        .request("GET", "/v1/sessions", None)
        .is_problem(401, "unauthorized");
}

#[test]
fn a_token_of_a_session_without_a_trace_is_revoked_when_it_is_used() {
    let (mut server, [id, other], token) = killed_sessions();
    // As after a restart of the machine.
    std::fs::remove_dir_all(server.sessions.file("run/telechir")).expect("a folder");
    server.start_again();
    assert_eq!(sessions_of_tokens(&server).len(), 2);
    let bound = Client::new(&server.address, &token);
    // Of another session it says nothing.
    let path = |session: &str| format!("/v1/sessions/{session}");
    for (session, left) in [(&id, 2), (&other, 1)] {
        bound
            .request("GET", &path(session), None)
            .is_problem(404, "not-found");
        assert_eq!(sessions_of_tokens(&server).len(), left);
    }
    bound
        .request("GET", &path(&other), None)
        .is_problem(401, "unauthorized");
}

#[test]
fn a_token_is_replaced_while_both_count() {
    let server = Server::of_shells();
    let (old, id) = token(&server, &["viewer", "--name", "wall"]);
    let client = |token: &str| Client::new(&server.address, token);
    let new = run(&server, &["tokens", "rotate", &id, "--grace", "1h"]).stdout;
    for token in [old.as_str(), new.trim()] {
        assert_eq!(client(token).get("/v1/health")["status"], "ok");
    }
    let listed = run(&server, &["tokens", "list", "--json"]).json();
    let names: Vec<&Value> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names, ["wall", "wall"]);
    assert!(
        listed[0]["expires"].is_u64() && listed[1]["expires"].is_null(),
        "{listed}"
    );
    run(&server, &["tokens", "revoke", &id]);
    client(&old)
        .request("GET", "/v1/health", None)
        .is_problem(401, "unauthorized");
    assert_eq!(client(new.trim()).get("/v1/health")["status"], "ok");
    let mut unknown = server.sessions.command(&["tokens", "rotate", "nothing"]);
    Ran::of(&mut unknown, "").fails(1, &["no token has the id", "telechir tokens list"]);
}

#[test]
fn an_expired_token_does_not_count() {
    let server = Server::of_shells();
    let (over, _) = token(&server, &["operator", "--expires-in", "0"]);
    let expired = Client::new(&server.address, &over);
    expired
        .request("GET", "/v1/health", None)
        .is_problem(401, "unauthorized");
    let (long, _) = token(&server, &["operator", "--expires-in", "2d"]);
    assert_eq!(
        Client::new(&server.address, &long).get("/v1/health")["status"],
        "ok"
    );
    let table = run(&server, &["tokens", "list"]).stdout;
    assert!(table.contains("EXPIRES IN"), "{table}");
    let mut wrong = server
        .sessions
        .command(&["tokens", "new", "agent", "--expires-in", "soon"]);
    let wrong = Ran::of(&mut wrong, "");
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("expected seconds"),
        "{wrong:?}"
    );
}

#[test]
fn an_owner_and_the_machine_limit_sessions() {
    require(Component::Sandbox);
    let server = Server::with_flags(&["--shell", "--max-sessions-per-owner=1", "--max-sessions=3"]);
    let (anna, ben) = (
        Client::new(&server.address, &server.token("agent", "anna")),
        Client::new(&server.address, &server.token("agent", "ben")),
    );
    let first = anna.open(&json!({}));
    let refused = anna.request("POST", "/v1/sessions", Some("{}"));
    refused.is_problem(429, "too-many");
    let free = refused.json()["free"].clone();
    assert_eq!(
        (&free["sessions"], &free["own_sessions"]),
        (&json!(2), &json!(0))
    );
    assert!(
        refused.body.contains("--max-sessions-per-owner"),
        "{refused:?}"
    );
    let second = ben.open(&json!({}));
    for (client, id) in [(&anna, &first), (&ben, &second)] {
        let closed = client.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
    assert_eq!(server.sessions.list(), json!([]));
}

#[test]
fn no_session_is_opened_without_memory() {
    // More than any machine has.
    let server = Server::with_flags(&["--shell", "--min-free-memory=1048576"]);
    let agent = server.client("agent");
    let refused = agent.request("POST", "/v1/sessions", Some("{}"));
    refused.is_problem(503, "unavailable");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    let free = refused.json()["free"].clone();
    assert!(
        free["memory_bytes"].is_u64() && free["sessions"] == 16,
        "{free}"
    );
    assert_eq!(server.sessions.list(), json!([]));
}

#[test]
fn no_token_is_in_a_log_of_any_level() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let server = Server::in_folder(sessions, &["--shell", "--log-format=json", "-v"]);
    let agent_token = server.token("agent", "test");
    let agent = Client::new(&server.address, &agent_token);
    let opened = agent.post("/v1/sessions", "{\"token\": true}");
    let (id, bound) = (
        opened["id"].as_str().expect("an id"),
        opened["token"].as_str().expect("a token"),
    );
    agent.post(&turn_path(id), &bash_with_id("l1", "echo typed-by-a-model"));
    let line = format!("/v1/health?token={agent_token}");
    agent
        .request("GET", &line, None)
        .is_problem(400, "bad-request");
    server.assert_closes(&agent, id);
    let log = server.log();
    for secret in [agent_token.as_str(), bound, "typed-by-a-model"] {
        assert!(!log.contains(secret), "{log}");
    }
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect();
    let opening = lines.iter().find(|line| line["operation"] == "openSession");
    let opening = opening.unwrap_or_else(|| panic!("{log}"));
    assert_eq!(
        (&opening["status"], &opening["owner"]),
        (&json!(201), &json!("agent/test"))
    );
    assert_eq!(opening["client"], "127.0.0.1");
    assert_eq!(opening["level"], "INFO");
    assert!(opening["timestamp"].is_string(), "{opening}");
    let is_note =
        |line: &&Value| line["level"] == "NOTE" && line["message"].to_string().contains("API on");
    assert!(lines.iter().any(|line| is_note(&line)), "{log}");
}

/// What comes until the server ends a connection.
fn rest(mut connection: impl Read) -> String {
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("an end");
    text
}

#[test]
fn streams_and_requests_that_wait_end_with_their_token() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let (anna, operator) = (server.token("agent", "anna"), server.client("operator"));
    let anna = Client::new(&server.address, &anna);
    let ids: [String; 3] = std::array::from_fn(|_| anna.open(&json!({})));
    let state = |id: &str| operator.get(&format!("/v1/sessions/{id}"))["state"].clone();
    let slow = bash_with_id("r1", "sleep 1000");
    let quiet = anna.stream(&[], &format!("/v1/sessions/{}/events", ids[0]));
    let mut turn = Events::of_turn(&anna, &ids[0], &slow);
    turn.until(|sent| sent.iter().any(|one| one.kind == "action_started"));
    let waits = anna.start(&[], &turn_path(&ids[1]), &slow);
    let goes_on = anna.start(&["Prefer: wait=600"], &turn_path(&ids[2]), &slow);
    for id in &ids {
        assert_eventually_blocking!(state(id), |state| state == "busy");
    }
    server.revoke("anna");
    for waits in [waits, goes_on] {
        let answer = rest(waits);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
    let kinds: Vec<String> = turn
        .until_closed()
        .into_iter()
        .map(|one| one.kind)
        .collect();
    assert!(!kinds.iter().any(|kind| kind == "result"), "{kinds:?}");
    rest(quiet);
    // Turns that end with their connections have ended, the other one goes on.
    for id in &ids[..2] {
        assert_eventually_blocking!(state(id), |state| state == "idle");
    }
    assert_eq!(state(&ids[2]), "busy");
    for id in &ids {
        let closed = operator.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
}
