//! One command of a permitted shell call: its intent, its execution, its outcome.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_policy::{
    Digest, Judge, Permitted, Proposal as _, ShellProposal, ShellTask, Tainting, Verdict,
    summarize_command, summarize_shell_action,
};
use telechir_protocol::{
    CommandOutput, Failure, FailureKind, ShellAction, ShellCall, ShellOutcome,
};

use super::kill_switch;
use super::step_info::StepInfo;
use crate::execute::{CommandLimits, until_stopped};
use crate::journal::{BeginOutcome, OpenedTurn, Repeat};
use crate::recorder::{StepGuard, millis};
use crate::{ActionEffect, DeviceKind, JournalError, RuntimeError, Session, SessionEvent};

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

/// Runs one command: records its intent, runs it, records its outcome.
pub(super) async fn execute(
    session: &mut Session,
    turn: OpenedTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    step: usize,
    timeout: Duration,
) -> Result<CommandRun, RuntimeError> {
    let command = &call.commands[step];
    let info = info(call, step, permit.rule_reason().verdict);
    let (key, intent) = info.intent(turn, intent_body(call, step));
    match session.recorder.begin(&key, intent, Repeat::Never).await? {
        BeginOutcome::Fresh => {}
        BeginOutcome::Recorded(body) => return Ok(recorded(session, &info, body)),
        BeginOutcome::Interrupted => return Ok(interrupted(session, &info)),
    }
    session.recorder.emit(info.started());
    let guard = StepGuard::new(
        &session.recorder,
        key,
        info.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let command_limits = command_limits(session, call, timeout);
    let stop = until_stopped(&session.screens);
    let Some(shell) = &mut session.shell else {
        return Ok(CommandRun::failed(ShellOutcome::NotStarted, shell_gone()));
    };
    shell.is_tainted |= Judge::tainting(command) == Tainting::Tainted;
    let ran = shell.run(permit, step, command_limits, stop).await;
    emit_device_lost(session, ran.is_err());
    finish(guard, &info, ran, kill_switch::failure(session)).await
}

/// Performs a task other than a command: records its intent, performs it, records its outcome.
pub(super) async fn run_control(
    session: &mut Session,
    turn: OpenedTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    timeout: Duration,
) -> Result<CommandRun, RuntimeError> {
    let info = StepInfo {
        call_id: call.call_id.clone(),
        step: 0,
        device: DeviceKind::Shell,
        kind: None,
        summary: summarize_shell_action(&call.action),
        verdict: permit.rule_reason().verdict,
    };
    // As judged: without input that the terminal hides.
    let intent_body = json!({ "device": "shell", "asked": permit.proposal().to_json() });
    let (key, intent) = info.intent(turn, intent_body);
    let repeat = match &permit.proposal().task {
        ShellTask::ReadJobs(ShellAction::List) => Repeat::Harmless,
        ShellTask::ReadJobs(_)
        | ShellTask::Run(_)
        | ShellTask::Start(_)
        | ShellTask::Restart
        | ShellTask::Send { .. }
        | ShellTask::Stop(_) => Repeat::Never,
    };
    match session.recorder.begin(&key, intent, repeat).await? {
        BeginOutcome::Fresh => {}
        BeginOutcome::Recorded(body) => return Ok(recorded(session, &info, body)),
        BeginOutcome::Interrupted => return Ok(interrupted(session, &info)),
    }
    session.recorder.emit(info.started());
    let guard = StepGuard::new(
        &session.recorder,
        key,
        info.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let command_limits = command_limits(session, call, timeout);
    let stop = until_stopped(&session.screens);
    let Some(shell) = &mut session.shell else {
        return Ok(CommandRun::failed(ShellOutcome::NotStarted, shell_gone()));
    };
    // Input to a program may change what later commands mean, if that program is the shell.
    shell.is_tainted |= matches!(permit.proposal().task, ShellTask::Send { .. });
    let ran = shell.control(permit, command_limits, stop).await;
    emit_device_lost(session, ran.is_err());
    finish(guard, &info, ran, kill_switch::failure(session)).await
}

/// Emits that the shell is gone, if the task failed because of that.
fn emit_device_lost(session: &Session, failed: bool) {
    let lost = session.shell.as_ref().and_then(|shell| shell.lost.clone());
    if let Some(message) = lost.filter(|_| failed) {
        let device = DeviceKind::Shell;
        session
            .recorder
            .emit(SessionEvent::DeviceLost { device, message });
    }
}

/// The leading commands of a call that were started earlier, answered from the journal. The policy
/// is not consulted again: these commands have already run.
pub(super) async fn replay(
    session: &mut Session,
    turn: OpenedTurn,
    call: &ShellCall,
) -> Result<Vec<CommandRun>, RuntimeError> {
    let mut replayed = Vec::new();
    let recorded_step = session.recorder.recorded_steps(turn, &call.call_id).await?;
    for (step, recorded_step) in recorded_step.into_iter().enumerate() {
        if recorded_step.step != step || step >= call.commands.len() {
            break;
        }
        if recorded_step.digest != Digest::of_json(&intent_body(call, step)).to_string() {
            let call_id = call.call_id.as_str().to_owned();
            return Err(JournalError::OtherDigest { call_id, step }.into());
        }
        let info = info(call, step, recorded_step.verdict);
        replayed.push(match recorded_step.outcome {
            Some(body) => recorded(session, &info, body),
            None => interrupted(session, &info),
        });
    }
    Ok(replayed)
}

/// A command as the journal's intent describes it.
fn intent_body(call: &ShellCall, step: usize) -> Value {
    let mut intent_body = json!({
        "device": "shell", "command": call.commands[step], "cwd": call.cwd, "env": call.env,
    });
    if call.action == ShellAction::Start {
        intent_body["background"] = true.into();
    }
    intent_body
}

async fn finish(
    guard: StepGuard,
    info: &StepInfo,
    ran: Result<CommandOutput, DeviceError>,
    stop_failure: Option<Failure>,
) -> Result<CommandRun, RuntimeError> {
    let elapsed = guard.elapsed();
    match ran {
        Ok(mut output) => {
            output.duration_ms = output.duration_ms.or_else(|| Some(millis(elapsed)));
            let (effect, outcome) = effect_of(&output);
            let event = info.finished(effect, None, Some(outcome), elapsed);
            guard.finish(json!(output), event).await?;
            let is_cut_short = output.outcome == ShellOutcome::Cancelled;
            let failure = stop_failure.filter(|_| is_cut_short);
            Ok(CommandRun { output, failure })
        }
        Err(error) => {
            let failure = error.to_failure();
            let event = info.finished(ActionEffect::Failed, Some(failure.clone()), None, elapsed);
            guard.finish(json!({ "failed": failure }), event).await?;
            Ok(CommandRun::failed(ShellOutcome::Error, failure))
        }
    }
}

fn command_limits(session: &Session, call: &ShellCall, timeout: Duration) -> CommandLimits {
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

/// A command as events describe it.
fn info(call: &ShellCall, step: usize, verdict: Verdict) -> StepInfo {
    StepInfo {
        call_id: call.call_id.clone(),
        step,
        device: DeviceKind::Shell,
        kind: None,
        summary: summarize_command(&call.commands[step]),
        verdict,
    }
}

fn recorded(session: &Session, info: &StepInfo, body: Value) -> CommandRun {
    let failure = body.get("failed").cloned().map(serde_json::from_value);
    let ran = match (failure, serde_json::from_value(body)) {
        (Some(Ok(failure)), _) => CommandRun::failed(ShellOutcome::Error, failure),
        (None, Ok(output)) => CommandRun {
            output,
            failure: None,
        },
        (Some(Err(_)), _) | (None, Err(_)) => {
            let message = "The command was stopped before it ended.";
            CommandRun::failed(
                ShellOutcome::Cancelled,
                Failure::new(FailureKind::Cancelled, message),
            )
        }
    };
    let failure = ran.failure.clone();
    session
        .recorder
        .emit(info.finished(ActionEffect::Recorded, failure, None, Duration::ZERO));
    ran
}

fn interrupted(session: &Session, info: &StepInfo) -> CommandRun {
    let message = "A crash happened while this command was running, so its effect is unknown; check before running it again.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = info.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        None,
        Duration::ZERO,
    );
    session.recorder.emit(event);
    CommandRun::failed(ShellOutcome::Cancelled, failure)
}

pub(super) fn shell_gone() -> Failure {
    Failure::new(FailureKind::Device, "The shell is gone.")
}
