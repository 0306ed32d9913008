//! Chat completions and Mistral's conversations, over HTTP and back.

use serde_json::{Value, json};
use telechir_agent::EndReason;
use telechir_protocol::ActionKind;
use telechir_providers::ImageLimit;

use crate::run::{Run, WORD};

const CHATS: [&str; 3] = ["functions", "functions-inline", "mistral-chat"];
const CONVERSATIONS: &str = "mistral-conversations";

/// A turn's words in the form that the dialect has: words, and calls with id, function, arguments.
fn say(dialect: &str, words: &str, calls: &[(&str, &str, Value)]) -> Value {
    if dialect != CONVERSATIONS {
        let entry = |(id, name, arguments): &(&str, &str, Value)| {
            let function = json!({"name": name, "arguments": text(arguments)});
            json!({"id": id, "type": "function", "function": function})
        };
        let calls: Vec<Value> = calls.iter().map(entry).collect();
        let calls = if calls.is_empty() {
            Value::Null
        } else {
            calls.into()
        };
        return json!([{"role": "assistant", "content": words, "tool_calls": calls, "refusal": null}]);
    }
    let mut entries = Vec::new();
    if !words.is_empty() {
        entries.push(
            json!({"object": "entry", "type": "message.output", "id": "msg_1",
            "role": "assistant", "content": words, "agent_id": null}),
        );
    }
    for (id, name, arguments) in calls {
        entries.push(
            json!({"object": "entry", "type": "function.call", "id": format!("fc_{id}"),
            "tool_call_id": id, "name": name, "arguments": text(arguments)}),
        );
    }
    entries.into()
}

fn text(arguments: &Value) -> String {
    let text = arguments.as_str().map(str::to_owned);
    text.unwrap_or_else(|| arguments.to_string())
}

/// All of them.
fn dialects() -> impl Iterator<Item = &'static str> {
    CHATS.into_iter().chain([CONVERSATIONS])
}

#[tokio::test]
async fn functions_are_carried_out_and_answered() {
    for dialect in dialects() {
        let say = |words, calls: &[_]| say(dialect, words, calls);
        let click = json!({"action": "click", "coordinate": [5, 6]});
        let key = json!({"action": "key", "key": "ctrl+s"});
        let run = Run::new(
            dialect,
            json!([
                {"say": say("I look.", &[("aaaaaaaa1", "computer", json!({"action": "screenshot"}))])},
                {"say": say("", &[
                    ("aaaaaaaa2", "computer", click), ("aaaaaaaa3", "computer", key),
                    ("aaaaaaaa4", "shell", json!({"command": "show one"})),
                ])},
                {"take": [{"name": "word", "call": "aaaaaaaa4", "after": "the word is ", "until": "."}],
                    "say": say("", &[("aaaaaaaa5", "shell", json!({"command": "show {{word}}"}))])},
                {"expect": [{"call": "aaaaaaaa5", "contains": "ran show {{word}}"}],
                    "say": say("Done with {{word}}.", &[])},
            ]),
        );
        let outcome = run.carry_out().await;
        let shown = format!("show {WORD}");
        assert_eq!(outcome.diary, ["click", "key", "show one", shown.as_str()]);
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
async fn a_call_that_is_not_understood_is_told_why() {
    for dialect in dialects() {
        let say = |words, calls: &[_]| say(dialect, words, calls);
        let run = Run::new(
            dialect,
            json!([
                {"say": say("", &[
                    ("aaaaaaaa1", "computer", json!("{\"action\": \"cli")),
                    ("aaaaaaaa2", "weather", json!({"city": "Oslo"})),
                    ("aaaaaaaa3", "shell", json!("")),
                ])},
                {"expect": [
                    {"call": "aaaaaaaa1", "contains": "not JSON"},
                    {"call": "aaaaaaaa2", "contains": "not a tool of this session"},
                    {"call": "aaaaaaaa3", "contains": "`command` is missing"},
                ], "say": say("I stop.", &[])},
            ]),
        );
        let outcome = run.carry_out().await;
        assert!(outcome.diary.is_empty(), "{dialect}: {:?}", outcome.diary);
        assert_eq!(outcome.clean().reason, EndReason::Done, "{dialect}");
    }
}

#[tokio::test]
async fn a_failure_is_told_and_the_run_goes_on() {
    for dialect in dialects() {
        let say = |words, calls: &[_]| say(dialect, words, calls);
        let click = json!({"action": "click", "coordinate": [5, 6]});
        let mut run = Run::new(
            dialect,
            json!([
                {"say": say("", &[("aaaaaaaa1", "computer", click)])},
                {"expect": [{"call": "aaaaaaaa1", "contains": "Error"}], "say": say("I stop.", &[])},
            ]),
        );
        run.fails_at = Some(ActionKind::Click);
        assert_eq!(
            run.carry_out().await.clean().reason,
            EndReason::Done,
            "{dialect}"
        );
    }
}

#[tokio::test]
async fn a_conversation_without_its_old_screenshots_is_still_one() {
    for dialect in dialects() {
        let ids = [
            "aaaaaaaa1",
            "aaaaaaaa2",
            "aaaaaaaa3",
            "aaaaaaaa4",
            "aaaaaaaa5",
        ];
        let look = |id| json!({"say": say(dialect, "", &[(id, "computer", json!({"action": "screenshot"}))])});
        let mut turns: Vec<Value> = ids.into_iter().map(look).collect();
        turns.push(json!({"say": say(dialect, "Done.", &[])}));
        let mut run = Run::new(dialect, turns.into());
        run.screenshots = ImageLimit {
            keep: 1,
            prune_above: 2,
        };
        assert_eq!(run.carry_out().await.clean().steps, 5, "{dialect}");
    }
}

/// More pictures than one request may have leave by themselves.
#[tokio::test]
async fn mistral_gets_no_more_screenshots_than_it_takes() {
    for dialect in ["mistral-chat", CONVERSATIONS] {
        let look = |number: usize| {
            let id = format!("aaaaaaa{number:02}");
            json!({"say": say(dialect, "", &[(&id, "computer", json!({"action": "screenshot"}))])})
        };
        let mut turns: Vec<Value> = (1..=12).map(look).collect();
        turns.push(json!({"say": say(dialect, "Done.", &[])}));
        assert_eq!(
            Run::new(dialect, turns.into())
                .carry_out()
                .await
                .clean()
                .steps,
            12
        );
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_not_carried_out() {
    for dialect in CHATS {
        let calls = say(
            dialect,
            "",
            &[("aaaaaaaa1", "shell", json!({"command": "rm -r b"}))],
        );
        let run = Run::new(
            dialect,
            json!([{"say": calls, "with": {"finish_reason": "length"}}]),
        );
        let outcome = run.carry_out().await;
        assert!(outcome.diary.is_empty());
        assert_eq!(outcome.clean().reason, EndReason::MaxTokens);
    }
}

#[tokio::test]
async fn a_refusal_ends_the_run() {
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    let run = Run::new("functions", json!([{"say": [message]}]));
    let reason = "I cannot.".to_owned();
    assert_eq!(
        run.carry_out().await.clean().reason,
        EndReason::Refused { reason }
    );
}

#[tokio::test]
async fn a_connector_that_waits_for_a_person_ends_the_run() {
    let call = json!({"type": "function.call", "tool_call_id": "WJfo42Ow3", "name": "gmail_search",
        "arguments": "{}", "confirmation_status": "pending"});
    let outcome = Run::new(CONVERSATIONS, json!([{"say": [call]}]))
        .carry_out()
        .await;
    let EndReason::Incomplete { reason } = outcome.clean().reason else {
        panic!("another end")
    };
    assert!(reason.contains("gmail_search"), "{reason}");
}
