//! Shell calls: what reaches the shell and what comes back.

use telechir_policy::Policy;
use telechir_protocol::{FailureKind, ShellAction, ShellCall, ShellOutcome};
use telechir_runtime::Session;

use crate::fakes::{commands, in_shell, log_of, open_policy, shell};

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
        let asked = ShellCall {
            timeout_ms: Some(timeout_ms),
            ..commands("s1", &["pwd"])
        };
        in_shell(&mut builder.build().unwrap(), asked).await;
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
async fn one_refused_command_stops_the_whole_call() {
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
async fn a_changed_shell_asks_until_it_is_restarted() {
    let text = "
        [[shell]]
        words = ['alias']
        verdict = 'sandbox'
        reason = 'Test.'
    ";
    let (builder, log) = shell(Policy::from_toml(text, "test").unwrap());
    let mut session = builder.build().unwrap();
    in_shell(&mut session, commands("s1", &["alias ls=pwn"])).await;
    let asked = in_shell(&mut session, commands("s2", &["ls"])).await;
    assert_eq!(asked.error.unwrap().kind, FailureKind::Denied);
    let restart = ShellCall {
        action: ShellAction::Restart,
        ..commands("s3", &[])
    };
    assert_eq!(in_shell(&mut session, restart).await.error, None);
    assert_eq!(
        in_shell(&mut session, commands("s4", &["ls"])).await.error,
        None
    );
    assert_eq!(log_of(&log)[1..], ["restart", "ls [30000 ms]"]);
}

#[tokio::test]
async fn what_the_shell_cannot_do_is_said() {
    let (builder, log) = shell(open_policy());
    let mut session = builder.build().unwrap();
    for (asked, wanted) in [
        (
            ShellCall {
                action: ShellAction::Interrupt,
                ..commands("s", &[])
            },
            "cannot do \"interrupt\"",
        ),
        (commands("s", &[]), "has no command"),
        (
            ShellCall {
                user: Some("root".to_owned()),
                ..commands("s", &["ls"])
            },
            "leave the user out",
        ),
        (
            ShellCall {
                exception: Some("odd".to_owned()),
                ..commands("s", &["ls"])
            },
            "not understood",
        ),
    ] {
        let message = in_shell(&mut session, asked).await.error.unwrap().message;
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
