//! One model's use of one set of devices, from opening to closing.

use std::future::Future;
use std::time::Instant;

use telechir_device::{Computer, DevtoolsChannel, DevtoolsCommands, DevtoolsReply, Editor, Shell};
use telechir_policy::{ContentTrust, Device, Digest, DisplayOwner, Judge, Policy, ShellReach};
use telechir_protocol::{Action, ActionKind, AnsweredTurn, Failure, ModelTurn, Size};

use crate::approver::BoxApprover;
use crate::execute::{EditorSlot, ScreenSlot, ShellSlot, until_stopped};
use crate::journal::response_key;
use crate::pipeline::devtools::{DevtoolsCommand, DevtoolsGrants};
use crate::question_rate::QuestionRate;
use crate::recorder::{Delivery, Recorder};
use crate::session_state::{PolicySlot, SessionState};
use crate::{
    Approver, AutoScreenshot, ControlLease, ConversationEntry, DenyAll, DeviceKind, EventReader,
    Journal, NewestOutput, PageOutline, PersonInput, RecordingReader, RunId, RuntimeError,
    ScreenshotRule, SessionEvent, SessionLimits, SessionScreens, TurnIdentity, pipeline,
};

/// Builds a session. Only the policy is required; without a journal the session is recorded in a
/// temporary one, and without an approver every question is denied.
#[derive(Debug)]
pub struct SessionBuilder {
    policy: Policy,
    screens: Vec<(Device, DisplayOwner, Box<dyn Computer>)>,
    shell: Option<Box<dyn Shell>>,
    editor: Option<Box<dyn Editor>>,
    approver: BoxApprover,
    journal: Option<Journal>,
    run: Option<RunId>,
    auto_screenshot: AutoScreenshot,
    screenshot: ScreenshotRule,
    marks: Option<usize>,
    limits: SessionLimits,
    trust: ContentTrust,
    shell_reach: ShellReach,
}

impl SessionBuilder {
    /// Adds a private desktop, started for this session.
    #[must_use]
    pub fn desktop(self, desktop: Box<dyn Computer>) -> Self {
        self.screen(Device::Desktop, DisplayOwner::Private, desktop)
    }

    /// Adds an existing desktop, which shows the user's own windows.
    #[must_use]
    pub fn existing_desktop(self, desktop: Box<dyn Computer>) -> Self {
        self.screen(Device::Desktop, DisplayOwner::Existing, desktop)
    }

    /// Adds a private browser, started for this session.
    #[must_use]
    pub fn browser(self, browser: Box<dyn Computer>) -> Self {
        self.screen(Device::Browser, DisplayOwner::Private, browser)
    }

    /// Adds an existing browser, which has the user's own tabs.
    #[must_use]
    pub fn existing_browser(self, browser: Box<dyn Computer>) -> Self {
        self.screen(Device::Browser, DisplayOwner::Existing, browser)
    }

    /// Adds a shell for commands.
    #[must_use]
    pub fn shell(mut self, shell: Box<dyn Shell>) -> Self {
        self.shell = Some(shell);
        self
    }

    /// Adds an editor of text files.
    #[must_use]
    pub fn editor(mut self, editor: Box<dyn Editor>) -> Self {
        self.editor = Some(editor);
        self
    }

    /// Sets the approver of questions; the default denies all of them.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = BoxApprover::new(approver);
        self
    }

    /// Sets the journal that the session is recorded in.
    #[must_use]
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Sets the session's name in the journal; the same name continues a session after a crash.
    #[must_use]
    pub fn run(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// Sets which results include a screenshot that was not requested.
    #[must_use]
    pub fn auto_screenshot(mut self, when: AutoScreenshot) -> Self {
        self.auto_screenshot = when;
        self
    }

    /// Sets the maximum size and the encoding of screenshots.
    #[must_use]
    pub fn screenshot(mut self, screenshot: ScreenshotRule) -> Self {
        self.screenshot = screenshot;
        self
    }

    /// Labels up to `max_marks` elements on each full screenshot and describes them in text. A label
    /// is a valid target until a newer labelled screenshot is taken.
    #[must_use]
    pub fn marks(mut self, max_marks: usize) -> Self {
        self.marks = Some(max_marks);
        self
    }

    /// Sets the limits on time, size and number.
    #[must_use]
    pub fn limits(mut self, limits: SessionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Shares the state that tells whether untrusted content was read with the gates of the devices'
    /// proxies.
    #[must_use]
    pub fn trust(mut self, trust: ContentTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets what the shell's commands can reach; the default is [`ShellReach::Something`].
    #[must_use]
    pub fn shell_reach(mut self, reach: ShellReach) -> Self {
        self.shell_reach = reach;
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    /// When no temporary journal can be created.
    pub fn build(self) -> Result<Session, RuntimeError> {
        let journal = self.journal.map_or_else(Journal::temporary, Ok)?;
        let run = self.run.unwrap_or_else(RunId::unique);
        let recorder = Recorder::new(run, journal);
        let screenshot = self.screenshot;
        let screens: Vec<ScreenSlot> = self
            .screens
            .into_iter()
            .map(|(device, display, computer)| {
                ScreenSlot::new(computer, device, display, screenshot)
            })
            .collect();
        let shell = self.shell.map(ShellSlot::new);
        let mut devices: Vec<DeviceKind> = screens.iter().map(ScreenSlot::kind).collect();
        devices.extend(shell.as_ref().map(|_| DeviceKind::Shell));
        let editor = self.editor.map(EditorSlot::new);
        devices.extend(editor.as_ref().map(|_| DeviceKind::Editor));
        recorder.emit(SessionEvent::SessionStarted {
            run: recorder.run.as_str().to_owned(),
            policy: self.policy.digest(),
            devices,
            shell_bounds: shell.as_ref().and_then(ShellSlot::bounds),
        });
        let state = SessionState {
            recorder,
            judge: Judge::new(self.policy),
            next_policy: PolicySlot::default(),
            control: ControlLease::default(),
            trust: self.trust,
            is_untrusted_announced: false,
            shell_reach: self.shell_reach,
            approver: self.approver,
            question_rate: QuestionRate::default(),
            screens,
            shell,
            editor,
            auto_screenshot: self.auto_screenshot,
            screenshot,
            marks: self.marks,
            limits: self.limits,
            started_at: Instant::now(),
            screenshots: 0,
            devtools_calls: 0,
            next_turn: None,
            is_in_turn: false,
            stopped: None,
        };
        let is_open = true;
        Ok(Session { state, is_open })
    }

    fn screen(
        mut self,
        device: Device,
        display: DisplayOwner,
        computer: Box<dyn Computer>,
    ) -> Self {
        self.screens.retain(|(other, ..)| *other != device);
        self.screens.push((device, display, computer));
        // The desktop comes first: it is the default screen of a call without a target.
        self.screens.sort_by_key(|(device, ..)| *device);
        self
    }
}

/// Emits events into a session. The journal stays open until all senders are dropped.
#[derive(Clone, Debug)]
pub struct EventSender(Recorder);

impl EventSender {
    /// Emits an event to all subscribers and the journal.
    pub fn emit(&self, event: SessionEvent) {
        self.0.emit(event);
    }
}

/// A session: its devices, its policy and its recording.
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    is_open: bool,
}

impl Session {
    /// Starts building a session under this policy.
    pub fn builder(policy: Policy) -> SessionBuilder {
        SessionBuilder {
            policy,
            screens: Vec::new(),
            shell: None,
            editor: None,
            approver: BoxApprover::new(DenyAll),
            journal: None,
            run: None,
            auto_screenshot: AutoScreenshot::default(),
            screenshot: ScreenshotRule::default(),
            marks: None,
            limits: SessionLimits::default(),
            trust: ContentTrust::default(),
            shell_reach: ShellReach::Something,
        }
    }

    /// Executes every call of a model's turn and answers each exactly once.
    ///
    /// Errors of a call are part of its result. Dropping the future cancels the turn: the running
    /// action is recorded as cancelled, and keys and buttons are released before anything else
    /// happens.
    ///
    /// # Errors
    /// When an action cannot be recorded; it is then not performed.
    pub async fn execute(&mut self, turn: ModelTurn) -> Result<AnsweredTurn, RuntimeError> {
        pipeline::execute(&mut self.state, turn, Delivery::First, None).await
    }

    /// Like [`Self::execute`], for a turn that may have been delivered before under this session's
    /// name.
    ///
    /// A turn is recognized by the ids of its calls, which a provider uses once. Steps that were
    /// performed earlier are answered from the journal, steps that a crash interrupted are answered
    /// as interrupted, and only the rest is performed: nothing happens twice.
    ///
    /// # Errors
    /// When an action cannot be recorded, or a call has the id of an earlier, different call.
    pub async fn execute_once(&mut self, turn: ModelTurn) -> Result<AnsweredTurn, RuntimeError> {
        let delivery = Delivery::maybe_retry(&turn);
        pipeline::execute(&mut self.state, turn, delivery, None).await
    }

    /// Like [`Self::execute`], or [`Self::execute_once`] with `may_be_retry`, for a turn whose results
    /// can be read from the recording later ([`RecordingReader::turn`]).
    ///
    /// # Errors
    /// Like those.
    pub async fn execute_identified(
        &mut self,
        turn: ModelTurn,
        identity: TurnIdentity,
        may_be_retry: bool,
    ) -> Result<AnsweredTurn, RuntimeError> {
        let delivery = match may_be_retry {
            true => Delivery::maybe_retry(&turn),
            false => Delivery::First,
        };
        pipeline::execute(&mut self.state, turn, delivery, Some(identity)).await
    }

    /// Executes the calls of a recorded response; `response` counts the responses of the
    /// conversation from 0. If an earlier process started them as the turn `started`, the steps that
    /// it performed or began are answered from the journal, and only the rest is performed.
    ///
    /// # Errors
    /// When an action cannot be recorded, or the turn differs from the one that was started.
    pub async fn execute_response(
        &mut self,
        turn: ModelTurn,
        response: u64,
        started: Option<u64>,
    ) -> Result<AnsweredTurn, RuntimeError> {
        let contents = serde_json::to_value(turn.contents()).unwrap_or_default();
        let identity = TurnIdentity {
            key: response_key(response),
            digest: Digest::of_json(&contents),
        };
        let delivery = started.map_or(Delivery::First, Delivery::Continued);
        pipeline::execute(&mut self.state, turn, delivery, Some(identity)).await
    }

    /// Records an entry of the conversation; it is durable when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn record_conversation(
        &mut self,
        entry: &ConversationEntry,
    ) -> Result<(), RuntimeError> {
        Ok(self.state.recorder.converse(entry).await?)
    }

    /// The texts that calls of this turn type where the shell hides its input, such as passwords.
    /// Recordings contain none of them.
    pub fn hidden_input(&self, turn: &ModelTurn) -> Vec<String> {
        pipeline::hidden_input(&self.state, turn)
    }

    /// Replaces the policy as soon as nothing more is judged by the present one: from the next
    /// judgement on, also within a turn.
    pub fn policy_slot(&self) -> PolicySlot {
        self.state.next_policy.clone()
    }

    /// Takes a policy from the slot, if there is one, and records it.
    pub fn apply_policy(&mut self) {
        self.state.apply_policy();
    }

    /// Reads this session's recording while it is written, without keeping it open.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub fn recording(&self) -> Result<RecordingReader, RuntimeError> {
        let recorder = &self.state.recorder;
        Ok(recorder.journal.reader(recorder.run.clone())?)
    }

    /// Cleans up after a turn whose future was dropped, instead of at the start of the next turn:
    /// releases keys and buttons and ends a running command. After the kill switch it also ends
    /// background jobs. Otherwise it does nothing.
    pub async fn finish_dropped_turn(&mut self) {
        pipeline::recover(&mut self.state).await;
        pipeline::check_kill_switch(&mut self.state).await;
    }

    /// Changes which results get screenshots, and their size, from the next turn on. A model's
    /// points still refer to the latest screenshot it received, whatever its size.
    pub fn set_screenshot_rule(
        &mut self,
        auto_screenshot: AutoScreenshot,
        screenshot: ScreenshotRule,
    ) {
        (self.state.auto_screenshot, self.state.screenshot) = (auto_screenshot, screenshot);
        if self.state.screenshots > 0 {
            return;
        }
        for screen in &mut self.state.screens {
            screen.viewport = screen.default_viewport(screenshot);
        }
    }

    /// Subscribes to the session's events from now on.
    pub fn subscribe(&self) -> EventReader {
        self.state.recorder.bus.subscribe()
    }

    /// Emits an event of the caller, such as the agent loop.
    pub fn emit(&self, event: SessionEvent) {
        self.state.recorder.emit(event);
    }

    /// Returns a sender for events that devices cause outside of calls.
    pub fn event_sender(&self) -> EventSender {
        EventSender(self.state.recorder.clone())
    }

    /// The size of this device's screenshots; none if the session has no such screen.
    pub fn screenshot_size(&self, device: DeviceKind) -> Option<Size> {
        self.state
            .screens
            .iter()
            .find(|screen| screen.kind() == device)
            .map(ScreenSlot::screenshot_size)
    }

    /// The kinds of action that a screen supports; empty if the session has no such screen.
    pub fn supported(&self, device: DeviceKind) -> Vec<ActionKind> {
        let screen = self
            .state
            .screens
            .iter()
            .find(|screen| screen.kind() == device);
        let can = |kind: &ActionKind| screen.is_some_and(|screen| screen.supports(*kind));
        ActionKind::ALL.iter().copied().filter(can).collect()
    }

    /// The reason of the kill switch, if it was pressed; all later calls are answered as cancelled.
    pub fn stopped(&self) -> Option<&str> {
        self.state.stopped
    }

    /// Waits until the kill switch is pressed, for callers that wait for a model meanwhile. Call
    /// [`Self::finish_dropped_turn`] then to end everything that still runs. Never completes if the kill switch
    /// was pressed before.
    pub fn until_stopped(&self) -> impl Future<Output = &'static str> + Send + use<> {
        match self.state.stopped {
            None => until_stopped(&self.state.screens),
            Some(_) => Box::pin(std::future::pending()),
        }
    }

    /// Makes a person's control of the session count for its calls.
    pub fn set_control(&mut self, lease: ControlLease) {
        self.state.control = lease;
    }

    /// Has the effect of a person's input, who has control; without a device on the first screen.
    ///
    /// # Errors
    /// With a sentence that continues "failed to", if it could not be performed.
    pub async fn act_for_person(
        &mut self,
        device: Option<DeviceKind>,
        input: PersonInput,
    ) -> Result<(), String> {
        if !self.state.control.is_taken() {
            return Err("act for a person: nobody has control".to_owned());
        }
        let actions = input.actions()?;
        let limits = self.state.limits;
        let mut screens = self.state.screens.iter_mut();
        let screen = screens.find(|screen| device.is_none_or(|wanted| screen.kind() == wanted));
        let screen = screen.ok_or("find the screen: this session has no such one")?;
        for action in &actions {
            let performed = screen.perform_for_person(action, &limits).await;
            performed.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Opens the browser's DevTools protocol for another program, if the policy permits these actions,
    /// which are what its commands do that are not judged one by one.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn open_devtools(
        &mut self,
        actions: Vec<Action>,
        grants: &DevtoolsGrants,
    ) -> Result<Result<DevtoolsChannel, Failure>, RuntimeError> {
        pipeline::devtools::open(&mut self.state, actions, grants).await
    }

    /// Whether what was permitted to a program until its connection ends still is, under the policy
    /// that counts now.
    ///
    /// # Errors
    /// With what is not permitted any more.
    pub async fn check_devtools(&mut self, grants: &DevtoolsGrants) -> Result<(), String> {
        pipeline::devtools::check_grants(&mut self.state, grants).await
    }

    /// Sends a command of another program to the browser, if the policy permits what it does.
    ///
    /// # Errors
    /// When it cannot be recorded; then it is not sent.
    pub async fn send_devtools(
        &mut self,
        command: DevtoolsCommand,
        commands: &dyn DevtoolsCommands,
        grants: &DevtoolsGrants,
    ) -> Result<Result<DevtoolsReply, Failure>, RuntimeError> {
        pipeline::devtools::send(&mut self.state, command, commands, grants).await
    }

    /// Releases what a person left pressed, before calls act again.
    pub async fn release_for_person(&mut self) {
        for screen in &mut self.state.screens {
            if let Err(error) = screen.release(&self.state.limits).await {
                let message = format!("After a person had control: failed to {error}.");
                self.state.recorder.emit(SessionEvent::Warning { message });
            }
        }
    }

    /// The screens for people who look at the session, also while a turn is executed.
    pub fn screens(&self) -> SessionScreens {
        let screens = self.state.screens.iter();
        SessionScreens::new(screens.filter_map(|screen| Some((screen.kind(), screen.viewer()?))))
    }

    /// The browser's page for people who look at the session, also while a turn is executed; none
    /// without a browser.
    pub fn page_outline(&self) -> Option<PageOutline> {
        let mut screens = self.state.screens.iter();
        screens.find_map(|screen| Some(PageOutline::new(screen.page_outline()?)))
    }

    /// The output of the running command for people who look at the session; none without a shell.
    pub fn shell_output(&self) -> Option<NewestOutput> {
        let shell = self.state.shell.as_ref();
        shell.map(|shell| shell.output.clone())
    }

    /// The kinds of device of the session.
    pub fn devices(&self) -> Vec<DeviceKind> {
        self.state.devices()
    }

    /// Releases keys and buttons, ends all processes of the devices and closes the recording.
    ///
    /// # Errors
    /// When a device could not be closed; all others are closed.
    pub async fn close(mut self) -> Result<(), RuntimeError> {
        let mut first = None;
        for screen in std::mem::take(&mut self.state.screens) {
            let (device, limit) = (screen.kind(), self.state.limits.action_timeout);
            if let Err(message) = screen.close(limit).await {
                first.get_or_insert(RuntimeError::Close {
                    device: device.name(),
                    message,
                });
            }
        }
        if let Some(shell) = self.state.shell.take()
            && let Err(message) = shell.close(self.state.limits.action_timeout).await
        {
            first.get_or_insert(RuntimeError::Close {
                device: "shell",
                message,
            });
        }
        self.end("closed");
        first.map_or(Ok(()), Err)
    }

    fn end(&mut self, reason: &str) {
        if std::mem::take(&mut self.is_open) {
            self.state.recorder.emit(SessionEvent::SessionClosed {
                reason: reason.to_owned(),
            });
        }
    }
}

/// Only announces the end; the devices end their own processes when dropped.
impl Drop for Session {
    fn drop(&mut self) {
        self.end("dropped");
    }
}
