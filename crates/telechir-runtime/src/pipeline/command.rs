//! One command of a permitted shell call: its intent, the run, its outcome.

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
use super::step_info::Said;
use crate::execute::{Bounds, until_stopped};
use crate::journal::{Begun, BegunTurn, Repeat};
use crate::recorder::{OpenStep, millis};
use crate::{ActionEffect, DeviceKind, JournalError, RuntimeError, Session, SessionEvent};

/// What became of a command.
pub(super) struct Ran {
    pub(super) output: CommandOutput,
    /// Why it could not be run, or what is not known of it.
    pub(super) failure: Option<Failure>,
}

impl Ran {
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

/// One command: its intent, the run, its outcome.
pub(super) async fn carry_out(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    step: usize,
    timeout: Duration,
) -> Result<Ran, RuntimeError> {
    let command = &call.commands[step];
    let said = said(call, step, permit.ground().verdict);
    let (key, intent) = said.intent(turn, does(call, step));
    match session.recorder.begin(&key, intent, Repeat::Never).await? {
        Begun::Fresh => {}
        Begun::Recorded(body) => return Ok(recorded(session, &said, body)),
        Begun::Interrupted => return Ok(interrupted(session, &said)),
    }
    session.recorder.announce(said.started());
    let open = OpenStep::new(
        &session.recorder,
        key,
        said.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let bounds = bounds(session, call, timeout);
    let stop = until_stopped(&session.screens);
    let Some(shell) = &mut session.shell else {
        return Ok(Ran::failed(ShellOutcome::NotStarted, gone()));
    };
    shell.is_tainted |= Judge::tainting(command) == Tainting::Tainted;
    let ran = shell.run(permit, step, bounds, stop).await;
    tell_loss(session, ran.is_err());
    finish(open, &said, ran, kill_switch::why(session)).await
}

/// What is asked beside running commands: its intent, the doing, its outcome.
pub(super) async fn attend(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    timeout: Duration,
) -> Result<Ran, RuntimeError> {
    let said = Said {
        call_id: call.call_id.clone(),
        step: 0,
        device: DeviceKind::Shell,
        kind: None,
        summary: summarize_shell_action(&call.action),
        verdict: permit.ground().verdict,
    };
    // As it was judged: without what a terminal hides.
    let does = json!({ "device": "shell", "asked": permit.proposal().to_json() });
    let (key, intent) = said.intent(turn, does);
    let repeat = match &permit.proposal().task {
        ShellTask::Look(ShellAction::List) => Repeat::Harmless,
        ShellTask::Look(_)
        | ShellTask::Run(_)
        | ShellTask::Start(_)
        | ShellTask::Restart
        | ShellTask::Send { .. }
        | ShellTask::Stop(_) => Repeat::Never,
    };
    match session.recorder.begin(&key, intent, repeat).await? {
        Begun::Fresh => {}
        Begun::Recorded(body) => return Ok(recorded(session, &said, body)),
        Begun::Interrupted => return Ok(interrupted(session, &said)),
    }
    session.recorder.announce(said.started());
    let open = OpenStep::new(
        &session.recorder,
        key,
        said.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let bounds = bounds(session, call, timeout);
    let stop = until_stopped(&session.screens);
    let Some(shell) = &mut session.shell else {
        return Ok(Ran::failed(ShellOutcome::NotStarted, gone()));
    };
    // Whoever types into a program may change what words mean, if that program is the shell.
    shell.is_tainted |= matches!(permit.proposal().task, ShellTask::Send { .. });
    let ran = shell.attend(permit, bounds, stop).await;
    tell_loss(session, ran.is_err());
    finish(open, &said, ran, kill_switch::why(session)).await
}

/// Announces that the shell is gone, when this failed because of it.
fn tell_loss(session: &Session, failed: bool) {
    let lost = session.shell.as_ref().and_then(|shell| shell.lost.clone());
    if let Some(message) = lost.filter(|_| failed) {
        let device = DeviceKind::Shell;
        session
            .recorder
            .announce(SessionEvent::DeviceLost { device, message });
    }
}

/// The commands at the head of a call that were begun before, told from the journal. What was
/// done is said whatever the policy or a person would say of it now.
pub(super) async fn replay(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
) -> Result<Vec<Ran>, RuntimeError> {
    let mut told = Vec::new();
    let known = session.recorder.known(turn, &call.call_id).await?;
    for (step, known) in known.into_iter().enumerate() {
        if known.step != step || step >= call.commands.len() {
            break;
        }
        if known.digest != Digest::of_json(&does(call, step)).to_string() {
            let call_id = call.call_id.as_str().to_owned();
            return Err(JournalError::OtherDigest { call_id, step }.into());
        }
        let said = said(call, step, known.verdict);
        told.push(match known.outcome {
            Some(body) => recorded(session, &said, body),
            None => interrupted(session, &said),
        });
    }
    Ok(told)
}

/// What a command does, as the journal keeps it.
fn does(call: &ShellCall, step: usize) -> Value {
    let mut does = json!({
        "device": "shell", "command": call.commands[step], "cwd": call.cwd, "env": call.env,
    });
    if call.action == ShellAction::Start {
        does["background"] = true.into();
    }
    does
}

async fn finish(
    open: OpenStep,
    said: &Said,
    ran: Result<CommandOutput, DeviceError>,
    stopped: Option<Failure>,
) -> Result<Ran, RuntimeError> {
    let elapsed = open.elapsed();
    match ran {
        Ok(mut output) => {
            output.duration_ms = output.duration_ms.or_else(|| Some(millis(elapsed)));
            let (effect, outcome) = seen(&output);
            let event = said.finished(effect, None, Some(outcome), elapsed);
            open.finish(json!(output), event).await?;
            let is_cut_short = output.outcome == ShellOutcome::Cancelled;
            let failure = stopped.filter(|_| is_cut_short);
            Ok(Ran { output, failure })
        }
        Err(error) => {
            let failure = error.to_failure();
            let event = said.finished(ActionEffect::Failed, Some(failure.clone()), None, elapsed);
            open.finish(json!({ "failed": failure }), event).await?;
            Ok(Ran::failed(ShellOutcome::Error, failure))
        }
    }
}

fn bounds(session: &Session, call: &ShellCall, timeout: Duration) -> Bounds {
    let limits = session.limits;
    let limit = limits.output_bytes;
    // The model counts characters: as many bytes are never more of them.
    let max_output_bytes = call.max_output.map_or(limit, |bytes| {
        usize::try_from(bytes).unwrap_or(limit).min(limit)
    });
    Bounds {
        timeout,
        max_output_bytes,
        limits,
    }
}

/// What is known of a command's effect: it was seen to end, or it was not.
fn seen(output: &CommandOutput) -> (ActionEffect, String) {
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

/// A command as events name it.
fn said(call: &ShellCall, step: usize, verdict: Verdict) -> Said {
    Said {
        call_id: call.call_id.clone(),
        step,
        device: DeviceKind::Shell,
        kind: None,
        summary: summarize_command(&call.commands[step]),
        verdict,
    }
}

fn recorded(session: &Session, said: &Said, body: Value) -> Ran {
    let failure = body.get("failed").cloned().map(serde_json::from_value);
    let ran = match (failure, serde_json::from_value(body)) {
        (Some(Ok(failure)), _) => Ran::failed(ShellOutcome::Error, failure),
        (None, Ok(output)) => Ran {
            output,
            failure: None,
        },
        (Some(Err(_)), _) | (None, Err(_)) => {
            let message = "The command was stopped before its end.";
            Ran::failed(
                ShellOutcome::Cancelled,
                Failure::new(FailureKind::Cancelled, message),
            )
        }
    };
    let failure = ran.failure.clone();
    session
        .recorder
        .announce(said.finished(ActionEffect::Recorded, failure, None, Duration::ZERO));
    ran
}

fn interrupted(session: &Session, said: &Said) -> Ran {
    let message = "A crash came between the start and the end of this command, so nobody knows what it did; check before running it again.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = said.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        None,
        Duration::ZERO,
    );
    session.recorder.announce(event);
    Ran::failed(ShellOutcome::Cancelled, failure)
}

pub(super) fn gone() -> Failure {
    Failure::new(FailureKind::Device, "The shell is gone.")
}
