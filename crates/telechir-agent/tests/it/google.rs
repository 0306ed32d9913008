//! Runs with Google's two APIs.

use serde_json::{Value, json};
use telechir_agent::EndReason;
use telechir_protocol::ActionKind;
use telechir_providers::ImageLimit;
use telechir_runtime::SessionEvent;

use crate::run::{TestRun, WORD};

const PARTS: &str = "google-generate-content";
const STEPS: &str = "google-interactions";

/// A call as a part or as a step; the first of a turn is signed.
pub(crate) fn call(dialect: &str, id: &str, name: &str, args: Value) -> Vec<Value> {
    if dialect == STEPS {
        return vec![
            json!({"type": "thought", "signature": "c2ln"}),
            json!({"type": "function_call", "id": id, "name": name, "arguments": args}),
        ];
    }
    vec![
        json!({"functionCall": {"id": id, "name": name, "args": args}, "thoughtSignature": "c2ln"}),
    ]
}

pub(crate) fn next(dialect: &str, id: &str, name: &str, args: Value) -> Value {
    call(dialect, id, name, args).pop().unwrap()
}

pub(crate) fn text(dialect: &str, text: &str) -> Value {
    if dialect == STEPS {
        return json!({"type": "model_output", "content": [{"type": "text", "text": text}]});
    }
    json!({"text": text})
}

#[tokio::test]
async fn computer_and_shell_calls_are_executed_in_order_and_answered() {
    for dialect in [PARTS, STEPS] {
        let mut second = call(
            dialect,
            "c2",
            "click",
            json!({"x": 500, "y": 250, "intent": "Focus."}),
        );
        second.push(next(
            dialect,
            "c3",
            "hotkey",
            json!({"keys": ["ctrl", "s"]}),
        ));
        second.push(next(
            dialect,
            "c4",
            "type",
            json!({"text": "hi", "press_enter": true}),
        ));
        second.push(next(dialect, "s1", "shell", json!({"command": "show one"})));
        let run = TestRun::new(
            dialect,
            json!([
                {"say": call(dialect, "c1", "take_screenshot", json!({}))},
                {"say": second},
                {"take": [{"name": "word", "call": "s1", "after": "the word is ", "until": "."}],
                    "say": call(dialect, "s2", "shell", json!({"command": "show {{word}}"}))},
                {"expect": [{"call": "s2", "contains": "ran show {{word}}"}], "say": [text(dialect, "Done with {{word}}.")]},
            ]),
        );
        let outcome = run.execute().await;
        let shown = format!("show {WORD}");
        assert_eq!(
            outcome.actions,
            ["click", "key", "type", "show one", shown.as_str()],
            "{dialect}"
        );
        let finished = outcome.clean();
        assert_eq!(
            (finished.reason, finished.steps),
            (EndReason::Done, 3),
            "{dialect}"
        );
        assert_eq!(finished.text, format!("Done with {WORD}."));
        assert!(
            finished
                .usage
                .total_token_count
                .is_some_and(|count| count > 0)
        );
    }
}

#[tokio::test]
async fn after_a_failure_the_rest_of_the_turn_is_answered_but_not_started() {
    for dialect in [PARTS, STEPS] {
        let mut content = call(dialect, "c1", "click", json!({"x": 5, "y": 6}));
        content.push(next(dialect, "c2", "type", json!({"text": "hi"})));
        let mut run = TestRun::new(
            dialect,
            json!([
                {"say": content},
                {"expect": [{"call": "c1", "contains": "It does not go."}, {"call": "c2", "contains": "not_executed"}],
                    "say": [text(dialect, "I stop.")]},
            ]),
        );
        run.fails_at = Some(ActionKind::Click);
        let outcome = run.execute().await;
        assert_eq!(outcome.actions, ["click"], "{dialect}");
        assert_eq!(outcome.clean().reason, EndReason::Done, "{dialect}");
    }
}

#[tokio::test]
async fn an_unconfirmed_safety_decision_ends_the_run_without_an_action() {
    let decision = json!({"decision": "require_confirmation", "explanation": "Buying."});
    for dialect in [PARTS, STEPS] {
        let args = json!({"x": 5, "y": 6, "safety_decision": decision});
        let run = TestRun::new(
            dialect,
            json!([{"say": call(dialect, "c1", "click", args)}]),
        );
        let outcome = run.execute().await;
        assert!(outcome.actions.is_empty(), "{dialect}");
        let message = "Buying.".to_owned();
        assert_eq!(outcome.clean().reason, EndReason::SafetyCheck { message });
    }
}

#[tokio::test]
async fn a_blocked_call_is_answered_with_an_error_and_not_executed() {
    let decision = json!({"decision": "blocked", "explanation": "Not this."});
    for dialect in [PARTS, STEPS] {
        let args = json!({"x": 5, "y": 6, "safety_decision": decision});
        let run = TestRun::new(
            dialect,
            json!([
                {"say": call(dialect, "c1", "click", args)},
                {"expect": [{"call": "c1", "contains": "Not this."}], "say": [text(dialect, "I see.")]},
            ]),
        );
        let outcome = run.execute().await;
        assert!(outcome.actions.is_empty(), "{dialect}");
        assert_eq!(outcome.clean().reason, EndReason::Done);
    }
}

#[tokio::test]
async fn a_conversation_stays_valid_without_old_screenshots() {
    for dialect in [PARTS, STEPS] {
        let turn = |id: &str| json!({"say": call(dialect, id, "take_screenshot", json!({}))});
        let mut turns: Vec<Value> = ["c1", "c2", "c3", "c4", "c5"]
            .into_iter()
            .map(turn)
            .collect();
        turns.push(json!({"say": [text(dialect, "Done.")]}));
        let mut run = TestRun::new(dialect, turns.into());
        run.screenshots = ImageLimit {
            keep: 1,
            prune_above: 2,
        };
        assert_eq!(run.execute().await.clean().steps, 5, "{dialect}");
    }
}

/// Google's reference agent retries too, with the same request.
#[tokio::test]
async fn a_malformed_call_is_requested_again() {
    let malformed = json!({
        "candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5},
    });
    let run = TestRun::new(
        PARTS,
        json!([
            {"fault": {"status": 200, "body": malformed.to_string()}},
            {"say": [text(PARTS, "Done.")]},
        ]),
    );
    assert_eq!(run.execute().await.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let run = TestRun::new(
        PARTS,
        json!([{"fault": {"status": 200, "body": blocked.to_string()}}]),
    );
    let reason = "SAFETY".to_owned();
    assert_eq!(
        run.execute().await.clean().reason,
        EndReason::Refused { reason }
    );
}

#[tokio::test]
async fn the_wait_in_an_error_is_respected() {
    let error = json!({"error": {
        "code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"}],
    }});
    let run = TestRun::new(
        PARTS,
        json!([
            {"fault": {"status": 429, "body": error.to_string()}},
            {"say": [text(PARTS, "Done.")]},
        ]),
    );
    let outcome = run.execute().await;
    let wait = |event: &SessionEvent| {
        let SessionEvent::Retrying { wait_ms, .. } = event else {
            return None;
        };
        Some(*wait_ms)
    };
    let waits = outcome.events.iter().filter_map(wait);
    assert_eq!(waits.collect::<Vec<_>>(), [20]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}
