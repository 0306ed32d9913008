//! Browser contexts: what pages stored is there again in the next session of the same owner.

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::cdp::{POLICY, Pages};
use super::client::{Client, Server};
use crate::sessions::SessionFixture;

/// Runs a script in the page of a session and returns the text of the result.
fn script(agent: &Client, session: &str, call: &str, url: &str, text: &str) -> String {
    let contents = json!([{"type": "computer_call", "call_id": call, "target": "browser", "actions": [
        {"action": "navigate", "url": url}, {"action": "javascript", "script": text}]}]);
    let path = format!("/v1/sessions/{session}/calls");
    let reply = agent.post(&path, &json!({ "contents": contents }).to_string());
    reply["results"].to_string()
}

fn contexts(client: &Client) -> Value {
    client.get("/v1/contexts")["contexts"].clone()
}

#[test]
fn a_context_outlives_its_sessions_and_is_its_owners() {
    require(Component::Chromium);
    let sessions = SessionFixture::new();
    std::fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--browser", "--headless", "--shell"]);
    let (agent, other) = (server.client("agent"), server.client("operator"));
    let pages = Pages::serve();
    assert_eq!(contexts(&agent), json!([]));

    let browser = |context: &str| json!({"devices": ["browser"], "context": context});
    let first = agent.open(&browser("shop"));
    let stores = "localStorage.kept = 'basket-17'; document.cookie = 'login=yes; max-age=9999'; 1";
    script(&agent, &first, "c1", &pages.url, stores);
    let listed = contexts(&agent);
    assert_eq!(listed[0]["name"], "shop", "{listed}");
    assert_eq!(listed[0]["in_use"], true, "{listed}");
    assert_eq!(contexts(&other), json!([]), "those of another owner");
    let path = "/v1/contexts/shop";
    let open = browser("shop").to_string();
    for (method, path, body) in [
        ("POST", "/v1/sessions", Some(open.as_str())),
        ("DELETE", path, None),
    ] {
        let refused = agent.request(method, path, body);
        refused.is_problem(409, "context-in-use");
    }
    server.assert_closes(&agent, &first);

    let read = "localStorage.kept + ' ' + document.cookie";
    let second = agent.open(&browser("shop"));
    let found = script(&agent, &second, "c2", &pages.url, read);
    assert!(found.contains("basket-17 login=yes"), "{found}");
    // The same name is another context for another owner, and there is none without a name.
    let foreign = other.open(&browser("shop"));
    let none = script(&other, &foreign, "c3", &pages.url, read);
    assert!(none.contains("undefined"), "{none}");
    let close = format!("/v1/sessions/{foreign}");
    assert_eq!(other.request("DELETE", &close, None).status, 204);
    server.assert_closes(&agent, &second);

    // What fails before a session starts leaves no context behind.
    let keyed = |body: &Value| {
        let header = ["Idempotency-Key: one"];
        agent.request_with(&header, "POST", "/v1/sessions", Some(&body.to_string()))
    };
    assert_eq!(keyed(&json!({"devices": ["shell"]})).status, 201);
    keyed(&browser("left")).is_problem(422, "key-reused");
    assert_eq!(contexts(&agent).as_array().map(Vec::len), Some(1));

    assert_eq!(agent.request("DELETE", path, None).status, 204);
    agent
        .request("DELETE", path, None)
        .is_problem(404, "not-found");
    assert_eq!(contexts(&agent), json!([]));
    assert_eq!(contexts(&other)[0]["in_use"], false);
    for (body, part) in [
        (browser("../x"), "`context`: expected"),
        (json!({"devices": ["shell"], "context": "a"}), "no browser"),
    ] {
        let refused = agent.request("POST", "/v1/sessions", Some(&body.to_string()));
        refused.is_problem(422, "unreadable");
        assert!(refused.body.contains(part), "{refused:?}");
    }
}

#[test]
fn a_context_is_in_use_from_the_moment_its_session_is_being_opened() {
    require(Component::Chromium);
    let sessions = SessionFixture::new();
    std::fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--browser", "--headless", "--shell"]);
    let agent = server.client("agent");
    let open = json!({"devices": ["browser"], "context": "shop"}).to_string();
    let path = "/v1/contexts/shop";
    let (opened, deletions) = std::thread::scope(|scope| {
        let post = || agent.request("POST", "/v1/sessions", Some(&open));
        let opening = [(); 3].map(|()| scope.spawn(post));
        // From when it exists until its browser has it.
        let mut deletions = Vec::new();
        while !opening.iter().all(|request| request.is_finished()) {
            let deletion = agent.request("DELETE", path, None);
            if deletion.status != 404 {
                deletions.push(deletion);
            }
        }
        let opened = opening.map(|request| request.join().expect("an answer"));
        (opened, deletions)
    });
    let (created, refused): (Vec<_>, Vec<_>) = opened.iter().partition(|one| one.status == 201);
    assert_eq!(created.len(), 1, "{opened:?}");
    for one in refused.into_iter().chain(&deletions) {
        one.is_problem(409, "context-in-use");
    }
    let listed = contexts(&agent);
    assert_eq!(listed[0]["in_use"], true, "{listed}");
    let id = created[0].json()["id"].as_str().expect("an id").to_owned();
    server.assert_closes(&agent, &id);
    assert_eq!(agent.request("DELETE", path, None).status, 204);
}

#[test]
fn a_context_stays_in_use_when_the_client_that_opens_its_session_leaves() {
    require(Component::Chromium);
    let sessions = SessionFixture::new();
    std::fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--browser", "--headless"]);
    let agent = server.client("agent");
    let open = json!({"context": "shop"}).to_string();
    let leaves = agent.start(&[], "/v1/sessions", &open);
    assert_eventually_blocking!(contexts(&agent), |listed| listed[0]["in_use"] == true);
    drop(leaves);
    // Nobody can have it until the browser has it, nor afterwards.
    let state = || agent.get("/v1/sessions")["sessions"][0]["state"].clone();
    while state() != "idle" {
        let deletion = agent.request("DELETE", "/v1/contexts/shop", None);
        deletion.is_problem(409, "context-in-use");
    }
    let other = agent.request("POST", "/v1/sessions", Some(&open));
    other.is_problem(409, "context-in-use");
    let id = agent.get("/v1/sessions")["sessions"][0]["id"].clone();
    server.assert_closes(&agent, id.as_str().expect("an id"));
}
