//! The kill switch: once the user stops the session, every call is answered as cancelled.

use telechir_protocol::{Failure, FailureKind};

use crate::SessionEvent;
use crate::execute::ScreenSlot;
use crate::session_state::SessionState;

/// The failure of every call once the kill switch was pressed.
pub(super) async fn check(session: &mut SessionState) -> Option<Failure> {
    if session.stopped.is_none() {
        let reason = session.screens.iter().find_map(ScreenSlot::stopped)?;
        session.stopped = Some(reason);
        let message = format!("The user stopped this session: {reason}.");
        session.recorder.emit(SessionEvent::Warning { message });
        end_shell(session).await;
    }
    session
        .stopped
        .map(|reason| stopped_failure(reason, " Nothing was done."))
}

/// Why a running action was cut short, if the kill switch was pressed.
pub(super) fn failure(session: &SessionState) -> Option<Failure> {
    let reason = session.screens.iter().find_map(ScreenSlot::stopped)?;
    Some(stopped_failure(reason, ""))
}

fn stopped_failure(reason: &str, suffix: &str) -> Failure {
    let message = format!("The user stopped this session: {reason}.{suffix}");
    Failure::new(FailureKind::Cancelled, message)
}

/// Ends the shell with all background jobs, since no later call can end them.
async fn end_shell(session: &mut SessionState) {
    if let Some(shell) = session.shell.take()
        && let Err(message) = shell.close(session.limits.action_timeout).await
    {
        let message = format!("After the stop: failed to {message}.");
        session.recorder.emit(SessionEvent::Warning { message });
    }
}
