//! The only caller of devices. What acts takes the permission for it.

mod editor;
mod shell;

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use telechir_device::{
    ActionReport, BoxComputer, Computer as _, DeviceError, Frame, Labels, Mark, PageContext,
    PartLocation, ScreenPart, ScreenRegion, Settle, Settled, UntilStopped, Viewport,
};
use telechir_policy::{Device, Display, Permitted, ScreenProposal, hold};
use telechir_protocol::{Action, ActionKind, Failure, FailureKind, Key, Size, Target};

use crate::observe::Kept;
use crate::{DeviceKind, Limits, ScreenshotRule};
pub(crate) use shell::{Bounds, ShellSlot};

pub(crate) use editor::EditorSlot;

/// For reading all words on a screen, which is slow.
const READING: Duration = Duration::from_secs(30);

/// A screen of the session with what is known of it.
#[derive(Debug)]
pub(crate) struct Screen {
    computer: BoxComputer,
    pub(crate) device: Device,
    pub(crate) display: Display,
    /// How the newest picture lies on the screen.
    pub(crate) viewport: Viewport,
    /// The newest picture of all of it.
    pub(crate) kept: Option<Kept>,
    /// What the numbers on the newest labelled picture mean.
    pub(crate) labels: Labels,
    /// Keys that calls left pressed.
    pub(crate) held: Vec<Key>,
    /// What it said when it went away.
    pub(crate) lost: Option<String>,
    /// Whether it was acted on and not watched since.
    is_moving: bool,
}

impl Screen {
    pub(crate) fn new(
        computer: BoxComputer,
        device: Device,
        display: Display,
        rule: ScreenshotRule,
    ) -> Self {
        let mut screen = Self {
            viewport: Viewport::unscaled(computer.size()),
            computer,
            device,
            display,
            kept: None,
            labels: Labels::default(),
            held: Vec::new(),
            lost: None,
            is_moving: false,
        };
        screen.viewport = screen.lies(rule);
        screen
    }

    pub(crate) fn kind(&self) -> DeviceKind {
        match self.device {
            Device::Desktop => DeviceKind::Desktop,
            Device::Browser => DeviceKind::Browser,
        }
    }

    /// What of the screen the model is shown.
    pub(crate) fn shown(&self) -> ScreenRegion {
        self.computer.visible_region()
    }

    /// How a picture of what is shown lies on the screen.
    pub(crate) fn lies(&self, rule: ScreenshotRule) -> Viewport {
        let shown = self.shown();
        Viewport::of_part(self.computer.size(), shown, rule.fit(shown.size()))
    }

    /// Why a person stopped it.
    pub(crate) fn stopped(&self) -> Option<&'static str> {
        self.computer.stopped()
    }

    pub(crate) fn until_stopped(&self) -> UntilStopped {
        self.computer.until_stopped()
    }

    pub(crate) fn screenshot_size(&self) -> Size {
        self.viewport.screenshot()
    }

    /// Whether the engine or the device can do it.
    pub(crate) fn supports(&self, kind: ActionKind) -> bool {
        let is_ours = matches!(
            kind,
            ActionKind::Screenshot
                | ActionKind::ObserveScreen
                | ActionKind::Zoom
                | ActionKind::Wait
        );
        is_ours || (kind != ActionKind::Other && self.computer.supports(&kind))
    }

    /// Carries out one action that is the device's to do.
    pub(crate) async fn perform(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        limits: &Limits,
    ) -> Result<ActionReport, DeviceError> {
        let action = self.permitted(permit, step)?;
        self.calm(limits).await?;
        let on_screen = self
            .viewport
            .labelled_action(action, &self.labels)
            .map_err(|error| DeviceError::Refused {
                message: sentence(&error.to_string()),
            })?;
        self.computer.set_viewport(self.viewport);
        let limit = limits.action + meant_duration(action);
        let done = within(
            "carry out the action",
            limit,
            self.computer.perform(&on_screen),
        )
        .await;
        self.is_moving = true;
        if done.is_ok() {
            hold(&mut self.held, action);
        }
        let done = done.map_err(|error| self.in_label_s_words(error, action));
        self.note(done)
    }

    /// A model that aimed at a number knows no ref: what is gone is said by its number and the
    /// newest labelled picture.
    fn in_label_s_words(&self, error: DeviceError, action: &Action) -> DeviceError {
        match (&error, action.target(), self.labels.newest()) {
            (DeviceError::Stale { .. }, Some(Target::Label { n, .. }), Some(newest)) => {
                let target = format!("label {n} of {newest}, the newest labelled picture");
                DeviceError::Stale { target }
            }
            _ => error,
        }
    }

    /// Where a window or a monitor is.
    pub(crate) async fn locate(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        part: &ScreenPart,
        limits: &Limits,
    ) -> Result<PartLocation, DeviceError> {
        self.permitted(permit, step)?;
        self.calm(limits).await?;
        self.computer.set_viewport(self.viewport);
        let located = within("find it", limits.action, self.computer.locate_part(part)).await;
        self.note(located)
    }

    /// The pixels once the screen stopped changing, and whether it did.
    pub(crate) async fn look(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        settle: Settle,
        limits: &Limits,
    ) -> Result<(Frame, Settled), DeviceError> {
        self.permitted(permit, step)?;
        self.is_moving = false;
        // For the wait and for the picture.
        let limit = settle.ceiling + limits.action * 2;
        let seen = within(
            "capture the screen",
            limit,
            self.computer.settle_and_capture(settle),
        )
        .await;
        self.note(seen)
    }

    /// The elements to draw numbers on, for the picture of a permitted step.
    pub(crate) async fn marks(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        at_most: usize,
        limits: &Limits,
    ) -> Result<Vec<Mark>, DeviceError> {
        self.permitted(permit, step)?;
        let marks = self.computer.marks(at_most);
        let marks = within("ask for elements", limits.action, marks).await;
        self.note(marks)
    }

    /// Words read off the pixels of what says nothing of itself, for a permitted step.
    pub(crate) async fn words(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        at_most: usize,
    ) -> Result<Vec<Mark>, DeviceError> {
        self.permitted(permit, step)?;
        let words = self.computer.ocr_words(at_most);
        let words = within("read the words on the screen", READING, words).await;
        self.note(words)
    }

    /// What applications or the page say they show, for a permitted step; none when the device
    /// knows of no elements.
    pub(crate) async fn outline(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        limits: &Limits,
    ) -> Result<Option<String>, DeviceError> {
        self.permitted(permit, step)?;
        if !self.computer.supports(&ActionKind::ReadPage) {
            return Ok(None);
        }
        self.settle(limits.settle, limits).await?;
        let read = Action::ReadPage {
            filter: None,
            depth: None,
            root: None,
            tab: None,
        };
        let read = self.computer.perform(&read);
        let read = within("ask for elements", limits.action, read).await;
        Ok(self.note(read)?.text)
    }

    /// Waits until the screen stopped changing.
    async fn settle(&mut self, settle: Settle, limits: &Limits) -> Result<Settled, DeviceError> {
        self.is_moving = false;
        let limit = settle.ceiling + limits.action;
        let settled = within("settle", limit, self.computer.settle(settle)).await;
        self.note(settled)
    }

    /// Between two actions a moment; before a picture it is watched for longer.
    async fn calm(&mut self, limits: &Limits) -> Result<(), DeviceError> {
        if self.is_moving {
            self.settle(limits.between, limits).await?;
        }
        Ok(())
    }

    /// Where the browser is.
    pub(crate) async fn context(&mut self, limits: &Limits) -> Result<PageContext, DeviceError> {
        self.calm(limits).await?;
        let context = within(
            "ask for the tabs",
            limits.action,
            self.computer.page_context(),
        )
        .await;
        self.note(context)
    }

    /// Releases every key and button.
    pub(crate) async fn release(&mut self, limits: &Limits) -> Result<(), DeviceError> {
        let released = within(
            "release the keys",
            limits.action,
            self.computer.release_inputs(),
        )
        .await;
        if released.is_ok() {
            self.held.clear();
        }
        self.note(released)
    }

    pub(crate) async fn close(mut self, limit: Duration) -> Result<(), String> {
        if self.lost.is_none() {
            let _close_ends_them_too =
                within("release the keys", limit, self.computer.release_inputs()).await;
        }
        within("close", limit, self.computer.close())
            .await
            .map_err(|error| error.to_string())
    }

    /// The action that the permission is for, when it is for this screen.
    fn permitted<'a>(
        &self,
        permit: &'a Permitted<ScreenProposal>,
        step: usize,
    ) -> Result<&'a Action, DeviceError> {
        let proposal = permit.proposal();
        let action = (proposal.device == self.device)
            .then(|| proposal.actions.get(step))
            .flatten();
        action.ok_or_else(|| DeviceError::Refused {
            message: "There is no permission for this step.".to_owned(),
        })
    }

    /// Remembers when the device is gone.
    fn note<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ DeviceError::Disconnected { .. }) = &result {
            self.lost = Some(error.to_string());
        }
        result
    }
}

fn unpermitted() -> DeviceError {
    DeviceError::Refused {
        message: "There is no permission for this step.".to_owned(),
    }
}

/// How long an action takes by its own words.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these say how long they take"
)]
fn meant_duration(action: &Action) -> Duration {
    match action {
        Action::HoldKey { duration, .. } => *duration,
        Action::Drag { duration, .. } | Action::LongPress { duration, .. } => {
            duration.unwrap_or_default()
        }
        _ => Duration::ZERO,
    }
}

/// A device promises to end in bounded time; this holds when it does not.
async fn within<T>(
    what: &'static str,
    limit: Duration,
    future: impl Future<Output = Result<T, DeviceError>>,
) -> Result<T, DeviceError> {
    match tokio::time::timeout(limit, future).await {
        Ok(result) => result,
        Err(_) => Err(DeviceError::Timeout {
            what,
            limit_ms: crate::recorder::millis(limit),
        }),
    }
}

/// Waits until a person stops one of these screens.
pub(crate) fn until_stopped<'a>(screens: impl IntoIterator<Item = &'a Screen>) -> UntilStopped {
    let mut stops: Vec<UntilStopped> = screens.into_iter().map(Screen::until_stopped).collect();
    Box::pin(poll_fn(move |context| {
        let told = stops.iter_mut().map(|stop| stop.as_mut().poll(context));
        told.fold(Poll::Pending, |told, next| match told {
            Poll::Ready(why) => Poll::Ready(why),
            Poll::Pending => next,
        })
    }))
}

/// What comes of it, unless a person stops the session first: then it is dropped.
pub(crate) async fn unless<T>(
    stop: impl Future<Output = &'static str>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        _why = stop => None,
    }
}

/// An error's text as a sentence for the model.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// What a lost device answers with.
pub(crate) fn lost(device: DeviceKind, message: &str) -> Failure {
    let device = device.name();
    Failure::new(
        FailureKind::Device,
        format!("The {device} is gone: failed to {message}."),
    )
}
