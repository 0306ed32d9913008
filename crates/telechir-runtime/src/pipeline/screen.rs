//! A computer call: judged as a whole, carried out step by step, closed with a fresh picture.

use std::time::Duration;

use serde_json::json;
use telechir_device::{Effect, Performed};
use telechir_policy::{
    Digest, Judge, Judgement, Permitted, ScreenFacts, ScreenProposal, summarize,
};
use telechir_protocol::{
    Action, ActionKind, ComputerCall, ComputerResult, Failure, FailureKind, StepOutcome, StepState,
};

use super::batch::Batch;
use super::{Desk, not_understood};
use crate::execute::{Screen, lost, sentence};
use crate::journal::{ActionKey, Begun, Repeat};
use crate::observe::{Camera, Shot, View};
use crate::recorder::{OpenStep, millis};
use crate::resolve::resolve;
use crate::{ActionEffect, DeviceKind, RuntimeError, Session, SessionEvent};

/// Answers one computer call.
pub(super) async fn answer(
    session: &mut Session,
    turn: u64,
    place: usize,
    call: &ComputerCall,
    batch: &mut Batch,
) -> Result<ComputerResult, RuntimeError> {
    let mut result = ComputerResult::new(call.call_id.clone());
    result.item_id.clone_from(&call.item_id);
    result.family.clone_from(&call.family);
    let at = match find(session, call) {
        Ok(at) => at,
        Err(failure) => {
            batch.fail(call);
            result.error = Some(failure);
            return Ok(result);
        }
    };
    let mut shown = None;
    match batch.refusal(call) {
        Some(refusal) => result.error = Some(refusal),
        None => shown = act(session, turn, at, call, &mut result).await?,
    }
    if result.error.is_some() {
        batch.fail(call);
    }
    if shown.is_none() && batch.wants_picture(call, place, result.error.as_ref()) {
        shown = observe(session, at, call, &mut result).await?;
    }
    if let Some(shot) = shown {
        (result.frame, result.display) = (shot.frame, Some(shot.size));
        result.screenshot = Some(shot.media);
    }
    close(session, at, &mut result).await;
    Ok(result)
}

/// The place of the screen that a call is for.
fn find(session: &Session, call: &ComputerCall) -> Result<usize, Failure> {
    let place_of = |kind| {
        session
            .screens
            .iter()
            .position(|screen| screen.kind() == kind)
    };
    let target = call
        .target
        .as_ref()
        .map(telechir_protocol::TargetId::as_str);
    let found = match target {
        None => place_of(DeviceKind::Desktop).or_else(|| place_of(DeviceKind::Browser)),
        Some("desktop") => place_of(DeviceKind::Desktop),
        Some("browser") => place_of(DeviceKind::Browser),
        Some(other) => {
            let message = format!(
                "There is no computer named {other:?}; there are \"desktop\" and \"browser\"."
            );
            return Err(Failure::new(FailureKind::InvalidInput, message));
        }
    };
    found.ok_or_else(|| {
        let message = match target {
            Some("browser") => "This session has no browser; it would have one with --browser.",
            Some(_) => "This session has no desktop; it would have one with --desktop.",
            None => "This session has no screen; it would have one with --desktop or --browser.",
        };
        Failure::new(FailureKind::Unsupported, message)
    })
}

/// Judges and carries out a call's actions; the picture is what the last one asked to see.
async fn act(
    session: &mut Session,
    turn: u64,
    at: usize,
    call: &ComputerCall,
    result: &mut ComputerResult,
) -> Result<Option<Shot>, RuntimeError> {
    if let Some(failure) = refusal(session, at, call) {
        result.error = Some(failure);
        return Ok(None);
    }
    let (possible, obstacle) = possible(&session.screens[at], &call.actions);
    let mut shown = None;
    if possible > 0 {
        match judge(session, at, call, possible).await {
            Ok(permit) => {
                result.acknowledged_safety_checks = permit.acknowledged().to_vec();
                shown = run(session, turn, at, &permit, result).await?;
            }
            Err(failure) => {
                result.error = Some(failure);
                result.steps = call.actions.iter().map(not_started).collect();
                return Ok(None);
            }
        }
    }
    if let (Some(failure), None) = (obstacle, &result.error) {
        result
            .steps
            .push(failed(&call.actions[possible], failure.clone()));
        result.error = Some(failure);
    }
    let begun = result.steps.len();
    result
        .steps
        .extend(call.actions.iter().skip(begun).map(not_started));
    // What came before an obstacle is not the screen as it is at the end.
    Ok(if result.error.is_some() { None } else { shown })
}

/// Why nothing of a call can be begun.
fn refusal(session: &Session, at: usize, call: &ComputerCall) -> Option<Failure> {
    let screen = &session.screens[at];
    let invalid = |message: String| Some(Failure::new(FailureKind::InvalidInput, message));
    if let Some(exception) = &call.exception {
        return Some(not_understood(exception));
    }
    if let Some(message) = &screen.lost {
        return Some(lost(screen.kind(), message));
    }
    if call.actions.is_empty() {
        return invalid("The call has no action.".to_owned());
    }
    let limit = session.limits.actions;
    if call.actions.len() > limit {
        return invalid(format!(
            "A call may have {limit} actions at most; send fewer."
        ));
    }
    None
}

/// How many of the actions can be begun here, and what stands in the way of the next.
fn possible(screen: &Screen, actions: &[Action]) -> (usize, Option<Failure>) {
    for (place, action) in actions.iter().enumerate() {
        if let Some(failure) = obstacle(screen, action) {
            return (place, Some(failure));
        }
    }
    (actions.len(), None)
}

fn obstacle(screen: &Screen, action: &Action) -> Option<Failure> {
    let kind = action.kind();
    if kind == ActionKind::Other {
        let message = format!("There is no action {:?}.", action.name());
        return Some(Failure::new(FailureKind::InvalidInput, message));
    }
    if !screen.supports(kind) {
        let message = format!(
            "This {} cannot do {:?}.",
            screen.kind().name(),
            action.name()
        );
        return Some(Failure::new(FailureKind::Unsupported, message));
    }
    let misplaced = screen.viewport.action(action).err()?;
    Some(Failure::new(
        FailureKind::InvalidInput,
        sentence(&misplaced.to_string()),
    ))
}

async fn judge(
    session: &mut Session,
    at: usize,
    call: &ComputerCall,
    possible: usize,
) -> Result<Permitted<ScreenProposal>, Failure> {
    let actions = call.actions[..possible].to_vec();
    let steps = actions.iter().map(summarize).collect();
    let hosts = Judge::hosts_to_resolve(&actions);
    let resolved = resolve(hosts, session.limits.resolve).await;
    let screen = &session.screens[at];
    let facts = ScreenFacts {
        display: screen.display,
        held: screen.held.clone(),
        resolved,
        now: session.now(),
    };
    let proposal = ScreenProposal {
        call_id: call.call_id.clone(),
        device: screen.device,
        actions,
        safety_checks: call.pending_safety_checks.clone(),
    };
    let judgement = session.judge.screen(proposal, &facts);
    let (recorder, approver) = (&session.recorder, &mut session.approver);
    Desk {
        recorder,
        approver,
        limits: &session.limits,
    }
    .settle(judgement, steps)
    .await
}

/// Carries out the permitted actions up to the first that fails.
async fn run(
    session: &mut Session,
    turn: u64,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    result: &mut ComputerResult,
) -> Result<Option<Shot>, RuntimeError> {
    let mut shown: Option<Shot> = None;
    for step in 0..permit.proposal().actions.len() {
        // Only the last picture is the result's; those before it stay with their steps.
        if let (Some(shot), Some(before)) = (shown.take(), result.steps.last_mut()) {
            before.picture = Some(shot.media);
        }
        let (outcome, shot) = carry_out(session, turn, at, permit, step).await?;
        shown = shot;
        let failure = match &outcome.state {
            StepState::Failed { failure } => Some(failure.clone()),
            StepState::Delivered | StepState::Confirmed | StepState::NotStarted => None,
        };
        result.steps.push(outcome);
        if failure.is_some() {
            result.error = failure;
            break;
        }
    }
    Ok(shown)
}

/// One step: its intent, the deed, its outcome.
async fn carry_out(
    session: &mut Session,
    turn: u64,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> Result<(StepOutcome, Option<Shot>), RuntimeError> {
    let action = &permit.proposal().actions[step];
    let said = Said::of(permit, step, session.screens[at].kind());
    let body = json!({ "device": said.device.name(), "action": action.to_json() });
    let key = ActionKey {
        turn,
        call_id: permit.proposal().call_id.clone(),
        step,
        digest: Digest::of_json(&body),
    };
    let intent = json!({ "turn": turn, "call_id": key.call_id.as_str(), "step": step, "digest": key.digest.to_string(), "does": body });
    match session
        .recorder
        .begin(&key, intent, repeat(action.kind()))
        .await?
    {
        Begun::Fresh => {}
        Begun::Recorded(body) => return Ok((recorded(session, &said, action, body), None)),
        Begun::Interrupted => return Ok((interrupted(session, &said, action), None)),
    }
    session.recorder.announce(said.started());
    let open = OpenStep::new(
        &session.recorder,
        key,
        said.finished(ActionEffect::Cancelled, None, Duration::ZERO),
    );
    let (state, text, shot) = deed(session, at, permit, step).await?;
    let elapsed = open.elapsed();
    let duration_ms = Some(millis(elapsed));
    let outcome = StepOutcome {
        action: action.name().to_owned(),
        state,
        text,
        picture: None,
        duration_ms,
    };
    let (effect, failure) = effect(&outcome.state);
    open.finish(json!(outcome), said.finished(effect, failure, elapsed))
        .await?;
    if let Some(message) = &session.screens[at].lost {
        let (device, message) = (said.device, message.clone());
        session
            .recorder
            .announce(SessionEvent::DeviceLost { device, message });
    }
    Ok((outcome, shot))
}

type Deed = (StepState, Option<String>, Option<Shot>);

/// What the engine does itself, and what the device does.
async fn deed(
    session: &mut Session,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> Result<Deed, RuntimeError> {
    let limits = session.limits;
    let view = match &permit.proposal().actions[step] {
        Action::Wait { duration } => {
            let time = duration.unwrap_or(limits.wait).min(limits.wait_at_most);
            tokio::time::sleep(time).await;
            let text = format!("Waited {} ms.", time.as_millis());
            return Ok((StepState::Confirmed, Some(text), None));
        }
        Action::Screenshot => View::Whole,
        Action::Zoom { region } => View::Part(*region),
        _ => {
            let screen = &mut session.screens[at];
            let performed = screen.perform(permit, step, &limits).await;
            return Ok(match performed {
                Ok(Performed { effect, text }) => {
                    // Between two actions a moment; before a picture it is watched for longer.
                    let _a_failure_shows_later = screen.settle(limits.between, &limits).await;
                    let state = match effect {
                        Effect::Delivered => StepState::Delivered,
                        Effect::Confirmed => StepState::Confirmed,
                    };
                    (state, text, None)
                }
                Err(error) => (
                    StepState::Failed {
                        failure: error.to_failure(),
                    },
                    None,
                    None,
                ),
            });
        }
    };
    let (mut camera, screens) = camera(session);
    let taken = camera
        .take(&mut screens[at], permit, step, (view, limits.settle))
        .await?;
    Ok(match taken {
        Ok(shot) => (StepState::Confirmed, None, Some(shot)),
        Err(failure) => (StepState::Failed { failure }, None, None),
    })
}

fn camera(session: &mut Session) -> (Camera<'_>, &mut Vec<Screen>) {
    let camera = Camera {
        recorder: &session.recorder,
        rule: session.picture,
        limits: &session.limits,
        pictures: &mut session.pictures,
    };
    (camera, &mut session.screens)
}

/// Takes the picture that nobody asked for but the dialect needs, when the policy lets it be seen.
async fn observe(
    session: &mut Session,
    at: usize,
    call: &ComputerCall,
    result: &mut ComputerResult,
) -> Result<Option<Shot>, RuntimeError> {
    let screen = &session.screens[at];
    if screen.lost.is_some() {
        return Ok(None);
    }
    let facts = ScreenFacts {
        display: screen.display,
        held: Vec::new(),
        resolved: Vec::new(),
        now: session.now(),
    };
    let proposal = ScreenProposal {
        call_id: call.call_id.clone(),
        device: screen.device,
        actions: vec![Action::Screenshot],
        safety_checks: Vec::new(),
    };
    let Judgement::Allowed(permit) = session.judge.screen(proposal, &facts) else {
        let message = "The policy does not let the screen be shown.";
        result
            .error
            .get_or_insert_with(|| Failure::new(FailureKind::Denied, message));
        return Ok(None);
    };
    let settle = session.limits.settle;
    let (mut camera, screens) = camera(session);
    match camera
        .take(&mut screens[at], &permit, 0, (View::Whole, settle))
        .await?
    {
        Ok(shot) => Ok(Some(shot)),
        Err(failure) => {
            result.error.get_or_insert(failure);
            Ok(None)
        }
    }
}

/// Adds what is said in words: texts of the steps, the browser's address and tabs.
async fn close(session: &mut Session, at: usize, result: &mut ComputerResult) {
    let texts: Vec<&str> = result
        .steps
        .iter()
        .filter_map(|step| step.text.as_deref())
        .collect();
    if !texts.is_empty() {
        result.text_output = Some(texts.join("\n"));
    }
    let screen = &mut session.screens[at];
    if screen.lost.is_some() {
        return;
    }
    match screen.context(&session.limits).await {
        Ok(context) => (result.current_url, result.tabs) = (context.url, context.tabs),
        Err(error) => {
            let message = format!(
                "Where the {} is could not be told: failed to {error}.",
                screen.kind().name()
            );
            session.recorder.announce(SessionEvent::Warning { message });
        }
    }
}

/// What the events of a step say.
struct Said {
    call_id: telechir_protocol::CallId,
    step: usize,
    device: DeviceKind,
    kind: ActionKind,
    summary: String,
    verdict: telechir_policy::Verdict,
}

impl Said {
    fn of(permit: &Permitted<ScreenProposal>, step: usize, device: DeviceKind) -> Self {
        let action = &permit.proposal().actions[step];
        Self {
            call_id: permit.proposal().call_id.clone(),
            step,
            device,
            kind: action.kind(),
            summary: summarize(action),
            verdict: permit.ground().verdict,
        }
    }

    fn started(&self) -> SessionEvent {
        SessionEvent::ActionStarted {
            call_id: self.call_id.clone(),
            step: self.step,
            device: self.device,
            kind: Some(self.kind),
            summary: self.summary.clone(),
            verdict: self.verdict,
        }
    }

    fn finished(
        &self,
        effect: ActionEffect,
        failure: Option<Failure>,
        took: Duration,
    ) -> SessionEvent {
        SessionEvent::ActionFinished {
            call_id: self.call_id.clone(),
            step: self.step,
            device: self.device,
            kind: Some(self.kind),
            summary: self.summary.clone(),
            verdict: self.verdict,
            effect,
            failure,
            outcome: None,
            ms: millis(took),
        }
    }
}

/// A step that was carried out before: its outcome, and nothing happens again.
fn recorded(
    session: &Session,
    said: &Said,
    action: &Action,
    body: serde_json::Value,
) -> StepOutcome {
    let outcome = serde_json::from_value(body).unwrap_or_else(|_| {
        let message = "It was stopped before its end; look at the screen before going on.";
        failed(action, Failure::new(FailureKind::Cancelled, message))
    });
    let (_, failure) = effect(&outcome.state);
    session
        .recorder
        .announce(said.finished(ActionEffect::Recorded, failure, Duration::ZERO));
    outcome
}

fn interrupted(session: &Session, said: &Said, action: &Action) -> StepOutcome {
    let message = "A crash came between the start and the end of this action, so nobody knows whether it had its effect; look at the screen before going on.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = said.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        Duration::ZERO,
    );
    session.recorder.announce(event);
    failed(action, failure)
}

fn effect(state: &StepState) -> (ActionEffect, Option<Failure>) {
    match state {
        StepState::Delivered | StepState::NotStarted => (ActionEffect::Delivered, None),
        StepState::Confirmed => (ActionEffect::Confirmed, None),
        StepState::Failed { failure } => (ActionEffect::Failed, Some(failure.clone())),
    }
}

fn failed(action: &Action, failure: Failure) -> StepOutcome {
    let state = StepState::Failed { failure };
    StepOutcome {
        action: action.name().to_owned(),
        state,
        text: None,
        picture: None,
        duration_ms: None,
    }
}

fn not_started(action: &Action) -> StepOutcome {
    let state = StepState::NotStarted;
    StepOutcome {
        action: action.name().to_owned(),
        state,
        text: None,
        picture: None,
        duration_ms: None,
    }
}

/// Looking, waiting and reading may happen twice; nothing else is ever repeated.
fn repeat(kind: ActionKind) -> Repeat {
    match kind {
        ActionKind::Screenshot
        | ActionKind::Zoom
        | ActionKind::CursorPosition
        | ActionKind::Wait
        | ActionKind::ListTabs
        | ActionKind::ReadPage
        | ActionKind::PageText
        | ActionKind::Find
        | ActionKind::ReadConsole
        | ActionKind::ReadNetwork => Repeat::Harmless,
        _ => Repeat::Never,
    }
}
