//! A screen that can be captured and acted on, and its contract.

use std::fmt;

use async_trait::async_trait;
use telechir_protocol::{ActionKind, Key, Size};

use crate::{
    DeviceError, DevtoolsSource, ElementMarks, Frame, PageContextSource, PageOutlineSource,
    ScreenAction, ScreenViewer, Settle, Settled, StopSignal, WindowSystem,
};

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

/// A screen with a pointer and a keyboard. What only some computers can do is a capability: a trait
/// of its own, which the computer offers through a function that returns none by default.
///
/// Contract: after an error or a dropped future, no key or button that the action pressed stays
/// pressed (except by `MouseDown` and `KeyDown`, which are meant to). Every function ends in
/// bounded time. The runtime performs `Screenshot`, `Zoom`, `Wait`, `ObserveScreen`,
/// `CaptureWindow`, `CaptureMonitor` and `CaptureElement` itself; they never reach `perform`.
#[async_trait]
pub trait Computer: Send + fmt::Debug {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Whether `perform` supports actions of this kind.
    fn supports(&self, kind: &ActionKind) -> bool;

    /// Whether the keyboard has this key, or a name for it. Modifiers, named keys and characters are the
    /// same everywhere.
    fn has_key(&self, key: &Key) -> bool {
        !matches!(key, Key::Other(_))
    }

    /// Captures the pixels as they are now, including the pointer.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn capture(&mut self) -> Result<Frame, DeviceError>;

    /// Performs one action and reports its effect.
    ///
    /// # Errors
    /// When the action cannot be performed here, or the device is gone.
    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError>;

    /// Waits until the screen settles, or for the ceiling. Call it right after `perform`.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError>;

    /// Waits until the screen settles, or for the ceiling, and captures it; a device may reuse the
    /// frame that it settled with.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        let settled = self.settle(settle).await?;
        Ok((self.capture().await?, settled))
    }

    /// Releases every pressed key and button.
    ///
    /// # Errors
    /// When the device is gone.
    async fn release_inputs(&mut self) -> Result<(), DeviceError>;

    /// Releases keys and buttons and ends every process that the device started.
    ///
    /// # Errors
    /// When something could not be ended; the rest was.
    async fn close(self: Box<Self>) -> Result<(), DeviceError>;

    /// The kill switch, if one was configured.
    fn kill_switch(&self) -> Option<&dyn StopSignal> {
        None
    }

    /// A view of this screen for people, independent of what the computer does.
    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        None
    }

    /// The page of a browser for people, independent of what the computer does.
    fn page_outline(&self) -> Option<Box<dyn PageOutlineSource>> {
        None
    }

    /// The DevTools protocol of a browser, for programs that drive it beside calls.
    fn devtools(&self) -> Option<Box<dyn DevtoolsSource>> {
        None
    }

    /// The pages and tabs of a browser.
    fn page(&mut self) -> Option<&mut dyn PageContextSource> {
        None
    }

    /// The elements on the screen, if the device knows any.
    fn element_marks(&mut self) -> Option<&mut dyn ElementMarks> {
        None
    }

    /// The windows and monitors of a desktop.
    fn window_system(&mut self) -> Option<&mut dyn WindowSystem> {
        None
    }
}
