//! What the recording and the events say of single steps and calls.

use std::path::Path;

use serde_json::{Map, Value, json};
use telechir_policy::Policy;
use telechir_protocol::{Arguments, Content, FunctionCall, ShellAction, ShellCall, ToolResult};
use telechir_runtime::{
    Journal, RecordKind, RunId, Session, SessionBuilder, SessionEvent, SessionLimits, read,
};

use crate::edits;
use crate::fakes::{
    FakeScreen, Log, action_json, call, carry_out, click, commands, desktop, in_shell, log_of,
    on_screen, open_policy, shell,
};

fn recorded(folder: &Path, builder: SessionBuilder) -> Session {
    let journal = Journal::open(folder).unwrap();
    let builder = builder.journal(journal).run(RunId::new("run"));
    builder.build().unwrap()
}

fn with_action(call: ShellCall, action: ShellAction) -> Content {
    Content::ShellCall(ShellCall { action, ..call })
}

#[tokio::test]
async fn an_intent_describes_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let screen = FakeScreen::new(&Log::default());
    let builder = shell(open_policy()).0.desktop(Box::new(screen));
    let mut session = recorded(folder.path(), builder);
    let calls = vec![
        Content::ComputerCall(call("c1", &[click(1, 2)])),
        Content::ShellCall(commands("s1", &["pwd"])),
        with_action(commands("s2", &["watch"]), ShellAction::Start),
        with_action(commands("s3", &[]), ShellAction::Restart),
    ];
    carry_out(&mut session, calls).await;
    session.close().await.unwrap();
    let rows = read(folder.path()).unwrap().into_iter();
    let intents = rows.filter(|row| row.kind == RecordKind::Intent);
    let does: Vec<_> = intents.map(|row| row.body["does"].clone()).collect();
    let command =
        |line: &str| json!({ "device": "shell", "command": line, "cwd": null, "env": {} });
    let mut started = command("watch");
    started["background"] = true.into();
    let mut left_click = click(1, 2);
    left_click["button"] = "left".into();
    let expected = [
        json!({ "device": "desktop", "action": left_click }),
        command("pwd"),
        started,
        json!({ "device": "shell", "restart": true }),
    ];
    assert_eq!(does, expected);
}

/// The failures of all steps in a recording, with the effects of the steps.
fn effects(folder: &Path) -> Vec<(Value, Value)> {
    let rows = read(folder).unwrap().into_iter();
    rows.filter(|row| row.body["event"] == "action_finished")
        .map(|row| {
            (
                row.body["effect"].clone(),
                row.body["failure"]["message"].clone(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_failed_step_has_its_reason_also_when_it_is_answered_from_the_journal() {
    let screen_call = call("c1", &[click(1, 1), action_json("back")]);
    let why_not_back = json!("There is no page before.");
    for (builder, calls, expected) in [
        (
            desktop as fn(Policy) -> (SessionBuilder, Log),
            Content::ComputerCall(screen_call),
            [("delivered", Value::Null), ("failed", why_not_back)],
        ),
        (
            shell,
            Content::ShellCall(commands("s1", &["pwd", "vanish"])),
            [
                ("confirmed", Value::Null),
                ("failed", json!("Failed to reach the shell: it is gone.")),
            ],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for _delivery in 0..2 {
            let mut session = recorded(folder.path(), builder(open_policy()).0);
            let turn = telechir_protocol::ModelTurn::new(vec![calls.clone()]).unwrap();
            session.execute_once(turn).await.unwrap();
            session.close().await.unwrap();
        }
        let first = expected.iter().cloned();
        let again = expected.iter().map(|(_, why)| ("recorded", why.clone()));
        let all = first.chain(again).map(|(effect, why)| (json!(effect), why));
        assert_eq!(effects(folder.path()), all.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_event_of_an_answered_call_has_the_reason_of_its_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = recorded(folder.path(), Session::builder(open_policy()));
    let mut events = session.subscribe();
    let calls = vec![
        Content::ComputerCall(call("c1", &[click(1, 1)])),
        Content::ShellCall(commands("s1", &["pwd"])),
        Content::EditCall(edits::call(&[("view", "/work/a")])),
        Content::FunctionCall(FunctionCall {
            call_id: Some("f1".into()),
            ..FunctionCall::new("sing", Arguments::Json(Map::new()))
        }),
    ];
    let answered = carry_out(&mut session, calls).await;
    session.close().await.unwrap();
    let reasons = answered.results().iter().map(|result| match result {
        ToolResult::Computer(result) => result.error.clone(),
        ToolResult::Shell(result) => result.error.clone(),
        ToolResult::Edit(result) => result.error.clone(),
        ToolResult::Function(result) => result.error.clone(),
    });
    let reasons: Vec<_> = reasons.collect();
    assert!(reasons.iter().all(Option::is_some), "{reasons:?}");
    let mut announced = Vec::new();
    while let Some(event) = events.next().await {
        if let SessionEvent::CallAnswered { failure, .. } = &*event {
            announced.push(failure.clone());
        }
    }
    assert_eq!(announced, reasons);
}

#[tokio::test]
async fn a_call_of_too_many_steps_does_nothing() {
    let limits = SessionLimits {
        max_actions: 2,
        ..SessionLimits::default()
    };
    for count in 1..=4 {
        let (builder, log) = desktop(open_policy());
        let mut session = builder.limits(limits).build().unwrap();
        let result = on_screen(&mut session, call("c1", &vec![click(1, 1); count])).await;
        assert_eq!(result.error.is_some(), count > 2, "{count}");
        let clicks = log_of(&log)
            .iter()
            .filter(|line| line.starts_with("click"))
            .count();
        assert_eq!(clicks, if count > 2 { 0 } else { count });

        let (builder, log) = shell(open_policy());
        let mut session = builder.limits(limits).build().unwrap();
        let result = in_shell(&mut session, commands("s1", &vec!["pwd"; count])).await;
        assert_eq!(result.error.is_some(), count > 2, "{count}");
        assert_eq!(log_of(&log).len(), if count > 2 { 0 } else { count });
    }
}
