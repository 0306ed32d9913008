//! A computer call: judged as a whole, carried out step by step, closed with a fresh picture.

use telechir_device::TargetError;
use telechir_policy::{Judge, Judgement, Permitted, ScreenFacts, ScreenProposal, summarize};
use telechir_protocol::{
    Action, ActionKind, ComputerCall, ComputerResult, Failure, FailureKind, StepOutcome, StepState,
    TargetId,
};

use super::approval::{Desk, question_of, still_holds};
use super::call_groups::Batch;
use super::not_understood;
use super::step::{camera, carry_out, failed, not_started, replay};
use crate::execute::{Screen, lost, sentence};
use crate::journal::BegunTurn;
use crate::observe::{Shot, View};
use crate::resolve::resolve;
use crate::{DeviceKind, RuntimeError, Session, SessionEvent};

/// Answers one computer call.
pub(super) async fn answer(
    session: &mut Session,
    turn: BegunTurn,
    place: usize,
    call: &ComputerCall,
    batch: &mut Batch,
) -> Result<ComputerResult, RuntimeError> {
    let mut result = ComputerResult::new(call.call_id.clone());
    result.group.clone_from(&call.group);
    let at = match find(session, call) {
        Ok(at) => at,
        Err(failure) => {
            batch.fail(call);
            result.error = Some(failure);
            return Ok(result);
        }
    };
    let was_lost = session.screens[at].lost.is_some();
    let mut shown = None;
    match batch.refusal(call) {
        Some(refusal) => result.error = Some(refusal),
        None => shown = act(session, turn, at, call, &mut result).await?,
    }
    if result.error.is_some() {
        batch.fail(call);
    }
    if shown.is_none() && batch.wants_screenshot(call, place, result.error.as_ref()) {
        shown = observe(session, at, call, &mut result).await?;
    }
    let mut labels = None;
    if let Some(shot) = shown {
        labels = shot.labels;
        (result.frame, result.display) = (shot.frame, Some(shot.size));
        result.settling = Some(shot.sighting);
        result.screenshot = Some(shot.media);
    }
    close(session, at, &mut result).await;
    if let Some(labels) = labels {
        let said = result.text_output.take().into_iter().chain([labels]);
        result.text_output = Some(said.collect::<Vec<_>>().join("\n"));
    }
    let screen = &session.screens[at];
    if let (false, Some(message)) = (was_lost, &screen.lost) {
        let (device, message) = (screen.kind(), message.clone());
        session
            .recorder
            .announce(SessionEvent::DeviceLost { device, message });
    }
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
    let target = call.target.as_ref().map(TargetId::as_str);
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
    turn: BegunTurn,
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
    for outcome in replay(session, turn, at, call).await? {
        follow(outcome, result);
        if result.error.is_some() {
            break;
        }
    }
    if result.error.is_none() && possible > result.steps.len() {
        match judge(session, at, call, possible).await {
            Ok(permit) => {
                result.acknowledged_safety_checks = permit.acknowledged().to_vec();
                shown = run(session, turn, at, &permit, result).await?;
            }
            Err(failure) => {
                result.error = Some(failure);
                let begun = result.steps.len();
                let rest = call.actions.iter().skip(begun).map(not_started);
                result.steps.extend(rest);
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
    // A picture from before an obstacle stays with its step: the end gets one of its own.
    if result.error.is_none() {
        return Ok(shown);
    }
    let last = possible
        .checked_sub(1)
        .and_then(|last| result.steps.get_mut(last));
    if let (Some(shot), Some(step)) = (shown, last) {
        step.screenshot = Some(shot.media);
    }
    Ok(None)
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
    let placed = screen.viewport.labelled_action(action, &screen.labels);
    let misplaced = placed.err()?;
    let kind = if matches!(misplaced, TargetError::StaleLabel { .. }) {
        FailureKind::Stale
    } else {
        FailureKind::InvalidInput
    };
    Some(Failure::new(kind, sentence(&misplaced.to_string())))
}

async fn judge(
    session: &mut Session,
    at: usize,
    call: &ComputerCall,
    possible: usize,
) -> Result<Permitted<ScreenProposal>, Failure> {
    let actions = call.actions[..possible].to_vec();
    let steps = actions.iter().map(summarize).collect();
    let facts = facts(session, at, &actions).await;
    let proposal = ScreenProposal {
        call_id: call.call_id.clone(),
        device: session.screens[at].device,
        actions,
        safety_checks: call.pending_safety_checks.clone(),
    };
    let judgement = session.judge.screen(proposal, &facts);
    let asked = question_of(&judgement);
    let permit = Desk::of(session).settle(judgement, steps).await?;
    if let Some(asked) = asked {
        // A host's addresses may have changed while the person was thinking.
        let facts = self::facts(session, at, &permit.proposal().actions).await;
        let mut judge = Judge::new(session.judge.policy().clone());
        let now = judge.screen(permit.proposal().clone(), &facts);
        still_holds(&asked, now)?;
    }
    Ok(permit)
}

async fn facts(session: &mut Session, at: usize, actions: &[Action]) -> ScreenFacts {
    let hosts = Judge::hosts_to_resolve(actions);
    let resolved = resolve(hosts, session.limits.resolve).await;
    let screen = &session.screens[at];
    ScreenFacts {
        display: screen.display,
        held: screen.held.clone(),
        resolved,
        now: session.now(),
    }
}

/// Carries out the permitted actions up to the first that fails.
async fn run(
    session: &mut Session,
    turn: BegunTurn,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    result: &mut ComputerResult,
) -> Result<Option<Shot>, RuntimeError> {
    let mut shown: Option<Shot> = None;
    for step in result.steps.len()..permit.proposal().actions.len() {
        // Only the last picture is the result's; those before it stay with their steps.
        if let (Some(shot), Some(before)) = (shown.take(), result.steps.last_mut()) {
            before.screenshot = Some(shot.media);
        }
        let (outcome, shot) = carry_out(session, turn, at, permit, step).await?;
        shown = shot;
        follow(outcome, result);
        if result.error.is_some() {
            break;
        }
    }
    Ok(shown)
}

/// Adds what became of a step; its failure is the call's.
fn follow(outcome: StepOutcome, result: &mut ComputerResult) {
    if let StepState::Failed { failure } = &outcome.state {
        result.error = Some(failure.clone());
    }
    result.steps.push(outcome);
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
        Ok(context) => {
            (result.current_url, result.tabs) = (context.url, context.tabs);
            result.state_changes = context.changes;
            if let Some(notes) = context.notes {
                add_notes(result, &notes);
            }
        }
        Err(error) => {
            let message = format!(
                "Where the {} is could not be told: failed to {error}.",
                screen.kind().name()
            );
            session.recorder.announce(SessionEvent::Warning { message });
        }
    }
}

/// Adds what happened beside the actions: to the words, or to those of the error, which are all
/// that some dialects tell of one. Others tell only what the last step says.
fn add_notes(result: &mut ComputerResult, notes: &str) {
    if let Some(failure) = &mut result.error {
        let old = failure.message.clone();
        failure.message = format!("{old} {notes}");
        for step in &mut result.steps {
            if let StepState::Failed { failure } = &mut step.state
                && failure.message == old
            {
                failure.message = format!("{old} {notes}");
            }
        }
        return;
    }
    let with_notes = |said: &mut Option<String>| {
        let said_before = said.take().map(|said| format!("{said}\n"));
        *said = Some(said_before.unwrap_or_default() + notes);
    };
    with_notes(&mut result.text_output);
    if let Some(last) = result.steps.last_mut() {
        with_notes(&mut last.text);
    }
}
