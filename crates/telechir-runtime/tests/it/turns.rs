//! Complete turns: batches, foreign tools, screenshots, events, cancellation.

use std::fmt::Debug;

use serde_json::{Map, json};
use telechir_protocol::{
    Arguments, ComputerCall, Content, EditCall, EditTool, FailureKind, FunctionCall, Meta,
    ModelTurn, ToolResult,
};
use telechir_runtime::{ActionEffect, AutoScreenshot, SessionEvent};

use crate::fakes::{
    Log, action_json, call, carry_out, click, commands, desktop, log_of, open_policy, shell,
};

fn in_group(id: &str, group: &str, action: serde_json::Value) -> Content {
    Content::ComputerCall(ComputerCall {
        group: Some(group.to_owned()),
        ..call(id, &[action])
    })
}

fn function(id: &str, name: &str) -> Content {
    Content::FunctionCall(FunctionCall {
        call_id: Some(id.into()),
        item_id: None,
        name: name.to_owned(),
        arguments: Arguments::Json(Map::new()),
        requires_local_execution: true,
        could_be_structured_output: false,
        exception: None,
        meta: Meta::default(),
    })
}

#[tokio::test]
async fn after_a_failure_the_rest_of_the_group_is_not_started() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder
        .auto_screenshot(AutoScreenshot::LastOfBatch)
        .build()
        .unwrap();
    let turn = carry_out(
        &mut session,
        vec![
            in_group("a", "computer", click(1, 1)),
            in_group("b", "computer", action_json("back")),
            in_group("c", "computer", click(2, 2)),
            in_group("d", "other", click(3, 3)),
        ],
    )
    .await;
    let kinds: Vec<_> = turn
        .results()
        .iter()
        .map(|result| match result {
            ToolResult::Computer(result) => (
                result.error.as_ref().map(|error| error.kind),
                result.screenshot.is_some(),
            ),
            ToolResult::Shell(_) | ToolResult::Edit(_) | ToolResult::Function(_) => panic!(),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (None, false),
            (Some(FailureKind::InvalidInput), true),
            (Some(FailureKind::NotExecuted), false),
            (None, true),
        ]
    );
    assert_eq!(
        log_of(&log),
        ["click 1,1", "back", "capture", "click 3,3", "capture"]
    );
}

#[tokio::test]
async fn a_model_that_reads_only_text_is_given_no_image() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder
        .auto_screenshot(AutoScreenshot::Never)
        .build()
        .unwrap();
    let region = json!({"action": "zoom", "region": [0, 0, 10, 10]});
    let turn = carry_out(
        &mut session,
        vec![
            in_group("a", "computer", click(1, 1)),
            in_group("b", "1", action_json("screenshot")),
            in_group("c", "2", region),
            in_group("d", "3", action_json("observe_screen")),
            in_group("e", "4", action_json("back")),
        ],
    )
    .await;
    let results: Vec<_> = turn
        .results()
        .iter()
        .map(|result| match result {
            ToolResult::Computer(result) => result,
            ToolResult::Shell(_) | ToolResult::Edit(_) | ToolResult::Function(_) => panic!(),
        })
        .collect();
    assert!(results.iter().all(|result| result.screenshot.is_none()));
    let kinds: Vec<_> = results
        .iter()
        .map(|result| result.error.as_ref().map(|error| error.kind))
        .collect();
    let unsupported = Some(FailureKind::Unsupported);
    assert_eq!(kinds[..4], [None, unsupported, unsupported, unsupported]);
    assert!(kinds[4].is_some(), "a failed call has no picture, either");
    assert_eq!(log_of(&log), ["click 1,1", "back"]);
}

#[tokio::test]
async fn a_requested_screenshot_is_always_present() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder
        .auto_screenshot(AutoScreenshot::LastOfBatch)
        .build()
        .unwrap();
    let turn = carry_out(
        &mut session,
        vec![
            in_group("a", "computer", action_json("screenshot")),
            in_group("b", "computer", click(1, 1)),
        ],
    )
    .await;
    let shown = turn.results().iter().filter(
        |result| matches!(result, ToolResult::Computer(result) if result.screenshot.is_some()),
    );
    assert_eq!(shown.count(), 2);
    assert_eq!(log_of(&log), ["capture", "click 1,1", "capture"]);
}

#[tokio::test]
async fn the_screenshot_goes_to_the_last_call_that_can_include_one() {
    let check = async |actions: &[&str]| {
        let (builder, _log) = desktop(open_policy());
        let mut session = builder
            .auto_screenshot(AutoScreenshot::LastOfBatch)
            .build()
            .unwrap();
        let calls = actions.iter().enumerate();
        let calls = calls.map(|(target_of, name)| {
            let action = match *name {
                "click" => click(1, 1),
                "switch_tab" | "close_tab" => json!({ "action": name, "tab": "1" }),
                name => action_json(name),
            };
            in_group(&target_of.to_string(), "browser", action)
        });
        let turn = carry_out(&mut session, calls.collect()).await;
        let shown = turn.results().iter().map(|result| match result {
            ToolResult::Computer(result) => result.screenshot.is_some(),
            _ => panic!("another result"),
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(check(&["click", "list_tabs"]).await, [true, false]);
    assert_eq!(
        check(&["new_tab", "click", "switch_tab"]).await,
        [false, true, false]
    );
    assert_eq!(check(&["new_tab", "close_tab"]).await, [false, false]);
    assert_eq!(check(&["new_tab", "click"]).await, [false, true]);
}

#[tokio::test]
async fn foreign_tools_and_edits_are_answered_and_not_run() {
    let (builder, _log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let edit = Content::EditCall(EditCall {
        call_id: "e".into(),
        item_id: None,
        tool: EditTool::Patch,
        operations: Vec::new(),
        exception: None,
        meta: Meta::default(),
    });
    let turn = carry_out(&mut session, vec![function("f", "get_weather"), edit]).await;
    let [ToolResult::Function(function), ToolResult::Edit(edit)] = turn.results() else {
        panic!("other results")
    };
    let message = &function.error.as_ref().unwrap().message;
    assert_eq!(
        message,
        "No function of this session is named \"get_weather\". Use the tools that were declared for \
         its devices: desktop."
    );
    assert!(
        edit.error
            .as_ref()
            .unwrap()
            .message
            .contains("no file editor")
    );
}

#[tokio::test]
async fn events_describe_the_turn_without_typed_text() {
    let (builder, _log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let mut reader = session.subscribe();
    let typing = json!({ "action": "type", "text": "hunter2" });
    carry_out(
        &mut session,
        vec![Content::ComputerCall(call("c1", &[typing]))],
    )
    .await;
    session.close().await.unwrap();
    let mut names = Vec::new();
    while let Some(event) = reader.next().await {
        let json = serde_json::to_value(&*event).unwrap();
        assert!(!json.to_string().contains("hunter2"), "{json}");
        assert_eq!(
            serde_json::from_value::<SessionEvent>(json.clone()).unwrap(),
            *event
        );
        names.push(json["event"].as_str().unwrap().to_owned());
        if let SessionEvent::ActionFinished {
            summary, effect, ..
        } = &*event
        {
            assert_eq!(
                (summary.as_str(), *effect),
                ("type (7 characters)", ActionEffect::Delivered)
            );
        }
    }
    assert_eq!(
        names,
        [
            "turn_started",
            "call_received",
            "call_judged",
            "action_started",
            "action_finished",
            "screenshot_taken",
            "call_answered",
            "turn_completed",
            "session_closed",
        ]
    );
}

#[tokio::test]
async fn a_slow_reader_loses_events_and_blocks_nobody() {
    let (builder, _log) = shell(open_policy());
    let mut session = builder.build().unwrap();
    let mut reader = session.subscribe();
    for turn in 0..160 {
        let questions = commands(&format!("s{turn}"), &["pwd"]);
        carry_out(&mut session, vec![Content::ShellCall(questions)]).await;
    }
    assert!(
        matches!(&*reader.next().await.unwrap(), SessionEvent::EventsDropped { count } if *count > 0)
    );
    assert!(!matches!(
        &*reader.next().await.unwrap(),
        SessionEvent::EventsDropped { .. }
    ));
}

/// Drops a turn once the log has this entry.
async fn drop_after(log: &Log, record: &str, turn: impl Future<Output: Debug>) {
    let is_logged = async {
        while !log_of(log).iter().any(|line| line == record) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        turn = turn => panic!("it ended: {turn:?}"),
        () = is_logged => {}
    }
}

#[tokio::test]
async fn a_dropped_turn_releases_keys_before_the_next() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let mut reader = session.subscribe();
    let turn = ModelTurn::new(vec![Content::ComputerCall(call(
        "c1",
        &[action_json("forward")],
    ))])
    .unwrap();
    drop_after(&log, "forward", session.execute(turn)).await;
    carry_out(
        &mut session,
        vec![Content::ComputerCall(call("c1", &[click(1, 1)]))],
    )
    .await;
    assert_eq!(log_of(&log), ["forward", "release", "click 1,1", "capture"]);
    session.close().await.unwrap();
    // Both the action and its call have their end as events, in this order.
    let mut ends = Vec::new();
    while let Some(event) = reader.next().await {
        match &*event {
            SessionEvent::ActionFinished { effect, .. } => ends.push(format!("{effect:?}")),
            SessionEvent::CallAnswered { failure, .. } => {
                ends.push(format!(
                    "{:?}",
                    failure.as_ref().map(|failure| failure.kind)
                ));
            }
            _ => {}
        }
    }
    assert_eq!(ends, ["Cancelled", "Some(Cancelled)", "Delivered", "None"]);
}

#[tokio::test]
async fn after_the_kill_switch_calls_are_cancelled_with_its_reason() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let mut events = session.subscribe();
    let first = call(
        "a",
        &[click(1, 1), action_json("minimize_window"), click(2, 2)],
    );
    let turn = carry_out(
        &mut session,
        vec![
            Content::ComputerCall(first),
            in_group("b", "other", click(3, 3)),
            Content::ShellCall(commands("c", &["true"])),
            function("d", "clock"),
        ],
    )
    .await;
    let failures: Vec<_> = turn
        .results()
        .iter()
        .map(|result| match result {
            ToolResult::Computer(result) => result.error.clone().unwrap(),
            ToolResult::Shell(result) => result.error.clone().unwrap(),
            ToolResult::Edit(result) => result.error.clone().unwrap(),
            ToolResult::Function(result) => result.error.clone().unwrap(),
        })
        .collect();
    for failure in &failures {
        assert_eq!(failure.kind, FailureKind::Cancelled);
        assert!(
            failure.message.contains("the stop key was pressed"),
            "{failure:?}"
        );
    }
    let acts = log_of(&log);
    let acts: Vec<&str> = acts
        .iter()
        .map(String::as_str)
        .filter(|record| *record != "capture")
        .collect();
    assert_eq!(acts, ["click 1,1", "minimize_window"]);
    assert_eq!(session.stopped(), Some("the stop key was pressed"));
    session.close().await.unwrap();
    let mut warnings = Vec::new();
    while let Some(event) = events.next().await {
        if let SessionEvent::Warning { message } = &*event {
            warnings.push(message.clone());
        }
    }
    assert_eq!(
        warnings,
        ["The user stopped this session: the stop key was pressed."]
    );
}
