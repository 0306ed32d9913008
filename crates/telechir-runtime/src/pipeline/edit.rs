//! An edit call: its files are located, it is judged as a unit and executed step by step.

use telechir_policy::{EditFacts, EditProposal, Judge, Judgement, Permitted, summarize_edit};
use telechir_protocol::{EditCall, EditResult, EditStep, Failure, FailureKind, Meta};

use super::approval::{Judged, permit};
use super::edit_step::{EditOfFile, editor_gone};
use super::not_understood::not_understood;
use super::step::{execute, replay};
use crate::RuntimeError;
use crate::execute::EditorSlot;
use crate::journal::OpenedTurn;
use crate::session_state::SessionState;

/// Answers one edit call.
pub(super) async fn answer(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &EditCall,
) -> Result<EditResult, RuntimeError> {
    let mut texts = Vec::new();
    let error = act(session, turn, call, &mut texts).await?.err();
    Ok(EditResult {
        call_id: call.call_id.clone(),
        text: Some(texts.join("\n")).filter(|text| !text.is_empty()),
        error,
        meta: Meta::default(),
    })
}

/// Judges and executes a call. The inner error says why the rest was not executed.
async fn act(
    session: &mut SessionState,
    turn: OpenedTurn,
    call: &EditCall,
    texts: &mut Vec<String>,
) -> Result<Result<(), Failure>, RuntimeError> {
    let steps = match steps(session, call) {
        Ok(steps) => steps,
        Err(failure) => return Ok(Err(failure)),
    };
    let requested = EditOfFile::all(call, &steps, &steps);
    for replayed in replay(session, turn, &call.call_id, requested).await? {
        match replayed {
            Ok(text) => texts.push(text),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    if texts.len() == steps.len() {
        return Ok(Ok(()));
    }
    let permit = match judge(session, call, &steps).await {
        Ok(permit) => permit,
        Err(failure) => return Ok(Err(failure)),
    };
    let located = EditOfFile::all(call, &steps, &permit.proposal().steps);
    for step in located.iter().skip(texts.len()) {
        match execute(session, turn, &permit, step).await? {
            Ok(text) => texts.push(text),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(()))
}

/// The steps of a call, if this session can execute them.
fn steps(session: &SessionState, call: &EditCall) -> Result<Vec<EditStep>, Failure> {
    if let Some(exception) = &call.exception {
        return Err(not_understood(exception));
    }
    if session.editor.is_none() {
        let message = "This session has no file editor; the operator can add one with --editor. Use shell commands if available.";
        return Err(Failure::new(FailureKind::Unsupported, message));
    }
    if call.operations.is_empty() {
        return Err(not_understood("it has no operation"));
    }
    if call.operations.len() > session.limits.max_actions {
        return Err(not_understood("it has too many operations; send fewer"));
    }
    let step = |operation: &telechir_protocol::EditOperation| operation.step();
    let steps: Result<Vec<_>, _> = call.operations.iter().map(step).collect();
    steps.map_err(|problem| not_understood(&problem))
}

/// Locates the files and has the edits judged. Only what was judged is executed: the editor rejects
/// a path if a link in it has changed since.
async fn judge(
    session: &mut SessionState,
    call: &EditCall,
    steps: &[EditStep],
) -> Result<Permitted<EditProposal>, Failure> {
    let limits = session.limits;
    let mut located_steps = Vec::with_capacity(steps.len());
    for step in steps {
        let Some(editor) = &mut session.editor else {
            return Err(editor_gone());
        };
        let located = editor.locate(call.tool, step, &limits).await;
        located_steps.push(located.map_err(|error| error.to_failure())?);
    }
    let proposal = EditProposal {
        call_id: call.call_id.clone(),
        tool: call.tool,
        steps: located_steps,
    };
    let lines = proposal.steps.iter().map(summarize_edit).collect();
    permit(session, proposal, lines).await
}

impl Judged for EditProposal {
    type Facts = EditFacts;

    async fn facts(&self, session: &mut SessionState) -> EditFacts {
        let editor = session.editor.as_ref();
        let (workspace, memory) = editor.map_or_else(Default::default, EditorSlot::folders);
        EditFacts {
            workspace,
            memory,
            is_untrusted: session.trust.is_untrusted(),
            now: session.now(),
        }
    }

    fn judge(self, judge: &mut Judge, facts: &EditFacts) -> Judgement<Self> {
        judge.edit(self, facts)
    }
}
