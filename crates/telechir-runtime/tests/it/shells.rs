//! Shell calls: what reaches the shell and what the result contains.

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::{Content, FailureKind, ModelTurn, ShellAction, ShellCall, ShellOutcome};
use telechir_runtime::{Journal, RecordKind, Session, read};

use crate::fakes::{FakeApprover, call, commands, in_shell, log_of, open_policy, shell};

fn outcomes(result: &telechir_protocol::ShellResult) -> Vec<ShellOutcome> {
    result
        .outputs
        .iter()
        .map(|output| output.outcome.clone())
        .collect()
}

#[tokio::test]
async fn commands_run_one_after_another_each_with_its_output() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["echo a", "pwd"])).await;
    assert_eq!(log_of(&log), ["echo a [30000 ms]", "pwd [30000 ms]"]);
    assert_eq!(result.stdout(), "ran echo a\nran pwd\n");
    assert_eq!(result.cwd.as_deref(), Some("/work"));
}

#[tokio::test]
async fn a_command_that_failed_is_followed_and_one_that_did_not_end_is_not() {
    use ShellOutcome::{AwaitingInput, Error, NotStarted, Success, Timeout};
    let check = async |lines: &[&str]| {
        let (builder, _log) = shell(open_policy());
        outcomes(&in_shell(&mut builder.build().unwrap(), commands("s1", lines)).await)
    };
    assert_eq!(check(&["fail x", "pwd"]).await, [Error, Success]);
    assert_eq!(
        check(&["pwd", "hang", "pwd", "pwd"]).await,
        [Success, Timeout, NotStarted, NotStarted]
    );
    assert_eq!(check(&["ask me", "pwd"]).await, [AwaitingInput, NotStarted]);
    assert_eq!(check(&["vanish", "pwd"]).await, [Error, NotStarted]);
}

#[tokio::test]
async fn the_models_time_is_capped() {
    let check = async |timeout_ms| {
        let (builder, log) = shell(open_policy());
        let questions = ShellCall {
            timeout_ms: Some(timeout_ms),
            ..commands("s1", &["pwd"])
        };
        in_shell(&mut builder.build().unwrap(), questions).await;
        log_of(&log).remove(0)
    };
    assert!(
        check(u64::MAX).await.starts_with("pwd [6000")
            || check(u64::MAX).await.starts_with("pwd [5999")
    );
    assert!(
        check(5000).await.starts_with("pwd [5000") || check(5000).await.starts_with("pwd [4999")
    );
}

#[tokio::test]
async fn one_refused_command_stops_the_call() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let result = in_shell(&mut session, commands("s1", &["pwd", "rm -rf x"])).await;
    assert_eq!(result.error.as_ref().unwrap().kind, FailureKind::Denied);
    assert_eq!(
        outcomes(&result),
        [ShellOutcome::NotStarted, ShellOutcome::NotStarted]
    );
    assert!(log_of(&log).is_empty());
}

#[tokio::test]
async fn a_tainted_shell_requires_approval_until_it_is_restarted() {
    let text = "
        [[shell]]
        words = ['alias']
        verdict = 'sandbox'
        reason = 'Test.'
    ";
    let (builder, log) = shell(Policy::from_toml(text, "test").unwrap());
    let mut session = builder.build().unwrap();
    in_shell(&mut session, commands("s1", &["alias ls=pwn"])).await;
    let questions = in_shell(&mut session, commands("s2", &["ls"])).await;
    assert_eq!(questions.error.unwrap().kind, FailureKind::Denied);
    let restart = ShellCall {
        action: ShellAction::Restart,
        ..commands("s3", &[])
    };
    let restarted = in_shell(&mut session, restart).await;
    assert_eq!(restarted.error, None);
    assert!(restarted.outputs[0].stdout.contains("was restarted"));
    assert_eq!(
        in_shell(&mut session, commands("s4", &["ls"])).await.error,
        None
    );
    assert_eq!(log_of(&log)[1..], ["restart", "ls [30000 ms]"]);
}

#[tokio::test]
async fn an_unsupported_shell_action_is_reported() {
    let (builder, log) = shell(open_policy());
    let mut session = builder.build().unwrap();
    for (questions, wanted) in [
        (
            ShellCall {
                action: ShellAction::List,
                ..commands("s", &[])
            },
            "perform `list`: this shell does not support it",
        ),
        (commands("s", &[]), "has no command"),
        (
            ShellCall {
                user: Some("root".to_owned()),
                ..commands("s", &["ls"])
            },
            "omit the user",
        ),
        (
            ShellCall {
                exception: Some("odd".to_owned()),
                ..commands("s", &["ls"])
            },
            "not understood",
        ),
    ] {
        let message = in_shell(&mut session, questions)
            .await
            .error
            .unwrap()
            .message;
        assert!(message.contains(wanted), "{message}");
    }
    assert!(log_of(&log).is_empty());
    let mut bare = Session::builder(open_policy()).build().unwrap();
    let message = in_shell(&mut bare, commands("s", &["ls"]))
        .await
        .error
        .unwrap()
        .message;
    assert!(message.contains("--shell"), "{message}");
}

fn input(call_id: &str, action: ShellAction) -> ShellCall {
    ShellCall {
        action,
        ..commands(call_id, &[])
    }
}

#[tokio::test]
async fn input_reaches_the_command_that_waits() {
    let (builder, log) = shell(open_policy());
    let mut session = builder.build().unwrap();
    let questions = in_shell(&mut session, commands("s1", &["ask me"])).await;
    assert_eq!(outcomes(&questions), [ShellOutcome::AwaitingInput]);
    let input_action = ShellAction::SendText("yes\n".to_owned());
    let answered = in_shell(&mut session, input("s2", input_action)).await;
    assert_eq!(answered.stdout(), "took it\n");
    in_shell(
        &mut session,
        input("s3", ShellAction::SendKey("ctrl+x".to_owned())),
    )
    .await;
    in_shell(&mut session, input("s4", ShellAction::CloseInput)).await;
    in_shell(&mut session, input("s5", ShellAction::Interrupt)).await;
    let odd = ShellAction::SendKey("ctrl+".to_owned());
    let refused = in_shell(&mut session, input("s6", odd)).await;
    assert_eq!(refused.error.unwrap().kind, FailureKind::InvalidInput);
    let seen = log_of(&log)[1..].to_vec();
    assert_eq!(seen, ["Text(4 characters)", "Key(..)", "End", "Interrupt"]);
}

#[tokio::test]
async fn input_is_judged_and_stopping_needs_no_approval() {
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let input_action = ShellAction::SendText("rm -rf x\n".to_owned());
    for action in [input_action, ShellAction::SendKey("y".to_owned())] {
        let denied = in_shell(&mut session, input("s", action)).await;
        assert_eq!(denied.error.unwrap().kind, FailureKind::Denied);
    }
    for (id, action) in [
        ("i", ShellAction::Interrupt),
        ("c", ShellAction::CloseInput),
        ("k", ShellAction::SendKey("Ctrl+C".to_owned())),
    ] {
        assert_eq!(in_shell(&mut session, input(id, action)).await.error, None);
    }
    assert_eq!(log_of(&log), ["Interrupt", "End", "Key(..)"]);
}

#[tokio::test]
async fn hidden_input_is_nowhere_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let person = FakeApprover {
        approving: true,
        ..FakeApprover::default()
    };
    let (builder, log) = shell(Policy::default_policy());
    let mut session = builder
        .journal(Journal::open(folder.path()).unwrap())
        .approver(person.clone())
        .build()
        .unwrap();
    in_shell(&mut session, commands("s1", &["hide it"])).await;
    let input_action = ShellAction::SendText("hunter2hunter2\n".to_owned());
    let mut call = input("s2", input_action);
    call.meta.raw_representation = Some(telechir_protocol::Raw::new(
        "any",
        serde_json::json!({"text": "hunter2hunter2"}),
    ));
    assert_eq!(in_shell(&mut session, call).await.error, None);
    let questions = person.questions.lock().unwrap().last().cloned().unwrap();
    assert_eq!(
        questions.lines,
        ["type text (15 characters, hidden) into the command that waits"]
    );
    // One key at a time, and as an action that no shell supports.
    in_shell(&mut session, commands("s3", &["hide it"])).await;
    let key = input("s4", ShellAction::SendKey("𝔎".to_owned()));
    assert_eq!(in_shell(&mut session, key).await.error, None);
    let questions = person.questions.lock().unwrap().last().cloned().unwrap();
    assert_eq!(
        questions.lines,
        ["press a key (hidden) into the command that waits"]
    );
    in_shell(&mut session, commands("s5", &["hide it"])).await;
    let mut odd = input("s6", ShellAction::Other("type_in".to_owned()));
    odd.meta.raw_representation = Some(telechir_protocol::Raw::new(
        "any",
        serde_json::json!({"text": "hunter2𝔎"}),
    ));
    assert!(in_shell(&mut session, odd).await.error.is_some());
    session.close().await.unwrap();
    assert!(log_of(&log).contains(&"Text(15 characters)".to_owned()));
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let secrets = ["hunter2", "𝔎"].map(str::as_bytes);
        let found = secrets
            .iter()
            .any(|secret| bytes.windows(secret.len()).any(|part| part == *secret));
        assert!(!found, "{}", path.display());
    }
}

#[tokio::test]
async fn input_is_hidden_only_after_calls_that_may_reach_a_prompt() {
    let (builder, _log) = shell(open_policy());
    let mut session = builder.build().unwrap();
    let text = || Content::ShellCall(input("t", ShellAction::SendText("continue\n".to_owned())));
    let screen = |action: serde_json::Value| Content::ComputerCall(call("c", &[action]));
    let in_shell_call = |action| Content::ShellCall(input("s", action));
    for (earlier, is_hidden) in [
        (None, false),
        (Some(screen(json!({"action": "screenshot"}))), false),
        (
            Some(screen(json!({"action": "wait", "duration": 1000}))),
            true,
        ),
        (Some(in_shell_call(ShellAction::List)), false),
        (
            Some(in_shell_call(ShellAction::Read("j1".to_owned()))),
            true,
        ),
        (Some(in_shell_call(ShellAction::Interrupt)), true),
        (Some(Content::ShellCall(commands("s", &["hide it"]))), true),
    ] {
        let calls = earlier.clone().into_iter().chain([text()]).collect();
        let hidden = session.hidden_input(&ModelTurn::new(calls).unwrap());
        assert_eq!(hidden == ["continue"], is_hidden, "{earlier:?}: {hidden:?}");
    }
    in_shell(&mut session, commands("s1", &["hide it"])).await;
    let hidden = session.hidden_input(&ModelTurn::new(vec![text()]).unwrap());
    assert_eq!(hidden, ["continue"]);
}

/// A program that takes input may be the shell itself, whose commands then mean something else.
#[tokio::test]
async fn input_taints_the_shell_and_looking_at_its_jobs_does_not() {
    let text = "
        [[shell]]
        words = ['ask']
        verdict = 'sandbox'
        reason = 'Test.'
    ";
    for (action, is_tainting) in [
        (ShellAction::List, false),
        (ShellAction::Interrupt, true),
        (ShellAction::CloseInput, true),
    ] {
        let (builder, _log) = shell(Policy::from_toml(text, "test").unwrap());
        let mut session = builder.build().unwrap();
        in_shell(&mut session, commands("s1", &["ask me"])).await;
        in_shell(&mut session, input("s2", action)).await;
        let later = in_shell(&mut session, commands("s3", &["ls"])).await;
        assert_eq!(later.error.is_some(), is_tainting);
    }
}

#[tokio::test]
async fn a_key_that_types_nothing_is_recorded_where_input_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let (builder, _log) = shell(open_policy());
    let journal = Journal::open(folder.path()).unwrap();
    let mut session = builder.journal(journal).build().unwrap();
    in_shell(&mut session, commands("s1", &["hide it"])).await;
    for (id, key) in [("s2", "enter"), ("s3", "x")] {
        let key = ShellAction::SendKey(key.to_owned());
        in_shell(&mut session, input(id, key)).await;
    }
    session.close().await.unwrap();
    let rows = read(folder.path()).unwrap().into_iter();
    let calls = rows.filter(|row| row.kind == RecordKind::Call).skip(1);
    let actions: Vec<_> = calls
        .map(|row| match serde_json::from_value(row.body).unwrap() {
            Content::ShellCall(call) => call.action,
            other => panic!("{other:?}"),
        })
        .collect();
    let shown = ["enter", "(a key, hidden)"].map(|key| ShellAction::SendKey(key.to_owned()));
    assert_eq!(actions, shown);
}
