//! The path of a turn, top to bottom: announce, judge, ask, map, act, observe, close, answer.

mod approval;
mod call_groups;
pub(crate) mod devtools;
mod edit;
mod edit_step;
mod kill_switch;
mod not_understood;
mod screen;
mod screen_step;
mod shell;
mod shell_step;
mod step;
mod step_info;

use std::time::Instant;

use telechir_policy::{
    escape, summarize, summarize_command, summarize_edit, summarize_shell_action,
};
use telechir_protocol::{
    AnsweredTurn, CallId, ComputerResult, Content, EditOperation, EditResult, Failure, FailureKind,
    FunctionCall, FunctionResult, Meta, ModelTurn, ShellAction, ShellResult, ToolCall, ToolResult,
};

use crate::execute::ScreenSlot;
use crate::journal::OpenedTurn;
use crate::recorder::{CallGuard, Delivery, TurnGuard};
use crate::session_state::SessionState;
use crate::{CallKind, DeviceKind, RuntimeError, SessionEvent, TurnIdentity};
use call_groups::CallGroups;
use not_understood::not_understood;

/// Executes a turn's calls in order and pairs each with its result.
pub(crate) async fn execute(
    session: &mut SessionState,
    turn: ModelTurn,
    delivery: Delivery,
    identity: Option<TurnIdentity>,
) -> Result<AnsweredTurn, RuntimeError> {
    recover(session).await;
    let calls = turn.calls();
    // From here on the guard records the end of the turn, also when this future is dropped.
    let next = session.next_turn;
    let recorder = &session.recorder;
    let guard = TurnGuard::begin(recorder, calls.len(), delivery, next, identity).await?;
    if next.is_none() {
        session.continue_untrusted().await?;
    }
    if let Some(source) = turn.hosted_source() {
        session.trust.note_untrusted(&source);
        session.announce_untrusted();
    }
    session.next_turn = Some(next.unwrap_or(0).max(guard.turn.number + 1));
    session.is_in_turn = true;
    session.screens.iter_mut().for_each(ScreenSlot::begin_turn);
    let mut groups = CallGroups::new(&calls, session.auto_screenshot);
    let mut results = Vec::with_capacity(calls.len());
    for (call_index, call) in calls.iter().enumerate() {
        results.push(answer(session, guard.turn, call_index, call, &mut groups).await?);
    }
    session.is_in_turn = false;
    let answered = turn.answer(results)?;
    guard.end();
    Ok(answered)
}

/// Cleans up after a dropped turn, which may have left inputs pressed and a command running.
pub(crate) async fn recover(session: &mut SessionState) {
    if !std::mem::take(&mut session.is_in_turn) {
        return;
    }
    for screen in &mut session.screens {
        if let Err(error) = screen.release(&session.limits).await {
            let message = format!("After a stopped turn: failed to {error}.");
            session.recorder.emit(SessionEvent::Warning { message });
        }
    }
    if let Some(shell) = &mut session.shell
        && let Err(error) = shell.end_command(&session.limits).await
    {
        let message = format!("After a stopped turn: failed to {error}.");
        session.recorder.emit(SessionEvent::Warning { message });
    }
}

/// If the kill switch was pressed, announces it and ends everything that still runs.
pub(crate) async fn check_kill_switch(session: &mut SessionState) {
    let _for_calls = kill_switch::check(session).await;
}

/// The texts that calls of a turn type where the shell hides its input, such as passwords.
pub(crate) fn hidden_input(session: &SessionState, turn: &ModelTurn) -> Vec<String> {
    let calls = turn.calls();
    let each = calls.iter().enumerate();
    each.filter_map(|(index, call)| shell::hidden_input(session, &calls[..index], call))
        .collect()
}

/// Announces a call, executes it, and records and announces its result.
async fn answer(
    session: &mut SessionState,
    turn: OpenedTurn,
    call_index: usize,
    call: &ToolCall,
    groups: &mut CallGroups,
) -> Result<ToolResult, RuntimeError> {
    let started = Instant::now();
    let call_id = call.call_id().cloned().unwrap_or_else(|| CallId::new(""));
    step::refuse_reused_id(session, turn, &call_id, devices(call)).await?;
    let (kind, content, steps) = describe(session, call);
    session.recorder.call(&content).await?;
    // From here on the guard announces the end of the call, also when this future is dropped.
    let guard = CallGuard::begin(&session.recorder, call_id, kind, steps, started);
    let refusal = kill_switch::check(session).await;
    let refusal = refusal.or_else(|| session.control.refusal());
    let result = match (refusal, call) {
        (Some(failure), call) => cancelled_result(call, failure),
        (None, ToolCall::Computer(call)) => {
            ToolResult::Computer(screen::answer(session, turn, call_index, call, groups).await?)
        }
        (None, ToolCall::Shell(call)) => {
            ToolResult::Shell(shell::answer(session, turn, call).await?)
        }
        (None, ToolCall::Edit(call)) => ToolResult::Edit(edit::answer(session, turn, call).await?),
        (None, ToolCall::Function(call)) => ToolResult::Function(function(session, call)),
    };
    // Announced as soon as it is known, not only with the next call.
    kill_switch::check(session).await;
    session.announce_untrusted();
    session
        .recorder
        .answer(&result.clone().into_content())
        .await?;
    guard.answered(failure(&result).cloned());
    Ok(result)
}

/// The devices that a call can be for.
fn devices(call: &ToolCall) -> &'static [DeviceKind] {
    match call {
        ToolCall::Computer(_) => &[DeviceKind::Desktop, DeviceKind::Browser],
        ToolCall::Shell(_) => &[DeviceKind::Shell],
        ToolCall::Edit(_) => &[DeviceKind::Editor],
        ToolCall::Function(_) => &[],
    }
}

fn describe(session: &SessionState, call: &ToolCall) -> (CallKind, Content, Vec<String>) {
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
            let line = |operation: &EditOperation| match operation.step() {
                Ok(step) => summarize_edit(&step),
                Err(_) => escape(&operation.name),
            };
            let steps = call.operations.iter().map(line).collect();
            (CallKind::Edit, Content::EditCall(call.clone()), steps)
        }
        ToolCall::Function(call) => (
            CallKind::Function,
            Content::FunctionCall(call.clone()),
            vec![escape(&call.name)],
        ),
    }
}

/// The result of a call that was not started.
fn cancelled_result(call: &ToolCall, failure: Failure) -> ToolResult {
    let error = Some(failure);
    match call {
        ToolCall::Computer(call) => {
            let mut result = ComputerResult::new(call.call_id.clone());
            result.group.clone_from(&call.group);
            result.steps = call.actions.iter().map(screen_step::not_started).collect();
            result.error = error;
            ToolResult::Computer(result)
        }
        ToolCall::Shell(call) => {
            let outputs = call.commands.iter().map(|_| shell::not_started()).collect();
            let mut result = ShellResult::new(call.call_id.clone(), outputs);
            result.error = error;
            ToolResult::Shell(result)
        }
        ToolCall::Edit(call) => ToolResult::Edit(EditResult {
            call_id: call.call_id.clone(),
            text: None,
            error,
            meta: Meta::default(),
        }),
        ToolCall::Function(call) => ToolResult::Function(FunctionResult {
            call_id: call.call_id.clone(),
            name: Some(call.name.clone()),
            items: Vec::new(),
            result: None,
            error,
            meta: Meta::default(),
        }),
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

fn function(session: &SessionState, call: &FunctionCall) -> FunctionResult {
    let failure = match &call.exception {
        Some(exception) => not_understood(exception),
        None => {
            let devices: Vec<_> = session
                .devices()
                .iter()
                .map(|device| device.name())
                .collect();
            let has = match devices.is_empty() {
                true => "It has no devices.".to_owned(),
                false => format!(
                    "Use the tools that were declared for its devices: {}.",
                    devices.join(", ")
                ),
            };
            let name = escape(&call.name);
            let message = format!("No function of this session is named {name:?}. {has}");
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
