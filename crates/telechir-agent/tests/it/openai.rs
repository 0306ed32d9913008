//! Runs with OpenAI's Responses API.

use serde_json::{Value, json};
use telechir_agent::EndReason;
use telechir_protocol::ActionKind;
use telechir_providers::ImageLimit;

use crate::run::{TestRun, WORD};

pub(crate) fn computer(id: &str, actions: Value) -> Value {
    json!({"type": "computer_call", "id": format!("cu_{id}"), "call_id": id, "status": "completed", "actions": actions})
}

pub(crate) fn shell(id: &str, commands: Value) -> Value {
    let action = json!({"commands": commands, "timeout_ms": null, "max_output_length": 5000});
    json!({"type": "shell_call", "id": format!("sh_{id}"), "call_id": id, "status": "completed", "action": action, "created_by": "model"})
}

pub(crate) fn message(phase: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": phase, "content": content})
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZQ=="})
}

#[tokio::test]
async fn batches_of_actions_and_commands_are_executed_and_answered() {
    let run = TestRun::openai(json!([
        {"say": [reasoning(), computer("c1", json!([{"type": "screenshot"}]))]},
        {"say": [computer("c2", json!([
            {"type": "click", "button": "left", "x": 5, "y": 6, "keys": null},
            {"type": "keypress", "keys": ["CTRL", "S"]}, {"type": "type", "text": "hi"}])),
            shell("s1", json!(["show one", "show two"]))]},
        {"take": [{"name": "word", "call": "s1", "after": "the word is ", "until": "."}],
            "say": [shell("s2", json!(["show {{word}}"]))]},
        {"expect": [{"call": "s2", "contains": "ran show {{word}}"}], "say": [message("final_answer", "Done with {{word}}.")]},
    ]));
    let outcome = run.execute().await;
    let shown = format!("show {WORD}");
    assert_eq!(
        outcome.actions,
        [
            "click",
            "key",
            "type",
            "show one",
            "show two",
            shown.as_str()
        ]
    );
    let finished = outcome.clean();
    assert_eq!((finished.reason, finished.steps), (EndReason::Done, 3));
    assert_eq!(finished.text, format!("Done with {WORD}."));
}

#[tokio::test]
async fn a_failure_stops_its_batch_and_is_still_answered_with_a_screenshot() {
    let mut run = TestRun::openai(json!([
        {"say": [computer("c1", json!([
            {"type": "click", "button": "left", "x": 5, "y": 6, "keys": null}, {"type": "type", "text": "hi"}]))]},
        {"say": [message("final_answer", "I stop.")]},
    ]));
    run.fails_at = Some(ActionKind::Click);
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["click"]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn commentary_does_not_end_the_run() {
    let run = TestRun::openai(json!([
        {"say": [message("commentary", "I will look.")]},
        {"say": [message("final_answer", "Done.")]},
    ]));
    let finished = run.execute().await.clean();
    assert_eq!(
        (finished.reason, finished.text.as_str()),
        (EndReason::Done, "Done.")
    );
}

#[tokio::test]
async fn a_safety_check_without_a_user_is_not_acknowledged_and_nothing_is_executed() {
    let mut call = computer(
        "c1",
        json!([{"type": "click", "button": "left", "x": 5, "y": 6, "keys": null}]),
    );
    call["pending_safety_checks"] =
        json!([{"id": "sc_1", "code": "malicious_instructions", "message": "m"}]);
    let outcome = TestRun::openai(json!([{"say": [call]}])).execute().await;
    assert!(outcome.actions.is_empty());
    assert_eq!(
        outcome.clean().reason,
        EndReason::SafetyCheck {
            message: "m".into()
        }
    );
}

#[tokio::test]
async fn a_conversation_stays_valid_without_old_screenshots() {
    let turn = |id: &str| {
        let mut reasoning = reasoning();
        reasoning["id"] = format!("rs_{id}").into();
        json!({"say": [reasoning, computer(id, json!([{"type": "screenshot"}]))]})
    };
    let mut turns: Vec<Value> = ["c1", "c2", "c3", "c4", "c5"]
        .into_iter()
        .map(turn)
        .collect();
    turns.push(json!({"say": [message("final_answer", "Done.")]}));
    let mut run = TestRun::openai(turns.into());
    run.screenshots = ImageLimit {
        keep: 1,
        prune_above: 2,
    };
    assert_eq!(run.execute().await.clean().steps, 5);
}
