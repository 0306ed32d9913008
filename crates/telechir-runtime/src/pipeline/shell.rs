//! A shell call: judged as a whole, run command by command, each with exactly one output.

use std::time::{Duration, Instant};

use serde_json::json;
use telechir_device::DeviceError;
use telechir_policy::{
    Digest, Judge, Permitted, ShellFacts, ShellProposal, ShellTask, Tainting, Verdict, escape,
    summarize_command,
};
use telechir_protocol::{
    CallId, CommandOutput, Failure, FailureKind, ShellAction, ShellCall, ShellOutcome, ShellResult,
};

use super::{Desk, not_understood};
use crate::execute::lost;
use crate::journal::{ActionKey, Begun, Repeat};
use crate::recorder::{OpenStep, millis};
use crate::{ActionEffect, DeviceKind, RuntimeError, Session, SessionEvent};

/// Answers one shell call.
pub(super) async fn answer(
    session: &mut Session,
    turn: u64,
    call: &ShellCall,
) -> Result<ShellResult, RuntimeError> {
    let mut result = ShellResult::new(call.call_id.clone(), Vec::new());
    result.item_id.clone_from(&call.item_id);
    result.max_output = call.max_output;
    if let Err(failure) = act(session, turn, call, &mut result).await? {
        result.outputs = call.commands.iter().map(|_| not_started()).collect();
        result.error = Some(failure);
    }
    result.cwd = session.shell.as_ref().and_then(|shell| shell.cwd());
    Ok(result)
}

/// Judges and carries out a call. The inner error says why nothing at all was begun.
async fn act(
    session: &mut Session,
    turn: u64,
    call: &ShellCall,
    result: &mut ShellResult,
) -> Result<Result<(), Failure>, RuntimeError> {
    let task = match task(session, call) {
        Ok(task) => task,
        Err(failure) => return Ok(Err(failure)),
    };
    let permit = match judge(session, call, task).await {
        Ok(permit) => permit,
        Err(failure) => return Ok(Err(failure)),
    };
    match &permit.proposal().task {
        ShellTask::Restart => restart(session, turn, &permit).await,
        ShellTask::Run(commands) => {
            let count = commands.len();
            run(session, turn, call, &permit, count, result)
                .await
                .map(Ok)
        }
    }
}

/// What is to be done, when this shell can do it.
fn task(session: &Session, call: &ShellCall) -> Result<ShellTask, Failure> {
    let fail = |kind, message: &str| Err(Failure::new(kind, message));
    if let Some(exception) = &call.exception {
        return Err(not_understood(exception));
    }
    let Some(shell) = &session.shell else {
        return fail(
            FailureKind::Unsupported,
            "This session has no shell; it would have one with --shell.",
        );
    };
    if call.action == ShellAction::Restart {
        return Ok(ShellTask::Restart);
    }
    if call.action != ShellAction::Execute {
        let name = escape(call.action.name());
        let message = format!("This shell cannot do {name:?}; it can execute and restart.");
        return fail(FailureKind::Unsupported, &message);
    }
    if let Some(message) = &shell.lost {
        return Err(lost(DeviceKind::Shell, message));
    }
    if call.user.is_some() {
        return fail(
            FailureKind::Unsupported,
            "Commands run as this session's user; leave the user out.",
        );
    }
    if call.commands.is_empty() {
        return fail(FailureKind::InvalidInput, "The call has no command.");
    }
    if call.commands.len() > session.limits.actions {
        return fail(
            FailureKind::InvalidInput,
            "The call has too many commands; send fewer.",
        );
    }
    Ok(ShellTask::Run(call.commands.clone()))
}

async fn judge(
    session: &mut Session,
    call: &ShellCall,
    task: ShellTask,
) -> Result<Permitted<ShellProposal>, Failure> {
    let now = session.now();
    let shell = session.shell.as_ref();
    let facts = ShellFacts {
        is_sandboxed: shell.is_some_and(|shell| shell.is_sandboxed()),
        is_tainted: shell.is_some_and(|shell| shell.is_tainted),
        now,
    };
    let steps = match &task {
        ShellTask::Run(commands) => commands.iter().map(summarize_command).collect(),
        ShellTask::Restart => vec!["restart".to_owned()],
    };
    let proposal = ShellProposal {
        call_id: call.call_id.clone(),
        task,
        cwd: call.cwd.clone(),
        env: call.env.clone(),
    };
    let judgement = session.judge.shell(proposal, &facts);
    let (recorder, approver) = (&session.recorder, &mut session.approver);
    Desk {
        recorder,
        approver,
        limits: &session.limits,
    }
    .settle(judgement, steps)
    .await
}

/// Runs the commands one after another; after one that did not end the rest is not begun.
async fn run(
    session: &mut Session,
    turn: u64,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    count: usize,
    result: &mut ShellResult,
) -> Result<(), RuntimeError> {
    let limits = session.limits;
    let asked = call.timeout_ms.map(Duration::from_millis);
    let together = asked
        .unwrap_or(limits.command_at_most)
        .min(limits.command_at_most);
    let each = asked.map_or(limits.command, |_| together);
    let deadline = Instant::now() + together;
    for step in 0..count {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let ran = command(session, turn, call, permit, step, each.min(left)).await?;
        let goes_on = ended(&ran.output.outcome) && ran.failure.is_none();
        result.outputs.push(ran.output);
        result.error = ran.failure;
        if !goes_on {
            break;
        }
    }
    let begun = result.outputs.len();
    result.outputs.extend((begun..count).map(|_| not_started()));
    Ok(())
}

/// Whether the next command can follow.
fn ended(outcome: &ShellOutcome) -> bool {
    match outcome {
        ShellOutcome::Success | ShellOutcome::Error | ShellOutcome::Other(_) => true,
        ShellOutcome::Timeout
        | ShellOutcome::Cancelled
        | ShellOutcome::NotStarted
        | ShellOutcome::AwaitingInput => false,
    }
}

/// What became of a command.
struct Ran {
    output: CommandOutput,
    /// Why it could not be run, or what is not known of it.
    failure: Option<Failure>,
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
async fn command(
    session: &mut Session,
    turn: u64,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    step: usize,
    timeout: Duration,
) -> Result<Ran, RuntimeError> {
    let command = &call.commands[step];
    let said = Said {
        call_id: call.call_id.clone(),
        step,
        summary: summarize_command(command),
        verdict: permit.ground().verdict,
    };
    let body = json!({ "device": "shell", "command": command, "cwd": call.cwd, "env": call.env });
    let (key, intent) = said.intent(turn, body);
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
    let (limits, max_output) = (session.limits, max_output(session, call));
    let Some(shell) = &mut session.shell else {
        return Ok(Ran::failed(ShellOutcome::NotStarted, gone()));
    };
    shell.is_tainted |= Judge::tainting(command) == Tainting::Tainted;
    let ran = shell.run(permit, step, timeout, max_output, &limits).await;
    if let (Err(_), Some(message)) = (&ran, &shell.lost) {
        let (device, message) = (DeviceKind::Shell, message.clone());
        session
            .recorder
            .announce(SessionEvent::DeviceLost { device, message });
    }
    finish(open, &said, ran).await
}

async fn finish(
    open: OpenStep,
    said: &Said,
    ran: Result<CommandOutput, DeviceError>,
) -> Result<Ran, RuntimeError> {
    let elapsed = open.elapsed();
    match ran {
        Ok(mut output) => {
            output.duration_ms = output.duration_ms.or_else(|| Some(millis(elapsed)));
            let (effect, outcome) = seen(&output);
            let event = said.finished(effect, None, Some(outcome), elapsed);
            open.finish(json!(output), event).await?;
            Ok(Ran {
                output,
                failure: None,
            })
        }
        Err(error) => {
            let failure = error.to_failure();
            let event = said.finished(ActionEffect::Failed, Some(failure.clone()), None, elapsed);
            open.finish(json!({ "failed": failure }), event).await?;
            Ok(Ran::failed(ShellOutcome::Error, failure))
        }
    }
}

fn max_output(session: &Session, call: &ShellCall) -> usize {
    let limit = session.limits.output_bytes;
    // The model counts characters, which take up to four bytes each.
    let asked = call
        .max_output
        .map(|characters| characters.saturating_mul(4));
    asked.map_or(limit, |bytes| {
        usize::try_from(bytes).unwrap_or(limit).min(limit)
    })
}

/// What is known of a command's effect: it was seen to end, or it was not.
fn seen(output: &CommandOutput) -> (ActionEffect, String) {
    let outcome = match (&output.outcome, output.exit_code, output.signal) {
        (ShellOutcome::Timeout, ..) => "timeout".to_owned(),
        (ShellOutcome::Cancelled, ..) => "cancelled".to_owned(),
        (ShellOutcome::NotStarted, ..) => "not started".to_owned(),
        (ShellOutcome::AwaitingInput, ..) => "awaiting input".to_owned(),
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
        ShellOutcome::AwaitingInput => ActionEffect::Delivered,
    };
    (effect, outcome)
}

async fn restart(
    session: &mut Session,
    turn: u64,
    permit: &Permitted<ShellProposal>,
) -> Result<Result<(), Failure>, RuntimeError> {
    let said = Said {
        call_id: permit.proposal().call_id.clone(),
        step: 0,
        summary: "restart".to_owned(),
        verdict: permit.ground().verdict,
    };
    let (key, intent) = said.intent(turn, json!({ "device": "shell", "restart": true }));
    // Starting anew twice is as good as once.
    session
        .recorder
        .begin(&key, intent, Repeat::Harmless)
        .await?;
    session.recorder.announce(said.started());
    let open = OpenStep::new(
        &session.recorder,
        key,
        said.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let limits = session.limits;
    let Some(shell) = &mut session.shell else {
        return Ok(Err(gone()));
    };
    let failure = shell
        .restart(permit, &limits)
        .await
        .err()
        .map(|error| error.to_failure());
    let effect = if failure.is_some() {
        ActionEffect::Failed
    } else {
        ActionEffect::Confirmed
    };
    let event = said.finished(effect, failure.clone(), None, open.elapsed());
    open.finish(
        json!({ "restarted": failure.is_none(), "failed": failure }),
        event,
    )
    .await?;
    Ok(failure.map_or(Ok(()), Err))
}

/// What the events of a command say.
struct Said {
    call_id: CallId,
    step: usize,
    summary: String,
    verdict: Verdict,
}

impl Said {
    fn intent(&self, turn: u64, body: serde_json::Value) -> (ActionKey, serde_json::Value) {
        let (call_id, step, digest) = (self.call_id.clone(), self.step, Digest::of_json(&body));
        let intent = json!({ "turn": turn, "call_id": call_id.as_str(), "step": step, "digest": digest.to_string(), "does": body });
        (
            ActionKey {
                turn,
                call_id,
                step,
                digest,
            },
            intent,
        )
    }

    fn started(&self) -> SessionEvent {
        SessionEvent::ActionStarted {
            call_id: self.call_id.clone(),
            step: self.step,
            device: DeviceKind::Shell,
            kind: None,
            summary: self.summary.clone(),
            verdict: self.verdict,
        }
    }

    fn finished(
        &self,
        effect: ActionEffect,
        failure: Option<Failure>,
        outcome: Option<String>,
        took: Duration,
    ) -> SessionEvent {
        SessionEvent::ActionFinished {
            call_id: self.call_id.clone(),
            step: self.step,
            device: DeviceKind::Shell,
            kind: None,
            summary: self.summary.clone(),
            verdict: self.verdict,
            effect,
            failure,
            outcome,
            ms: millis(took),
        }
    }
}

fn recorded(session: &Session, said: &Said, body: serde_json::Value) -> Ran {
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

fn gone() -> Failure {
    Failure::new(FailureKind::Device, "The shell is gone.")
}

fn not_started() -> CommandOutput {
    CommandOutput {
        outcome: ShellOutcome::NotStarted,
        ..CommandOutput::default()
    }
}
