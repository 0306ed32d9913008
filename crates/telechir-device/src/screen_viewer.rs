//! An optional ability of a screen: people can look at it while a call uses it.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::{DeviceError, Frame};

/// Captures a screen through a connection of its own, which opens with the first capture, so that
/// looking never waits for the running action and costs nothing while nobody looks.
#[async_trait]
pub trait ScreenViewer: Send + fmt::Debug {
    /// Captures the pixels as they are now: the part of the screen that the session sees.
    ///
    /// # Errors
    /// When the screen is gone, or does not answer in time. The next capture connects again.
    async fn capture(&mut self) -> Result<Frame, DeviceError>;

    /// Waits until the screen may differ from the last capture, at most this long. What cannot be
    /// noticed, such as a pointer that moves, is found by the next capture. Cancel-safe.
    async fn until_changed(&mut self, limit: Duration);

    /// Ends what notices changes: nobody waits for them any more.
    fn rest(&mut self);
}
