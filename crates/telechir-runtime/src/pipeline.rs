//! The walk of a turn, top to bottom: announce, judge, ask, map, act, observe, close, answer.

mod approval;
mod call_groups;
mod command;
mod edit;
mod kill_switch;
mod screen;
mod shell;
mod step;
mod step_info;

use std::time::Instant;

use telechir_policy::{
    escape, summarize, summarize_command, summarize_edit, summarize_shell_action,
};
use telechir_protocol::{
    AnsweredTurn, CallId, Content, EditOperation, Failure, FailureKind, FunctionCall,
    FunctionResult, Meta, ModelTurn, ShellAction, ToolCall, ToolResult,
};

use crate::journal::BegunTurn;
use crate::recorder::{OpenTurn, millis};
use crate::{CallKind, RuntimeError, Session, SessionEvent};
pub(crate) use approval::Asked;
use call_groups::Batch;

/// Whether a turn may be one that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It follows those before it, even when its calls have the names of earlier ones.
    New,
    /// Sent again it is the same turn, known by the names of its calls.
    PerhapsAgain,
}

/// Carries out a turn's calls in their order and joins each with its one result.
pub(crate) async fn carry_out(
    session: &mut Session,
    turn: ModelTurn,
    arrival: Arrival,
) -> Result<AnsweredTurn, RuntimeError> {
    recover(session).await;
    let calls = turn.calls();
    let seen = match arrival {
        Arrival::New => Vec::new(),
        Arrival::PerhapsAgain => calls
            .iter()
            .filter_map(ToolCall::call_id)
            .cloned()
            .collect(),
    };
    // A turn that has been begun ends with what holds it, however that goes.
    let next = session.next_turn;
    let open = OpenTurn::begin(&session.recorder, calls.len(), seen, next).await?;
    session.next_turn = Some(next.unwrap_or(0).max(open.turn.number + 1));
    session.is_in_turn = true;
    let mut batch = Batch::of(&calls, session.observe);
    let mut results = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        results.push(answer(session, open.turn, place, call, &mut batch).await?);
    }
    session.is_in_turn = false;
    let answered = turn.answer(results)?;
    open.end();
    Ok(answered)
}

/// A turn that was dropped may have left keys and buttons pressed, and a command running.
pub(crate) async fn recover(session: &mut Session) {
    if !std::mem::take(&mut session.is_in_turn) {
        return;
    }
    for screen in &mut session.screens {
        if let Err(error) = screen.release(&session.limits).await {
            let message = format!("After a stopped turn: failed to {error}.");
            session.recorder.announce(SessionEvent::Warning { message });
        }
    }
    if let Some(shell) = &mut session.shell
        && let Err(error) = shell.end_command(&session.limits).await
    {
        let message = format!("After a stopped turn: failed to {error}.");
        session.recorder.announce(SessionEvent::Warning { message });
    }
}

/// Says that a person stopped the session, when one did, and ends what still runs.
pub(crate) async fn heed_stop(session: &mut Session) {
    let _for_calls = kill_switch::stopped(session).await;
}

/// Announces a call, carries it out, keeps and announces its result.
async fn answer(
    session: &mut Session,
    turn: BegunTurn,
    place: usize,
    call: &ToolCall,
    batch: &mut Batch,
) -> Result<ToolResult, RuntimeError> {
    let began = Instant::now();
    let call_id = call.call_id().cloned().unwrap_or_else(|| CallId::new(""));
    let (kind, content, steps) = described(session, call);
    session.recorder.call(&content).await?;
    session.recorder.announce(SessionEvent::CallReceived {
        call_id: call_id.clone(),
        kind,
        steps,
    });
    let result = match (kill_switch::stopped(session).await, call) {
        (Some(failure), call) => kill_switch::unbegun(call, failure),
        (None, ToolCall::Computer(call)) => {
            ToolResult::Computer(screen::answer(session, turn, place, call, batch).await?)
        }
        (None, ToolCall::Shell(call)) => {
            ToolResult::Shell(shell::answer(session, turn, call).await?)
        }
        (None, ToolCall::Edit(call)) => ToolResult::Edit(edit::answer(session, turn, call).await?),
        (None, ToolCall::Function(call)) => ToolResult::Function(function(session, call)),
    };
    // Said as soon as it is known, not with the next call.
    kill_switch::stopped(session).await;
    session
        .recorder
        .answer(&result.clone().into_content())
        .await?;
    let failure = failure(&result).cloned();
    session.recorder.announce(SessionEvent::CallAnswered {
        call_id,
        failure,
        ms: millis(began.elapsed()),
    });
    Ok(result)
}

fn described(session: &Session, call: &ToolCall) -> (CallKind, Content, Vec<String>) {
    match call {
        ToolCall::Computer(call) => {
            let steps = call.actions.iter().map(summarize).collect();
            (
                CallKind::Computer,
                Content::ComputerCall(call.clone()),
                steps,
            )
        }
        ToolCall::Shell(call) => {
            let steps = if call.action == ShellAction::Execute {
                call.commands.iter().map(summarize_command).collect()
            } else {
                vec![summarize_shell_action(&call.action)]
            };
            let shown = shell::recordable(session, call);
            (CallKind::Shell, Content::ShellCall(shown), steps)
        }
        ToolCall::Edit(call) => {
            let told = |operation: &EditOperation| match operation.step() {
                Ok(step) => summarize_edit(&step),
                Err(_) => escape(&operation.name),
            };
            let steps = call.operations.iter().map(told).collect();
            (CallKind::Edit, Content::EditCall(call.clone()), steps)
        }
        ToolCall::Function(call) => (
            CallKind::Function,
            Content::FunctionCall(call.clone()),
            vec![escape(&call.name)],
        ),
    }
}

fn failure(result: &ToolResult) -> Option<&Failure> {
    match result {
        ToolResult::Computer(result) => result.error.as_ref(),
        ToolResult::Shell(result) => result.error.as_ref(),
        ToolResult::Edit(result) => result.error.as_ref(),
        ToolResult::Function(result) => result.error.as_ref(),
    }
}

fn function(session: &Session, call: &FunctionCall) -> FunctionResult {
    let failure = match &call.exception {
        Some(exception) => not_understood(exception),
        None => {
            let devices: Vec<_> = session
                .devices()
                .iter()
                .map(|device| device.name())
                .collect();
            let has = if devices.is_empty() {
                "nothing".to_owned()
            } else {
                devices.join(", ")
            };
            let name = escape(&call.name);
            let message = format!("{name:?} is not a tool of this session, which has: {has}.");
            Failure::new(FailureKind::Unsupported, message)
        }
    };
    FunctionResult {
        call_id: call.call_id.clone(),
        name: Some(call.name.clone()),
        items: Vec::new(),
        result: None,
        error: Some(failure),
        meta: Meta::default(),
    }
}

/// What a call is answered with that the dialect could not read.
fn not_understood(exception: &str) -> Failure {
    let message = format!("The call was not understood and nothing was done: {exception}");
    Failure::new(FailureKind::InvalidInput, message)
}
