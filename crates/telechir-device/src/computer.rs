//! A screen that can be seen and acted on, and what it owes its caller.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use telechir_protocol::{ActionKind, Size, StateChange, TabState, UnsettledReason};

use crate::{DeviceError, Frame, Mark, ScreenAction, ScreenRegion, Viewport};

/// The strongest thing that is true of an action's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It was handed over; whether it did anything was not seen.
    Delivered,
    /// It was seen to take effect.
    Confirmed,
}

/// What a device says of an action it carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionReport {
    /// What is known of its effect.
    pub effect: Effect,
    /// An answer in words: `X=512,Y=384`, a page's text.
    pub text: Option<String>,
}

impl ActionReport {
    /// Handed over, nothing to say.
    pub const fn delivered() -> Self {
        Self {
            effect: Effect::Delivered,
            text: None,
        }
    }

    /// Seen to take effect, nothing to say.
    pub const fn confirmed() -> Self {
        Self {
            effect: Effect::Confirmed,
            text: None,
        }
    }
}

/// How long to wait for a screen to stop changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Without any change for so long, it counts as settled. A device that knows what the
    /// programs on its screen do waits for them too, and no longer once none has anything left
    /// to do; one that sees large changes may wait for longer.
    pub quiet: Duration,
    /// The wait ends here in any case.
    pub ceiling: Duration,
}

/// How a wait for a settled screen ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Why it does not count as settled; none when it does.
    pub unsettled: Option<UnsettledReason>,
    /// How long the wait took.
    pub waited: Duration,
    /// What goes on changing by itself, such as a spinner or a video, when all the rest was
    /// still: the smallest rectangle around it.
    pub animated_region: Option<ScreenRegion>,
}

impl Settled {
    /// Whether it stopped changing before the ceiling.
    pub const fn is_settled(&self) -> bool {
        self.unsettled.is_none()
    }
}

/// A part of the screen by what is there, which only the device knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenPart {
    /// A window, as [`Action::FocusWindow`](telechir_protocol::Action::FocusWindow) names it;
    /// absent means the active one.
    Window(Option<String>),
    /// A monitor by its name or its number; absent means the primary one.
    Monitor(Option<String>),
}

/// Where a part of the screen is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartLocation {
    /// What of it is on the screen.
    pub region: ScreenRegion,
    /// What it is, and what a picture of it does not show.
    pub description: String,
}

/// Where a browser is. Empty for a desktop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageContext {
    /// The address of the active tab.
    pub url: Option<String>,
    /// All tabs; exactly one is active when there are any.
    pub tabs: Vec<TabState>,
    /// What happened beside what was asked, since it was told last.
    pub changes: Vec<StateChange>,
    /// The same and more in words: dialogs, downloads, crashes.
    pub notes: Option<String>,
}

/// Ends with the reason when a person stops a computer; never when nobody does.
pub type UntilStopped = Pin<Box<dyn Future<Output = &'static str> + Send>>;

/// A screen with a pointer and a keyboard, and, for a browser, addresses and tabs.
///
/// Contract: after an error or a dropped future no key or button that the action pressed stays
/// pressed (except by `MouseDown` and `KeyDown`, which are meant to). Every function ends in
/// bounded time. `Screenshot`, `Zoom` and `Wait` are the engine's own and never reach `perform`.
pub trait Computer: Send {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Whether `perform` can carry out actions of this kind.
    fn supports(&self, kind: &ActionKind) -> bool;

    /// The pixels as they are now, pointer included where there is one.
    ///
    /// # Errors
    /// When the screen is gone.
    fn capture(&mut self) -> impl Future<Output = Result<Frame, DeviceError>> + Send;

    /// Why a person stopped it by its kill switch; none when nobody did. From then on every
    /// action fails with [`DeviceError::Stopped`].
    fn stopped(&self) -> Option<&'static str> {
        None
    }

    /// Elements to draw numbers on, at most so many, in the order they are read: what can be acted
    /// on and is in view. None where nothing is known of elements.
    ///
    /// # Errors
    /// When elements should be known and nothing can be heard of them.
    fn marks(
        &mut self,
        _at_most: usize,
    ) -> impl Future<Output = Result<Vec<Mark>, DeviceError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Words that were read off the pixels of what says nothing of itself, at most so many, from
    /// top to bottom. None where everything says what it shows, or nobody reads.
    ///
    /// # Errors
    /// When words should be read and cannot be; the error says how they could.
    fn ocr_words(
        &mut self,
        _at_most: usize,
    ) -> impl Future<Output = Result<Vec<Mark>, DeviceError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Waits until a person stops it by its kill switch: for whoever does something else meanwhile.
    fn until_stopped(&self) -> UntilStopped {
        Box::pin(std::future::pending())
    }

    /// What of the screen is shown to the model: all of it, unless the device was told to show
    /// one monitor.
    fn visible_region(&self) -> ScreenRegion {
        ScreenRegion::whole(self.size())
    }

    /// Where a part of the screen is, for a picture of it alone.
    ///
    /// # Errors
    /// When there is none such, or several, or the device knows no parts.
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

    /// How the model sees the screen from now on. An answer in words says places as
    /// [`Viewport::seen_at`] has them; a device whose answers name none needs not listen.
    fn set_viewport(&mut self, _viewport: Viewport) {}

    /// Something was done to the screen by another way than [`perform`](Self::perform): the next
    /// wait is for what comes of it.
    fn note_action(&mut self) {}

    /// Carries out one action and says what is known of its effect.
    ///
    /// # Errors
    /// When the action cannot be carried out here, or the device is gone.
    fn perform(
        &mut self,
        action: &ScreenAction,
    ) -> impl Future<Output = Result<ActionReport, DeviceError>> + Send;

    /// Waits until the screen stopped changing, or the ceiling. Call it right after `perform`.
    ///
    /// # Errors
    /// When the screen is gone.
    fn settle(
        &mut self,
        settle: Settle,
    ) -> impl Future<Output = Result<Settled, DeviceError>> + Send;

    /// Waits until the screen stopped changing, or the ceiling, and takes its picture; a device
    /// may do both at once where the picture is one of the screen that stopped.
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

    /// Where the browser is.
    ///
    /// # Errors
    /// When the device is gone.
    fn page_context(&mut self) -> impl Future<Output = Result<PageContext, DeviceError>> + Send;

    /// Releases every key and button that is still pressed.
    ///
    /// # Errors
    /// When the device is gone.
    fn release_inputs(&mut self) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Releases keys and buttons and ends every process the device started.
    ///
    /// # Errors
    /// When something could not be ended; what could be, was.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}

/// What a browser needs of the screen its window is on.
pub trait Screen: Send {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Variables that a program needs to show windows on it, such as `DISPLAY`.
    fn environment(&self) -> Vec<(String, String)>;

    /// The pixels as they are now.
    ///
    /// # Errors
    /// When the screen is gone.
    fn capture(&mut self) -> impl Future<Output = Result<Frame, DeviceError>> + Send;

    /// Waits until all that was drawn is seen and the screen is still, or the ceiling. Whoever shows
    /// a window on it knows what is still to come; a screen that is still already is so at once.
    ///
    /// # Errors
    /// When the screen is gone.
    fn settle(
        &mut self,
        settle: Settle,
    ) -> impl Future<Output = Result<Settled, DeviceError>> + Send;

    /// Ends the screen and every process it started.
    ///
    /// # Errors
    /// When something could not be ended.
    fn close(self) -> impl Future<Output = Result<(), DeviceError>> + Send;
}
