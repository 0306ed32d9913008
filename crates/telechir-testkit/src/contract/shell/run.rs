//! Runs commands whose output the contract compares.

use std::time::Duration;

use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_protocol::{Command, CommandOutput, ShellOutcome};

/// Long enough that only a hang reaches it.
pub(super) const LONG: Duration = Duration::from_secs(30);
/// Short enough for a test, long enough for the steps before it.
pub(super) const SHORT: Duration = Duration::from_millis(300);

pub(super) fn line(line: &str) -> ShellCommand {
    ShellCommand {
        command: Command::Line(line.to_owned()),
        timeout: LONG,
        max_output_bytes: 64 * 1024,
        cwd: None,
        env: Vec::new(),
    }
}

#[track_caller]
pub(super) fn done(result: Result<CommandOutput, DeviceError>) -> CommandOutput {
    match result {
        Ok(output) => output,
        Err(error) => panic!("failed to {error}"),
    }
}

pub(super) async fn run(shell: &mut impl Shell, text: &str) -> CommandOutput {
    done(shell.run(&line(text)).await)
}

pub(super) async fn run_briefly(shell: &mut impl Shell, text: &str) -> CommandOutput {
    done(
        shell
            .run(&ShellCommand {
                timeout: SHORT,
                ..line(text)
            })
            .await,
    )
}

/// Runs a command that must succeed, and returns its standard output.
pub(super) async fn out(shell: &mut impl Shell, text: &str) -> String {
    let output = run(shell, text).await;
    assert_eq!(
        output.outcome,
        ShellOutcome::Success,
        "`{text}`: {output:?}"
    );
    output.stdout
}
