//! The only place of a session that acts on devices. Every function that acts requires a permission.

mod editor;
mod shell;

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use telechir_device::{
    ActionReport, Computer, DeviceError, DevtoolsSource, Frame, Labels, Mark, PageContext,
    PageOutlineSource, PartLocation, ScreenPart, ScreenRegion, ScreenViewer, Settle, Settled,
    StopSignal, UntilStopped, Viewport, Window,
};
use telechir_policy::{
    Device, DisplayOwner, Permitted, PointedWindows, ScreenProposal, ScreenWindows,
    update_pressed_keys,
};
use telechir_protocol::{Action, ActionKind, Chord, Failure, FailureKind, Key, Size, Target};

use crate::observe::LastFrame;
use crate::{DeviceKind, ScreenshotRule, SessionLimits};
pub(crate) use shell::{CommandLimits, ShellSlot};

pub(crate) use editor::EditorSlot;

/// How long an action waits for a page that specifies no duration.
const DEFAULT_WAIT_FOR: Duration = Duration::from_secs(10);
/// OCR of a full screen is slow.
const OCR_TIMEOUT: Duration = Duration::from_secs(30);

/// A screen of the session and its state.
#[derive(Debug)]
pub(crate) struct ScreenSlot {
    computer: Box<dyn Computer>,
    pub(crate) device: Device,
    pub(crate) display: DisplayOwner,
    /// Maps points of the latest screenshot to the screen.
    pub(crate) viewport: Viewport,
    /// The latest screenshot of the full visible region.
    pub(crate) last_frame: Option<LastFrame>,
    /// Meaning of the labels on the latest labelled screenshot.
    pub(crate) labels: Labels,
    /// Keys that earlier calls left pressed.
    pub(crate) pressed: Vec<Key>,
    /// The device's last error, once it is gone.
    pub(crate) lost: Option<String>,
    /// How often a person had had control when the model last got a screenshot.
    pub(crate) seen_epoch: u64,
    /// The windows as of the latest result; absent before the first.
    pub(crate) windows: Option<Vec<Window>>,
    /// Whether it was acted on since it last settled.
    is_moving: bool,
}

impl ScreenSlot {
    pub(crate) fn new(
        computer: Box<dyn Computer>,
        device: Device,
        display: DisplayOwner,
        rule: ScreenshotRule,
    ) -> Self {
        let mut screen = Self {
            viewport: Viewport::unscaled(computer.size()),
            computer,
            device,
            display,
            last_frame: None,
            labels: Labels::default(),
            pressed: Vec::new(),
            lost: None,
            seen_epoch: 0,
            windows: None,
            is_moving: false,
        };
        screen.viewport = screen.default_viewport(rule);
        screen
    }

    /// A view of the screen for people, if the device has one.
    pub(crate) fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        self.computer.viewer()
    }

    /// The page of the screen for people, if it is a browser.
    pub(crate) fn page_outline(&self) -> Option<Box<dyn PageOutlineSource>> {
        self.computer.page_outline()
    }

    /// The DevTools protocol of the screen, if it is a browser.
    pub(crate) fn devtools(&self) -> Option<Box<dyn DevtoolsSource>> {
        self.computer.devtools()
    }

    /// Notes that something else than a call acted, so that the next look waits until it has settled.
    pub(crate) fn note_acted(&mut self) {
        self.is_moving = true;
    }

    pub(crate) fn kind(&self) -> DeviceKind {
        match self.device {
            Device::Desktop => DeviceKind::Desktop,
            Device::Browser => DeviceKind::Browser,
        }
    }

    /// The region of the screen that the model sees.
    pub(crate) fn visible_region(&mut self) -> ScreenRegion {
        match self.computer.window_system() {
            Some(windows) => windows.visible_region(),
            None => ScreenRegion::of_screen(self.computer.size()),
        }
    }

    /// The viewport of a screenshot of the visible region.
    pub(crate) fn default_viewport(&mut self, rule: ScreenshotRule) -> Viewport {
        let visible_region = self.visible_region();
        Viewport::of_part(
            self.computer.size(),
            visible_region,
            rule.fit(visible_region.size()),
        )
    }

    /// Why the kill switch stopped this screen.
    pub(crate) fn stopped(&self) -> Option<&'static str> {
        self.computer.kill_switch()?.stopped()
    }

    /// Waits for the kill switch; none without one.
    fn until_stopped(&self) -> Option<UntilStopped> {
        self.computer.kill_switch().map(StopSignal::until_stopped)
    }

    /// Begins a turn of the model.
    pub(crate) fn begin_turn(&mut self) {
        if let Some(page) = self.computer.page() {
            page.begin_turn();
        }
    }

    fn pass_viewport(&mut self) {
        if let Some(windows) = self.computer.window_system() {
            windows.set_viewport(self.viewport);
        }
        if let Some(page) = self.computer.page() {
            page.set_viewport(self.viewport);
        }
    }

    pub(crate) fn screenshot_size(&self) -> Size {
        self.viewport.screenshot()
    }

    /// Whether the runtime or the device supports this kind of action.
    pub(crate) fn supports(&self, kind: ActionKind) -> bool {
        let is_runtime_action = matches!(
            kind,
            ActionKind::Screenshot
                | ActionKind::ObserveScreen
                | ActionKind::Zoom
                | ActionKind::Wait
        );
        is_runtime_action || (kind != ActionKind::Other && self.computer.supports(&kind))
    }

    /// The first key of a chord that the device does not know.
    pub(crate) fn unknown_key<'a>(&self, chord: &'a Chord) -> Option<&'a Key> {
        let mut keys = chord.keys().iter();
        keys.find(|key| !self.computer.has_key(key))
    }

    /// The windows that the input of these actions can reach, once earlier actions have had their
    /// effect.
    pub(crate) async fn input_windows(
        &mut self,
        actions: &[Action],
        limits: &SessionLimits,
    ) -> ScreenWindows {
        if self.computer.window_system().is_none() {
            return ScreenWindows::None;
        }
        if self.lost.is_some() || self.settle_after_action(limits).await.is_err() {
            return ScreenWindows::Unknown;
        }
        let on_screen = |action| self.viewport.labelled_action(action, &self.labels).ok();
        let actions: Vec<_> = actions.iter().map(on_screen).collect();
        let Some(windows) = self.computer.window_system() else {
            return ScreenWindows::None;
        };
        let listed = windows.input_windows(&actions);
        let listed = within("list the windows", limits.action_timeout, listed).await;
        match self.note_loss(listed) {
            Ok(listed) => ScreenWindows::Listed {
                focused: listed.focused,
                all: listed.all,
                under: listed.under.into_iter().map(pointed).collect(),
            },
            Err(_) => ScreenWindows::Unknown,
        }
    }

    /// The windows of the screen, from back to front; none if the device has no windows.
    pub(crate) async fn list_windows(
        &mut self,
        limits: &SessionLimits,
    ) -> Result<Option<Vec<Window>>, DeviceError> {
        let Some(windows) = self.computer.window_system() else {
            return Ok(None);
        };
        let listed = within("list the windows", limits.action_timeout, windows.windows()).await;
        self.note_loss(listed).map(Some)
    }

    /// Performs one action on the device. Its input may reach only `windows`; absent means all.
    pub(crate) async fn perform(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        windows: Option<Vec<Vec<String>>>,
        limits: &SessionLimits,
    ) -> Result<ActionReport, DeviceError> {
        let action = self.permitted(permit, step)?;
        self.settle_after_action(limits).await?;
        let on_screen = self
            .viewport
            .labelled_action(action, &self.labels)
            .map_err(|error| DeviceError::Refused {
                message: sentence(&error.to_string()),
            })?;
        self.pass_viewport();
        if let Some(system) = self.computer.window_system() {
            system.limit_input(windows);
        }
        let limit = limits.action_timeout + requested_duration(action);
        let done = within(
            "perform the action",
            limit,
            self.computer.perform(&on_screen),
        )
        .await;
        self.is_moving |= !only_reads(action.kind());
        if done.is_ok() {
            update_pressed_keys(&mut self.pressed, action);
        }
        let done = done.map_err(|error| self.with_label_target(error, action));
        self.note_loss(done)
    }

    /// Performs an action of a person who has control. Its points are pixels of the visible region.
    pub(crate) async fn perform_for_person(
        &mut self,
        action: &Action,
        limits: &SessionLimits,
    ) -> Result<(), DeviceError> {
        let visible = self.visible_region();
        let viewport = Viewport::of_part(self.computer.size(), visible, visible.size());
        let on_screen = viewport
            .action(action)
            .map_err(|error| DeviceError::Refused {
                message: sentence(&error.to_string()),
            })?;
        if let Some(system) = self.computer.window_system() {
            system.limit_input(None);
        }
        let performed = self.computer.perform(&on_screen);
        let done = within("perform the action", limits.action_timeout, performed).await;
        self.is_moving = true;
        self.note_loss(done).map(drop)
    }

    /// Replaces the ref of a stale target by the label that the model used, since it knows no refs.
    fn with_label_target(&self, error: DeviceError, action: &Action) -> DeviceError {
        match (&error, action.target(), self.labels.newest()) {
            (DeviceError::Stale { .. }, Some(Target::Label { n, .. }), Some(newest)) => {
                let target = format!("label {n} of {newest}, the latest labelled screenshot");
                DeviceError::Stale { target }
            }
            _ => error,
        }
    }

    /// Finds the region of a window or a monitor.
    pub(crate) async fn locate(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        part: &ScreenPart,
        limits: &SessionLimits,
    ) -> Result<PartLocation, DeviceError> {
        self.permitted(permit, step)?;
        self.settle_after_action(limits).await?;
        self.pass_viewport();
        let Some(windows) = self.computer.window_system() else {
            return Err(no_parts(part));
        };
        let located = windows.locate_part(part);
        let located = within("find it", limits.action_timeout, located).await;
        self.note_loss(located)
    }

    /// Scrolls the element of a permitted step into view and finds its region.
    pub(crate) async fn locate_element(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        limits: &SessionLimits,
    ) -> Result<PartLocation, DeviceError> {
        let action = self.permitted(permit, step)?;
        self.settle_after_action(limits).await?;
        let on_screen = self.viewport.labelled_action(action, &self.labels);
        let on_screen = on_screen.map_err(|error| DeviceError::Refused {
            message: sentence(&error.to_string()),
        })?;
        let (Some(target), Some(page)) = (on_screen.target(), self.computer.page()) else {
            return Err(DeviceError::Unsupported {
                action: action.name().to_owned(),
                device: "screen",
            });
        };
        let located = page.locate_element(target);
        let located = within("find it", limits.action_timeout, located).await;
        let located = located.map_err(|error| self.with_label_target(error, action));
        self.note_loss(located)
    }

    /// Captures a region for a permitted step with more pixels than the screen has; none if the
    /// device cannot.
    pub(crate) async fn capture_detail(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        region: ScreenRegion,
        limits: &SessionLimits,
    ) -> Result<Option<Frame>, DeviceError> {
        self.permitted(permit, step)?;
        let Some(page) = self.computer.page() else {
            return Ok(None);
        };
        let detail = page.capture_detail(region);
        let detail = within("capture the screen", limits.action_timeout, detail).await;
        self.note_loss(detail)
    }

    /// Waits until the screen settles, then captures it.
    pub(crate) async fn settle_and_capture(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        settle: Settle,
        limits: &SessionLimits,
    ) -> Result<(Frame, Settled), DeviceError> {
        self.permitted(permit, step)?;
        self.is_moving = false;
        // One for the wait and one for the capture.
        let limit = settle.ceiling + limits.action_timeout * 2;
        let seen = within(
            "capture the screen",
            limit,
            self.computer.settle_and_capture(settle),
        )
        .await;
        self.note_loss(seen)
    }

    /// The elements to label on the screenshot of a permitted step.
    pub(crate) async fn marks(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        max_marks: usize,
        limits: &SessionLimits,
    ) -> Result<Vec<Mark>, DeviceError> {
        self.permitted(permit, step)?;
        let Some(elements) = self.computer.element_marks() else {
            return Ok(Vec::new());
        };
        let marks = elements.marks(max_marks);
        let marks = within("list the elements", limits.action_timeout, marks).await;
        self.note_loss(marks)
    }

    /// Words recognized by OCR in areas without accessibility information, for a permitted step.
    pub(crate) async fn ocr(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        max_marks: usize,
    ) -> Result<Vec<Mark>, DeviceError> {
        self.permitted(permit, step)?;
        let Some(elements) = self.computer.element_marks() else {
            return Ok(Vec::new());
        };
        let ocr = elements.ocr_words(max_marks);
        let ocr = within("recognize the text on the screen", OCR_TIMEOUT, ocr).await;
        self.note_loss(ocr)
    }

    /// The outline of the page or the applications, for a permitted step; none when the device has
    /// no elements.
    pub(crate) async fn outline(
        &mut self,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        limits: &SessionLimits,
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
        let read = within("list the elements", limits.action_timeout, read).await;
        Ok(self.note_loss(read)?.text)
    }

    /// Waits until the screen settles.
    async fn settle(
        &mut self,
        settle: Settle,
        limits: &SessionLimits,
    ) -> Result<Settled, DeviceError> {
        self.is_moving = false;
        let limit = settle.ceiling + limits.action_timeout;
        let settled = within("settle", limit, self.computer.settle(settle)).await;
        self.note_loss(settled)
    }

    /// Settles briefly before the next action; before a screenshot the wait is longer.
    async fn settle_after_action(&mut self, limits: &SessionLimits) -> Result<(), DeviceError> {
        if self.is_moving {
            self.settle(limits.settle_between_actions, limits).await?;
        }
        Ok(())
    }

    /// The browser's URL and tabs; empty for a desktop.
    pub(crate) async fn context(
        &mut self,
        limits: &SessionLimits,
    ) -> Result<PageContext, DeviceError> {
        self.settle_after_action(limits).await?;
        let Some(page) = self.computer.page() else {
            return Ok(PageContext::default());
        };
        let context = within("list the tabs", limits.action_timeout, page.page_context()).await;
        self.note_loss(context)
    }

    /// Releases all pressed keys and buttons.
    pub(crate) async fn release(&mut self, limits: &SessionLimits) -> Result<(), DeviceError> {
        let released = within(
            "release the keys",
            limits.action_timeout,
            self.computer.release_inputs(),
        )
        .await;
        if released.is_ok() {
            self.pressed.clear();
        }
        self.note_loss(released)
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

    /// The action of the permitted proposal, if it is for this screen.
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
            message: "This step has no permission.".to_owned(),
        })
    }

    /// Records when the device is gone.
    fn note_loss<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ DeviceError::Disconnected { .. }) = &result {
            self.lost = Some(error.to_string());
        }
        result
    }
}

/// Windows under points, as the policy reads them.
fn pointed(windows: Option<telechir_device::PointedWindows>) -> Option<PointedWindows> {
    windows.map(|windows| PointedWindows {
        names: windows.names,
        passes_on: windows.passes_on,
    })
}

/// The error for a part of a screen without windows and monitors.
fn no_parts(part: &ScreenPart) -> DeviceError {
    let action = match part {
        ScreenPart::Window(_) => ActionKind::CaptureWindow,
        ScreenPart::Monitor(_) => ActionKind::CaptureMonitor,
    };
    DeviceError::Unsupported {
        action: action.name().to_owned(),
        device: "screen",
    }
}

fn no_permission() -> DeviceError {
    DeviceError::Refused {
        message: "This step has no permission.".to_owned(),
    }
}

/// The duration that the action itself specifies.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these actions specify a duration"
)]
fn requested_duration(action: &Action) -> Duration {
    match action {
        Action::HoldKey { duration, .. } => *duration,
        Action::WaitFor { duration, .. } => duration.unwrap_or(DEFAULT_WAIT_FOR),
        Action::Drag { duration, .. } | Action::LongPress { duration, .. } => {
            duration.unwrap_or_default()
        }
        _ => Duration::ZERO,
    }
}

/// Limits a device call. Devices should end in bounded time; this holds when one does not.
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

/// Waits until the kill switch stops one of these screens.
pub(crate) fn until_stopped<'a>(screens: impl IntoIterator<Item = &'a ScreenSlot>) -> UntilStopped {
    let stops = screens.into_iter().filter_map(ScreenSlot::until_stopped);
    let mut stops: Vec<UntilStopped> = stops.collect();
    Box::pin(poll_fn(move |context| {
        let stopped = stops.iter_mut().map(|stop| stop.as_mut().poll(context));
        stopped.fold(Poll::Pending, |stopped, next| match stopped {
            Poll::Ready(why) => Poll::Ready(why),
            Poll::Pending => next,
        })
    }))
}

/// Runs `work` unless the kill switch stops the session first; then `work` is dropped.
pub(crate) async fn or_stopped<T>(
    stop: impl Future<Output = &'static str>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        _why = stop => None,
    }
}

/// Formats an error as a sentence for the model.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// The failure of every call to a device that is gone.
pub(crate) fn lost(device: DeviceKind, message: &str) -> Failure {
    let device = device.name();
    Failure::new(
        FailureKind::Device,
        format!("The {device} is gone: failed to {message}."),
    )
}

/// Whether an action leaves the screen as it is, so that nothing has to settle after it.
fn only_reads(kind: ActionKind) -> bool {
    matches!(
        kind,
        ActionKind::CursorPosition
            | ActionKind::ReadPage
            | ActionKind::PageText
            | ActionKind::Find
            | ActionKind::ReadConsole
            | ActionKind::ReadNetwork
            | ActionKind::ReadRequest
            | ActionKind::ListTabs
            | ActionKind::ListWindows
            | ActionKind::ListMonitors
            | ActionKind::ReadClipboard
    )
}
