//! The steps of a shell call: its commands, tasks other than a command, and a restart.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_policy::{
    Judge, Permitted, Proposal as _, ShellProposal, ShellTask, Tainting, Verdict,
    summarize_command, summarize_shell_action,
};
use telechir_protocol::{
    CallId, CommandOutput, Failure, FailureKind, ShellAction, ShellCall, ShellOutcome,
};

use super::approval::check_again;
use super::kill_switch;
use super::step::{Performed, Step};
use super::step_info::StepInfo;
use crate::execute::{CommandLimits, until_stopped};
use crate::journal::Repeat;
use crate::recorder::{StepGuard, millis};
use crate::session_state::SessionState;
use crate::{ActionEffect, DeviceKind, RuntimeError, SessionEvent};

/// The result of a command.
pub(super) struct CommandRun {
    pub(super) output: CommandOutput,
    /// Why it could not be run, or what is unknown about it.
    pub(super) failure: Option<Failure>,
}

impl CommandRun {
    fn failed(outcome: ShellOutcome, failure: Failure) -> Self {
        let output = CommandOutput {
            outcome,
            ..CommandOutput::default()
        };
        Self {
            output,
            failure: Some(failure),
        }
    }
}

/// One command of a shell call, or its only task.
pub(super) struct ShellStep<'a> {
    call: &'a ShellCall,
    work: ShellWork<'a>,
    timeout: Duration,
}

/// What a shell does in a step.
#[derive(Clone, Copy)]
enum ShellWork<'a> {
    /// Runs or starts the command with this index.
    Command(usize),
    /// Performs a task other than a command or a restart.
    Control(&'a ShellProposal),
}

impl<'a> ShellStep<'a> {
    pub(super) fn command(call: &'a ShellCall, index: usize, timeout: Duration) -> Self {
        Self {
            call,
            work: ShellWork::Command(index),
            timeout,
        }
    }

    pub(super) fn control(
        call: &'a ShellCall,
        permit: &'a Permitted<ShellProposal>,
        timeout: Duration,
    ) -> Self {
        Self {
            call,
            work: ShellWork::Control(permit.proposal()),
            timeout,
        }
    }
}

impl ShellStep<'_> {
    /// Checks a command after the first one again: those before it may have read untrusted content.
    async fn check_again(
        &self,
        session: &mut SessionState,
        permit: &Permitted<ShellProposal>,
    ) -> Result<(), Failure> {
        let ShellWork::Command(index @ 1..) = self.work else {
            return Ok(());
        };
        let commands = vec![self.call.commands[index].clone()];
        let complete = permit.proposal();
        let part = ShellProposal {
            task: if matches!(complete.task, ShellTask::Start(_)) {
                ShellTask::Start(commands)
            } else {
                ShellTask::Run(commands)
            },
            ..complete.clone()
        };
        check_again(session, permit, part).await?;
        Ok(())
    }

    /// Runs the command or performs the task, unless the kill switch stops the session.
    async fn run(
        &self,
        session: &mut SessionState,
        permit: &Permitted<ShellProposal>,
    ) -> Result<CommandOutput, Failure> {
        self.check_again(session, permit).await?;
        let command_limits = command_limits(session, self.call, self.timeout);
        let stop = until_stopped(&session.screens);
        let shell = session.shell.as_mut().ok_or_else(shell_gone)?;
        if !shell.is_sandboxed() {
            session.trust.note_untrusted("a command on the host");
        }
        let ran = match self.work {
            ShellWork::Command(index) => {
                let tainting = Judge::tainting(&self.call.commands[index]);
                shell.is_tainted |= tainting == Tainting::Tainted;
                shell.run(permit, index, command_limits, stop).await
            }
            ShellWork::Control(proposal) => {
                // Input to a program may change what later commands mean, if that program is the
                // shell.
                shell.is_tainted |= matches!(proposal.task, ShellTask::Send { .. });
                shell.control(permit, command_limits, stop).await
            }
        };
        if let (Err(_), Some(message)) = (&ran, &shell.lost) {
            let (device, message) = (DeviceKind::Shell, message.clone());
            session
                .recorder
                .emit(SessionEvent::DeviceLost { device, message });
        }
        ran.map_err(|error| error.to_failure())
    }
}

impl Step for ShellStep<'_> {
    type Proposal = ShellProposal;
    type Output = CommandRun;

    const INTERRUPTED: &'static str = "A crash happened while this command was running, so its effect is unknown; check before running it again.";
    const IS_REWRITTEN: bool = false;

    fn info(&self, verdict: Verdict) -> StepInfo {
        let (step, summary) = match self.work {
            ShellWork::Command(index) => (index, summarize_command(&self.call.commands[index])),
            ShellWork::Control(_) => (0, summarize_shell_action(&self.call.action)),
        };
        StepInfo {
            call_id: self.call.call_id.clone(),
            step,
            device: DeviceKind::Shell,
            kind: None,
            summary,
            verdict,
        }
    }

    fn intent(&self) -> Value {
        let call = self.call;
        match self.work {
            ShellWork::Command(index) => {
                let mut intent = json!({
                    "device": "shell", "command": call.commands[index], "cwd": call.cwd, "env": call.env,
                });
                if call.action == ShellAction::Start {
                    intent["background"] = true.into();
                }
                intent
            }
            // As judged: without input that the terminal hides.
            ShellWork::Control(proposal) => {
                json!({ "device": "shell", "asked": proposal.to_json() })
            }
        }
    }

    fn repeat(&self) -> Repeat {
        match self.work {
            ShellWork::Control(proposal) => match &proposal.task {
                ShellTask::ReadJobs(ShellAction::List) => Repeat::Harmless,
                ShellTask::ReadJobs(_)
                | ShellTask::Run(_)
                | ShellTask::Start(_)
                | ShellTask::Restart
                | ShellTask::Send { .. }
                | ShellTask::Stop(_) => Repeat::Never,
            },
            ShellWork::Command(_) => Repeat::Never,
        }
    }

    async fn perform(
        &self,
        session: &mut SessionState,
        permit: &Permitted<ShellProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<CommandRun>, RuntimeError> {
        let ran = self.run(session, permit).await;
        let stop_failure = kill_switch::failure(session);
        let took = guard.elapsed();
        Ok(match ran {
            Ok(mut output) => {
                output.duration_ms = output.duration_ms.or_else(|| Some(millis(took)));
                let (effect, ended) = effect_of(&output);
                let is_cut_short = output.outcome == ShellOutcome::Cancelled;
                let failure = stop_failure.filter(|_| is_cut_short);
                Performed {
                    body: json!(output),
                    effect,
                    failure: None,
                    ended: Some(ended),
                    took,
                    output: CommandRun { output, failure },
                }
            }
            Err(failure) => {
                let run = CommandRun::failed(ShellOutcome::Error, failure.clone());
                Performed::failed(failure, run, took)
            }
        })
    }

    fn recorded(&self, body: Value) -> CommandRun {
        let failure = body.get("failed").cloned().map(serde_json::from_value);
        match (failure, serde_json::from_value(body)) {
            (Some(Ok(failure)), _) => CommandRun::failed(ShellOutcome::Error, failure),
            (None, Ok(output)) => CommandRun {
                output,
                failure: None,
            },
            (Some(Err(_)), _) | (None, Err(_)) => {
                let message = "The command was stopped before it ended.";
                let failure = Failure::new(FailureKind::Cancelled, message);
                CommandRun::failed(ShellOutcome::Cancelled, failure)
            }
        }
    }

    fn interrupted(&self, failure: Failure) -> CommandRun {
        CommandRun::failed(ShellOutcome::Cancelled, failure)
    }

    fn failure(run: &CommandRun) -> Option<Failure> {
        run.failure.clone()
    }
}

/// A restart of the shell.
pub(super) struct RestartStep<'a> {
    pub(super) call_id: &'a CallId,
}

impl Step for RestartStep<'_> {
    type Proposal = ShellProposal;
    type Output = Result<(), Failure>;

    const INTERRUPTED: &'static str = "A crash happened during the restart.";
    const IS_REWRITTEN: bool = false;

    fn info(&self, verdict: Verdict) -> StepInfo {
        StepInfo {
            call_id: self.call_id.clone(),
            step: 0,
            device: DeviceKind::Shell,
            kind: None,
            summary: "restart".to_owned(),
            verdict,
        }
    }

    fn intent(&self) -> Value {
        json!({ "device": "shell", "restart": true })
    }

    /// A second restart does no harm.
    fn repeat(&self) -> Repeat {
        Repeat::Harmless
    }

    async fn perform(
        &self,
        session: &mut SessionState,
        permit: &Permitted<ShellProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<Self::Output>, RuntimeError> {
        let restarted = match &mut session.shell {
            Some(shell) => {
                let restarted = shell.restart(permit, &session.limits).await;
                restarted.map_err(|error| error.to_failure())
            }
            None => Err(shell_gone()),
        };
        let failure = restarted.as_ref().err().cloned();
        Ok(Performed {
            body: json!({ "restarted": restarted.is_ok(), "failed": failure }),
            effect: match restarted {
                Ok(()) => ActionEffect::Confirmed,
                Err(_) => ActionEffect::Failed,
            },
            failure,
            ended: None,
            took: guard.elapsed(),
            output: restarted,
        })
    }

    fn recorded(&self, body: Value) -> Self::Output {
        let failure: Option<Failure> = serde_json::from_value(body["failed"].clone()).ok();
        failure.map_or(Ok(()), Err)
    }

    fn interrupted(&self, failure: Failure) -> Self::Output {
        Err(failure)
    }

    fn failure(output: &Self::Output) -> Option<Failure> {
        output.as_ref().err().cloned()
    }
}

fn command_limits(session: &SessionState, call: &ShellCall, timeout: Duration) -> CommandLimits {
    let limits = session.limits;
    let limit = limits.max_output_bytes;
    // The model counts characters; this many bytes are never more characters.
    let max_output_bytes = call.max_output.map_or(limit, |bytes| {
        usize::try_from(bytes).unwrap_or(limit).min(limit)
    });
    CommandLimits {
        timeout,
        max_output_bytes,
        limits,
    }
}

/// What is known about a command's effect, and how it ended.
fn effect_of(output: &CommandOutput) -> (ActionEffect, String) {
    let outcome = match (&output.outcome, output.exit_code, output.signal) {
        (ShellOutcome::Timeout, ..) => "timeout".to_owned(),
        (ShellOutcome::Cancelled, ..) => "cancelled".to_owned(),
        (ShellOutcome::NotStarted, ..) => "not started".to_owned(),
        (ShellOutcome::AwaitingInput, ..) => "awaiting input".to_owned(),
        (ShellOutcome::Running, ..) => "running".to_owned(),
        (_, Some(code), _) => format!("exit {code}"),
        (_, None, Some(signal)) => format!("signal {signal}"),
        (ShellOutcome::Success, None, None) => "success".to_owned(),
        (ShellOutcome::Error | ShellOutcome::Other(_), None, None) => "error".to_owned(),
    };
    let effect = match &output.outcome {
        ShellOutcome::Success | ShellOutcome::Error | ShellOutcome::Other(_) => {
            ActionEffect::Confirmed
        }
        ShellOutcome::Timeout | ShellOutcome::Cancelled => ActionEffect::Cancelled,
        ShellOutcome::NotStarted => ActionEffect::Failed,
        ShellOutcome::AwaitingInput | ShellOutcome::Running => ActionEffect::Delivered,
    };
    (effect, outcome)
}

fn shell_gone() -> Failure {
    Failure::new(FailureKind::Device, "The shell is gone.")
}
