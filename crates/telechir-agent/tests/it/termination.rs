//! Runs that end for other reasons than the model's.

use serde_json::json;
use telechir_agent::{Canceller, EndReason};
use telechir_protocol::ActionKind;

use crate::anthropic::{bash, call, text};
use crate::run::TestRun;

#[tokio::test]
async fn at_the_step_limit_the_model_gets_no_further_request() {
    let mut run = TestRun::anthropic(
        json!([{"say": [bash("t1", "show one")]}, {"say": [bash("t2", "show two")]}]),
    );
    run.max_steps = 2;
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["show one", "show two"]);
    assert_eq!(outcome.report.requests, 2);
    let finished = outcome.clean();
    assert_eq!((finished.reason, finished.steps), (EndReason::StepLimit, 2));
}

#[tokio::test]
async fn a_model_can_finish_at_the_step_limit() {
    let mut run =
        TestRun::anthropic(json!([{"say": [bash("t1", "show one")]}, {"say": [text("Done.")]}]));
    run.max_steps = 2;
    assert_eq!(run.execute().await.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_truncated_response_is_not_executed() {
    let run = TestRun::anthropic(
        json!([{"say": [bash("t1", "show one")], "with": {"stop_reason": "max_tokens"}}]),
    );
    let outcome = run.execute().await;
    assert!(outcome.actions.is_empty());
    assert_eq!(outcome.clean().reason, EndReason::MaxTokens);
}

#[tokio::test]
async fn a_refusal_has_a_reason() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "no"});
    let run = TestRun::anthropic(
        json!([{"say": [text("I will not.")], "with": {"stop_reason": "refusal", "stop_details": details}}]),
    );
    assert_eq!(
        run.execute().await.clean().reason,
        EndReason::Refused {
            reason: "cyber: no".into()
        }
    );
}

#[tokio::test]
async fn an_exceeded_context_has_its_own_end_reason() {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let run = TestRun::anthropic(json!([{"fault": {"status": 400, "body": body.to_string()}}]));
    assert_eq!(
        run.execute().await.clean().reason,
        EndReason::ContextExceeded
    );
}

#[tokio::test]
async fn a_cancelled_run_ends_in_the_middle_of_an_action() {
    let mut run = TestRun::anthropic(
        json!([{"say": [call("t1", "left_click", json!({"coordinate": [5, 6]}))]}]),
    );
    run.hangs_at = Some(ActionKind::Click);
    let (canceller, signal) = Canceller::new();
    run.cancel = Some(signal);
    let actions = run.actions.clone();
    let stop = async {
        while actions.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        canceller.cancel();
    };
    let (outcome, ()) = tokio::join!(run.execute(), stop);
    assert_eq!(outcome.finished.unwrap().reason, EndReason::Cancelled);
    assert_eq!(outcome.actions, ["click"]);
}
