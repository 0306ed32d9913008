//! Runs with Anthropic's Messages API.

use serde_json::{Value, json};
use telechir_agent::EndReason;
use telechir_protocol::ActionKind;
use telechir_providers::ImageLimit;

use crate::run::{TestRun, WORD};

pub(crate) fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": "computer", "input": input, "caller": {"type": "direct"}})
}

pub(crate) fn bash(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}, "caller": {"type": "direct"}})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[tokio::test]
async fn a_batch_is_executed_and_its_results_are_sent_with_the_next_request() {
    let thinking = json!({"type": "thinking", "thinking": "First look.", "signature": "c2ln"});
    let run = TestRun::anthropic(json!([
        {"say": [thinking, text("I look."), call("t1", "left_click", json!({"coordinate": [5, 6]})),
            call("t2", "type", json!({"text": "hello"})), call("t3", "screenshot", json!({})), bash("t4", "show it")]},
        {"take": [{"name": "word", "call": "t4", "after": "the word is ", "until": "."}],
            "say": [bash("t5", "show {{word}}")]},
        {"expect": [{"call": "t5", "contains": "ran show {{word}}"}], "say": [text("Done with {{word}}.")]},
    ]));
    let outcome = run.execute().await;
    let shown = format!("show {WORD}");
    assert_eq!(
        outcome.actions,
        ["click", "type", "show it", shown.as_str()]
    );
    let finished = outcome.clean();
    assert_eq!((finished.reason, finished.steps), (EndReason::Done, 2));
    assert_eq!(finished.text, format!("Done with {WORD}."));
    assert!(finished.usage.input_token_count.unwrap() > 0);
}

#[tokio::test]
async fn a_failure_stops_only_the_batch_of_its_group() {
    let mut run = TestRun::anthropic(json!([
        {"say": [call("t1", "left_click", json!({"coordinate": [5, 6]})), bash("t2", "show it"),
            call("t3", "type", json!({"text": "hello"}))]},
        {"expect": [{"call": "t1", "contains": "It does not go."}, {"call": "t2", "contains": "ran show it"}],
            "say": [text("I stop.")]},
    ]));
    run.fails_at = Some(ActionKind::Click);
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["click", "show it"]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_call_for_a_missing_device_is_answered_with_an_error() {
    let mut run = TestRun::anthropic(json!([
        {"say": [bash("t1", "show it")]},
        {"expect": [{"call": "t1", "contains": "--shell"}], "say": [text("No shell.")]},
    ]));
    run.session_has_shell = false;
    let outcome = run.execute().await;
    assert!(outcome.actions.is_empty());
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_paused_turn_is_sent_back_unchanged() {
    let hosted = json!({"type": "server_tool_use", "id": "srv1", "name": "bash_code_execution", "input": {"command": "true"}});
    let run = TestRun::anthropic(json!([
        {"say": [hosted], "with": {"stop_reason": "pause_turn"}},
        {"say": [text("Back.")]},
    ]));
    let finished = run.execute().await.clean();
    assert_eq!(
        (finished.reason, finished.text.as_str()),
        (EndReason::Done, "Back.")
    );
}

#[tokio::test]
async fn the_recorded_model_repeats_a_turn_until_its_condition_holds() {
    let again = json!({"until": {"call": "t{{round}}", "contains": "ran show 3"}, "rounds": 5});
    let run = TestRun::anthropic(json!([
        {"again": again, "say": [bash("t{{round}}", "show {{round}}")]},
        {"say": [text("It happened.")]},
    ]));
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["show 1", "show 2", "show 3"]);
    assert_eq!(outcome.clean().text, "It happened.");
}

#[tokio::test]
async fn the_recorded_model_fails_after_its_last_round() {
    let again = json!({"until": {"call": "t{{round}}", "contains": "never"}, "rounds": 2});
    let run = TestRun::anthropic(json!([
        {"again": again, "say": [bash("t{{round}}", "show {{round}}")]},
        {"say": [text("It happened.")]},
    ]));
    let outcome = run.execute().await;
    assert!(!outcome.report.is_clean() && outcome.finished.is_err());
    assert!(
        outcome.report.rejections[0]
            .message
            .contains(r#"does not contain "never""#)
    );
}

#[tokio::test]
async fn a_script_that_waits_for_a_value_the_run_did_not_report_cannot_pass() {
    let rule =
        json!({"name": "word", "call": "t1", "after": "the word of today is ", "until": "."});
    let run = TestRun::anthropic(json!([
        {"say": [bash("t1", "show it")]},
        {"take": [rule], "say": [text("It is {{word}}.")]},
    ]));
    let outcome = run.execute().await;
    assert!(
        outcome.report.rejections[0]
            .message
            .contains("does not contain a word")
    );
    assert!(outcome.finished.is_err());
}

#[tokio::test]
async fn a_conversation_stays_valid_without_old_screenshots() {
    let turn = |id: &str| json!({"say": [call(id, "screenshot", json!({}))]});
    let mut turns: Vec<Value> = ["t1", "t2", "t3", "t4", "t5"]
        .into_iter()
        .map(turn)
        .collect();
    turns.insert(
        2,
        json!({"say": [call("t0", "left_click", json!({"coordinate": [1, 2]}))]}),
    );
    turns.push(json!({"say": [text("Done.")]}));
    let mut run = TestRun::anthropic(turns.into());
    run.screenshots = ImageLimit {
        keep: 1,
        prune_above: 2,
    };
    assert_eq!(run.execute().await.clean().steps, 6);
}
