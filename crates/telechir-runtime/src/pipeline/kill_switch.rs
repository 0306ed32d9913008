//! The kill switch: once the user stops the session, every call is answered as cancelled.

use telechir_protocol::{
    ComputerResult, EditResult, Failure, FailureKind, FunctionResult, Meta, ShellResult, ToolCall,
    ToolResult,
};

use super::screen_step::not_started;
use super::shell;
use crate::execute::ScreenSlot;
use crate::{Session, SessionEvent};

/// The failure of every call once the kill switch was pressed.
pub(super) async fn check(session: &mut Session) -> Option<Failure> {
    if session.stopped.is_none() {
        let reason = session.screens.iter().find_map(ScreenSlot::stopped)?;
        session.stopped = Some(reason);
        let message = format!("The user stopped this session: {reason}.");
        session.emit(SessionEvent::Warning { message });
        end_shell(session).await;
    }
    session
        .stopped
        .map(|reason| stopped_failure(reason, " Nothing was done."))
}

/// Why a running action was cut short, if the kill switch was pressed.
pub(super) fn failure(session: &Session) -> Option<Failure> {
    let reason = session.screens.iter().find_map(ScreenSlot::stopped)?;
    Some(stopped_failure(reason, ""))
}

fn stopped_failure(reason: &str, suffix: &str) -> Failure {
    let message = format!("The user stopped this session: {reason}.{suffix}");
    Failure::new(FailureKind::Cancelled, message)
}

/// Ends the shell with all background jobs, since no later call can end them.
async fn end_shell(session: &mut Session) {
    if let Some(shell) = session.shell.take()
        && let Err(message) = shell.close(session.limits.action_timeout).await
    {
        let message = format!("After the stop: failed to {message}.");
        session.emit(SessionEvent::Warning { message });
    }
}

/// The result of a call that was not started.
pub(super) fn cancelled_result(call: &ToolCall, failure: Failure) -> ToolResult {
    let error = Some(failure);
    match call {
        ToolCall::Computer(call) => {
            let mut result = ComputerResult::new(call.call_id.clone());
            result.group.clone_from(&call.group);
            result.steps = call.actions.iter().map(not_started).collect();
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
