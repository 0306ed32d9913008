//! The shell of a code interpreter against a double that runs its commands in a real bash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_protocol::{Command, CommandOutput, FailureKind, ShellOutcome, Size};
use telechir_remote::{
    AccountLimits, INTERPRETER, RemoteSession, RentalMark, RentalPlan, ServiceAccount,
    ServiceErrorKind,
};
use telechir_remote_devices::{InterpreterSession, InterpreterShell, InvokeFailure};
use telechir_testkit::contract::shell as contract;
use telechir_testkit::remote::{Face, KEY, RemoteDouble, ServiceFault, Verb};

#[derive(Debug)]
struct Session(RemoteSession);

#[async_trait]
impl InterpreterSession for Session {
    async fn invoke(&self, body: &Value, limit: Duration) -> Result<Vec<u8>, InvokeFailure> {
        let answer = self.0.invoke(body, limit).await;
        let stream = answer.map_err(|failed| {
            let text = failed.error.to_string();
            match (
                failed.error.kind == ServiceErrorKind::Gone,
                failed.is_effect_unknown,
            ) {
                (true, _) => InvokeFailure::Ended(text),
                (false, true) => InvokeFailure::Unknown(text),
                (false, false) => InvokeFailure::NotRun(text),
            }
        })?;
        Ok(stream.to_vec())
    }

    async fn after_command(&self) -> Option<String> {
        self.0.keep_time(|| true).await
    }

    async fn end(&self) -> Result<(), String> {
        self.0.release().await.map_err(|error| error.to_string())
    }
}

async fn shell() -> (InterpreterShell, RemoteDouble) {
    let double = RemoteDouble::start(Face::AgentCore, None).await;
    let double = double.expect("a double");
    let variables = double.environment();
    let account = ServiceAccount::new(&INTERPRETER, None, AccountLimits::default(), |name| {
        let mut found = variables.iter().filter(|(known, _)| *known == name);
        found.next().map(|(_, value)| value.clone())
    });
    let plan = RentalPlan {
        size: Size::new(1, 1),
        timeout: Duration::from_secs(900),
        region: None,
        proxy: None,
        context: None,
        hosts: None,
        labels: BTreeMap::new(),
    };
    let account = Arc::new(account.expect("an account"));
    let session = RemoteSession::open(account, &plan, &RentalMark::unique()).await;
    let session = Arc::new(Session(session.expect("a session")));
    let shell = InterpreterShell::start(session, "test").await;
    (shell.expect("a shell"), double)
}

fn line(text: &str) -> ShellCommand {
    ShellCommand {
        command: Command::Line(text.to_owned()),
        timeout: Duration::from_secs(30),
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    }
}

async fn run(shell: &mut InterpreterShell, text: &str) -> CommandOutput {
    match shell.run(&line(text)).await {
        Ok(output) => output,
        Err(error) => panic!("`{text}`: failed to {error}"),
    }
}

/// What of the contract of every shell holds without a terminal.
#[tokio::test]
async fn it_is_a_shell_whose_state_lasts() {
    let (mut shell, _double) = shell().await;
    let shell = &mut shell;
    let home = shell.cwd();
    contract::the_folder_lasts(shell).await;
    contract::variables_last(shell).await;
    contract::functions_and_aliases_last(shell).await;
    contract::the_last_status_lasts(shell).await;
    contract::a_folder_for_one_command_is_for_it_only(shell).await;
    contract::a_missing_folder_is_an_error_of_the_command(shell).await;
    contract::a_variable_for_one_command_is_for_it_only(shell).await;
    contract::an_invalid_variable_name_is_refused(shell).await;
    for (text, code) in [
        ("exit 3", 3),
        ("false | true", 0),
        ("sh -c 'kill -9 $$'", 137),
    ] {
        assert_eq!(run(shell, text).await.exit_code, Some(code), "{text}");
    }
    contract::an_open_quote_is_an_error(shell).await;
    contract::a_here_document_arrives(shell).await;
    let long = format!("x='{}'; echo ${{#x}}", "y".repeat(100_000));
    assert_eq!(run(shell, &long).await.stdout, "100000\n");
    let too_long = line(&"y".repeat(200_000));
    let refused = shell.run(&too_long).await.expect_err("refused").to_string();
    assert!(refused.contains("in parts"), "{refused}");
    contract::an_empty_command_succeeds(shell).await;
    contract::an_argv_stays_an_argv(shell).await;
    contract::a_zero_byte_is_refused(shell).await;
    contract::outputs_are_exact(shell).await;
    contract::outputs_are_separate(shell).await;
    run(shell, "lost=1; cd /").await;
    shell.restart().await.expect("a new shell");
    assert_eq!(run(shell, "echo ${lost-gone}").await.stdout, "gone\n");
    assert_eq!(shell.cwd(), home);
}

#[tokio::test]
async fn a_command_ends_with_its_time() {
    let (mut shell, _double) = shell().await;
    run(&mut shell, "x=kept").await;
    let long = ShellCommand {
        timeout: Duration::from_millis(300),
        ..line("sleep 1000; echo no")
    };
    let output = shell.run(&long).await.expect("an output");
    assert_eq!(output.outcome, ShellOutcome::Timeout);
    assert_eq!((output.exit_code, output.stdout.as_str()), (None, ""));
    assert_eq!(run(&mut shell, "echo $x").await.stdout, "kept\n");
    // The same code without the time is the command's own.
    let output = run(&mut shell, "exit 124").await;
    assert_eq!(output.outcome, ShellOutcome::Error);
    assert_eq!(output.exit_code, Some(124));
}

#[tokio::test]
async fn a_dropped_command_has_ended_before_the_next_one() {
    let (mut shell, double) = shell().await;
    let invoked = |double: &RemoteDouble| {
        let requests = double.requests();
        requests
            .iter()
            .filter(|(verb, _)| *verb == Verb::Invoke)
            .count()
    };
    let before = invoked(&double);
    // Whether it has begun or not.
    {
        let command = line("echo $$ > started; while :; do sleep 0.02; done");
        let running = shell.run(&command);
        tokio::pin!(running);
        // Until the command runs: polled beside a wait for its request.
        loop {
            tokio::select! {
                ended = &mut running => panic!("{ended:?}"),
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
            if invoked(&double) > before {
                break;
            }
        }
    }
    // Perhaps it waits for somebody to read its exit status.
    let runs = "[[ -s started ]] && grep '^State:.[^Z]' /proc/$(< started)/status";
    let output = run(&mut shell, runs).await;
    assert_ne!(output.exit_code, Some(0), "it still runs: {output:?}");
}

#[tokio::test]
async fn a_long_output_keeps_its_ends() {
    let (mut shell, _double) = shell().await;
    let short = ShellCommand {
        max_output_bytes: 100,
        ..line("echo first; seq 1 5000; echo last; echo problem >&2")
    };
    let output = shell.run(&short).await.expect("an output");
    assert!(output.stdout.starts_with("first\n") && output.stdout.ends_with("last\n"));
    assert_eq!(output.stderr, "problem\n");
    assert!(output.truncated_bytes > 20_000, "{output:?}");
}

#[tokio::test]
async fn jobs_run_beside_commands() {
    let (mut shell, _double) = shell().await;
    let text = "echo one; until [[ -e go ]]; do sleep 0.02; done; echo two; exit 3";
    let started = shell.start(&line(text)).await.expect("a job");
    assert_eq!(started.stdout, "Started job1.\n");
    let mut all = String::new();
    while all != "one\n" {
        let output = shell.read("job1", 1000).await.expect("an output");
        assert_eq!(output.outcome, ShellOutcome::Running, "{output:?}");
        all.push_str(&output.stdout);
    }
    let jobs = shell.jobs().await.expect("jobs");
    assert_eq!(jobs.len(), 1);
    run(&mut shell, "touch go").await;
    let ended = loop {
        let output = shell.read("job1", 1000).await.expect("an output");
        all.push_str(&output.stdout);
        if output.outcome != ShellOutcome::Running {
            break output;
        }
    };
    assert_eq!(all, "one\ntwo\n");
    assert_eq!(
        (ended.outcome, ended.exit_code),
        (ShellOutcome::Error, Some(3))
    );
    assert_eq!(ended.stderr, "");
    shell.start(&line("sleep 1000")).await.expect("a job");
    let stopped = shell.stop("job2", 1000).await.expect("its end");
    assert_eq!(stopped.outcome, ShellOutcome::Cancelled);
    let error = shell.read("job2", 1000).await.expect_err("gone");
    assert!(error.to_string().contains("there are job1"), "{error}");
}

#[tokio::test]
async fn every_failure_of_the_service_has_one_outcome() {
    let body = |text: &str| format!("{{\"message\":\"{text} {KEY}\"}}");
    for (fault, kind, text, runs) in [
        (
            ServiceFault::Status(400, body("no")),
            FailureKind::InvalidInput,
            "was not run",
            0,
        ),
        (
            ServiceFault::Status(402, body("pay")),
            FailureKind::InvalidInput,
            "pay",
            0,
        ),
        (
            ServiceFault::Status(404, body("ended")),
            FailureKind::Device,
            "it is gone",
            0,
        ),
        (
            ServiceFault::Status(409, body("busy")),
            FailureKind::InvalidInput,
            "was not run",
            0,
        ),
        (
            ServiceFault::Status(500, body("oops")),
            FailureKind::Interrupted,
            "unknown",
            0,
        ),
        (
            ServiceFault::CutBefore,
            FailureKind::Interrupted,
            "unknown",
            0,
        ),
        (
            ServiceFault::CutAfter,
            FailureKind::Interrupted,
            "unknown",
            1,
        ),
        (
            ServiceFault::Garbage,
            FailureKind::Interrupted,
            "cannot be read",
            1,
        ),
    ] {
        let (mut shell, double) = shell().await;
        double.fail(Verb::Invoke, fault.clone());
        let error = shell.run(&line("echo x >> count")).await;
        let Err(error) = error else {
            panic!("{fault:?} is no failure");
        };
        let failure = error.to_failure();
        assert_eq!(failure.kind, kind, "{fault:?}: {}", failure.message);
        assert!(failure.message.contains(text), "{}", failure.message);
        assert!(!failure.message.contains(KEY), "{}", failure.message);
        // It is not run again, and the next command runs.
        let count = run(&mut shell, "cat count 2> /dev/null | wc -l").await;
        assert_eq!(count.stdout.trim(), runs.to_string(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_limit_is_waited_for_and_the_command_runs_once() {
    let (mut shell, double) = shell().await;
    double.fail(Verb::Invoke, ServiceFault::Later(429, 0));
    double.fail(Verb::Invoke, ServiceFault::Later(429, 0));
    assert_eq!(run(&mut shell, "echo once").await.stdout, "once\n");
}

#[tokio::test]
async fn the_session_is_released_at_the_end_and_its_end_is_reported() {
    let (shell, double) = shell().await;
    assert_eq!(double.running(), 1);
    Box::new(shell).close().await.expect("the end");
    assert_eq!((double.running(), double.sessions()[0].releases), (0, 1));
    let (mut shell, double) = self::shell().await;
    double.end(&double.sessions()[0].id, "timeout");
    let error = shell.run(&line("true")).await.expect_err("it has ended");
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
    Box::new(shell).close().await.expect("nothing is left");
}
