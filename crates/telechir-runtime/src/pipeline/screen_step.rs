//! The steps of a computer call, performed by the runtime or the device.

use serde_json::{Value, json};
use telechir_device::{ActionReport, Effect, PartLocation, ScreenPart};
use telechir_policy::{Judge, Permitted, ScreenProposal, Verdict, summarize};
use telechir_protocol::{
    Action, ActionKind, CallId, Failure, FailureKind, ObserveMode, StepOutcome, StepState,
};

use super::approval::check_again;
use super::kill_switch;
use super::step::{Performed, Step};
use super::step_info::StepInfo;
use crate::execute::{ScreenSlot, or_stopped, until_stopped};
use crate::journal::Repeat;
use crate::observe::{Camera, CaptureArea, MarkMode, ModelScreenshot, mark_line, unavailable};
use crate::recorder::{StepGuard, millis};
use crate::session_state::SessionState;
use crate::{ActionEffect, DeviceKind, RuntimeError};

/// One action of a computer call.
pub(super) struct ScreenStep<'a> {
    screen_index: usize,
    device: DeviceKind,
    call_id: &'a CallId,
    index: usize,
    action: &'a Action,
}

impl<'a> ScreenStep<'a> {
    /// The actions of a call, or those of a proposal.
    pub(super) fn all(
        session: &SessionState,
        screen_index: usize,
        call_id: &'a CallId,
        actions: &'a [Action],
    ) -> Vec<Self> {
        let device = session.screens[screen_index].kind();
        let step = |(index, action)| Self {
            screen_index,
            device,
            call_id,
            index,
            action,
        };
        actions.iter().enumerate().map(step).collect()
    }
}

impl Step for ScreenStep<'_> {
    type Proposal = ScreenProposal;
    /// With the screenshot that the step asked for.
    type Output = (StepOutcome, Option<ModelScreenshot>);

    const INTERRUPTED: &'static str = "A crash happened during this action, so its effect is unknown; take a screenshot before you continue.";
    /// URLs are judged and stored in canonical form.
    const IS_REWRITTEN: bool = true;

    fn info(&self, verdict: Verdict) -> StepInfo {
        StepInfo {
            call_id: self.call_id.clone(),
            step: self.index,
            device: self.device,
            kind: Some(self.action.kind()),
            summary: summarize(self.action),
            verdict,
        }
    }

    fn intent(&self) -> Value {
        json!({ "device": self.device.name(), "action": self.action.to_json() })
    }

    fn repeat(&self) -> Repeat {
        repeat(self.action.kind())
    }

    async fn perform(
        &self,
        session: &mut SessionState,
        permit: &Permitted<ScreenProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<Self::Output>, RuntimeError> {
        let report = perform_step(session, self.screen_index, permit, self.index).await?;
        let took = guard.elapsed();
        let outcome = StepOutcome {
            action: self.action.name().to_owned(),
            state: report.state,
            text: report.text,
            screenshot: None,
            duration_ms: Some(millis(took)),
        };
        let effect = match outcome.state {
            StepState::Delivered | StepState::NotStarted => ActionEffect::Delivered,
            StepState::Confirmed => ActionEffect::Confirmed,
            StepState::Failed { .. } => ActionEffect::Failed,
        };
        Ok(Performed {
            body: json!(outcome),
            effect,
            failure: failure(&outcome),
            ended: None,
            took,
            output: (outcome, report.screenshot),
        })
    }

    fn recorded(&self, body: Value) -> Self::Output {
        let outcome = serde_json::from_value(body).unwrap_or_else(|_| {
            let message =
                "It was stopped before it was complete; take a screenshot before you continue.";
            failed(self.action, Failure::new(FailureKind::Cancelled, message))
        });
        (outcome, None)
    }

    fn interrupted(&self, failure: Failure) -> Self::Output {
        (failed(self.action, failure), None)
    }

    fn failure((outcome, _): &Self::Output) -> Option<Failure> {
        failure(outcome)
    }
}

/// Maximum number of labels if the session sets none.
const DEFAULT_MAX_MARKS: usize = 99;
/// Maximum number of lines repeated as matches.
const MAX_MATCHING_LINES: usize = 10;

/// What a step did.
struct StepReport {
    state: StepState,
    /// Text for the model.
    text: Option<String>,
    /// The screenshot that the step asked for.
    screenshot: Option<ModelScreenshot>,
}

impl StepReport {
    fn failed(failure: Failure) -> Self {
        Self {
            state: StepState::Failed { failure },
            text: None,
            screenshot: None,
        }
    }

    fn confirmed(text: Option<String>, screenshot: Option<ModelScreenshot>) -> Self {
        Self {
            state: StepState::Confirmed,
            text,
            screenshot,
        }
    }

    fn performed(report: ActionReport) -> Self {
        let state = match report.effect {
            Effect::Delivered => StepState::Delivered,
            Effect::Confirmed => StepState::Confirmed,
        };
        Self {
            state,
            text: report.text,
            screenshot: None,
        }
    }

    /// A step that the kill switch ended early.
    fn stopped(session: &SessionState) -> Self {
        match kill_switch::failure(session) {
            Some(failure) => Self::failed(failure),
            None => Self {
                state: StepState::Delivered,
                text: None,
                screenshot: None,
            },
        }
    }
}

/// Performs a step: the runtime's own actions here, all others on the device.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other actions are performed by the device"
)]
async fn perform_step(
    session: &mut SessionState,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> Result<StepReport, RuntimeError> {
    let limits = session.limits;
    let action = &permit.proposal().actions[step];
    let (area, text) = match action {
        Action::Wait { duration } => {
            let requested = duration.unwrap_or(limits.default_wait);
            let time = requested.min(limits.max_wait);
            let stop = until_stopped(&session.screens);
            if or_stopped(stop, tokio::time::sleep(time)).await.is_none() {
                return Ok(StepReport::stopped(session));
            }
            // Each dialect has its own text for a wait of the requested length.
            let text = (time < requested).then(|| {
                let (ms, requested) = (time.as_millis(), requested.as_millis());
                format!("Waited {ms} ms instead of {requested} ms: {ms} ms is the limit of a wait.")
            });
            return Ok(StepReport::confirmed(text, None));
        }
        Action::Screenshot => (CaptureArea::Full, None),
        Action::ObserveScreen { mode, intent } => {
            let intent = intent.as_deref();
            let text = match mode {
                ObserveMode::Grounding => {
                    return observe_grounding(session, screen_index, permit, step, intent).await;
                }
                ObserveMode::Understanding => {
                    observe_understanding(session, screen_index, permit, step).await
                }
            };
            return Ok(StepReport::confirmed(
                Some(with_matches(text, intent)),
                None,
            ));
        }
        Action::Zoom { region } => (CaptureArea::Part(*region), None),
        Action::CaptureWindow { window: name } | Action::CaptureMonitor { monitor: name } => {
            let part = match action.kind() {
                ActionKind::CaptureWindow => ScreenPart::Window(name.clone()),
                _ => ScreenPart::Monitor(name.clone()),
            };
            match locate(session, screen_index, permit, step, &part).await {
                Ok((area, text)) => (area, Some(text)),
                Err(failure) => return Ok(StepReport::failed(failure)),
            }
        }
        Action::CaptureElement { .. } => {
            let screen = &mut session.screens[screen_index];
            match screen.locate_element(permit, step, &limits).await {
                Ok(found) => (CaptureArea::Located(found.region), Some(found.description)),
                Err(error) => return Ok(StepReport::failed(error.to_failure())),
            }
        }
        _ => {
            // The screen watches its own kill switch and releases what it pressed.
            let checked = check_input_again(session, screen_index, permit, action).await;
            let windows = match checked {
                Ok(windows) => windows,
                Err(failure) => return Ok(StepReport::failed(failure)),
            };
            let others = session.screens.iter().enumerate();
            let others = others.filter(|(index, _)| *index != screen_index);
            let stop = until_stopped(others.map(|(_, screen)| screen));
            let screen = &mut session.screens[screen_index];
            let performed = or_stopped(stop, screen.perform(permit, step, windows, &limits)).await;
            return Ok(match performed {
                Some(Ok(report)) => StepReport::performed(report),
                Some(Err(error)) => StepReport::failed(error.to_failure()),
                None => StepReport::stopped(session),
            });
        }
    };
    let (mut camera, screens) = camera(session);
    let screen = &mut screens[screen_index];
    let taken = camera
        .take(screen, permit, step, (area, limits.settle))
        .await?;
    Ok(match taken {
        Ok(screenshot) => StepReport::confirmed(text, Some(screenshot)),
        Err(failure) => StepReport::failed(failure),
    })
}

/// Checks that input still goes to a window that the policy permits, and returns the names of the
/// windows that it may reach, for the device to check right before the input; none if it may reach
/// any. A URL was judged with the addresses of its host, which the proxy judges again.
async fn check_input_again(
    session: &mut SessionState,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    action: &Action,
) -> Result<Option<Vec<Vec<String>>>, Failure> {
    let device = session.screens[screen_index].device;
    let part = ScreenProposal {
        call_id: permit.proposal().call_id.clone(),
        device,
        actions: vec![action.clone()],
        safety_checks: Vec::new(),
    };
    if Judge::opens_url(action) {
        return Ok(None);
    }
    let facts = check_again(session, permit, part).await?;
    Ok(Judge::windows_of_input(action, &facts.windows))
}

/// The area of a window or a monitor, and its description for the model.
async fn locate(
    session: &mut SessionState,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
    part: &ScreenPart,
) -> Result<(CaptureArea, String), Failure> {
    let limits = session.limits;
    let located = session.screens[screen_index].locate(permit, step, part, &limits);
    match located.await {
        Ok(PartLocation {
            region,
            description,
        }) => Ok((CaptureArea::Located(region), description)),
        Err(error) => Err(error.to_failure()),
    }
}

/// `observe_screen` for grounding: a screenshot with labels on everything that can be a target.
async fn observe_grounding(
    session: &mut SessionState,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
    intent: Option<&str>,
) -> Result<StepReport, RuntimeError> {
    let settle = session.limits.settle;
    let max_marks = session.marks.unwrap_or(DEFAULT_MAX_MARKS);
    let (mut camera, screens) = camera(session);
    camera.marking = MarkMode::WithOcr(max_marks);
    let screen = &mut screens[screen_index];
    let taken = camera
        .take(screen, permit, step, (CaptureArea::Full, settle))
        .await?;
    Ok(match taken {
        Ok(mut screenshot) => {
            let labels = screenshot.labels.take().unwrap_or_default();
            StepReport::confirmed(Some(with_matches(labels, intent)), Some(screenshot))
        }
        Err(failure) => StepReport::failed(failure),
    })
}

/// `observe_screen` for understanding: the outline that programs expose, and OCR of the rest.
async fn observe_understanding(
    session: &mut SessionState,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    step: usize,
) -> String {
    let limits = session.limits;
    let screen = &mut session.screens[screen_index];
    let mut lines = Vec::new();
    match screen.outline(permit, step, &limits).await {
        Ok(outline) => lines.extend(outline),
        Err(error) => lines.push(unavailable(&error)),
    }
    match screen.ocr(permit, step, usize::MAX).await {
        Ok(words) if words.is_empty() => {}
        Ok(words) => {
            lines.push("Text recognized in windows without accessibility information:".to_owned());
            let viewport = screen.viewport;
            lines.extend(words.iter().map(|word| mark_line(word, &viewport)));
        }
        Err(error) => lines.push(unavailable(&error)),
    }
    if lines.is_empty() {
        lines.push("No text description of the screen is available; use a screenshot.".to_owned());
    }
    lines.join("\n")
}

/// Appends the lines of `text` that match most words of `intent`.
fn with_matches(text: String, intent: Option<&str>) -> String {
    let Some(intent) = intent.filter(|intent| !intent.trim().is_empty()) else {
        return text;
    };
    let terms: Vec<String> = intent
        .split_whitespace()
        .filter(|term| term.chars().any(char::is_alphanumeric))
        .map(str::to_lowercase)
        .collect();
    let score = |line: &str| {
        let line = line.to_lowercase();
        terms.iter().filter(|term| line.contains(*term)).count()
    };
    let best = text.lines().map(score).max().unwrap_or_default();
    if best == 0 {
        return format!("{text}\nNo line matches {intent:?}.");
    }
    let matching = text.lines().filter(|line| score(line) == best);
    let matching: Vec<&str> = matching.map(str::trim).take(MAX_MATCHING_LINES).collect();
    format!("{text}\nFor {intent:?}:\n{}", matching.join("\n"))
}

/// Borrows the camera and the screens of a session.
pub(super) fn camera(session: &mut SessionState) -> (Camera<'_>, &mut Vec<ScreenSlot>) {
    let camera = Camera {
        recorder: &session.recorder,
        rule: session.screenshot,
        limits: &session.limits,
        marking: session.marks.map_or(MarkMode::Off, MarkMode::Elements),
        screenshots: &mut session.screenshots,
        epoch: session.control.epoch(),
    };
    (camera, &mut session.screens)
}

fn failure(outcome: &StepOutcome) -> Option<Failure> {
    match &outcome.state {
        StepState::Failed { failure } => Some(failure.clone()),
        StepState::Delivered | StepState::Confirmed | StepState::NotStarted => None,
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

/// Only reading and waiting may be repeated after a crash.
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
        | ActionKind::WaitFor
        | ActionKind::ListTabs
        | ActionKind::ReadPage
        | ActionKind::PageText
        | ActionKind::Find
        | ActionKind::ReadConsole
        | ActionKind::ReadNetwork
        | ActionKind::ReadRequest
        | ActionKind::ListWindows
        | ActionKind::ListMonitors
        | ActionKind::CaptureWindow
        | ActionKind::CaptureMonitor
        | ActionKind::CaptureElement
        | ActionKind::ReadClipboard => Repeat::Harmless,
        _ => Repeat::Never,
    }
}
