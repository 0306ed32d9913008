//! The screen of a browser's window, which has no input of its own.

use std::fmt;

use async_trait::async_trait;
use telechir_protocol::Size;

use crate::{DeviceError, Frame, ScreenViewer, Settle, Settled};

/// The screen that a browser's window is on.
#[async_trait]
pub trait Screen: Send + fmt::Debug {
    /// The screen's size in pixels.
    fn size(&self) -> Size;

    /// Environment variables for programs that show windows on it, such as `DISPLAY`.
    fn environment(&self) -> Vec<(String, String)>;

    /// Captures the pixels as they are now.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn capture(&mut self) -> Result<Frame, DeviceError>;

    /// A view of this screen for people, independent of what the browser does.
    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        None
    }

    /// Waits until everything drawn is visible and the screen is still, or for the ceiling. The
    /// caller knows what is still to be drawn; a screen that is still returns at once.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError>;

    /// Ends the screen and every process that it started.
    ///
    /// # Errors
    /// When something could not be ended.
    async fn close(self: Box<Self>) -> Result<(), DeviceError>;
}
