//! A screen that can be captured and acted on, and its contract.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use telechir_protocol::{ActionKind, Size, StateChange, TabState, UnsettledReason};

use crate::{DeviceError, Frame, Mark, ScreenAction, ScreenRegion, Viewport};

/// The strongest statement that is true of an action's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It was sent; its effect was not observed.
    Delivered,
    /// Its effect was observed.
    Confirmed,
}

/// A device's report on an action it performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionReport {
    /// What is known about the effect.
    pub effect: Effect,
    /// Text output: `X=512,Y=384`, a page's text.
    pub text: Option<String>,
}

impl ActionReport {
    /// An action that was sent, without text output.
    pub const fn delivered() -> Self {
        Self {
            effect: Effect::Delivered,
            text: None,
        }
    }

    /// An action whose effect was observed, without text output.
    pub const fn confirmed() -> Self {
        Self {
            effect: Effect::Confirmed,
            text: None,
        }
    }
}

/// How long to wait for a screen to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// The screen counts as settled after this time without changes. A device that knows the
    /// programs on its screen also waits for busy ones, and ends the wait early once none can draw;
    /// one that observes large changes may wait longer.
    pub quiet: Duration,
    /// The maximum length of the wait.
    pub ceiling: Duration,
}

/// The result of waiting for a screen to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Why the screen did not settle; none if it did.
    pub unsettled: Option<UnsettledReason>,
    /// Length of the wait.
    pub waited: Duration,
    /// The smallest rectangle around a region that keeps changing by itself, such as a spinner or a
    /// video, if everything else settled.
    pub animated_region: Option<ScreenRegion>,
}

impl Settled {
    /// Whether the screen settled before the ceiling.
    pub const fn is_settled(&self) -> bool {
        self.unsettled.is_none()
    }
}

/// A part of the screen that only the device can locate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenPart {
    /// A window, as in [`Action::FocusWindow`](telechir_protocol::Action::FocusWindow); absent
    /// means the active one.
    Window(Option<String>),
    /// A monitor by name or number; absent means the primary one.
    Monitor(Option<String>),
}

/// The location of a part of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartLocation {
    /// The part's region on the screen.
    pub region: ScreenRegion,
    /// What the part is, and what its screenshot does not show.
    pub description: String,
}

/// A browser's page and tabs. Empty for a desktop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageContext {
    /// URL of the active tab.
    pub url: Option<String>,
    /// All tabs; exactly one is active if there are any.
    pub tabs: Vec<TabState>,
    /// Events since the last report that the action did not request.
    pub changes: Vec<StateChange>,
    /// The same events and more as text: dialogs, downloads, crashes.
    pub notes: Option<String>,
}

/// Completes with the reason when the kill switch stops a computer; otherwise never.
pub type UntilStopped = Pin<Box<dyn Future<Output = &'static str> + Send>>;

/// A screen with a pointer and a keyboard and, for a browser, URLs and tabs.
///
/// Contract: after an error or a dropped future, no key or button that the action pressed stays
/// pressed (except by `MouseDown` and `KeyDown`, which are meant to). Every function ends in
/// bounded time. the runtime performs `Screenshot`, `Zoom`, `Wait`, `ObserveScreen`,
/// `CaptureWindow` and `CaptureMonitor` itself; they never reach `perform`.
pub trait Computer: Send {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Whether `perform` supports actions of this kind.
    fn supports(&self, kind: &ActionKind) -> bool;

    /// Captures the pixels as they are now, including the pointer.
    ///
    /// # Errors
    /// When the screen is gone.
    fn capture(&mut self) -> impl Future<Output = Result<Frame, DeviceError>> + Send;

    /// Why the kill switch stopped this computer; none if it did not. After that every action fails
    /// with [`DeviceError::Stopped`].
    fn stopped(&self) -> Option<&'static str> {
        None
    }

    /// Returns at most `at_most` elements to label, in reading order: interactive and in view. None
    /// if no elements are known.
    ///
    /// # Errors
    /// When accessibility information should be available but cannot be read.
    fn marks(
        &mut self,
        _at_most: usize,
    ) -> impl Future<Output = Result<Vec<Mark>, DeviceError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Returns at most `at_most` words recognized in areas without accessibility information, from
    /// top to bottom. None if there are no such areas, or no text recognizer.
    ///
    /// # Errors
    /// When OCR should be available but is not; the error says how to enable it.
    fn ocr_words(
        &mut self,
        _at_most: usize,
    ) -> impl Future<Output = Result<Vec<Mark>, DeviceError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Waits until the kill switch stops this computer, concurrently with other work.
    fn until_stopped(&self) -> UntilStopped {
        Box::pin(std::future::pending())
    }

    /// The region of the screen that the model sees: the complete screen, or one monitor if so
    /// configured.
    fn visible_region(&self) -> ScreenRegion {
        ScreenRegion::of_screen(self.size())
    }

    /// Locates a part of the screen, for a screenshot of it alone.
    ///
    /// # Errors
    /// When there is no such part, or several, or the device does not support parts.
    fn locate_part(
        &mut self,
        part: &ScreenPart,
    ) -> impl Future<Output = Result<PartLocation, DeviceError>> + Send {
        let action = match part {
            ScreenPart::Window(_) => ActionKind::CaptureWindow,
            ScreenPart::Monitor(_) => ActionKind::CaptureMonitor,
        };
        std::future::ready(Err(DeviceError::Unsupported {
            action: action.name().to_owned(),
            device: "screen",
        }))
    }

    /// Sets the viewport of later actions. Text output has points as in [`Viewport::screenshot_point`]; a
    /// device without points in its output can ignore this.
    fn set_viewport(&mut self, _viewport: Viewport) {}

    /// Reports an action on the screen outside of [`perform`](Self::perform): the next settle waits
    /// for its effect.
    fn note_action(&mut self) {}

    /// Performs one action and reports its effect.
    ///
    /// # Errors
    /// When the action cannot be performed here, or the device is gone.
    fn perform(
        &mut self,
        action: &ScreenAction,
    ) -> impl Future<Output = Result<ActionReport, DeviceError>> + Send;

    /// Waits until the screen settles, or for the ceiling. Call it right after `perform`.
    ///
    /// # Errors
    /// When the screen is gone.
    fn settle(
        &mut self,
        settle: Settle,
    ) -> impl Future<Output = Result<Settled, DeviceError>> + Send;

    /// Waits until the screen settles, or for the ceiling, and captures it; a device may reuse the
    /// frame that it settled with.
    ///
    /// # Errors
    /// When the screen is gone.
    fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> impl Future<Output = Result<(Frame, Settled), DeviceError>> + Send {
        async move {
            let settled = self.settle(settle).await?;
            Ok((self.capture().await?, settled))
        }
    }

    /// Returns the browser's page and tabs.
    ///
    /// # Errors
    /// When the device is gone.
    fn page_context(&mut self) -> impl Future<Output = Result<PageContext, DeviceError>> + Send;

    /// Releases every pressed key and button.
    ///
    /// # Errors
    /// When the device is gone.
    fn release_inputs(&mut self) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Releases keys and buttons and ends every process that the device started.
    ///
    /// # Errors
    /// When something could not be ended; the rest was.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}

/// The screen that a browser's window is on.
pub trait Screen: Send {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Environment variables for programs that show windows on it, such as `DISPLAY`.
    fn environment(&self) -> Vec<(String, String)>;

    /// Captures the pixels as they are now.
    ///
    /// # Errors
    /// When the screen is gone.
    fn capture(&mut self) -> impl Future<Output = Result<Frame, DeviceError>> + Send;

    /// Waits until everything drawn is visible and the screen is still, or for the ceiling. The
    /// caller knows what is still to be drawn; a screen that is still returns at once.
    ///
    /// # Errors
    /// When the screen is gone.
    fn settle(
        &mut self,
        settle: Settle,
    ) -> impl Future<Output = Result<Settled, DeviceError>> + Send;

    /// Ends the screen and every process that it started.
    ///
    /// # Errors
    /// When something could not be ended.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}
