//! Turns over HTTP: sent again, without the connection, cancelled, in the neutral vocabulary.

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::{bash_with_id, turn_path};
use crate::sessions::SessionFixture;

/// A server whose sessions have the folder `work` as their workspace.
fn server_with_workspace() -> Server {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let work = sessions.file("work");
    fs::create_dir(&work).expect("a folder");
    let workspace = format!("--workspace={}", work.display());
    Server::in_folder(sessions, &["--shell", &workspace])
}

fn open(server: &Server) -> (Client, String) {
    let agent = server.client("agent");
    let id = agent.open(&json!({}));
    (agent, id)
}

fn content(reply: &Value) -> String {
    reply["items"][0]["content"].to_string()
}

#[test]
fn a_response_sent_again_is_not_executed_again() {
    let server = server_with_workspace();
    let (agent, id) = open(&server);
    let response = bash_with_id("r1", "echo x >> count; wc -l < count");
    let first = agent.post(&turn_path(&id), &response);
    let again = agent.post(&turn_path(&id), &response);
    assert_eq!(content(&first), content(&again));
    // Another action under a known id of a call.
    let other = agent.request(
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("r1", "echo y >> count")),
    );
    assert!(
        other.body.contains("call r1: this is the id of"),
        "{other:?}"
    );
    other.is_problem(409, "call-id-reused");
    // A key of its own makes it another request, but no other call.
    let keyed = agent.request_with(
        &["Idempotency-Key: another"],
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("r1", "echo z >> count")),
    );
    keyed.is_problem(409, "call-id-reused");
    let neutral = |commands: &[&str]| {
        let call = json!({"type": "shell_call", "call_id": "r2", "commands": commands});
        let body = json!({"contents": [call]}).to_string();
        agent.request("POST", &format!("/v1/sessions/{id}/calls"), Some(&body))
    };
    // Neither are calls of other tools, in other dialects.
    let function = json!({"name": "shell", "arguments": "{\"command\": \"echo c >> count\"}"});
    let chat = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
        {"id": "r1", "type": "function", "function": function},
    ]}}]});
    let responses = json!({"output": [
        {"type": "computer_call", "call_id": "r1", "id": "i1", "status": "completed",
            "pending_safety_checks": [], "action": {"type": "screenshot"}},
    ]});
    for (dialect, response) in [("mistral-chat", chat), ("openai-responses", responses)] {
        let path = format!("/v1/sessions/{id}/{dialect}");
        let other = agent.request("POST", &path, Some(&response.to_string()));
        other.is_problem(409, "call-id-reused");
    }
    assert_eq!(neutral(&["echo a >> count", "echo b >> count"]).status, 200);
    neutral(&["echo a >> count"]).is_problem(409, "call-id-reused");
    let count = fs::read_to_string(server.sessions.file("work/count")).expect("a file");
    assert_eq!(count, "x\na\nb\n");
    server.assert_closes(&agent, &id);
}

#[test]
fn an_idempotency_key_names_one_request() {
    let server = server_with_workspace();
    let agent = server.client("agent");
    let key = ["Idempotency-Key: \"task-1\""];
    let open = |body: &str| agent.request_with(&key, "POST", "/v1/sessions", Some(body));
    let first = open("{}");
    let again = open("{}");
    assert_eq!((first.status, again.status), (201, 201));
    let id = first.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(again.json()["id"], *id, "the same session");
    open("{\"name\": \"other\"}").is_problem(422, "key-reused");

    let key = ["Idempotency-Key: turn-1"];
    let call = |response: &str| agent.request_with(&key, "POST", &turn_path(&id), Some(response));
    let reply = call(&bash_with_id("i1", "echo x >> count; cat count"));
    assert_eq!(reply.json()["turn"], "turn-1", "{reply:?}");
    let again = call(&bash_with_id("i1", "echo x >> count; cat count"));
    assert_eq!(reply.json()["items"], again.json()["items"]);
    call(&bash_with_id("i2", "echo y >> count")).is_problem(422, "key-reused");
    let found = agent.get(&format!("/v1/sessions/{id}/turns/turn-1"));
    assert_eq!(found["results"][0]["call_id"], "i1", "{found}");
    let unknown = agent.request("GET", &format!("/v1/sessions/{id}/turns/turn-2"), None);
    unknown.is_problem(404, "not-found");
    let bad = agent.request_with(
        &["Idempotency-Key: a/b"],
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("i3", "true")),
    );
    bad.is_problem(400, "bad-request");
    let count = fs::read_to_string(server.sessions.file("work/count")).expect("a file");
    assert_eq!(count, "x\n");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_turn_goes_on_without_its_connection_if_the_client_prefers_that() {
    let server = server_with_workspace();
    let (agent, id) = open(&server);
    let wait = "until [[ -e go ]]; do sleep 0.01; done; echo went";
    let accepted = agent.request_with(
        &["Prefer: respond-async", "Idempotency-Key: long"],
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("p1", wait)),
    );
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let location = accepted.header("location").expect("an address").to_owned();
    assert_eq!(location, format!("/v1/sessions/{id}/turns/long"));
    let pending = || agent.request("GET", &location, None);
    assert_eventually_blocking!(pending(), |pending| {
        pending.status == 202 && pending.json()["state"] == "running"
    });
    let session = agent.get(&format!("/v1/sessions/{id}"));
    assert_eq!(session["running"], "long");
    fs::write(server.sessions.file("work/go"), "").expect("a file");
    let ended = agent.request_with(&["Prefer: wait=30"], "GET", &location, None);
    assert_eq!(ended.status, 200, "{ended:?}");
    assert!(ended.body.contains("went"), "{ended:?}");
    // The provider's own form comes with the same request.
    let items = agent.request_with(
        &["Idempotency-Key: long"],
        "POST",
        &turn_path(&id),
        Some(&bash_with_id("p1", wait)),
    );
    assert!(content(&items.json()).contains("went"), "{items:?}");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_turn_ends_with_its_connection_or_is_cancelled() {
    let server = server_with_workspace();
    let (agent, id) = open(&server);
    let work = |name: &str| server.sessions.file(&format!("work/{name}"));
    let started = |name: &str| assert_eventually_blocking!(work(name).exists(), "it starts");
    let command = |name: &str| format!("touch {name}; sleep 1000");
    let connection = agent.start(&[], &turn_path(&id), &bash_with_id("c1", &command("one")));
    started("one");
    drop(connection);
    let idle = || agent.get(&format!("/v1/sessions/{id}"))["state"] == "idle";
    assert_eventually_blocking!(idle(), "the command was killed");

    let key = ["Idempotency-Key: two"];
    let waiting = agent.start(&key, &turn_path(&id), &bash_with_id("c2", &command("two")));
    started("two");
    let cancel = format!("/v1/sessions/{id}/cancel");
    let cancelled = agent.request("POST", &cancel, Some("{}"));
    assert_eq!(cancelled.status, 204, "{cancelled:?}");
    super::client::read(waiting).is_problem(409, "not-answered");
    let found = agent.request("GET", &format!("/v1/sessions/{id}/turns/two"), None);
    found.is_problem(409, "not-answered");
    let session = agent.get(&format!("/v1/sessions/{id}"));
    assert_eq!(session["running"], Value::Null, "{session}");
    let nothing = agent.request("POST", &cancel, Some("{}"));
    assert_eq!(nothing.status, 204, "nothing runs: {nothing:?}");
    let output = agent.post(&turn_path(&id), &bash_with_id("c3", "echo after"));
    assert!(content(&output).contains("after"), "{output}");
    server.assert_closes(&agent, &id);
}

#[test]
fn neutral_calls_have_neutral_results() {
    let server = server_with_workspace();
    let (agent, id) = open(&server);
    let path = format!("/v1/sessions/{id}/calls");
    let call = json!({"type": "shell_call", "call_id": "n1", "commands": ["echo neutral"]});
    let reply = agent.post(&path, &json!({"contents": [call]}).to_string());
    assert_eq!(reply["results"][0]["type"], "shell_result", "{reply}");
    assert_eq!(reply["results"][0]["call_id"], "n1");
    assert!(reply["results"][0].to_string().contains("neutral"));
    let function =
        json!({"type": "function_call", "call_id": "f1", "name": "mine", "arguments": {}});
    let left = agent.post(&path, &json!({"contents": [function]}).to_string());
    assert_eq!(left["results"], json!([]), "{left}");
    assert_eq!(left["left_to_caller"][0]["call_id"], "f1", "{left}");
    for body in [
        "{}",
        "{\"contents\": 1}",
        "{\"contents\": [], \"observe\": \"all\"}",
    ] {
        let refused = agent.request("POST", &path, Some(body));
        refused.is_problem(422, "unreadable");
    }
    let unknown = agent.request("POST", &format!("/v1/sessions/{id}/latin"), Some("{}"));
    unknown.is_problem(404, "not-found");
    server.assert_closes(&agent, &id);
}
