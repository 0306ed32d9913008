//! Metrics: what is counted of sessions and requests, and what is no label.

use serde_json::json;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::client::{Client, Server};
use super::{bash_with_id, shell, turn_path};
use crate::sessions::{SessionFixture, response};

/// The metrics, as Prometheus reads them.
fn scrape(client: &Client) -> String {
    let answer = client.request("GET", "/metrics", None);
    assert_eq!(answer.status, 200, "{answer:?}");
    let kind = answer.header("content-type").expect("a type");
    assert!(
        kind.starts_with("application/openmetrics-text; version=1.0.0"),
        "{kind}"
    );
    answer.body
}

/// The value of a metric with these labels.
fn value(text: &str, metric: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

/// Calls of a tool that were counted.
fn calls(text: &str, tool: &str) -> f64 {
    let metric = format!("telechir_calls_total{{tool=\"{tool}\"");
    let lines = text.lines().filter(|line| line.starts_with(&metric));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[test]
fn a_session_that_continues_a_recording_is_counted_from_its_start() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let record = format!("--record={}", sessions.file("recordings").display());
    let server = Server::in_folder(sessions, &["--shell", &record]);
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    let open = || {
        let key = ["Idempotency-Key: again"];
        let answer = agent.request_with(&key, "POST", "/v1/sessions", Some("{}"));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    };
    let id = open();
    agent.post(&turn_path(&id), &bash_with_id("m1", "echo first"));
    server.assert_closes(&agent, &id);
    assert_eq!(open(), id);
    // Events are counted in order: with this one, all before it are.
    let look = response("screenshot", Some("computer"), json!({}));
    let look = look.replace("toolu_1", "m2");
    agent.post(&turn_path(&id), &look);
    assert_eventually_blocking!(scrape(&viewer), |text| calls(text, "computer") == 1.0);
    let text = scrape(&viewer);
    assert_eq!(calls(&text, "shell"), 1.0, "{text}");
    server.assert_closes(&agent, &id);
}

#[test]
fn what_happens_in_sessions_is_counted() {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let (agent, viewer) = (server.client("agent"), server.client("viewer"));
    agent
        .request("GET", "/metrics", None)
        .is_problem(403, "forbidden");
    let before = scrape(&viewer);
    assert_eq!(
        value(&before, "telechir_sessions{state=\"idle\"}"),
        Some(0.0),
        "{before}"
    );
    assert_eq!(value(&before, "telechir_sessions_max"), Some(16.0));
    let id = agent.open(&json!({"name": "a-secret-name"}));
    shell(&agent, &id, "echo one");
    agent.post(
        &turn_path(&id),
        &bash_with_id("m2", "exit_with() { return 3; }; exit_with"),
    );
    // The events are read from the recording.
    let is_counted = |text: &String| {
        calls(text, "shell") == 2.0
            && value(text, "telechir_step_duration_seconds_count{step=\"turn\"}") >= Some(2.0)
    };
    assert_eventually_blocking!(scrape(&viewer), |text| is_counted(text));
    let text = scrape(&viewer);
    let action = text
        .lines()
        .find(|line| line.starts_with("telechir_actions_total{device=\"shell\""));
    assert!(
        action.is_some_and(|line| line.contains("effect=\"confirmed\"")),
        "{text}"
    );
    for step in ["action", "call", "turn"] {
        let count = format!("telechir_step_duration_seconds_count{{step=\"{step}\"}}");
        assert!(value(&text, &count) >= Some(2.0), "{step}: {text}");
    }
    assert_eq!(
        value(&text, "telechir_sessions{state=\"idle\"}"),
        Some(1.0),
        "{text}"
    );
    assert_eq!(
        value(&text, "telechir_approvals_waiting"),
        Some(0.0),
        "{text}"
    );
    let opened = "telechir_http_requests_total{operation=\"openSession\",status=\"201\"}";
    assert_eq!(value(&text, opened), Some(1.0), "{text}");
    for private in ["a-secret-name", &id, "agent/test", "echo one"] {
        assert!(!text.contains(private), "{private}: {text}");
    }

    // A server that is started again counts what comes.
    server.kill_and_restart();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    let viewer = server.client("viewer");
    agent.post(&turn_path(&id), &bash_with_id("m3", "echo three"));
    let turns = "telechir_step_duration_seconds_count{step=\"turn\"}";
    assert_eventually_blocking!(scrape(&viewer), |text| value(text, turns) == Some(1.0));
    server.assert_closes(&agent, &id);
}
