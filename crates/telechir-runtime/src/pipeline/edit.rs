//! An edit call: its files are found, it is judged as a whole and done step by step.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::Edited;
use telechir_policy::{EditFacts, EditProposal, Judge, Permitted, Verdict, summarize_edit};
use telechir_protocol::{EditCall, EditResult, EditStep, Failure, FailureKind, Meta};

use super::approval::{Desk, question_of, still_holds};
use super::not_understood;
use super::step_info::Said;
use crate::journal::{Begun, BegunTurn, Repeat};
use crate::recorder::OpenStep;
use crate::{ActionEffect, DeviceKind, JournalError, RuntimeError, Session};

/// Answers one edit call.
pub(super) async fn answer(
    session: &mut Session,
    turn: BegunTurn,
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

/// Judges and carries out a call. The inner error says why nothing more was done.
async fn act(
    session: &mut Session,
    turn: BegunTurn,
    call: &EditCall,
    texts: &mut Vec<String>,
) -> Result<Result<(), Failure>, RuntimeError> {
    let steps = match steps(session, call) {
        Ok(steps) => steps,
        Err(failure) => return Ok(Err(failure)),
    };
    for told in replay(session, turn, call, &steps).await? {
        match told {
            Ok(text) => texts.push(text),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    if texts.len() == steps.len() {
        return Ok(Ok(()));
    }
    let permit = match permit(session, call, &steps).await {
        Ok(permit) => permit,
        Err(failure) => return Ok(Err(failure)),
    };
    for (at, step) in steps.iter().enumerate().skip(texts.len()) {
        match carry_out(session, turn, &permit, at, step).await? {
            Ok(text) => texts.push(text),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(()))
}

/// What is to be done, when this session can do it.
fn steps(session: &Session, call: &EditCall) -> Result<Vec<EditStep>, Failure> {
    if let Some(exception) = &call.exception {
        return Err(not_understood(exception));
    }
    if session.editor.is_none() {
        let message = "This session has no file editor; it would have one with --editor. Use shell commands if there are any.";
        return Err(Failure::new(FailureKind::Unsupported, message));
    }
    if call.operations.is_empty() {
        return Err(not_understood("it has no operation"));
    }
    if call.operations.len() > session.limits.actions {
        return Err(not_understood("it has too many operations; send fewer"));
    }
    let step = |operation: &telechir_protocol::EditOperation| operation.step();
    let steps: Result<Vec<_>, _> = call.operations.iter().map(step).collect();
    steps.map_err(|problem| not_understood(&problem))
}

/// The steps at the head of a call that were begun before, told from the journal.
async fn replay(
    session: &mut Session,
    turn: BegunTurn,
    call: &EditCall,
    steps: &[EditStep],
) -> Result<Vec<Result<String, Failure>>, RuntimeError> {
    let known = session.recorder.known(turn, &call.call_id).await?;
    let mut told = Vec::new();
    for ((at, step), known) in steps.iter().enumerate().zip(known) {
        if known.step != at || step.only_looks() {
            break;
        }
        let does = does(call.tool, step);
        if known.digest != telechir_policy::Digest::of_json(&does).to_string() {
            let call_id = call.call_id.as_str().to_owned();
            return Err(JournalError::OtherDigest { call_id, step: at }.into());
        }
        let said = said(call, at, step, known.verdict);
        told.push(match known.outcome {
            Some(body) => recorded(session, &said, &body),
            None => Err(interrupted(session, &said)),
        });
    }
    Ok(told)
}

/// Finds the files and has the edits judged. What is judged is what will be done: where a link
/// leads elsewhere by then, the editor refuses.
async fn permit(
    session: &mut Session,
    call: &EditCall,
    steps: &[EditStep],
) -> Result<Permitted<EditProposal>, Failure> {
    let limits = session.limits;
    let mut located = Vec::with_capacity(steps.len());
    for step in steps {
        let Some(editor) = &mut session.editor else {
            return Err(gone());
        };
        let found = editor.locate(call.tool, step, &limits).await;
        located.push(found.map_err(|error| error.to_failure())?);
    }
    let proposal = EditProposal {
        call_id: call.call_id.clone(),
        tool: call.tool,
        steps: located,
    };
    let lines = proposal.steps.iter().map(summarize_edit).collect();
    let judgement = session.judge.edit(proposal, &facts(session));
    let asked = question_of(&judgement);
    let permit = Desk::of(session).settle(judgement, lines).await?;
    if let Some(asked) = asked {
        let mut judge = Judge::new(session.judge.policy().clone());
        let now = judge.edit(permit.proposal().clone(), &facts(session));
        still_holds(&asked, now)?;
    }
    Ok(permit)
}

fn facts(session: &Session) -> EditFacts {
    let (workspace, memory) = session
        .editor
        .as_ref()
        .map_or_else(Default::default, crate::execute::EditorSlot::folders);
    EditFacts {
        workspace,
        memory,
        now: session.now(),
    }
}

/// One step: its intent, the deed, its outcome.
async fn carry_out(
    session: &mut Session,
    turn: BegunTurn,
    permit: &Permitted<EditProposal>,
    at: usize,
    asked: &EditStep,
) -> Result<Result<String, Failure>, RuntimeError> {
    let proposal = permit.proposal();
    let said = Said {
        call_id: proposal.call_id.clone(),
        step: at,
        device: DeviceKind::Editor,
        kind: None,
        summary: summarize_edit(&proposal.steps[at]),
        verdict: permit.ground().verdict,
    };
    let repeat = if asked.only_looks() {
        Repeat::Harmless
    } else {
        Repeat::Never
    };
    let (key, intent) = said.intent(turn, does(proposal.tool, asked));
    match session.recorder.begin(&key, intent, repeat).await? {
        Begun::Fresh => {}
        Begun::Recorded(body) => return Ok(recorded(session, &said, &body)),
        Begun::Interrupted => return Ok(Err(interrupted(session, &said))),
    }
    session.recorder.announce(said.started());
    let cancelled = said.finished(ActionEffect::Cancelled, None, None, Duration::ZERO);
    let open = OpenStep::new(&session.recorder, key, cancelled);
    let limits = session.limits;
    let Some(editor) = &mut session.editor else {
        return Ok(Err(gone()));
    };
    let edited = editor.edit(permit, at, &limits).await;
    let elapsed = open.elapsed();
    match edited {
        Ok(Edited { text, changed }) => {
            let outcome = if changed { "changed" } else { "looked" };
            let outcome = Some(outcome.to_owned());
            let event = said.finished(ActionEffect::Confirmed, None, outcome, elapsed);
            open.finish(json!({ "edited": text, "changed": changed }), event)
                .await?;
            Ok(Ok(text))
        }
        Err(error) => {
            let failure = error.to_failure();
            let event = said.finished(ActionEffect::Failed, Some(failure.clone()), None, elapsed);
            open.finish(json!({ "failed": failure }), event).await?;
            Ok(Err(failure))
        }
    }
}

/// What a step does, as the journal keeps it: in the model's own paths.
fn does(tool: telechir_protocol::EditTool, step: &EditStep) -> Value {
    json!({ "device": "editor", "tool": tool, "step": step })
}

fn said(call: &EditCall, at: usize, step: &EditStep, verdict: Verdict) -> Said {
    Said {
        call_id: call.call_id.clone(),
        step: at,
        device: DeviceKind::Editor,
        kind: None,
        summary: summarize_edit(step),
        verdict,
    }
}

fn recorded(session: &Session, said: &Said, body: &Value) -> Result<String, Failure> {
    let told = match (body.get("edited"), body.get("failed")) {
        (Some(Value::String(text)), _) => Ok(text.clone()),
        (_, Some(failure)) => Err(serde_json::from_value(failure.clone()).unwrap_or_else(|_| {
            Failure::new(
                FailureKind::Device,
                "It failed; the record does not say why.",
            )
        })),
        _ => Err(Failure::new(
            FailureKind::Cancelled,
            "It was stopped before its end; look at the file before going on.",
        )),
    };
    let failure = told.as_ref().err().cloned();
    let event = said.finished(ActionEffect::Recorded, failure, None, Duration::ZERO);
    session.recorder.announce(event);
    told
}

fn interrupted(session: &Session, said: &Said) -> Failure {
    let message = "A crash came between the start and the end of this edit, so the file is either as before or as asked; look at it before going on.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = said.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        None,
        Duration::ZERO,
    );
    session.recorder.announce(event);
    failure
}

fn gone() -> Failure {
    Failure::new(FailureKind::Device, "The editor is gone.")
}
