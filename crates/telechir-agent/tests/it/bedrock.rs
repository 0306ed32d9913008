//! Runs with Bedrock's Converse API and with Anthropic bodies on Bedrock.

use serde_json::{Value, json};
use telechir_agent::{AgentError, EndReason};
use telechir_protocol::ActionKind;

use crate::anthropic;
use crate::run::{TestRun, WORD};

/// A call as the service sends it: with a `type` that its API model lacks.
fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": name, "input": input, "type": "tool_use"}})
}

pub(crate) fn computer(id: &str, input: Value) -> Value {
    call(id, "computer", input)
}

pub(crate) fn bash(id: &str, command: &str) -> Value {
    call(id, "bash", json!({"command": command}))
}

pub(crate) fn text(text: &str) -> Value {
    json!({"text": text})
}

fn converse(turns: Value) -> TestRun {
    TestRun::new("bedrock-converse", turns)
}

#[tokio::test]
async fn a_batch_is_executed_and_its_results_are_sent_with_the_next_request() {
    let thinking =
        json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}});
    let run = converse(json!([
        {"say": [thinking, text("I look."),
            computer("tooluse_1", json!({"action": "left_click", "coordinate": [5, 6]})),
            computer("tooluse_2", json!({"action": "type", "text": "hello"})),
            computer("tooluse_3", json!({"action": "screenshot"})), bash("tooluse_4", "show it")]},
        {"take": [{"name": "word", "call": "tooluse_4", "after": "the word is ", "until": "."}],
            "say": [bash("tooluse_5", "show {{word}}")]},
        {"expect": [{"call": "tooluse_5", "contains": "ran show {{word}}"}], "say": [text("Done with {{word}}.")]},
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
async fn a_failure_and_an_unreadable_call_are_reported() {
    let mut run = converse(json!([
        {"say": [computer("tooluse_1", json!({"action": "left_click", "coordinate": [5, 6]})),
            computer("tooluse_2", json!({"action": "fly"})), bash("tooluse_3", "show it")]},
        {"expect": [{"call": "tooluse_1", "contains": "It does not go."}, {"call": "tooluse_3", "contains": "ran show it"}],
            "say": [text("I stop.")]},
    ]));
    run.fails_at = Some(ActionKind::Click);
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["click", "show it"]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn a_guardrail_ends_a_run_as_a_refusal() {
    let run = converse(json!([
        {"say": [text("Sorry.")], "with": {"stopReason": "guardrail_intervened"}},
    ]));
    let finished = run.execute().await.clean();
    let reason = "guardrail_intervened".to_owned();
    assert_eq!(finished.reason, EndReason::Refused { reason });
}

/// A block as InvokeModel sends it: the legacy tool, with a Bedrock id.
fn older(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "computer", "input": input})
}

#[tokio::test]
async fn invoke_model_bodies_support_the_legacy_tools() {
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    let run = TestRun::new(
        "bedrock-invoke",
        json!([
            {"say": [thinking, anthropic::text("I look."),
                older("toolu_bdrk_1", json!({"action": "left_click", "coordinate": [5, 6]})),
                older("toolu_bdrk_2", json!({"action": "screenshot"})), anthropic::bash("toolu_bdrk_3", "show it")]},
            {"fault": {"status": 429}},
            {"take": [{"name": "word", "call": "toolu_bdrk_3", "after": "the word is ", "until": "."}],
                "say": [anthropic::text("Done with {{word}}.")]},
        ]),
    );
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["click", "show it"]);
    let finished = outcome.clean();
    assert_eq!(finished.reason, EndReason::Done);
    assert_eq!(finished.text, format!("Done with {WORD}."));
}

#[tokio::test]
async fn the_messages_endpoint_supports_toolsets() {
    let run = TestRun::new(
        "bedrock-messages",
        json!([
            {"say": [anthropic::call("toolu_bdrk_1", "left_click", json!({"coordinate": [5, 6]})),
                anthropic::call("toolu_bdrk_2", "screenshot", json!({})), anthropic::bash("toolu_bdrk_3", "show it")]},
            {"expect": [{"call": "toolu_bdrk_3", "contains": "ran show it"}], "say": [anthropic::text("Done.")]},
        ]),
    );
    let outcome = run.execute().await;
    assert_eq!(outcome.actions, ["click", "show it"]);
    assert_eq!(outcome.clean().reason, EndReason::Done);
}

#[tokio::test]
async fn an_aws_error_has_its_type_from_the_header() {
    for dialect in ["bedrock-converse", "bedrock-messages", "bedrock-invoke"] {
        let run = TestRun::new(dialect, json!([{"fault": {"status": 403}}]));
        let outcome = run.execute().await;
        let Err(AgentError::Refused {
            status,
            kind,
            message,
            ..
        }) = outcome.finished
        else {
            panic!("{dialect}: {:?}", outcome.finished);
        };
        assert_eq!((status, kind.as_str()), (403, "AccessDeniedException"));
        assert_eq!(message, "a recorded fault");
    }
}
