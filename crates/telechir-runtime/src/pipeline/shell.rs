//! A shell call: judged as a unit, run command by command, each with exactly one output.

use std::time::{Duration, Instant};

use telechir_policy::{
    Judge, Judgement, Permitted, ShellFacts, ShellProposal, ShellTask, escape, may_type,
    summarize_command, summarize_shell_action,
};
use telechir_protocol::{
    ActionKind, CommandOutput, Failure, FailureKind, Meta, ShellAction, ShellCall, ShellOutcome,
    ShellResult, ToolCall,
};

use super::approval::{Judged, permit};
use super::not_understood::not_understood;
use super::shell_step::{CommandRun, RestartStep, ShellStep};
use super::step::{execute, replay};
use crate::execute::lost;
use crate::journal::OpenedTurn;
use crate::session_state::SessionState;
use crate::{DeviceKind, RuntimeError};

/// Answers one shell call.
pub(super) async fn answer(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &ShellCall,
) -> Result<ShellResult, RuntimeError> {
    let mut result = ShellResult::new(call.call_id.clone(), Vec::new());
    result.max_output = call.max_output;
    if let Err(failure) = act(session, turn, call, &mut result).await? {
        let started = result.outputs.len();
        let rest = call.commands.iter().skip(started).map(|_| not_started());
        result.outputs.extend(rest);
        result.error = Some(failure);
    }
    result.cwd = session.shell.as_ref().and_then(|shell| shell.cwd());
    Ok(result)
}

/// Judges and executes a call. The inner error says why the rest was not started.
async fn act(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &ShellCall,
    result: &mut ShellResult,
) -> Result<Result<(), Failure>, RuntimeError> {
    let task = match task(session, call) {
        Ok(task) => task,
        Err(failure) => return Ok(Err(failure)),
    };
    if matches!(task, ShellTask::Run(_) | ShellTask::Start(_)) {
        // A replayed command is not performed, so it needs no time.
        let step = |index| ShellStep::command(call, index, Duration::ZERO);
        let steps = (0..call.commands.len()).map(step).collect();
        for ran in replay(session, turn, &call.call_id, steps).await? {
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
            let step = RestartStep {
                call_id: &call.call_id,
            };
            let restarted = execute(session, turn, &permit, &step).await?;
            if restarted.is_ok() {
                result.outputs.push(restarted_output());
            }
            Ok(restarted)
        }
        ShellTask::Run(commands) | ShellTask::Start(commands) => {
            let count = commands.len();
            run(session, turn, call, &permit, count, result)
                .await
                .map(Ok)
        }
        ShellTask::Send { .. } | ShellTask::ReadJobs(_) | ShellTask::Stop(_) => {
            run_control(session, turn, call, &permit, result)
                .await
                .map(Ok)
        }
    }
}

/// Performs a task other than a command, which has exactly one output.
async fn run_control(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    result: &mut ShellResult,
) -> Result<(), RuntimeError> {
    let limits = session.limits;
    let requested = call
        .timeout_ms
        .map_or(limits.command_timeout, Duration::from_millis);
    let timeout = requested.min(limits.max_command_timeout);
    let step = ShellStep::control(call, permit, timeout);
    let ran = execute(session, turn, permit, &step).await?;
    if ran.failure.is_none() {
        result.outputs.push(ran.output);
    }
    result.error = ran.failure;
    Ok(())
}

/// The call as it may be recorded and shown: without input that the terminal hides.
pub(super) fn recordable(session: &SessionState, call: &ShellCall) -> ShellCall {
    let mut recordable = call.clone();
    let hidden = match &call.action {
        ShellAction::SendText(text) => {
            let count = text.chars().count();
            ShellAction::SendText(format!("({count} characters, hidden)"))
        }
        ShellAction::SendKey(key) if may_type(key) => {
            ShellAction::SendKey("(a key, hidden)".to_owned())
        }
        // An unknown action may contain the text to type.
        ShellAction::Other(_) => call.action.clone(),
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_) => return recordable,
    };
    let shell = session.shell.as_ref();
    if shell.is_some_and(|shell| shell.hides_input(call.job.as_deref())) {
        recordable.action = hidden;
        recordable.meta = Meta::default();
    }
    recordable
}

/// The text that a call types where the shell hides its input, or may hide it once the `earlier` calls
/// of its turn are executed.
pub(super) fn hidden_input(
    session: &SessionState,
    earlier: &[ToolCall],
    call: &ToolCall,
) -> Option<String> {
    let ToolCall::Shell(call) = call else {
        return None;
    };
    let text = if let ShellAction::SendText(text) = &call.action {
        text
    } else if let ShellAction::SendKey(key) = &call.action
        && may_type(key)
    {
        key
    } else {
        return None;
    };
    let shell = session.shell.as_ref()?;
    let is_hidden = earlier.iter().any(may_reach_prompt) || shell.hides_input(call.job.as_deref());
    is_hidden.then(|| text.trim_end_matches('\n').to_owned())
}

/// Whether the shell may ask for hidden input after a call that it does not ask for before: the call
/// starts or continues a program, or gives a running one time, as also a question to the user does.
fn may_reach_prompt(call: &ToolCall) -> bool {
    const SHORT: [ActionKind; 4] = [
        ActionKind::Screenshot,
        ActionKind::ObserveScreen,
        ActionKind::Zoom,
        ActionKind::CursorPosition,
    ];
    match call {
        ToolCall::Shell(call) => call.action != ShellAction::List,
        ToolCall::Computer(call) => call
            .actions
            .iter()
            .any(|action| !SHORT.contains(&action.kind())),
        ToolCall::Edit(_) | ToolCall::Function(_) => true,
    }
}

/// The task of a call, if this shell can perform it.
fn task(session: &SessionState, call: &ShellCall) -> Result<ShellTask, Failure> {
    let fail = |kind, message: &str| Err(Failure::new(kind, message));
    if let Some(exception) = &call.exception {
        return Err(not_understood(exception));
    }
    let Some(shell) = &session.shell else {
        return fail(
            FailureKind::Unsupported,
            "This session has no shell; the operator can add one with --shell.",
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
            return Ok(ShellTask::ReadJobs(call.action.clone()));
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
            "Commands run as this session's user; omit the user.",
        );
    }
    if call.commands.is_empty() {
        return fail(FailureKind::InvalidInput, "The call has no command.");
    }
    if call.commands.len() > session.limits.max_actions {
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
    session: &mut SessionState,
    call: &ShellCall,
    task: ShellTask,
) -> Result<Permitted<ShellProposal>, Failure> {
    let steps = match &task {
        ShellTask::Run(commands) | ShellTask::Start(commands) => {
            commands.iter().map(summarize_command).collect()
        }
        ShellTask::Restart
        | ShellTask::Send { .. }
        | ShellTask::ReadJobs(_)
        | ShellTask::Stop(_) => {
            vec![summarize_shell_action(&call.action)]
        }
    };
    let proposal = ShellProposal {
        call_id: call.call_id.clone(),
        task,
        cwd: call.cwd.clone(),
        env: call.env.clone(),
    };
    permit(session, proposal, steps).await
}

impl Judged for ShellProposal {
    type Facts = ShellFacts;

    async fn facts(&self, session: &mut SessionState) -> ShellFacts {
        let shell = session.shell.as_ref();
        ShellFacts {
            is_sandboxed: shell.is_some_and(|shell| shell.is_sandboxed()),
            is_tainted: shell.is_some_and(|shell| shell.is_tainted),
            reach: session.shell_reach,
            is_untrusted: session.trust.is_untrusted(),
            now: session.now(),
        }
    }

    fn judge(self, judge: &mut Judge, facts: &ShellFacts) -> Judgement<Self> {
        judge.shell(self, facts)
    }
}

/// Runs the commands in order; if one does not end, the rest is not started.
async fn run(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &ShellCall,
    permit: &Permitted<ShellProposal>,
    count: usize,
    result: &mut ShellResult,
) -> Result<(), RuntimeError> {
    let limits = session.limits;
    let requested = call.timeout_ms.map(Duration::from_millis);
    let total = requested
        .unwrap_or(limits.max_command_timeout)
        .min(limits.max_command_timeout);
    let per_command = requested.map_or(limits.command_timeout, |_| total);
    let deadline = Instant::now() + total;
    for index in result.outputs.len()..count {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let step = ShellStep::command(call, index, per_command.min(left));
        let ran = execute(session, turn, permit, &step).await?;
        if !follow(ran, result) {
            break;
        }
    }
    let started = result.outputs.len();
    result
        .outputs
        .extend((started..count).map(|_| not_started()));
    Ok(())
}

/// The output of a restart.
fn restarted_output() -> CommandOutput {
    const RESTARTED_TEXT: &str =
        "The shell was restarted; variables, functions and jobs are gone.\n";
    CommandOutput {
        stdout: RESTARTED_TEXT.to_owned(),
        ..CommandOutput::default()
    }
}

/// Adds the result of a command. Returns whether the next one may follow.
fn follow(ran: CommandRun, result: &mut ShellResult) -> bool {
    let may_continue = is_over(&ran.output.outcome) && ran.failure.is_none();
    result.outputs.push(ran.output);
    result.error = ran.failure;
    may_continue
}

fn is_over(outcome: &ShellOutcome) -> bool {
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
