//! An edit call: its files are located, it is judged as a unit and executed step by step.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::Edited;
use telechir_policy::{EditFacts, EditProposal, Judge, Permitted, Verdict, summarize_edit};
use telechir_protocol::{EditCall, EditResult, EditStep, Failure, FailureKind, Meta};

use super::approval::{ApprovalGate, question_of, still_holds};
use super::not_understood;
use super::step_info::StepInfo;
use crate::journal::{BeginOutcome, OpenedTurn, Repeat};
use crate::recorder::StepGuard;
use crate::{ActionEffect, DeviceKind, JournalError, RuntimeError, Session};

/// Answers one edit call.
pub(super) async fn answer(
    session: &mut Session,
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
    session: &mut Session,
    turn: OpenedTurn,
    call: &EditCall,
    texts: &mut Vec<String>,
) -> Result<Result<(), Failure>, RuntimeError> {
    let steps = match steps(session, call) {
        Ok(steps) => steps,
        Err(failure) => return Ok(Err(failure)),
    };
    for replayed in replay(session, turn, call, &steps).await? {
        match replayed {
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
    for (step_index, step) in steps.iter().enumerate().skip(texts.len()) {
        match execute(session, turn, &permit, step_index, step).await? {
            Ok(text) => texts.push(text),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(()))
}

/// The steps of a call, if this session can execute them.
fn steps(session: &Session, call: &EditCall) -> Result<Vec<EditStep>, Failure> {
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

/// The leading steps of a call that were started earlier, answered from the journal.
async fn replay(
    session: &mut Session,
    turn: OpenedTurn,
    call: &EditCall,
    steps: &[EditStep],
) -> Result<Vec<Result<String, Failure>>, RuntimeError> {
    let recorded_step = session.recorder.recorded_steps(turn, &call.call_id).await?;
    let mut replayed = Vec::new();
    for ((step_index, step), recorded_step) in steps.iter().enumerate().zip(recorded_step) {
        if recorded_step.step != step_index || step.is_read_only() {
            break;
        }
        let intent_body = intent_body(call.tool, step);
        if recorded_step.digest != telechir_policy::Digest::of_json(&intent_body).to_string() {
            let call_id = call.call_id.as_str().to_owned();
            return Err(JournalError::OtherDigest {
                call_id,
                step: step_index,
            }
            .into());
        }
        let info = info(call, step_index, step, recorded_step.verdict);
        replayed.push(match recorded_step.outcome {
            Some(body) => recorded(session, &info, &body),
            None => Err(interrupted(session, &info)),
        });
    }
    Ok(replayed)
}

/// Locates the files and has the edits judged. Only what was judged is executed: the editor rejects
/// a path if a link in it has changed since.
async fn permit(
    session: &mut Session,
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
    let judgement = session.judge.edit(proposal, &facts(session));
    let requested = question_of(&judgement);
    let permit = ApprovalGate::of(session).resolve(judgement, lines).await?;
    if let Some(requested) = requested {
        let mut judge = Judge::new(session.judge.policy().clone());
        let now = judge.edit(permit.proposal().clone(), &facts(session));
        still_holds(&requested, now)?;
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

/// Performs one step: records its intent, edits, records its outcome.
async fn execute(
    session: &mut Session,
    turn: OpenedTurn,
    permit: &Permitted<EditProposal>,
    step_index: usize,
    requested: &EditStep,
) -> Result<Result<String, Failure>, RuntimeError> {
    let proposal = permit.proposal();
    let info = StepInfo {
        call_id: proposal.call_id.clone(),
        step: step_index,
        device: DeviceKind::Editor,
        kind: None,
        summary: summarize_edit(&proposal.steps[step_index]),
        verdict: permit.rule_reason().verdict,
    };
    let repeat = if requested.is_read_only() {
        Repeat::Harmless
    } else {
        Repeat::Never
    };
    let (key, intent) = info.intent(turn, intent_body(proposal.tool, requested));
    match session.recorder.begin(&key, intent, repeat).await? {
        BeginOutcome::Fresh => {}
        BeginOutcome::Recorded(body) => return Ok(recorded(session, &info, &body)),
        BeginOutcome::Interrupted => return Ok(Err(interrupted(session, &info))),
    }
    session.recorder.emit(info.started());
    let cancelled = info.finished(ActionEffect::Cancelled, None, None, Duration::ZERO);
    let guard = StepGuard::new(&session.recorder, key, cancelled);
    let limits = session.limits;
    let Some(editor) = &mut session.editor else {
        return Ok(Err(editor_gone()));
    };
    let edited = editor.edit(permit, step_index, &limits).await;
    let elapsed = guard.elapsed();
    match edited {
        Ok(Edited { text, changed }) => {
            let outcome = if changed { "changed" } else { "looked" };
            let outcome = Some(outcome.to_owned());
            let event = info.finished(ActionEffect::Confirmed, None, outcome, elapsed);
            guard
                .finish(json!({ "edited": text, "changed": changed }), event)
                .await?;
            Ok(Ok(text))
        }
        Err(error) => {
            let failure = error.to_failure();
            let event = info.finished(ActionEffect::Failed, Some(failure.clone()), None, elapsed);
            guard.finish(json!({ "failed": failure }), event).await?;
            Ok(Err(failure))
        }
    }
}

/// A step as the journal's intent describes it, with the model's own paths.
fn intent_body(tool: telechir_protocol::EditTool, step: &EditStep) -> Value {
    json!({ "device": "editor", "tool": tool, "step": step })
}

fn info(call: &EditCall, step_index: usize, step: &EditStep, verdict: Verdict) -> StepInfo {
    StepInfo {
        call_id: call.call_id.clone(),
        step: step_index,
        device: DeviceKind::Editor,
        kind: None,
        summary: summarize_edit(step),
        verdict,
    }
}

fn recorded(session: &Session, info: &StepInfo, body: &Value) -> Result<String, Failure> {
    let replayed = match (body.get("edited"), body.get("failed")) {
        (Some(Value::String(text)), _) => Ok(text.clone()),
        (_, Some(failure)) => Err(serde_json::from_value(failure.clone()).unwrap_or_else(|_| {
            Failure::new(
                FailureKind::Device,
                "The edit failed; the recording has no reason.",
            )
        })),
        _ => Err(Failure::new(
            FailureKind::Cancelled,
            "The edit was stopped before it was complete; check the file before you continue.",
        )),
    };
    let failure = replayed.as_ref().err().cloned();
    let event = info.finished(ActionEffect::Recorded, failure, None, Duration::ZERO);
    session.recorder.emit(event);
    replayed
}

fn interrupted(session: &Session, info: &StepInfo) -> Failure {
    let message = "A crash happened during this edit, so the file is either unchanged or edited; check it before you continue.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = info.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        None,
        Duration::ZERO,
    );
    session.recorder.emit(event);
    failure
}

fn editor_gone() -> Failure {
    Failure::new(FailureKind::Device, "The editor is gone.")
}
