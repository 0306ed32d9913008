//! What a client decides about its session: a policy that only tightens the server's, and the recording.

use std::fs;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::{approvals, bash_with_id, turn_path};
use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// The result of a command, as text.
fn run(agent: &Client, id: &str, call: &str, command: &str) -> Value {
    let reply = agent.post(&turn_path(id), &bash_with_id(call, command));
    reply["items"][0].clone()
}

#[test]
fn a_sessions_own_policy_tightens_the_servers() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    fs::write(sessions.file("policy.toml"), approvals::POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--shell"]);
    let agent = server.client("agent");
    let open = |policy: &str| agent.open(&json!({"policy": policy}));
    // The name of a shipped policy, and one of the client's own, which allows more than the server does.
    let look = open("look");
    let own = "[[shell]]\nwords = ['touch']\nverdict = 'allow'\nreason = 'Fine.'\n\
               [[shell]]\nwords = ['rm']\nverdict = 'deny'\nreason = 'Nothing is removed.'\n";
    let own = open(own);
    let plain = agent.open(&json!({}));
    let policy = |id: &str| agent.get(&format!("/v1/sessions/{id}"))["policy"].clone();
    assert_ne!(policy(&look), policy(&plain));
    assert_ne!(policy(&own), policy(&plain));
    let text = |id: &str, call: &str, command: &str| run(&agent, id, call, command).to_string();
    assert!(text(&look, "l1", "echo read").contains("read"));
    let denied = text(&look, "l2", "rm -f a");
    assert!(denied.contains("runs only commands that read"), "{denied}");
    let denied = text(&own, "o1", "rm -f a");
    assert!(denied.contains("Nothing is removed."), "{denied}");
    assert!(text(&own, "o2", "echo other").contains("other"));
    assert!(text(&plain, "p1", "rm -f a; echo removed").contains("removed"));
    // What the server asks about needs an answer, and not what `look` denies anyway.
    let headers = ["Prefer: respond-async"];
    let touch = bash_with_id("o3", "touch new");
    let requested = agent.request_with(&headers, "POST", &turn_path(&own), Some(&touch));
    assert_eq!(requested.status, 202, "{requested:?}");
    let question = approvals::question(&server.client("operator"));
    assert_eq!(question["session"], *own);
    let denied = text(&look, "l3", "touch new");
    assert!(denied.contains("runs only commands that read"), "{denied}");
    // A reload reads the server's file again, and leaves the session's own policy as it was.
    fs::write(server.sessions.file("policy.toml"), "").expect("a policy");
    let reload = ["policy", "reload", own.as_str()];
    let reloaded = Ran::of(&mut server.sessions.command(&reload), "");
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let cancel = agent.request("POST", &format!("/v1/sessions/{own}/cancel"), Some("{}"));
    assert_eq!(cancel.status, 204, "{cancel:?}");
    assert!(text(&own, "o4", "touch new && echo made").contains("made"));
    let denied = text(&own, "o5", "rm -f new");
    assert!(denied.contains("Nothing is removed."), "{denied}");
    for id in [&look, &own, &plain] {
        let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
}

#[test]
fn a_policy_that_cannot_be_read_opens_no_session() {
    let server = Server::of_shells();
    let agent = server.client("agent");
    for (policy, fragment) in [
        ("lock", "policy"),
        ("[[shell]]\nverdict = 'deny'\n", "reason"),
        (
            "\n[[shell]]\nwords = 'ls'\nverdict = 'maybe'\nreason = 'x'\n",
            "line 4",
        ),
        (
            "[[shell]]\nwords = ['ls']\nverdict = 'ask'\nreason = 'x'\nexamples.match = ['rm']\n",
            "example",
        ),
        (
            &format!("# {}", "x".repeat(64 << 10)),
            "the maximum is 65536",
        ),
    ] {
        let body = json!({"policy": policy}).to_string();
        let refused = agent.request("POST", "/v1/sessions", Some(&body));
        refused.is_problem(422, "unreadable");
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains("`policy`"), "{detail}");
        assert!(detail.contains(fragment), "{detail}");
    }
    assert_eq!(server.sessions.list(), json!([]), "nothing was started");
}

#[test]
fn a_client_decides_about_its_recording_where_the_server_lets_it() {
    require(Component::Sandbox);
    let record =
        |sessions: &SessionFixture| format!("--record={}", sessions.file("recordings").display());
    let refused = |server: &Server, record: bool, fragment: &str| {
        let body = json!({"record": record}).to_string();
        let agent = server.client("agent");
        let refused = agent.request("POST", "/v1/sessions", Some(&body));
        refused.is_problem(422, "unreadable");
        assert!(refused.body.contains(fragment), "{refused:?}");
    };
    refused(&Server::of_shells(), true, "keeps no recordings");
    let sessions = SessionFixture::new();
    let flags = ["--shell", &record(&sessions)];
    let server = Server::in_folder(sessions, &flags);
    refused(&server, false, "records every session");
    let agent = server.client("agent");
    let recorded = agent.post("/v1/sessions", &json!({"record": true}).to_string());
    assert_eq!(recorded["recorded"], true, "{recorded}");
    server.assert_closes(&agent, recorded["id"].as_str().expect("an id"));

    let sessions = SessionFixture::new();
    let flags = ["--shell", &record(&sessions), "--record-on-request"];
    let server = Server::in_folder(sessions, &flags);
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    let open = |body: Value| {
        let opened = agent.post("/v1/sessions", &body.to_string());
        server.assert_closes(&agent, opened["id"].as_str().expect("an id"));
        opened["recorded"].clone()
    };
    assert_eq!(open(json!({})), false);
    assert_eq!(open(json!({"record": false})), false);
    assert_eq!(viewer.get("/v1/recordings"), json!({"recordings": []}));
    assert_eq!(open(json!({"record": true})), true);
    let listed = viewer.get("/v1/recordings");
    assert_eq!(listed["recordings"].as_array().map(Vec::len), Some(1));
    // Without recordings there is nothing to request.
    let flags = ["serve", "check", "--shell", "--record-on-request"];
    let wrong = Ran::of(&mut server.sessions.command(&flags), "");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("--record"), "{wrong:?}");
}
