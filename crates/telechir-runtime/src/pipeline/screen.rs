//! A computer call: judged as a unit, executed step by step, closed with a new screenshot.

use telechir_device::TargetError;
use telechir_policy::{
    Device, DisplayOwner, Judge, Judgement, Permitted, ScreenFacts, ScreenProposal, ScreenWindows,
    summarize,
};
use telechir_protocol::{
    Action, ActionKind, Chord, ComputerCall, ComputerResult, Failure, FailureKind, ObserveMode,
    StepOutcome, StepState, TargetId,
};

use super::approval::{Judged, permit};
use super::call_groups::CallGroups;
use super::not_understood::not_understood;
use super::screen_step::{ScreenStep, camera, failed, not_started};
use super::step::{execute, replay};
use crate::execute::{ScreenSlot, lost, sentence};
use crate::journal::OpenedTurn;
use crate::notes;
use crate::observe::{CaptureArea, ModelScreenshot};
use crate::resolve::resolve;
use crate::session_state::SessionState;
use crate::{AutoScreenshot, DeviceKind, RuntimeError, SessionEvent};

/// Answers one computer call.
pub(super) async fn answer(
    session: &mut SessionState,
    turn: OpenedTurn,
    call_index: usize,
    call: &ComputerCall,
    groups: &mut CallGroups,
) -> Result<ComputerResult, RuntimeError> {
    let mut result = ComputerResult::new(call.call_id.clone());
    result.group.clone_from(&call.group);
    let screen_index = match find(session, call) {
        Ok(screen_index) => screen_index,
        Err(failure) => {
            groups.fail(call);
            result.error = Some(failure);
            return Ok(result);
        }
    };
    let was_lost = session.screens[screen_index].lost.is_some();
    let mut screenshot = None;
    match groups.refusal(call) {
        Some(refusal) => result.error = Some(refusal),
        None => screenshot = act(session, turn, screen_index, call, &mut result).await?,
    }
    if result.error.is_some() {
        groups.fail(call);
    }
    if screenshot.is_none() && groups.wants_screenshot(call, call_index, result.error.as_ref()) {
        screenshot = observe(session, screen_index, call, &mut result).await?;
    }
    let mut labels = None;
    if let Some(screenshot) = screenshot {
        labels = screenshot.labels;
        (result.frame, result.display) = (screenshot.frame, Some(screenshot.size));
        result.settling = Some(screenshot.settling);
        result.screenshot = Some(screenshot.media);
    }
    close(session, screen_index, call, &mut result).await;
    if let Some(labels) = labels {
        let texts = result.text_output.take().into_iter().chain([labels]);
        result.text_output = Some(texts.collect::<Vec<_>>().join("\n"));
    }
    let screen = &session.screens[screen_index];
    if let (false, Some(message)) = (was_lost, &screen.lost) {
        let (device, message) = (screen.kind(), message.clone());
        session
            .recorder
            .emit(SessionEvent::DeviceLost { device, message });
    }
    Ok(result)
}

/// The index of the screen that a call targets.
fn find(session: &SessionState, call: &ComputerCall) -> Result<usize, Failure> {
    let position_of = |kind| {
        session
            .screens
            .iter()
            .position(|screen| screen.kind() == kind)
    };
    let target = call.target.as_ref().map(TargetId::as_str);
    let found = match target {
        None => position_of(DeviceKind::Desktop).or_else(|| position_of(DeviceKind::Browser)),
        Some("desktop") => position_of(DeviceKind::Desktop),
        Some("browser") => position_of(DeviceKind::Browser),
        Some(other) => {
            let screens: Vec<_> = session
                .screens
                .iter()
                .map(|screen| format!("{:?}", screen.kind().name()))
                .collect();
            let has = match screens.is_empty() {
                true => "this session has no screen".to_owned(),
                false => format!("this session has {}", screens.join(" and ")),
            };
            let message = format!("There is no computer named {other:?}; {has}.");
            return Err(Failure::new(FailureKind::InvalidInput, message));
        }
    };
    found.ok_or_else(|| {
        let message = match target {
            Some("browser") => {
                "This session has no browser; the operator can add one with --browser."
            }
            Some(_) => "This session has no desktop; the operator can add one with --desktop.",
            None => {
                "This session has no screen; the operator can add one with --desktop or --browser."
            }
        };
        Failure::new(FailureKind::Unsupported, message)
    })
}

/// Judges and executes a call's actions. Returns the screenshot that the last one requested.
async fn act(
    session: &mut SessionState,
    turn: OpenedTurn,
    screen_index: usize,
    call: &ComputerCall,
    result: &mut ComputerResult,
) -> Result<Option<ModelScreenshot>, RuntimeError> {
    if let Some(failure) = refusal(session, screen_index, call) {
        result.error = Some(failure);
        return Ok(None);
    }
    let (possible, obstacle) = possible(session, screen_index, &call.actions);
    let mut screenshot = None;
    let steps = ScreenStep::all(session, screen_index, &call.call_id, &call.actions);
    for (outcome, _) in replay(session, turn, &call.call_id, steps).await? {
        follow(outcome, result);
        if result.error.is_some() {
            break;
        }
    }
    if result.error.is_none() && possible > result.steps.len() {
        match judge(session, screen_index, call, possible).await {
            Ok(permit) => {
                result.acknowledged_safety_checks = permit.acknowledged().to_vec();
                screenshot = run(session, turn, screen_index, &permit, result).await?;
            }
            Err(failure) => {
                result.error = Some(failure);
                let done = result.steps.len();
                let rest = call.actions.iter().skip(done).map(not_started);
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
    let done = result.steps.len();
    result
        .steps
        .extend(call.actions.iter().skip(done).map(not_started));
    // A screenshot from before the obstacle stays with its step; the result gets a new one.
    if result.error.is_none() {
        return Ok(screenshot);
    }
    let last = possible
        .checked_sub(1)
        .and_then(|last| result.steps.get_mut(last));
    if let (Some(screenshot), Some(step)) = (screenshot, last) {
        step.screenshot = Some(screenshot.media);
    }
    Ok(None)
}

/// Why no action of a call can be started.
fn refusal(session: &SessionState, screen_index: usize, call: &ComputerCall) -> Option<Failure> {
    let screen = &session.screens[screen_index];
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
    let limit = session.limits.max_actions;
    if call.actions.len() > limit {
        return invalid(format!(
            "A call may have at most {limit} actions; send fewer."
        ));
    }
    None
}

/// The number of leading actions that can be executed, and the obstacle to the next one.
fn possible(
    session: &SessionState,
    screen_index: usize,
    actions: &[Action],
) -> (usize, Option<Failure>) {
    let screen = &session.screens[screen_index];
    for (call_index, action) in actions.iter().enumerate() {
        let obstacle = obstacle(screen, action);
        if let Some(failure) = obstacle.or_else(|| no_screenshot_for(session, action)) {
            return (call_index, Some(failure));
        }
        // The model aimed at a screenshot from before a person used the screen.
        let stale = session.control.stale_point(screen.seen_epoch, action);
        if stale.is_some() {
            return (call_index, stale);
        }
    }
    (actions.len(), None)
}

fn obstacle(screen: &ScreenSlot, action: &Action) -> Option<Failure> {
    let kind = action.kind();
    if kind == ActionKind::Other {
        let message = format!("There is no action {:?}.", action.name());
        return Some(Failure::new(FailureKind::InvalidInput, message));
    }
    if !screen.supports(kind) {
        let message = format!(
            "This {} does not support {:?}.",
            screen.kind().name(),
            action.name()
        );
        return Some(Failure::new(FailureKind::Unsupported, message));
    }
    // Nobody should be asked about a key that does not exist.
    if let Some(key) = chord_of(action).and_then(|chord| screen.unknown_key(chord)) {
        let message = format!(
            "There is no key {:?}; use a character, ctrl, alt, shift, super, or a name such as Enter, \
             Escape, PageDown or F5.",
            key.to_string()
        );
        return Some(Failure::new(FailureKind::InvalidInput, message));
    }
    let resolved = screen.viewport.labelled_action(action, &screen.labels);
    let error = resolved.err()?;
    let kind = if matches!(error, TargetError::StaleLabel { .. }) {
        FailureKind::Stale
    } else {
        FailureKind::InvalidInput
    };
    Some(Failure::new(kind, sentence(&error.to_string())))
}

fn chord_of(action: &Action) -> Option<&Chord> {
    if let Action::Key { chord, .. }
    | Action::HoldKey { chord, .. }
    | Action::KeyDown { chord }
    | Action::KeyUp { chord } = action
    {
        return Some(chord);
    }
    None
}

/// Why an action that answers with a picture is refused: the model reads only text.
fn no_screenshot_for(session: &SessionState, action: &Action) -> Option<Failure> {
    let takes_one = if let Action::ObserveScreen { mode, .. } = action {
        *mode != ObserveMode::Understanding
    } else {
        matches!(
            action.kind(),
            ActionKind::Screenshot
                | ActionKind::Zoom
                | ActionKind::CaptureElement
                | ActionKind::CaptureWindow
                | ActionKind::CaptureMonitor
        )
    };
    (takes_one && session.auto_screenshot == AutoScreenshot::Never).then(|| {
        let message = "This session is for a model that reads only text, so no action answers with \
            a picture; read the page or the elements as text.";
        Failure::new(FailureKind::Unsupported, message)
    })
}

async fn judge(
    session: &mut SessionState,
    screen_index: usize,
    call: &ComputerCall,
    possible: usize,
) -> Result<Permitted<ScreenProposal>, Failure> {
    let actions = call.actions[..possible].to_vec();
    let steps = actions.iter().map(summarize).collect();
    let proposal = ScreenProposal {
        call_id: call.call_id.clone(),
        device: session.screens[screen_index].device,
        actions,
        safety_checks: call.pending_safety_checks.clone(),
    };
    permit(session, proposal, steps).await
}

impl Judged for ScreenProposal {
    type Facts = ScreenFacts;

    async fn facts(&self, session: &mut SessionState) -> ScreenFacts {
        let hosts = session.judge.hosts_to_resolve(&self.actions);
        let resolved = resolve(hosts, session.limits.resolve_timeout).await;
        let (now, limits) = (session.now(), session.limits);
        let is_untrusted = session.trust.is_untrusted();
        let mut screens = session.screens.iter_mut();
        let Some(screen) = screens.find(|screen| screen.device == self.device) else {
            return ScreenFacts {
                display: DisplayOwner::Existing,
                pressed: Vec::new(),
                resolved,
                windows: ScreenWindows::Unknown,
                is_untrusted,
                now,
            };
        };
        let windows = if Judge::depends_on_windows(&self.actions) {
            screen.input_windows(&self.actions, &limits).await
        } else {
            ScreenWindows::Unknown
        };
        ScreenFacts {
            display: screen.display,
            pressed: screen.pressed.clone(),
            resolved,
            windows,
            is_untrusted,
            now,
        }
    }

    fn judge(self, judge: &mut Judge, facts: &ScreenFacts) -> Judgement<Self> {
        judge.screen(self, facts)
    }
}

/// Executes the permitted actions up to the first failure.
async fn run(
    session: &mut SessionState,
    turn: OpenedTurn,
    screen_index: usize,
    permit: &Permitted<ScreenProposal>,
    result: &mut ComputerResult,
) -> Result<Option<ModelScreenshot>, RuntimeError> {
    let mut latest: Option<ModelScreenshot> = None;
    let ScreenProposal {
        call_id, actions, ..
    } = permit.proposal();
    let steps = ScreenStep::all(session, screen_index, call_id, actions);
    for step in steps.iter().skip(result.steps.len()) {
        // Only the last screenshot belongs to the result; earlier ones stay with their steps.
        if let (Some(screenshot), Some(previous)) = (latest.take(), result.steps.last_mut()) {
            previous.screenshot = Some(screenshot.media);
        }
        let (outcome, screenshot) = execute(session, turn, permit, step).await?;
        latest = screenshot;
        follow(outcome, result);
        if result.error.is_some() {
            break;
        }
    }
    Ok(latest)
}

/// Adds the outcome of a step; its failure becomes the call's failure.
fn follow(outcome: StepOutcome, result: &mut ComputerResult) {
    if let StepState::Failed { failure } = &outcome.state {
        result.error = Some(failure.clone());
    }
    result.steps.push(outcome);
}

/// Takes the screenshot that the dialect requires but no action requested, if the policy allows it.
async fn observe(
    session: &mut SessionState,
    screen_index: usize,
    call: &ComputerCall,
    result: &mut ComputerResult,
) -> Result<Option<ModelScreenshot>, RuntimeError> {
    let screen = &session.screens[screen_index];
    if screen.lost.is_some() {
        return Ok(None);
    }
    if let Some(failure) = session.control.no_screenshot() {
        // Without an error so far, every action was done.
        result.error.get_or_insert(failure);
        return Ok(None);
    }
    let facts = ScreenFacts {
        display: screen.display,
        pressed: Vec::new(),
        resolved: Vec::new(),
        windows: ScreenWindows::Unknown,
        is_untrusted: session.trust.is_untrusted(),
        now: session.now(),
    };
    let proposal = ScreenProposal {
        call_id: call.call_id.clone(),
        device: screen.device,
        actions: vec![Action::Screenshot],
        safety_checks: Vec::new(),
    };
    let Judgement::Allowed(permit) = session.judge.screen(proposal, &facts) else {
        let message = "The policy does not allow screenshots of this screen.";
        result
            .error
            .get_or_insert_with(|| Failure::new(FailureKind::Denied, message));
        return Ok(None);
    };
    let settle = session.limits.settle;
    let (mut camera, screens) = camera(session);
    match camera
        .take(
            &mut screens[screen_index],
            &permit,
            0,
            (CaptureArea::Full, settle),
        )
        .await?
    {
        Ok(screenshot) => Ok(Some(screenshot)),
        Err(failure) => {
            result.error.get_or_insert(failure);
            Ok(None)
        }
    }
}

/// Adds the text of a result: output of the steps, the browser's URL and tabs.
async fn close(
    session: &mut SessionState,
    screen_index: usize,
    call: &ComputerCall,
    result: &mut ComputerResult,
) {
    let texts: Vec<&str> = result
        .steps
        .iter()
        .filter_map(|step| step.text.as_deref())
        .collect();
    if !texts.is_empty() {
        result.text_output = Some(texts.join("\n"));
    }
    let screen = &mut session.screens[screen_index];
    if screen.lost.is_some() || session.control.is_taken() {
        return;
    }
    if screen.display == DisplayOwner::Existing {
        session.trust.note_untrusted(match screen.device {
            Device::Desktop => "the windows of the existing display",
            Device::Browser => "the user's own browser",
        });
    }
    match screen.context(&session.limits).await {
        Ok(context) => {
            let pages = context.tabs.iter().map(|tab| Some(tab.url.as_str()));
            let pages = pages.chain([context.url.as_deref()]).flatten();
            let untrusted = pages.filter(|url| !session.judge.trusts_page(url));
            if let Some(url) = untrusted.min() {
                let host =
                    Judge::host_of(url).unwrap_or_else(|| "a page without a host".to_owned());
                session.trust.note_untrusted(&format!("a page of {host}"));
            }
            (result.current_url, result.tabs) = (context.url, context.tabs);
            result.state_changes = context.changes;
            if let Some(notes) = context.notes {
                add_notes(result, &notes);
            }
        }
        Err(error) => {
            if screen.kind() == DeviceKind::Browser {
                session
                    .trust
                    .note_untrusted("a page whose address is not known");
            }
            let message = format!(
                "Failed to {error}, so the result does not include the page of the {}.",
                screen.kind().name()
            );
            session.recorder.emit(SessionEvent::Warning { message });
        }
    }
    let settling = result.settling.as_ref();
    let mut all: Vec<String> = settling
        .and_then(|settling| notes::of_settling(call, settling))
        .into_iter()
        .collect();
    let windows = window_notes(session, screen_index, result).await;
    let is_list = |action: &Action| action.kind() == ActionKind::ListWindows;
    all.extend(windows.filter(|_| !call.actions.iter().any(is_list)));
    if !all.is_empty() {
        add_notes(result, &all.join(" "));
    }
}

/// What happened to the windows of a private display since the latest result.
async fn window_notes(
    session: &mut SessionState,
    screen_index: usize,
    result: &ComputerResult,
) -> Option<String> {
    let limits = session.limits;
    let screen = &mut session.screens[screen_index];
    // The windows of an existing display are named only when they are asked for.
    if screen.device != Device::Desktop || screen.display == DisplayOwner::Existing {
        return None;
    }
    // A lost display has been reported by then.
    let now = screen.list_windows(&limits).await.ok().flatten()?;
    let before = screen.windows.replace(now.clone())?;
    let reported = result.text_output.as_deref().unwrap_or_default();
    notes::of_windows(&before, &now, reported)
}

/// Adds notes about other events: to the text, or to the error message, which is all that some
/// dialects send of a failed call. Other dialects send only the text of the last step.
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
    let append_to = |texts: &mut Option<String>| {
        let previous = texts.take().map(|texts| format!("{texts}\n"));
        *texts = Some(previous.unwrap_or_default() + notes);
    };
    append_to(&mut result.text_output);
    if let Some(last) = result.steps.last_mut() {
        append_to(&mut last.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(state: StepState) -> StepOutcome {
        StepOutcome {
            action: "click".to_owned(),
            state,
            text: None,
            screenshot: None,
            duration_ms: None,
        }
    }

    #[test]
    fn notes_follow_the_text_of_the_call_and_of_its_last_step() {
        let mut result = ComputerResult::new("c1");
        result.steps = vec![step(StepState::Delivered), step(StepState::Confirmed)];
        add_notes(&mut result, "A file was downloaded.");
        add_notes(&mut result, "A dialog opened.");
        let both = Some("A file was downloaded.\nA dialog opened.");
        assert_eq!(result.text_output.as_deref(), both);
        let texts: Vec<_> = result
            .steps
            .iter()
            .map(|step| step.text.as_deref())
            .collect();
        assert_eq!(texts, [None, both]);
        assert_eq!(result.error, None);
    }

    #[test]
    fn notes_follow_the_message_of_a_failed_call_and_of_the_step_that_failed() {
        let failure = |message: &str| Failure::new(FailureKind::Denied, message);
        let mut result = ComputerResult::err("c1", failure("Refused."));
        let failed = |message| {
            step(StepState::Failed {
                failure: failure(message),
            })
        };
        result.steps = vec![
            failed("Other."),
            failed("Refused."),
            step(StepState::NotStarted),
        ];
        add_notes(&mut result, "A dialog opened.");
        let message = "Refused. A dialog opened.";
        assert_eq!(result.error, Some(failure(message)));
        assert_eq!(result.text_output, None);
        let expected = [
            failed("Other."),
            failed(message),
            step(StepState::NotStarted),
        ];
        assert_eq!(result.steps, expected);
    }
}
