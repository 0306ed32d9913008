//! Recordings over HTTP: what a viewer and an operator read of them, during and after their sessions.

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::{bash_with_id, turn_path};
use crate::sessions::{SessionFixture, response};

/// A server that records its sessions in the folder `recordings`.
fn recording_server(flags: &[&str]) -> Server {
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    Server::in_folder(sessions, &[flags, &[&record]].concat())
}

/// All rows of a recording, read in parts with this number of rows.
fn rows(client: &Client, id: &str, limit: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let mut from = 1;
    loop {
        let path = format!("/v1/recordings/{id}/rows?from={from}&limit={limit}");
        let part = client.get(&path);
        let rows = part["rows"].as_array().expect("rows").clone();
        assert!(rows.len() <= limit, "{part}");
        if rows.is_empty() {
            assert_eq!(part["next"], from, "{part}");
            return all;
        }
        from = part["next"].as_u64().expect("a row");
        all.extend(rows);
    }
}

#[test]
fn a_recording_is_read_during_and_after_its_session() {
    require(Component::Sandbox);
    let server = recording_server(&["--shell"]);
    let (agent, viewer, operator) = (
        server.client("agent"),
        server.client("viewer"),
        server.client("operator"),
    );
    assert_eq!(viewer.get("/v1/recordings"), json!({"recordings": []}));
    let id = agent.open(&json!({}));
    agent.post(&turn_path(&id), &bash_with_id("r1", "echo $((40 + 2))"));
    let listed = viewer.get("/v1/recordings");
    assert_eq!(listed["recordings"][0]["id"], *id, "{listed}");
    assert_eq!(listed["recordings"][0]["in_use"], true, "{listed}");
    let path = format!("/v1/recordings/{id}");
    let during = rows(&operator, &id, 1000);
    server.assert_closes(&agent, &id);

    let after = rows(&operator, &id, 1000);
    assert!(after.len() > during.len() && after.starts_with(&during));
    assert_eq!(rows(&operator, &id, 3), after, "in parts");
    let numbers: Vec<Value> = after.iter().map(|row| row["row"].clone()).collect();
    let expected: Vec<Value> = (1..=after.len()).map(Value::from).collect();
    assert_eq!(numbers, expected);
    let described = viewer.get(&path);
    assert_eq!(described["rows"], after.len(), "{described}");
    assert_eq!(described["in_use"], false, "{described}");
    assert_eq!(described["first_ms"], after[0]["at_ms"]);
    assert_eq!(described["last_ms"], after[after.len() - 1]["at_ms"]);
    for kind in ["event", "call", "intent", "outcome", "answer"] {
        assert!(after.iter().any(|row| row["kind"] == kind), "{kind}");
    }
    // A viewer reads what the stream of events has, and nothing else.
    let events: Vec<Value> = after
        .iter()
        .filter(|row| row["kind"] == "event")
        .cloned()
        .collect();
    assert_eq!(rows(&viewer, &id, 2), events);
    assert!(!json!(events).to_string().contains("answer\""));
    let report = operator.request("GET", &format!("{path}/report"), None);
    assert_eq!(report.status, 200, "{report:?}");
    let is_page = report.header("content-type") == Some("text/html; charset=utf-8");
    assert!(
        is_page && report.body.contains("echo $((40 + 2))"),
        "{report:?}"
    );
    let policy = report.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("sandbox") && policy.contains("default-src 'none'"),
        "{policy}"
    );
    viewer
        .request("GET", &format!("{path}/report"), None)
        .is_problem(403, "forbidden");
    for path in [
        "/v1/recordings",
        &path,
        &format!("{path}/rows"),
        &format!("{path}/report"),
    ] {
        agent
            .request("GET", path, None)
            .is_problem(403, "forbidden");
    }
}

#[test]
fn a_screenshot_of_a_recording_never_changes() {
    require(Component::XServer);
    let server = recording_server(&["--desktop"]);
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    let id = agent.open(&json!({"display": "640x480"}));
    let look = response("computer", None, json!({"action": "screenshot"}));
    agent.post(&turn_path(&id), &look);
    server.assert_closes(&agent, &id);
    let events = rows(&viewer, &id, 1000);
    let blob = events.iter().find_map(|row| row["body"]["blob"].as_str());
    let path = format!(
        "/v1/recordings/{id}/screenshots/{}",
        blob.expect("a screenshot")
    );
    let (head, image) = viewer.bytes(&path);
    assert!(
        head.contains("200 OK") && head.contains("immutable"),
        "{head}"
    );
    assert!(image.starts_with(b"RIFF"), "{head}");
    let etag = head.lines().find_map(|line| line.strip_prefix("etag: "));
    let known = format!("If-None-Match: {}", etag.expect("an etag"));
    let same = viewer.request_with(&[&known], "GET", &path, None);
    assert_eq!(same.status, 304, "{same:?}");
    let other = path.replace(blob.expect("a screenshot"), &"0a".repeat(32));
    viewer
        .request("GET", &other, None)
        .is_problem(404, "not-found");
}

#[test]
fn nothing_beside_the_recordings_is_read() {
    let server = recording_server(&["--shell"]);
    let operator = server.client("operator");
    let folder = server.sessions.file("recordings");
    let outside = server.sessions.file("outside");
    for path in [&outside, &folder.join("other")] {
        std::fs::create_dir_all(path).expect("a folder");
    }
    for name in ["journal.sqlite", "lock"] {
        std::fs::write(outside.join(name), "").expect("a file");
    }
    std::os::unix::fs::symlink(&outside, folder.join("link")).expect("a link");
    let long = "x".repeat(300);
    for id in [
        "..%2Foutside",
        "%2e%2e",
        "%2E",
        "link",
        "other",
        "missing",
        "a%00b",
        &long,
        "link%2F",
    ] {
        for rest in [
            "",
            "/rows",
            "/report",
            &format!("/screenshots/{}", "0a".repeat(32)),
        ] {
            let path = format!("/v1/recordings/{id}{rest}");
            operator
                .request("GET", &path, None)
                .is_problem(404, "not-found");
        }
    }
    assert_eq!(operator.get("/v1/recordings"), json!({"recordings": []}));
    for query in ["from=x", "limit=-1", "from=1&from=2", "to=3"] {
        let path = format!("/v1/recordings/missing/rows?{query}");
        operator
            .request("GET", &path, None)
            .is_problem(400, "bad-request");
    }
    // A file that is no journal, or one of a newer version, is a problem with a reason.
    let broken = folder.join("broken");
    std::fs::create_dir(&broken).expect("a folder");
    std::fs::write(broken.join("lock"), "").expect("a file");
    std::fs::write(
        broken.join("journal.sqlite"),
        b"SQLite format 3\0 and no more",
    )
    .expect("a file");
    let refused = operator.request("GET", "/v1/recordings/broken/rows", None);
    refused.is_problem(409, "recording-unreadable");
}

#[test]
fn a_server_without_recordings_has_none() {
    let server = Server::of_shells();
    let viewer = server.client("viewer");
    assert_eq!(viewer.get("/v1/recordings"), json!({"recordings": []}));
    let missing = viewer.request("GET", "/v1/recordings/a/rows", None);
    missing.is_problem(404, "not-found");
    assert!(missing.body.contains("--record"), "{missing:?}");
}
