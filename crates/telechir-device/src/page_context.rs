//! An optional ability of a computer: it shows pages in tabs.

use async_trait::async_trait;
use telechir_protocol::{ActionKind, StateChange, TabState};

use crate::{DeviceError, Frame, PartLocation, ScreenRegion, ScreenTarget, Viewport};

/// A browser's page and tabs.
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

/// A browser that reports its page and tabs.
#[async_trait]
pub trait PageContextSource: Send {
    /// Returns the browser's page and tabs.
    ///
    /// # Errors
    /// When the device is gone.
    async fn page_context(&mut self) -> Result<PageContext, DeviceError>;

    /// Begins a turn: the model has read what earlier results report. A source whose actions depend
    /// on what the model knows, such as the answer to a dialog, compares with it; others ignore it.
    fn begin_turn(&mut self) {}

    /// Sets the mapping between the latest screenshot and the screen, so that positions in texts
    /// are those of the screenshot. A source without positions ignores it.
    fn set_viewport(&mut self, _viewport: Viewport) {}

    /// Scrolls an element into view and returns the part of it that the screen shows.
    ///
    /// # Errors
    /// When the element is gone or not visible, or the device cannot find elements.
    async fn locate_element(
        &mut self,
        _target: &ScreenTarget,
    ) -> Result<PartLocation, DeviceError> {
        Err(DeviceError::Unsupported {
            action: ActionKind::CaptureElement.name().to_owned(),
            device: "page",
        })
    }

    /// Captures a region of the screen with more pixels than the screen has there; none if the
    /// device cannot.
    ///
    /// # Errors
    /// When the device is gone.
    async fn capture_detail(
        &mut self,
        _region: ScreenRegion,
    ) -> Result<Option<Frame>, DeviceError> {
        Ok(None)
    }
}
