//! Requests are retried; actions never are.

use std::time::{Duration, Instant};

use serde_json::json;
use telechir_agent::{AgentError, EndReason};
use telechir_runtime::SessionEvent;

use crate::anthropic::{bash, text};
use crate::openai::message;
use crate::run::TestRun;

#[tokio::test]
async fn a_rate_limit_is_retried_without_repeating_an_action() {
    let run = TestRun::anthropic(json!([
        {"say": [bash("t1", "show it")]},
        {"fault": {"status": 429, "headers": {"retry-after": "1"}}},
        {"fault": {"status": 529, "headers": {"retry-after-ms": "20"}}},
        {"say": [text("Done.")]},
    ]));
    let started = Instant::now();
    let outcome = run.execute().await;
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(outcome.actions, ["show it"]);
    let waits: Vec<u64> = outcome.events.iter().filter_map(wait).collect();
    assert_eq!(waits, [1000, 20]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

fn wait(event: &SessionEvent) -> Option<u64> {
    let SessionEvent::Retrying { wait_ms, .. } = event else {
        return None;
    };
    Some(*wait_ms)
}

#[tokio::test]
async fn html_pages_empty_and_truncated_bodies_are_retried() {
    let run = TestRun::openai(json!([
        {"fault": {"status": 200, "body": "<html>maintenance</html>"}},
        {"fault": {"status": 200, "body": ""}},
        {"fault": {"status": 200, "body": "{\"output\": ["}},
        {"say": [message("final_answer", "Done.")]},
    ]));
    let outcome = run.execute().await;
    assert_eq!(outcome.report.requests, 4);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_response_that_failed_at_the_provider_is_retried() {
    let failed = json!({"id": "resp_1", "status": "failed", "output": [], "error": {"code": "server_error", "message": "m"}});
    let run = TestRun::openai(json!([
        {"fault": {"status": 200, "body": failed.to_string()}},
        {"say": [message("final_answer", "Done.")]},
    ]));
    assert_eq!(run.execute().await.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_refused_request_is_not_sent_again() {
    let outcome = TestRun::anthropic(json!([{"fault": {"status": 400}}]))
        .execute()
        .await;
    assert_eq!(outcome.report.requests, 1);
    let error = outcome.finished.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "get a response: the provider rejected the request with 400 (api_error): a recorded fault (request req_recorded)"
    );
}

#[tokio::test]
async fn a_wait_longer_than_the_budget_ends_the_run() {
    let fault = json!({"fault": {"status": 429, "headers": {"retry-after": "3600"}}});
    let outcome = TestRun::anthropic(json!([fault])).execute().await;
    assert!(matches!(
        outcome.finished,
        Err(AgentError::Refused { status: 429, .. })
    ));
    assert_eq!(outcome.report.requests, 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let outcome = TestRun::anthropic(
        json!([{"fault": {"status": 307, "headers": {"location": "https://evil.example/"}}}]),
    )
    .execute()
    .await;
    let error = outcome.finished.expect_err("refused").to_string();
    assert!(
        error.contains("it redirects to https://evil.example/, and redirects are not followed"),
        "{error}"
    );
}
