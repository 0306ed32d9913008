//! What a browser needs of the screen its window is on.

use telechir_device::{DeviceError, Frame, Screen, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::Instant;

use crate::display::Display;
use crate::screen_view::Eyes;
use crate::settle::Patience;

/// A screen that is only looked at: whoever shows a window on it brings its own input.
///
/// Made by [`PrivateDisplay::into_screen`](crate::PrivateDisplay::into_screen) and
/// [`ExistingDisplay::into_screen`](crate::ExistingDisplay::into_screen).
#[derive(Debug)]
pub struct XScreen {
    eyes: Eyes,
    display: Display,
}

impl XScreen {
    pub(crate) async fn open(display: Display) -> Result<Self, DeviceError> {
        let eyes = Eyes::open(display.connect().await?).await?;
        Ok(Self { eyes, display })
    }
}

impl Screen for XScreen {
    fn size(&self) -> Size {
        self.eyes.size()
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.display.environment()
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        Ok(self.eyes.capture().await?)
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let programs = self.display.programs();
        // What is done to the window on it, and what is to come of that, whoever shows it knows.
        // Where not all who draw can be looked at, it may be about to be drawn.
        let acted = programs.is_none().then(Instant::now);
        let patience = Patience::Frame;
        let settled = self
            .eyes
            .settle(settle, acted, programs.as_deref(), patience);
        Ok(settled.await?)
    }

    async fn close(self) -> Result<(), DeviceError> {
        let Self { eyes, display } = self;
        drop(eyes);
        display.close().await
    }
}
