//! Runs with chat completions and Mistral's conversations.

use serde_json::{Value, json};
use telechir_agent::EndReason;
use telechir_protocol::ActionKind;
use telechir_providers::ImageLimit;

use crate::run::{TestRun, WORD};

const CHATS: [&str; 3] = ["functions", "functions-inline", "mistral-chat"];
const CONVERSATIONS: &str = "mistral-conversations";

/// A turn's content in the dialect's form: text, and calls with id, function, arguments.
pub(crate) fn content(dialect: &str, text: &str, calls: &[(&str, &str, Value)]) -> Value {
    if dialect != CONVERSATIONS {
        let entry = |(id, name, arguments): &(&str, &str, Value)| {
            let function = json!({"name": name, "arguments": arguments_text(arguments)});
            json!({"id": id, "type": "function", "function": function})
        };
        let calls: Vec<Value> = calls.iter().map(entry).collect();
        let calls = if calls.is_empty() {
            Value::Null
        } else {
            calls.into()
        };
        return json!([{"role": "assistant", "content": text, "tool_calls": calls, "refusal": null}]);
    }
    let mut entries = Vec::new();
    if !text.is_empty() {
        entries.push(
            json!({"object": "entry", "type": "message.output", "id": "msg_1",
            "role": "assistant", "content": text, "agent_id": null}),
        );
    }
    for (id, name, arguments) in calls {
        entries.push(
            json!({"object": "entry", "type": "function.call", "id": format!("fc_{id}"),
            "tool_call_id": id, "name": name, "arguments": arguments_text(arguments)}),
        );
    }
    entries.into()
}

fn arguments_text(arguments: &Value) -> String {
    let text = arguments.as_str().map(str::to_owned);
    text.unwrap_or_else(|| arguments.to_string())
}

/// All dialects of this file.
fn dialects() -> impl Iterator<Item = &'static str> {
    CHATS.into_iter().chain([CONVERSATIONS])
}

#[tokio::test]
async fn functions_are_executed_and_answered() {
    for dialect in dialects() {
        let content = |text, calls: &[_]| content(dialect, text, calls);
        let click = json!({"action": "click", "coordinate": [5, 6]});
        let key = json!({"action": "key", "key": "ctrl+s"});
        let run = TestRun::new(
            dialect,
            json!([
                {"say": content("I look.", &[("aaaaaaaa1", "computer", json!({"action": "screenshot"}))])},
                {"say": content("", &[
                    ("aaaaaaaa2", "computer", click), ("aaaaaaaa3", "computer", key),
                    ("aaaaaaaa4", "shell", json!({"command": "show one"})),
                ])},
                {"take": [{"name": "word", "call": "aaaaaaaa4", "after": "the word is ", "until": "."}],
                    "say": content("", &[("aaaaaaaa5", "shell", json!({"command": "show {{word}}"}))])},
                {"expect": [{"call": "aaaaaaaa5", "contains": "ran show {{word}}"}],
                    "say": content("Done with {{word}}.", &[])},
            ]),
        );
        let outcome = run.execute().await;
        let shown = format!("show {WORD}");
        assert_eq!(
            outcome.actions,
            ["click", "key", "show one", shown.as_str()]
        );
        let finished = outcome.clean();
        assert_eq!(
            (finished.reason, finished.steps),
            (EndReason::Done, 3),
            "{dialect}"
        );
        assert_eq!(finished.text, format!("Done with {WORD}."));
    }
}

#[tokio::test]
async fn an_invalid_call_is_answered_with_the_reason() {
    for dialect in dialects() {
        let content = |text, calls: &[_]| content(dialect, text, calls);
        let run = TestRun::new(
            dialect,
            json!([
                {"say": content("", &[
                    ("aaaaaaaa1", "computer", json!("{\"action\": \"cli")),
                    ("aaaaaaaa2", "weather", json!({"city": "Oslo"})),
                    ("aaaaaaaa3", "shell", json!("")),
                ])},
                {"expect": [
                    {"call": "aaaaaaaa1", "contains": "not JSON"},
                    {"call": "aaaaaaaa2", "contains": "No function of this session is named"},
                    {"call": "aaaaaaaa3", "contains": "`command` is missing"},
                ], "say": content("I stop.", &[])},
            ]),
        );
        let outcome = run.execute().await;
        assert!(
            outcome.actions.is_empty(),
            "{dialect}: {:?}",
            outcome.actions
        );
        assert_eq!(outcome.clean().reason, EndReason::Done, "{dialect}");
    }
}

#[tokio::test]
async fn a_failure_is_reported_and_the_run_continues() {
    for dialect in dialects() {
        let content = |text, calls: &[_]| content(dialect, text, calls);
        let click = json!({"action": "click", "coordinate": [5, 6]});
        let mut run = TestRun::new(
            dialect,
            json!([
                {"say": content("", &[("aaaaaaaa1", "computer", click)])},
                {"expect": [{"call": "aaaaaaaa1", "contains": "Error"}], "say": content("I stop.", &[])},
            ]),
        );
        run.fails_at = Some(ActionKind::Click);
        assert_eq!(
            run.execute().await.clean().reason,
            EndReason::Done,
            "{dialect}"
        );
    }
}

#[tokio::test]
async fn a_conversation_stays_valid_without_old_screenshots() {
    for dialect in dialects() {
        let ids = [
            "aaaaaaaa1",
            "aaaaaaaa2",
            "aaaaaaaa3",
            "aaaaaaaa4",
            "aaaaaaaa5",
        ];
        let look = |id| json!({"say": content(dialect, "", &[(id, "computer", json!({"action": "screenshot"}))])});
        let mut turns: Vec<Value> = ids.into_iter().map(look).collect();
        turns.push(json!({"say": content(dialect, "Done.", &[])}));
        let mut run = TestRun::new(dialect, turns.into());
        run.screenshots = ImageLimit {
            keep: 1,
            prune_above: 2,
        };
        assert_eq!(run.execute().await.clean().steps, 5, "{dialect}");
    }
}

/// Images above the limit of one request are removed.
#[tokio::test]
async fn mistral_gets_at_most_its_limit_of_images() {
    for dialect in ["mistral-chat", CONVERSATIONS] {
        let look = |number: usize| {
            let id = format!("aaaaaaa{number:02}");
            json!({"say": content(dialect, "", &[(&id, "computer", json!({"action": "screenshot"}))])})
        };
        let mut turns: Vec<Value> = (1..=12).map(look).collect();
        turns.push(json!({"say": content(dialect, "Done.", &[])}));
        assert_eq!(
            TestRun::new(dialect, turns.into())
                .execute()
                .await
                .clean()
                .steps,
            12
        );
    }
}

#[tokio::test]
async fn a_truncated_response_is_not_executed() {
    for dialect in CHATS {
        let calls = content(
            dialect,
            "",
            &[("aaaaaaaa1", "shell", json!({"command": "rm -r b"}))],
        );
        let run = TestRun::new(
            dialect,
            json!([{"say": calls, "with": {"finish_reason": "length"}}]),
        );
        let outcome = run.execute().await;
        assert!(outcome.actions.is_empty());
        assert_eq!(outcome.clean().reason, EndReason::MaxTokens);
    }
}

#[tokio::test]
async fn a_refusal_ends_the_run() {
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    let run = TestRun::new("functions", json!([{"say": [message]}]));
    let reason = "I cannot.".to_owned();
    assert_eq!(
        run.execute().await.clean().reason,
        EndReason::Refused { reason }
    );
}

#[tokio::test]
async fn a_connector_waiting_for_confirmation_ends_the_run() {
    let call = json!({"type": "function.call", "tool_call_id": "WJfo42Ow3", "name": "gmail_search",
        "arguments": "{}", "confirmation_status": "pending"});
    let outcome = TestRun::new(CONVERSATIONS, json!([{"say": [call]}]))
        .execute()
        .await;
    let EndReason::Incomplete { reason } = outcome.clean().reason else {
        panic!("another end")
    };
    assert!(reason.contains("gmail_search"), "{reason}");
}
