//! Commands of other programs to the browser: each is a turn with one call, judged and recorded like
//! those of a model. Its effect is that the browser gets the command; what the program makes of the
//! reply, no journal knows.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::{DevtoolsChannel, DevtoolsCommands, DevtoolsReply, DevtoolsSource};
use telechir_policy::{Device, Digest, Judge, Permitted, ScreenProposal, Verdict, summarize};
use telechir_protocol::{
    Action, CallId, ComputerCall, ComputerResult, Content, Failure, FailureKind, StepOutcome,
    StepState, TargetId,
};

use super::approval::{Judged as _, check_again, permit};
use super::kill_switch;
use super::step::{Performed, Step, execute};
use super::step_info::StepInfo;
use crate::journal::Repeat;
use crate::recorder::{Delivery, StepGuard, TurnGuard, millis};
use crate::session_state::SessionState;
use crate::{ActionEffect, CallKind, DeviceKind, RuntimeError, SessionEvent};

/// Most of a script that the recording keeps; its digest is of all of it.
const MAX_SCRIPT_CHARS: usize = 2000;

/// A command of another program, and what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct DevtoolsCommand {
    /// The session of the page that it is for; absent for the browser.
    pub session: Option<String>,
    /// The method, as CDP names it.
    pub method: String,
    /// What the browser gets as parameters.
    pub params: Value,
    /// What it does, as the policy judges it. A URL that the policy writes differently is sent so.
    pub action: Action,
    /// What its permission covers.
    pub scope: DevtoolsScope,
    /// The URLs of the pages that the program can read.
    pub urls: Vec<String>,
}

/// What the permission of a command covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevtoolsScope {
    /// The command alone: the next one is judged anew.
    Once,
    /// What it begins, until the connection ends.
    Lasting,
    /// Every script of the connection; this one is recorded.
    Scripts(String),
}

/// What was permitted to a program until its connection ends. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct DevtoolsGrants(Arc<Mutex<Grants>>);

#[derive(Debug, Default)]
struct Grants {
    scripts: Option<Permitted<ScreenProposal>>,
    /// The opening of the connection, and what goes on in it.
    lasting: Vec<Permitted<ScreenProposal>>,
}

impl Grants {
    /// Adds what lasts; it replaces what was permitted for the same kinds of actions.
    fn last(&mut self, permit: Permitted<ScreenProposal>) {
        let kinds = |permit: &Permitted<ScreenProposal>| -> Vec<_> {
            let actions = permit.proposal().actions.iter();
            actions.map(Action::kind).collect()
        };
        self.lasting.retain(|other| kinds(other) != kinds(&permit));
        self.lasting.push(permit);
    }
}

impl DevtoolsGrants {
    fn lock(&self) -> MutexGuard<'_, Grants> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the protocol for a program, if the policy permits these actions.
pub(crate) async fn open(
    session: &mut SessionState,
    actions: Vec<Action>,
    grants: &DevtoolsGrants,
) -> Result<Result<DevtoolsChannel, Failure>, RuntimeError> {
    let source = browser(session).and_then(|index| session.screens[index].devtools());
    let Some(source) = source else {
        return Ok(Err(no_browser()));
    };
    let call_id = next_call(session);
    let step = OpenStep {
        call_id: call_id.clone(),
        actions: actions.clone(),
        source,
    };
    perform(
        session,
        call_id,
        actions,
        (grants, &DevtoolsScope::Lasting),
        &step,
    )
    .await
}

/// Whether everything that lasts in a program's connection is still permitted; the text says what is
/// not.
pub(crate) async fn check_grants(
    session: &mut SessionState,
    grants: &DevtoolsGrants,
) -> Result<(), String> {
    session.announce_untrusted();
    let (scripts, lasting) = {
        let mut grants = grants.lock();
        (grants.scripts.take(), mem::take(&mut grants.lasting))
    };
    let mut checked = Ok(());
    for permit in lasting.iter().chain(&scripts) {
        let part = permit.proposal().clone();
        if let Err(failure) = check_again(session, permit, part).await {
            checked = Err(failure.message);
            break;
        }
    }
    let mut grants = grants.lock();
    (grants.scripts, grants.lasting) = (scripts, lasting);
    checked
}

/// Sends a command, if the policy permits what it does.
pub(crate) async fn send(
    session: &mut SessionState,
    mut command: DevtoolsCommand,
    commands: &dyn DevtoolsCommands,
    grants: &DevtoolsGrants,
) -> Result<Result<DevtoolsReply, Failure>, RuntimeError> {
    let Some(index) = browser(session) else {
        return Ok(Err(no_browser()));
    };
    if !session.screens[index].supports(command.action.kind()) {
        let name = command.action.name();
        let message = format!("This browser does not support {name:?}.");
        return Ok(Err(Failure::new(FailureKind::Unsupported, message)));
    }
    note_untrusted(session, command.urls.iter().map(String::as_str));
    let call_id = next_call(session);
    let actions = vec![command.action.clone()];
    let scope = command.scope.clone();
    let urls = mem::take(&mut command.urls);
    let step = SendStep {
        call_id: call_id.clone(),
        command,
        commands,
    };
    let sent = perform(session, call_id, actions, (grants, &scope), &step).await?;
    session.screens[index].note_acted();
    note_untrusted(session, urls.iter().map(String::as_str));
    Ok(sent)
}

/// A turn with one call: announced, judged, recorded before its effect, and answered.
async fn perform<T, S>(
    session: &mut SessionState,
    call_id: CallId,
    actions: Vec<Action>,
    (grants, scope): (&DevtoolsGrants, &DevtoolsScope),
    step: &S,
) -> Result<Result<T, Failure>, RuntimeError>
where
    S: Step<Proposal = ScreenProposal, Output = Result<T, Failure>>,
{
    super::recover(session).await;
    let next = session.next_turn;
    let turn = TurnGuard::begin(&session.recorder, 1, Delivery::First, next, None).await?;
    if next.is_none() {
        session.continue_untrusted().await?;
    }
    session.next_turn = Some(next.unwrap_or(0).max(turn.turn.number + 1));
    session.is_in_turn = true;
    let mut call = ComputerCall::new(call_id.clone(), actions);
    call.target = Some(TargetId::new(Device::Browser.name()));
    let steps: Vec<String> = call.actions.iter().map(summarize).collect();
    let actions = call.actions.clone();
    session.recorder.call(&Content::ComputerCall(call)).await?;
    session.recorder.emit(SessionEvent::CallReceived {
        call_id: call_id.clone(),
        kind: CallKind::Computer,
        steps: steps.clone(),
    });
    let started = std::time::Instant::now();
    let refusal = kill_switch::check(session).await;
    let refusal = refusal.or_else(|| session.control.refusal());
    let proposal = ScreenProposal {
        call_id: call_id.clone(),
        device: Device::Browser,
        actions,
        safety_checks: Vec::new(),
    };
    let done = match refusal {
        Some(failure) => Err(failure),
        None => {
            let permitted = match scope {
                DevtoolsScope::Once | DevtoolsScope::Lasting => {
                    permit(session, proposal, steps).await
                }
                DevtoolsScope::Scripts(_) => grant(session, grants, proposal, steps).await,
            };
            match permitted {
                Err(failure) => Err(failure),
                Ok(permit) => {
                    let done = execute(session, turn.turn, &permit, step).await?;
                    let mut grants = grants.lock();
                    match scope {
                        DevtoolsScope::Once => {}
                        DevtoolsScope::Lasting => grants.last(permit),
                        DevtoolsScope::Scripts(_) => grants.scripts = Some(permit),
                    }
                    done
                }
            }
        }
    };
    session.is_in_turn = false;
    session.announce_untrusted();
    let mut result = ComputerResult::new(call_id.clone());
    let failure = done.as_ref().err().cloned();
    result.steps = vec![StepOutcome {
        action: "devtools".to_owned(),
        state: match &failure {
            None => StepState::Delivered,
            Some(failure) => StepState::Failed {
                failure: failure.clone(),
            },
        },
        text: None,
        screenshot: None,
        duration_ms: None,
    }];
    result.error.clone_from(&failure);
    let answer = Content::ComputerResult(result);
    session.recorder.answer(&answer).await?;
    session.recorder.emit(SessionEvent::CallAnswered {
        call_id,
        failure,
        ms: millis(started.elapsed()),
    });
    turn.end();
    Ok(done)
}

/// The permission that covers all commands of its kind: asked for once, and checked again each time.
async fn grant(
    session: &mut SessionState,
    grants: &DevtoolsGrants,
    proposal: ScreenProposal,
    steps: Vec<String>,
) -> Result<Permitted<ScreenProposal>, Failure> {
    let mut earlier = grants.lock().scripts.take();
    if let Some(known) = earlier.take() {
        session.announce_untrusted();
        session.apply_policy();
        let facts = proposal.facts(session).await;
        // With its history, so that limits of rates count every script.
        let later = proposal.clone().judge(&mut session.judge, &facts);
        if known.still_permits(&later).is_ok() {
            return Ok(known);
        }
        earlier = Some(known);
    }
    let permitted = permit(session, proposal, steps).await;
    if permitted.is_err() {
        // What its earlier scripts do lasts, so that is judged again as long as the connection does.
        grants.lock().scripts = earlier;
    }
    permitted
}

/// The id of the next call of a program: no other call of the session has it.
fn next_call(session: &mut SessionState) -> CallId {
    session.devtools_calls += 1;
    let (ms, number) = (millis(session.now()), session.devtools_calls);
    CallId::new(format!("devtools-{ms}-{number}"))
}

fn browser(session: &SessionState) -> Option<usize> {
    let mut screens = session.screens.iter();
    screens.position(|screen| screen.kind() == DeviceKind::Browser)
}

fn no_browser() -> Failure {
    let message = "This session has no browser that other programs can drive.";
    Failure::new(FailureKind::Unsupported, message)
}

fn note_untrusted<'a>(session: &SessionState, urls: impl Iterator<Item = &'a str>) {
    let untrusted = urls.filter(|url| !url.is_empty() && !session.judge.trusts_page(url));
    if let Some(url) = untrusted.min() {
        let host = Judge::host_of(url).unwrap_or_else(|| "a page without a host".to_owned());
        session.trust.note_untrusted(&format!("a page of {host}"));
    }
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Device, message)
}

fn performed<T>(outcome: Result<T, Failure>, took: Duration) -> Performed<Result<T, Failure>> {
    match outcome {
        Err(failure) => Performed::failed(failure.clone(), Err(failure), took),
        Ok(output) => Performed {
            body: json!({ "sent": true }),
            effect: ActionEffect::Delivered,
            failure: None,
            ended: None,
            took,
            output: Ok(output),
        },
    }
}

fn info(call_id: &CallId, action: &Action, verdict: Verdict) -> StepInfo {
    StepInfo {
        call_id: call_id.clone(),
        step: 0,
        device: DeviceKind::Browser,
        kind: Some(action.kind()),
        summary: summarize(action),
        verdict,
    }
}

const INTERRUPTED: &str = "A crash happened while the browser got this command.";

/// The opening of the protocol.
struct OpenStep {
    call_id: CallId,
    actions: Vec<Action>,
    source: Box<dyn DevtoolsSource>,
}

impl Step for OpenStep {
    type Proposal = ScreenProposal;
    type Output = Result<DevtoolsChannel, Failure>;
    const INTERRUPTED: &'static str = INTERRUPTED;
    const IS_REWRITTEN: bool = true;

    fn info(&self, verdict: Verdict) -> StepInfo {
        let first = self.actions.first().cloned().unwrap_or(Action::Screenshot);
        StepInfo {
            summary: "the DevTools protocol for another program".to_owned(),
            ..info(&self.call_id, &first, verdict)
        }
    }

    fn intent(&self) -> Value {
        json!({ "device": "browser", "devtools": "open" })
    }

    fn repeat(&self) -> Repeat {
        Repeat::Never
    }

    async fn perform(
        &self,
        _session: &mut SessionState,
        _permit: &Permitted<ScreenProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<Self::Output>, RuntimeError> {
        let opened = self.source.open().await;
        let opened = opened.map_err(|error| refused(error.to_string()));
        Ok(performed(opened, guard.elapsed()))
    }

    fn recorded(&self, _body: Value) -> Self::Output {
        Err(refused(INTERRUPTED))
    }

    fn interrupted(&self, failure: Failure) -> Self::Output {
        Err(failure)
    }

    fn failure(output: &Self::Output) -> Option<Failure> {
        output.as_ref().err().cloned()
    }
}

/// One command.
struct SendStep<'a> {
    call_id: CallId,
    command: DevtoolsCommand,
    commands: &'a dyn DevtoolsCommands,
}

impl Step for SendStep<'_> {
    type Proposal = ScreenProposal;
    type Output = Result<DevtoolsReply, Failure>;
    const INTERRUPTED: &'static str = INTERRUPTED;
    const IS_REWRITTEN: bool = true;

    fn info(&self, verdict: Verdict) -> StepInfo {
        info(&self.call_id, &self.command.action, verdict)
    }

    fn intent(&self) -> Value {
        let command = &self.command;
        let mut intent = json!({
            "device": "browser",
            "devtools": command.method,
            "action": command.action.to_json(),
        });
        if let DevtoolsScope::Scripts(script) = &command.scope {
            let digest = Digest::of_json(&json!(script)).to_string();
            let shown: String = script.chars().take(MAX_SCRIPT_CHARS).collect();
            intent["script"] = json!({ "digest": digest, "text": shown });
        }
        intent
    }

    fn repeat(&self) -> Repeat {
        Repeat::Never
    }

    async fn perform(
        &self,
        _session: &mut SessionState,
        permit: &Permitted<ScreenProposal>,
        guard: &StepGuard,
    ) -> Result<Performed<Self::Output>, RuntimeError> {
        let command = &self.command;
        let mut params = command.params.clone();
        if let Some(url) = permit.proposal().actions.first().and_then(url_of) {
            params["url"] = url.into();
        }
        let session = command.session.as_deref();
        let sent = self.commands.send(session, &command.method, params).await;
        Ok(performed(sent.map_err(refused), guard.elapsed()))
    }

    fn recorded(&self, _body: Value) -> Self::Output {
        Err(refused(INTERRUPTED))
    }

    fn interrupted(&self, failure: Failure) -> Self::Output {
        Err(failure)
    }

    fn failure(output: &Self::Output) -> Option<Failure> {
        output.as_ref().err().cloned()
    }
}

/// The URL that an action opens, as it was permitted.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these two are made of commands that name a URL"
)]
fn url_of(action: &Action) -> Option<&str> {
    match action {
        Action::Navigate { url, .. } => Some(url),
        Action::NewTab { url } => url.as_deref(),
        _ => None,
    }
}
