//! One model's use of one set of devices, from opening to closing.

use std::future::Future;
use std::time::{Duration, Instant};

use telechir_device::{BoxComputer, BoxEditor, BoxShell};
use telechir_policy::{Device, Display, Judge, Policy};
use telechir_protocol::{ActionKind, AnsweredTurn, ModelTurn, Size};

use crate::approver::BoxApprover;
use crate::execute::{EditorSlot, Screen, ShellSlot, until_stopped};
use crate::pipeline::{Arrival, Asked};
use crate::recorder::Recorder;
use crate::{
    Approver, AutoScreenshot, DenyAll, DeviceKind, EventReader, Journal, Limits, RunId,
    RuntimeError, ScreenshotRule, SessionEvent, pipeline,
};

/// Puts a session together. Only the policy is required; without a journal of its own the
/// session is recorded in a temporary one, and without an approver every question is a no.
#[derive(Debug)]
pub struct SessionBuilder {
    policy: Policy,
    screens: Vec<(Device, Display, BoxComputer)>,
    shell: Option<BoxShell>,
    editor: Option<BoxEditor>,
    approver: BoxApprover,
    journal: Option<Journal>,
    run: Option<RunId>,
    observe: AutoScreenshot,
    screenshot: ScreenshotRule,
    marks: Option<usize>,
    limits: Limits,
}

impl SessionBuilder {
    /// A desktop of this session's own.
    #[must_use]
    pub fn desktop(self, desktop: BoxComputer) -> Self {
        self.screen(Device::Desktop, Display::Private, desktop)
    }

    /// A desktop that was there before, with a person's own windows.
    #[must_use]
    pub fn existing_desktop(self, desktop: BoxComputer) -> Self {
        self.screen(Device::Desktop, Display::Existing, desktop)
    }

    /// A browser of this session's own.
    #[must_use]
    pub fn browser(self, browser: BoxComputer) -> Self {
        self.screen(Device::Browser, Display::Private, browser)
    }

    /// A browser that was there before, with a person's own tabs.
    #[must_use]
    pub fn existing_browser(self, browser: BoxComputer) -> Self {
        self.screen(Device::Browser, Display::Existing, browser)
    }

    /// A shell.
    #[must_use]
    pub fn shell(mut self, shell: BoxShell) -> Self {
        self.shell = Some(shell);
        self
    }

    /// An editor of files.
    #[must_use]
    pub fn editor(mut self, editor: BoxEditor) -> Self {
        self.editor = Some(editor);
        self
    }

    /// Whoever asks people.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = BoxApprover::new(approver);
        self
    }

    /// Where the session is recorded.
    #[must_use]
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The session's name in the journal; the same name continues a session that a crash ended.
    #[must_use]
    pub fn run(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// Which calls are answered with a picture.
    #[must_use]
    pub fn observe(mut self, observe: AutoScreenshot) -> Self {
        self.observe = observe;
        self
    }

    /// How large pictures may be.
    #[must_use]
    pub fn screenshot(mut self, screenshot: ScreenshotRule) -> Self {
        self.screenshot = screenshot;
        self
    }

    /// Draws numbers on the elements of each whole picture, at most so many, and says in words
    /// what they are. A label is aimed at as long as its picture is the newest with labels.
    #[must_use]
    pub fn marks(mut self, at_most: usize) -> Self {
        self.marks = Some(at_most);
        self
    }

    /// What waits and sizes end at.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    /// When no temporary journal can be had.
    pub fn build(self) -> Result<Session, RuntimeError> {
        let journal = self.journal.map_or_else(Journal::temporary, Ok)?;
        let run = self.run.unwrap_or_else(RunId::unique);
        let recorder = Recorder::new(run, journal);
        let screenshot = self.screenshot;
        let screens: Vec<Screen> = self
            .screens
            .into_iter()
            .map(|(device, display, computer)| Screen::new(computer, device, display, screenshot))
            .collect();
        let shell = self.shell.map(ShellSlot::new);
        let mut devices: Vec<DeviceKind> = screens.iter().map(Screen::kind).collect();
        devices.extend(shell.as_ref().map(|_| DeviceKind::Shell));
        let editor = self.editor.map(EditorSlot::new);
        devices.extend(editor.as_ref().map(|_| DeviceKind::Editor));
        recorder.announce(SessionEvent::SessionStarted {
            run: recorder.run.as_str().to_owned(),
            policy: self.policy.digest(),
            devices,
            shell_bounds: shell.as_ref().and_then(ShellSlot::bounds),
        });
        Ok(Session {
            recorder,
            judge: Judge::new(self.policy),
            approver: self.approver,
            asked: Asked::default(),
            screens,
            shell,
            editor,
            observe: self.observe,
            screenshot,
            marks: self.marks,
            limits: self.limits,
            began: Instant::now(),
            screenshots: 0,
            next_turn: None,
            is_in_turn: false,
            stopped: None,
            is_open: true,
        })
    }

    fn screen(mut self, device: Device, display: Display, computer: BoxComputer) -> Self {
        self.screens.retain(|(other, ..)| *other != device);
        self.screens.push((device, display, computer));
        // The desktop comes first: it is the screen of a call that names none.
        self.screens.sort_by_key(|(device, ..)| *device);
        self
    }
}

/// Adds events to a session. Whoever holds it lets go before the session is closed, or its journal
/// stays open.
#[derive(Clone, Debug)]
pub struct EventSender(Recorder);

impl EventSender {
    /// Adds an event.
    pub fn emit(&self, event: SessionEvent) {
        self.0.announce(event);
    }
}

/// A session: its devices, its policy, its record.
#[derive(Debug)]
pub struct Session {
    pub(crate) recorder: Recorder,
    pub(crate) judge: Judge,
    pub(crate) approver: BoxApprover,
    pub(crate) asked: Asked,
    pub(crate) screens: Vec<Screen>,
    pub(crate) shell: Option<ShellSlot>,
    pub(crate) editor: Option<EditorSlot>,
    pub(crate) observe: AutoScreenshot,
    pub(crate) screenshot: ScreenshotRule,
    pub(crate) marks: Option<usize>,
    pub(crate) limits: Limits,
    began: Instant,
    /// How many pictures were taken: each has a name of its own.
    pub(crate) screenshots: u64,
    /// The number of the next turn, once one has ended.
    pub(crate) next_turn: Option<u64>,
    /// True while a turn is carried out: still true later when it was dropped.
    pub(crate) is_in_turn: bool,
    /// Why a person stopped it.
    pub(crate) stopped: Option<&'static str>,
    is_open: bool,
}

impl Session {
    /// A session under this policy.
    pub fn builder(policy: Policy) -> SessionBuilder {
        SessionBuilder {
            policy,
            screens: Vec::new(),
            shell: None,
            editor: None,
            approver: BoxApprover::new(DenyAll),
            journal: None,
            run: None,
            observe: AutoScreenshot::default(),
            screenshot: ScreenshotRule::default(),
            marks: None,
            limits: Limits::default(),
        }
    }

    /// Carries out every call of a model's turn and answers each exactly once.
    ///
    /// What a call does wrong is in its result. Dropping the future cancels: what was begun is
    /// recorded as cancelled, and keys and buttons are released before anything else happens.
    ///
    /// # Errors
    /// When what happens cannot be recorded; then it did not happen.
    pub async fn execute(&mut self, turn: ModelTurn) -> Result<AnsweredTurn, RuntimeError> {
        pipeline::carry_out(self, turn, Arrival::New).await
    }

    /// As [`Self::carry_out`], for a turn that may have been sent before under this session's name.
    ///
    /// A turn is known by the ids of its calls, which a provider gives once. What was carried out
    /// is answered from the journal, what a crash interrupted is answered as interrupted, and
    /// only the rest is carried out: nothing happens twice.
    ///
    /// # Errors
    /// When what happens cannot be recorded, or a call of an earlier turn has the id of this one
    /// and asks for something else.
    pub async fn execute_once(&mut self, turn: ModelTurn) -> Result<AnsweredTurn, RuntimeError> {
        pipeline::carry_out(self, turn, Arrival::PerhapsAgain).await
    }

    /// Sees to the end of a turn whose future was dropped, now instead of before the next turn:
    /// keys and buttons are released and a running command is ended. What runs in the background
    /// is ended too when a person stopped the session. Else it does nothing.
    pub async fn settle(&mut self) {
        pipeline::recover(self).await;
        pipeline::heed_stop(self).await;
    }

    /// How the coming turns are answered with pictures, when it is not as the last ones were.
    /// A model's points belong to the last picture it got, whatever that picture's size.
    pub fn set_screenshot_rule(&mut self, observe: AutoScreenshot, screenshot: ScreenshotRule) {
        (self.observe, self.screenshot) = (observe, screenshot);
        if self.screenshots > 0 {
            return;
        }
        for screen in &mut self.screens {
            screen.viewport = screen.lies(screenshot);
        }
    }

    /// Reads the session's events from now on.
    pub fn subscribe(&self) -> EventReader {
        self.recorder.bus.subscribe()
    }

    /// Adds an event of whoever drives the session, such as the agent loop.
    pub fn announce(&self, event: SessionEvent) {
        self.recorder.announce(event);
    }

    /// A hand to add events with, for whoever watches over what devices do beside their calls.
    pub fn announcer(&self) -> EventSender {
        EventSender(self.recorder.clone())
    }

    /// The session's name in its journal.
    pub fn run(&self) -> &RunId {
        &self.recorder.run
    }

    /// The journal it is recorded in.
    pub fn journal(&self) -> &Journal {
        &self.recorder.journal
    }

    /// The size of the pictures a model gets of this device; none when there is no such screen.
    pub fn screenshot_size(&self, device: DeviceKind) -> Option<Size> {
        self.screens
            .iter()
            .find(|screen| screen.kind() == device)
            .map(Screen::screenshot_size)
    }

    /// What can be asked of a screen; empty when there is no such screen.
    pub fn supported(&self, device: DeviceKind) -> Vec<ActionKind> {
        let screen = self.screens.iter().find(|screen| screen.kind() == device);
        let can = |kind: &ActionKind| screen.is_some_and(|screen| screen.supports(*kind));
        ActionKind::ALL.iter().copied().filter(can).collect()
    }

    /// Why a person stopped it by a kill switch; every call from then on is answered as cancelled.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped
    }

    /// Waits until a person stops it by a kill switch: for whoever waits for a model or a caller
    /// meanwhile. [`Self::settle`] then ends what still runs; from there on this never ends.
    pub fn until_stopped(&self) -> impl Future<Output = &'static str> + Send + use<> {
        match self.stopped {
            None => until_stopped(&self.screens),
            Some(_) => Box::pin(std::future::pending()),
        }
    }

    /// The devices the session has.
    pub fn devices(&self) -> Vec<DeviceKind> {
        let screens = self.screens.iter().map(Screen::kind);
        screens
            .chain(self.shell.as_ref().map(|_| DeviceKind::Shell))
            .chain(self.editor.as_ref().map(|_| DeviceKind::Editor))
            .collect()
    }

    /// Releases keys and buttons, ends every process of the devices, and closes the record.
    ///
    /// # Errors
    /// When a device could not be closed; all others were.
    pub async fn close(mut self) -> Result<(), RuntimeError> {
        let mut first = None;
        for screen in std::mem::take(&mut self.screens) {
            let (device, limit) = (screen.kind(), self.limits.action);
            if let Err(message) = screen.close(limit).await {
                first.get_or_insert(RuntimeError::Close {
                    device: device.name(),
                    message,
                });
            }
        }
        if let Some(shell) = self.shell.take()
            && let Err(message) = shell.close(self.limits.action).await
        {
            first.get_or_insert(RuntimeError::Close {
                device: "shell",
                message,
            });
        }
        self.end("closed");
        first.map_or(Ok(()), Err)
    }

    /// Time since the session began: what policies count rates by.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn end(&mut self, reason: &str) {
        if std::mem::take(&mut self.is_open) {
            self.recorder.announce(SessionEvent::SessionClosed {
                reason: reason.to_owned(),
            });
        }
    }
}

/// The devices end what they started when they are dropped; this only says so.
impl Drop for Session {
    fn drop(&mut self) {
        self.end("dropped");
    }
}
