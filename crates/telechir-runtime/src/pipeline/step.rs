//! One step of a permitted computer call: its intent, the deed, its outcome.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::{ActionReport, Effect, PartLocation, ScreenPart};
use telechir_policy::{Digest, Permitted, ScreenProposal, summarize};
use telechir_protocol::{
    Action, ActionKind, ComputerCall, Failure, FailureKind, ObserveMode, StepOutcome, StepState,
};

use super::kill_switch;
use super::step_info::Said;
use crate::execute::{Screen, unless, until_stopped};
use crate::journal::{Begun, BegunTurn, Repeat};
use crate::observe::{Camera, Marking, Shot, View, lacking, placed};
use crate::recorder::{OpenStep, millis};
use crate::{ActionEffect, DeviceKind, RuntimeError, Session};

/// One step: its intent, the deed, its outcome.
pub(super) async fn carry_out(
    session: &mut Session,
    turn: BegunTurn,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> Result<(StepOutcome, Option<Shot>), RuntimeError> {
    let action = &permit.proposal().actions[step];
    let said = said(permit, step, session.screens[at].kind());
    let (key, intent) = said.intent(turn, does(said.device, action));
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
        said.finished(ActionEffect::Cancelled, None, None, Duration::ZERO),
    );
    let (state, text, shot) = deed(session, at, permit, step).await?;
    let elapsed = open.elapsed();
    let duration_ms = Some(millis(elapsed));
    let outcome = StepOutcome {
        action: action.name().to_owned(),
        state,
        text,
        screenshot: None,
        duration_ms,
    };
    let (effect, failure) = effect(&outcome.state);
    open.finish(
        json!(outcome),
        said.finished(effect, failure, None, elapsed),
    )
    .await?;
    Ok((outcome, shot))
}

/// The actions at the head of a call that were begun before and must not be again, told from the
/// journal. What was done is said whatever the policy or a person would say of it now.
pub(super) async fn replay(
    session: &mut Session,
    turn: BegunTurn,
    at: usize,
    call: &ComputerCall,
) -> Result<Vec<StepOutcome>, RuntimeError> {
    let device = session.screens[at].kind();
    let known = session.recorder.known(turn, &call.call_id).await?;
    let mut told = Vec::new();
    for (step, (action, known)) in call.actions.iter().zip(known).enumerate() {
        let digest = Digest::of_json(&does(device, action)).to_string();
        // An address is judged, and kept, in its canonical form: such a step is judged again.
        let is_same = known.step == step && known.digest == digest;
        if !is_same || repeat(action.kind()) == Repeat::Harmless {
            break;
        }
        let said = Said {
            call_id: call.call_id.clone(),
            step,
            device,
            kind: Some(action.kind()),
            summary: summarize(action),
            verdict: known.verdict,
        };
        told.push(match known.outcome {
            Some(body) => recorded(session, &said, action, body),
            None => interrupted(session, &said, action),
        });
    }
    Ok(told)
}

/// What a step does, as the journal keeps it.
fn does(device: DeviceKind, action: &Action) -> Value {
    json!({ "device": device.name(), "action": action.to_json() })
}

/// Numbers on a picture, unless the session says how many.
const MARKS: usize = 99;
/// Lines said again for what is looked for.
const FITTING: usize = 10;

type Deed = (StepState, Option<String>, Option<Shot>);

/// What the engine does itself, and what the device does.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are the device's"
)]
async fn deed(
    session: &mut Session,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> Result<Deed, RuntimeError> {
    let limits = session.limits;
    let action = &permit.proposal().actions[step];
    let (view, said) = match action {
        Action::Wait { duration } => {
            let asked = duration.unwrap_or(limits.wait);
            let time = asked.min(limits.wait_at_most);
            let stop = until_stopped(&session.screens);
            if unless(stop, tokio::time::sleep(time)).await.is_none() {
                return Ok(cut_short(session));
            }
            // Dialects have their own words for a wait that was as long as it was meant to be.
            let text = (time < asked).then(|| {
                let (ms, asked) = (time.as_millis(), asked.as_millis());
                format!("Waited {ms} ms instead of {asked}, which is the longest a wait may be.")
            });
            return Ok((StepState::Confirmed, text, None));
        }
        Action::Screenshot => (View::Whole, None),
        Action::ObserveScreen { mode, intent } => {
            let text = match mode {
                ObserveMode::Grounding => {
                    return grounding(session, at, permit, step, intent.as_deref()).await;
                }
                ObserveMode::Understanding => understanding(session, at, permit, step).await,
            };
            let text = with_fitting(text, intent.as_deref());
            return Ok((StepState::Confirmed, Some(text), None));
        }
        Action::Zoom { region } => (View::Part(*region), None),
        Action::CaptureWindow { window: name } | Action::CaptureMonitor { monitor: name } => {
            let part = match action.kind() {
                ActionKind::CaptureWindow => ScreenPart::Window(name.clone()),
                _ => ScreenPart::Monitor(name.clone()),
            };
            match locate(session, at, permit, step, &part).await {
                Ok((view, said)) => (view, Some(said)),
                Err(failure) => return Ok((StepState::Failed { failure }, None, None)),
            }
        }
        _ => {
            // The screen itself heeds its own switch, and releases what it pressed.
            let others = session.screens.iter().enumerate();
            let others = others.filter(|(place, _)| *place != at);
            let stop = until_stopped(others.map(|(_, screen)| screen));
            let screen = &mut session.screens[at];
            let Some(performed) = unless(stop, screen.perform(permit, step, &limits)).await else {
                return Ok(cut_short(session));
            };
            return Ok(match performed {
                Ok(ActionReport { effect, text }) => {
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
        Ok(shot) => (StepState::Confirmed, said, Some(shot)),
        Err(failure) => (StepState::Failed { failure }, None, None),
    })
}

/// Where a window or a monitor is, to be looked at, and what is said of it.
async fn locate(
    session: &mut Session,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
    part: &ScreenPart,
) -> Result<(View, String), Failure> {
    let limits = session.limits;
    let located = session.screens[at].locate(permit, step, part, &limits);
    match located.await {
        Ok(PartLocation {
            region,
            description: said,
        }) => Ok((View::Seen(region), said)),
        Err(error) => Err(error.to_failure()),
    }
}

/// A look with numbers on all that can be aimed at.
async fn grounding(
    session: &mut Session,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
    intent: Option<&str>,
) -> Result<Deed, RuntimeError> {
    let settle = session.limits.settle;
    let at_most = session.marks.unwrap_or(MARKS);
    let (mut camera, screens) = camera(session);
    camera.marking = Marking::AndWords(at_most);
    let taken = camera
        .take(&mut screens[at], permit, step, (View::Whole, settle))
        .await?;
    Ok(match taken {
        Ok(mut shot) => {
            let labels = shot.labels.take().unwrap_or_default();
            let text = with_fitting(labels, intent);
            (StepState::Confirmed, Some(text), Some(shot))
        }
        Err(failure) => (StepState::Failed { failure }, None, None),
    })
}

/// What is there, in words: what says something of itself, and what was read of the rest.
async fn understanding(
    session: &mut Session,
    at: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> String {
    let limits = session.limits;
    let screen = &mut session.screens[at];
    let mut lines = Vec::new();
    match screen.outline(permit, step, &limits).await {
        Ok(outline) => lines.extend(outline),
        Err(error) => lines.push(lacking(&error)),
    }
    match screen.words(permit, step, usize::MAX).await {
        Ok(words) if words.is_empty() => {}
        Ok(words) => {
            lines.push("Words read off windows that say nothing of themselves:".to_owned());
            let viewport = screen.viewport;
            lines.extend(words.iter().map(|word| placed(word, &viewport)));
        }
        Err(error) => lines.push(lacking(&error)),
    }
    if lines.is_empty() {
        lines.push("Nothing is known of what the screen shows; look at the picture.".to_owned());
    }
    lines.join("\n")
}

/// The text with the lines of it that share a word with what is looked for said again at its end.
fn with_fitting(text: String, intent: Option<&str>) -> String {
    let Some(intent) = intent.filter(|intent| !intent.trim().is_empty()) else {
        return text;
    };
    let words: Vec<String> = intent
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(str::to_lowercase)
        .collect();
    let score = |line: &str| {
        let line = line.to_lowercase();
        words.iter().filter(|word| line.contains(*word)).count()
    };
    let best = text.lines().map(score).max().unwrap_or_default();
    if best == 0 {
        return format!("{text}\nNothing of it has the words {intent:?}.");
    }
    let fitting = text.lines().filter(|line| score(line) == best);
    let fitting: Vec<&str> = fitting.map(str::trim).take(FITTING).collect();
    format!("{text}\nFor {intent:?}:\n{}", fitting.join("\n"))
}

/// A step that a person did not let come to its end.
fn cut_short(session: &Session) -> Deed {
    let failure = kill_switch::why(session);
    let state = failure.map_or(StepState::Delivered, |failure| StepState::Failed {
        failure,
    });
    (state, None, None)
}

/// What takes the session's pictures, and what of.
pub(super) fn camera(session: &mut Session) -> (Camera<'_>, &mut Vec<Screen>) {
    let camera = Camera {
        recorder: &session.recorder,
        rule: session.screenshot,
        limits: &session.limits,
        marking: session.marks.map_or(Marking::Nothing, Marking::Elements),
        screenshots: &mut session.screenshots,
    };
    (camera, &mut session.screens)
}

fn said(permit: &Permitted<ScreenProposal>, step: usize, device: DeviceKind) -> Said {
    let action = &permit.proposal().actions[step];
    Said {
        call_id: permit.proposal().call_id.clone(),
        step,
        device,
        kind: Some(action.kind()),
        summary: summarize(action),
        verdict: permit.ground().verdict,
    }
}

/// A step that was carried out before: its outcome, and nothing happens again.
fn recorded(session: &Session, said: &Said, action: &Action, body: Value) -> StepOutcome {
    let outcome = serde_json::from_value(body).unwrap_or_else(|_| {
        let message = "It was stopped before its end; look at the screen before going on.";
        failed(action, Failure::new(FailureKind::Cancelled, message))
    });
    let (_, failure) = effect(&outcome.state);
    session
        .recorder
        .announce(said.finished(ActionEffect::Recorded, failure, None, Duration::ZERO));
    outcome
}

fn interrupted(session: &Session, said: &Said, action: &Action) -> StepOutcome {
    let message = "A crash came between the start and the end of this action, so nobody knows whether it had its effect; look at the screen before going on.";
    let failure = Failure::new(FailureKind::Interrupted, message);
    let event = said.finished(
        ActionEffect::Interrupted,
        Some(failure.clone()),
        None,
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

pub(super) fn failed(action: &Action, failure: Failure) -> StepOutcome {
    let state = StepState::Failed { failure };
    StepOutcome {
        action: action.name().to_owned(),
        state,
        text: None,
        screenshot: None,
        duration_ms: None,
    }
}

pub(super) fn not_started(action: &Action) -> StepOutcome {
    let state = StepState::NotStarted;
    StepOutcome {
        action: action.name().to_owned(),
        state,
        text: None,
        screenshot: None,
        duration_ms: None,
    }
}

/// Looking, waiting and reading may happen twice; nothing else is ever repeated.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action must not be repeated"
)]
fn repeat(kind: ActionKind) -> Repeat {
    match kind {
        ActionKind::Screenshot
        | ActionKind::ObserveScreen
        | ActionKind::Zoom
        | ActionKind::CursorPosition
        | ActionKind::Wait
        | ActionKind::ListTabs
        | ActionKind::ReadPage
        | ActionKind::PageText
        | ActionKind::Find
        | ActionKind::ReadConsole
        | ActionKind::ReadNetwork
        | ActionKind::ListWindows
        | ActionKind::ListMonitors
        | ActionKind::CaptureWindow
        | ActionKind::CaptureMonitor
        | ActionKind::ReadClipboard => Repeat::Harmless,
        _ => Repeat::Never,
    }
}
