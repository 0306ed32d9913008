//! A session that a person stopped by a kill switch: it says why, and nothing more is done.

use telechir_protocol::{
    ComputerResult, EditResult, Failure, FailureKind, FunctionResult, Meta, ShellResult, ToolCall,
    ToolResult,
};

use super::shell;
use super::step::not_started;
use crate::execute::Screen;
use crate::{Session, SessionEvent};

/// What every call is answered with once a person stopped the session.
pub(super) async fn stopped(session: &mut Session) -> Option<Failure> {
    if session.stopped.is_none() {
        let why = session.screens.iter().find_map(Screen::stopped)?;
        session.stopped = Some(why);
        let message = format!("A person stopped this session: {why}.");
        session.announce(SessionEvent::Warning { message });
        end_shell(session).await;
    }
    session
        .stopped
        .map(|why| failure(why, " Nothing was done."))
}

/// Why what was begun did not come to its end, when a person stopped the session.
pub(super) fn why(session: &Session) -> Option<Failure> {
    let why = session.screens.iter().find_map(Screen::stopped)?;
    Some(failure(why, ""))
}

fn failure(why: &str, more: &str) -> Failure {
    let message = format!("A person stopped this session: {why}.{more}");
    Failure::new(FailureKind::Cancelled, message)
}

/// Background jobs end with all else: nobody is there to ask for it any more.
async fn end_shell(session: &mut Session) {
    if let Some(shell) = session.shell.take()
        && let Err(message) = shell.close(session.limits.action).await
    {
        let message = format!("After the stop: failed to {message}.");
        session.announce(SessionEvent::Warning { message });
    }
}

/// The answer to a call of which nothing is begun.
pub(super) fn unbegun(call: &ToolCall, failure: Failure) -> ToolResult {
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
