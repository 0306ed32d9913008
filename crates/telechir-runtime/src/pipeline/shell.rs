//! A shell call: judged as a whole, run command by command, each with exactly one output.

use std::time::{Duration, Instant};

use serde_json::json;
use telechir_policy::{
    Judge, Permitted, ShellFacts, ShellProposal, ShellTask, escape, may_type, summarize_command,
    summarize_shell_action,
};
use telechir_protocol::{
    CommandOutput, Failure, FailureKind, Meta, ShellAction, ShellCall, ShellOutcome, ShellResult,
};

use super::approval::{Desk, question_of, still_holds};
use super::command::{self, Ran, gone};
use super::not_understood;
use super::step_info::Said;
use crate::execute::lost;
use crate::journal::{BegunTurn, Repeat};
use crate::recorder::OpenStep;
use crate::{ActionEffect, DeviceKind, RuntimeError, Session};

/// Answers one shell call.
pub(super) async fn answer(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
) -> Result<ShellResult, RuntimeError> {
    let mut result = ShellResult::new(call.call_id.clone(), Vec::new());
    result.max_output = call.max_output;
    if let Err(failure) = act(session, turn, call, &mut result).await? {
        let begun = result.outputs.len();
        let rest = call.commands.iter().skip(begun).map(|_| not_started());
        result.outputs.extend(rest);
        result.error = Some(failure);
    }
    result.cwd = session.shell.as_ref().and_then(|shell| shell.cwd());
    Ok(result)
}

/// Judges and carries out a call. The inner error says why nothing more was begun.
async fn act(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
    result: &mut ShellResult,
) -> Result<Result<(), Failure>, RuntimeError> {
    let task = match task(session, call) {
        Ok(task) => task,
        Err(failure) => return Ok(Err(failure)),
    };
    if matches!(task, ShellTask::Run(_) | ShellTask::Start(_)) {
        for ran in command::replay(session, turn, call).await? {
            if !follow(ran, result) {
                let rest = call.commands.iter().skip(result.outputs.len());
                result.outputs.extend(rest.map(|_| not_started()));
                return Ok(Ok(()));
            }
        }
        if result.outputs.len() == call.commands.len() {
            return Ok(Ok(()));
        }
    }
    let permit = match judge(session, call, task).await {
        Ok(permit) => permit,
        Err(failure) => return Ok(Err(failure)),
    };
    match &permit.proposal().task {
        ShellTask::Restart => {
            let restarted = restart(session, turn, &permit).await?;
            if restarted.is_ok() {
                result.outputs.push(anew());
            }
            Ok(restarted)
        }
        ShellTask::Run(commands) | ShellTask::Start(commands) => {
            let count = commands.len();
            run(session, turn, call, &permit, count, result)
                .await
                .map(Ok)
        }
        ShellTask::Send { .. } | ShellTask::Look(_) | ShellTask::Stop(_) => {
            attend(session, turn, call, &permit, result).await.map(Ok)
        }
    }
}

/// What is asked beside running commands, with its one output.
async fn attend(
    session: &mut Session,
    turn: BegunTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    result: &mut ShellResult,
) -> Result<(), RuntimeError> {
    let limits = session.limits;
    let asked = call
        .timeout_ms
        .map_or(limits.command, Duration::from_millis);
    let timeout = asked.min(limits.command_at_most);
    let ran = command::attend(session, turn, call, permit, timeout).await?;
    if ran.failure.is_none() {
        result.outputs.push(ran.output);
    }
    result.error = ran.failure;
    Ok(())
}

/// The call as it may be recorded and shown: what a terminal hides is left out.
pub(super) fn recordable(session: &Session, call: &ShellCall) -> ShellCall {
    let mut shown = call.clone();
    let hidden = match &call.action {
        ShellAction::SendText(text) => {
            let count = text.chars().count();
            ShellAction::SendText(format!("({count} characters, hidden)"))
        }
        ShellAction::SendKey(key) if may_type(key) => {
            ShellAction::SendKey("(a key, hidden)".to_owned())
        }
        // Whatever it was meant to be, it may say what was meant to be typed.
        ShellAction::Other(_) => call.action.clone(),
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_) => return shown,
    };
    let shell = session.shell.as_ref();
    if shell.is_some_and(|shell| shell.hides_input(call.job.as_deref())) {
        shown.action = hidden;
        shown.meta = Meta::default();
    }
    shown
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
    if let Some(message) = &shell.lost {
        return Err(lost(DeviceKind::Shell, message));
    }
    match &call.action {
        ShellAction::Execute | ShellAction::Start => {}
        ShellAction::Other(name) => {
            let name = escape(name);
            let message = format!("No shell can do {name:?}.");
            return fail(FailureKind::Unsupported, &message);
        }
        ShellAction::List | ShellAction::Read(_) => {
            return Ok(ShellTask::Look(call.action.clone()));
        }
        ShellAction::Stop(job) => return Ok(ShellTask::Stop(job.clone())),
        ShellAction::SendText(_)
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::Restart => {
            return Ok(ShellTask::Send {
                input: call.action.clone(),
                job: call.job.clone(),
                is_hidden: shell.hides_input(call.job.as_deref()),
            });
        }
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
    Ok(if call.action == ShellAction::Start {
        ShellTask::Start(call.commands.clone())
    } else {
        ShellTask::Run(call.commands.clone())
    })
}

async fn judge(
    session: &mut Session,
    call: &ShellCall,
    task: ShellTask,
) -> Result<Permitted<ShellProposal>, Failure> {
    let facts = facts(session);
    let steps = match &task {
        ShellTask::Run(commands) | ShellTask::Start(commands) => {
            commands.iter().map(summarize_command).collect()
        }
        ShellTask::Restart | ShellTask::Send { .. } | ShellTask::Look(_) | ShellTask::Stop(_) => {
            vec![summarize_shell_action(&call.action)]
        }
    };
    let proposal = ShellProposal {
        call_id: call.call_id.clone(),
        task,
        cwd: call.cwd.clone(),
        env: call.env.clone(),
    };
    let judgement = session.judge.shell(proposal, &facts);
    let asked = question_of(&judgement);
    let permit = Desk::of(session).settle(judgement, steps).await?;
    if let Some(asked) = asked {
        let mut judge = Judge::new(session.judge.policy().clone());
        let now = judge.shell(permit.proposal().clone(), &self::facts(session));
        still_holds(&asked, now)?;
    }
    Ok(permit)
}

fn facts(session: &Session) -> ShellFacts {
    let shell = session.shell.as_ref();
    ShellFacts {
        is_sandboxed: shell.is_some_and(|shell| shell.is_sandboxed()),
        is_tainted: shell.is_some_and(|shell| shell.is_tainted),
        now: session.now(),
    }
}

/// Runs the commands one after another; after one that did not end the rest is not begun.
async fn run(
    session: &mut Session,
    turn: BegunTurn,
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
    for step in result.outputs.len()..count {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let ran = command::carry_out(session, turn, call, permit, step, each.min(left)).await?;
        if !follow(ran, result) {
            break;
        }
    }
    let begun = result.outputs.len();
    result.outputs.extend((begun..count).map(|_| not_started()));
    Ok(())
}

async fn restart(
    session: &mut Session,
    turn: BegunTurn,
    permit: &Permitted<ShellProposal>,
) -> Result<Result<(), Failure>, RuntimeError> {
    let said = Said {
        call_id: permit.proposal().call_id.clone(),
        step: 0,
        device: DeviceKind::Shell,
        kind: None,
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

/// What a model is told of a shell that was started anew.
fn anew() -> CommandOutput {
    const TOLD: &str = "The shell was started anew; variables, functions and jobs are gone.\n";
    CommandOutput {
        stdout: TOLD.to_owned(),
        outcome: ShellOutcome::Success,
        ..CommandOutput::default()
    }
}

/// Adds what became of a command and says whether the next can follow.
fn follow(ran: Ran, result: &mut ShellResult) -> bool {
    let goes_on = ended(&ran.output.outcome) && ran.failure.is_none();
    result.outputs.push(ran.output);
    result.error = ran.failure;
    goes_on
}

fn ended(outcome: &ShellOutcome) -> bool {
    match outcome {
        ShellOutcome::Success
        | ShellOutcome::Error
        | ShellOutcome::Running
        | ShellOutcome::Other(_) => true,
        ShellOutcome::Timeout
        | ShellOutcome::Cancelled
        | ShellOutcome::NotStarted
        | ShellOutcome::AwaitingInput => false,
    }
}

pub(super) fn not_started() -> CommandOutput {
    CommandOutput {
        outcome: ShellOutcome::NotStarted,
        ..CommandOutput::default()
    }
}
