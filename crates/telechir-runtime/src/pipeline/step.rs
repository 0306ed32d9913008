//! One step of a call, the same for every device: intent, effect, outcome.
//!
//! [`execute`] is the only function that starts an effect. It answers two questions: is every
//! effect recorded before it happens, and can none happen twice?

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_policy::{Digest, Permitted, Proposal, Verdict};
use telechir_protocol::{CallId, Failure, FailureKind};

use super::step_info::StepInfo;
use crate::journal::{BeginOutcome, OpenedTurn, RecordedStep, Repeat};
use crate::recorder::StepGuard;
use crate::session_state::SessionState;
use crate::{ActionEffect, DeviceKind, JournalError, RuntimeError};

/// A step of a call to one kind of device.
pub(super) trait Step {
    /// What the policy permits.
    type Proposal: Proposal;
    /// What the step adds to the result of its call.
    type Output;

    /// Why the output is unknown, if a crash happened during the step.
    const INTERRUPTED: &'static str;
    /// Whether judging may rewrite a step, so that its intent differs from the model's own step.
    const IS_REWRITTEN: bool;

    /// The step as events describe it.
    fn info(&self, verdict: Verdict) -> StepInfo;

    /// The step as the journal's intent describes it.
    fn intent(&self) -> Value;

    /// Whether the step may be performed again.
    fn repeat(&self) -> Repeat;

    /// Has the effect. The guard proves that the intent is durable. On an error the step is
    /// recorded as cancelled.
    fn perform(
        &self,
        session: &mut SessionState,
        permit: &Permitted<Self::Proposal>,
        guard: &StepGuard,
    ) -> impl Future<Output = Result<Performed<Self::Output>, RuntimeError>> + Send;

    /// The output of a step that was performed earlier, from the body of its outcome.
    fn recorded(&self, body: Value) -> Self::Output;

    /// The output of a step whose effect is unknown.
    fn interrupted(&self, failure: Failure) -> Self::Output;

    /// Why the step failed, if it did.
    fn failure(output: &Self::Output) -> Option<Failure>;
}

/// A step that has had its effect.
pub(super) struct Performed<T> {
    pub(super) output: T,
    /// The body of the outcome in the journal.
    pub(super) body: Value,
    pub(super) effect: ActionEffect,
    pub(super) failure: Option<Failure>,
    /// How a command or an edit ended.
    pub(super) ended: Option<String>,
    pub(super) took: Duration,
}

impl<T> Performed<T> {
    /// A command or an edit that failed.
    pub(super) fn failed(failure: Failure, output: T, took: Duration) -> Self {
        Self {
            output,
            body: json!({ "failed": failure }),
            effect: ActionEffect::Failed,
            failure: Some(failure),
            ended: None,
            took,
        }
    }
}

/// Refuses a call for another device than the earlier call with its id. `devices` are those that the
/// call can be for.
pub(super) async fn refuse_reused_id(
    session: &mut SessionState,
    turn: OpenedTurn,
    call_id: &CallId,
    devices: &[DeviceKind],
) -> Result<(), RuntimeError> {
    let recorded = session.recorder.recorded_steps(turn, call_id).await?;
    let is_for = |recorded: &RecordedStep| {
        // Recordings of earlier versions may not name it.
        let mut devices = devices.iter().map(|device| device.name());
        recorded.device.is_empty() || devices.any(|device| device == recorded.device)
    };
    match recorded.iter().find(|recorded| !is_for(recorded)) {
        None => Ok(()),
        Some(other) => Err(RuntimeError::from(JournalError::OtherDigest {
            call_id: call_id.as_str().to_owned(),
            step: other.step,
        })),
    }
}

/// Executes a permitted step, unless the journal has it already.
///
/// The intent is durable before the effect. The outcome is enqueued before anything else happens,
/// also if this future is dropped; it is durable before the next intent and before the answer. A
/// step that was started earlier is answered from the journal, except one that only reads.
pub(super) async fn execute<S: Step>(
    session: &mut SessionState,
    turn: OpenedTurn,
    permit: &Permitted<S::Proposal>,
    step: &S,
) -> Result<S::Output, RuntimeError> {
    // A person may have taken control since the step before.
    if let Some(refusal) = session.control.refusal() {
        return Ok(step.interrupted(refusal));
    }
    let info = step.info(permit.rule_reason().verdict);
    let (key, intent) = info.intent(turn, step.intent());
    match session.recorder.begin(&key, intent, step.repeat()).await? {
        BeginOutcome::Fresh => {}
        BeginOutcome::Recorded(body) => return Ok(answer(session, step, &info, Some(body))),
        BeginOutcome::Interrupted => return Ok(answer(session, step, &info, None)),
    }
    session.recorder.emit(info.started());
    let cancelled = info.finished(ActionEffect::Cancelled, None, None, Duration::ZERO);
    let guard = StepGuard::new(&session.recorder, key, cancelled);
    let done = step.perform(session, permit, &guard).await?;
    let finished = info.finished(done.effect, done.failure, done.ended, done.took);
    guard.finish(done.body, finished).await?;
    Ok(done.output)
}

/// The outputs of the leading steps of a call that were started earlier and must not be repeated.
/// The policy is not consulted again: these steps have already happened.
pub(super) async fn replay<S: Step>(
    session: &mut SessionState,
    turn: OpenedTurn,
    call_id: &CallId,
    steps: Vec<S>,
) -> Result<Vec<S::Output>, RuntimeError> {
    let recorded_steps = session.recorder.recorded_steps(turn, call_id).await?;
    let other = |step| {
        let call_id = call_id.as_str().to_owned();
        RuntimeError::from(JournalError::OtherDigest { call_id, step })
    };
    // A call that has fewer steps than the earlier one is another one, even if these are the same.
    if recorded_steps.len() > steps.len() {
        return Err(other(steps.len()));
    }
    let mut outputs = Vec::new();
    for ((index, step), recorded) in steps.iter().enumerate().zip(recorded_steps) {
        if recorded.step != index {
            break;
        }
        if recorded.digest != Digest::of_json(&step.intent()).to_string() {
            if S::IS_REWRITTEN {
                // It is judged again; `execute` then compares the intents.
                break;
            }
            return Err(other(index));
        }
        if step.repeat() == Repeat::Harmless {
            break;
        }
        let info = step.info(recorded.verdict);
        outputs.push(answer(session, step, &info, recorded.outcome));
    }
    Ok(outputs)
}

/// Answers a step that was started earlier from its recorded outcome, which is absent after a
/// crash.
fn answer<S: Step>(
    session: &SessionState,
    step: &S,
    info: &StepInfo,
    outcome: Option<Value>,
) -> S::Output {
    let (effect, output) = match outcome {
        Some(body) => (ActionEffect::Recorded, step.recorded(body)),
        None => {
            let failure = Failure::new(FailureKind::Interrupted, S::INTERRUPTED);
            (ActionEffect::Interrupted, step.interrupted(failure))
        }
    };
    let failure = S::failure(&output);
    let finished = info.finished(effect, failure, None, Duration::ZERO);
    session.recorder.emit(finished);
    output
}
