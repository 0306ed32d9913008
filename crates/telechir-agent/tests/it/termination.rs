//! How runs end that do not end by the model's choice.

use serde_json::json;
use telechir_agent::{Canceller, EndReason};
use telechir_protocol::ActionKind;

use crate::anthropic::{bash, call, text};
use crate::run::Run;

#[tokio::test]
async fn at_the_step_limit_calls_are_not_carried_out() {
    let mut run = Run::anthropic(
        json!([{"say": [bash("t1", "show one")]}, {"say": [bash("t2", "show two")]}]),
    );
    run.max_steps = 1;
    let outcome = run.carry_out().await;
    assert_eq!(outcome.diary, ["show one"]);
    let finished = outcome.clean();
    assert_eq!((finished.reason, finished.steps), (EndReason::StepLimit, 1));
}

#[tokio::test]
async fn a_model_that_is_done_at_the_limit_may_say_so() {
    let mut run =
        Run::anthropic(json!([{"say": [bash("t1", "show one")]}, {"say": [text("Done.")]}]));
    run.max_steps = 1;
    assert_eq!(run.carry_out().await.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_cut_answer_is_not_carried_out() {
    let run = Run::anthropic(
        json!([{"say": [bash("t1", "show one")], "with": {"stop_reason": "max_tokens"}}]),
    );
    let outcome = run.carry_out().await;
    assert!(outcome.diary.is_empty());
    assert_eq!(outcome.clean().reason, EndReason::MaxTokens);
}

#[tokio::test]
async fn a_refusal_says_why() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "no"});
    let run = Run::anthropic(
        json!([{"say": [text("I will not.")], "with": {"stop_reason": "refusal", "stop_details": details}}]),
    );
    assert_eq!(
        run.carry_out().await.clean().reason,
        EndReason::Refused {
            reason: "cyber: no".into()
        }
    );
}

#[tokio::test]
async fn a_conversation_that_became_too_long_is_an_end_of_its_own() {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let run = Run::anthropic(json!([{"fault": {"status": 400, "body": body.to_string()}}]));
    assert_eq!(
        run.carry_out().await.clean().reason,
        EndReason::ContextExceeded
    );
}

#[tokio::test]
async fn a_cancelled_run_ends_in_the_middle_of_an_action() {
    let mut run =
        Run::anthropic(json!([{"say": [call("t1", "left_click", json!({"coordinate": [5, 6]}))]}]));
    run.hangs_at = Some(ActionKind::Click);
    let (canceller, signal) = Canceller::new();
    run.cancel = Some(signal);
    let diary = run.diary.clone();
    let stop = async {
        while diary.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        canceller.cancel();
    };
    let (outcome, ()) = tokio::join!(run.carry_out(), stop);
    assert_eq!(outcome.finished.unwrap().reason, EndReason::Cancelled);
    assert_eq!(outcome.diary, ["click"]);
}
