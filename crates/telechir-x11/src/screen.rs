//! The [`Screen`] that a browser window is shown on.

use telechir_device::{DeviceError, Frame, Screen, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::Instant;

use crate::display::XDisplay;
use crate::screen_view::ScreenView;
use crate::settle::SettleMode;

/// A screen without input: the browser in the window provides its own.
///
/// Created by [`PrivateDisplay::into_screen`](crate::PrivateDisplay::into_screen) and
/// [`ExistingDisplay::into_screen`](crate::ExistingDisplay::into_screen).
#[derive(Debug)]
pub struct XScreen {
    view: ScreenView,
    display: XDisplay,
}

impl XScreen {
    pub(crate) async fn open(display: XDisplay) -> Result<Self, DeviceError> {
        let view = ScreenView::open(display.connect().await?).await?;
        Ok(Self { view, display })
    }
}

impl Screen for XScreen {
    fn size(&self) -> Size {
        self.view.size()
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.display.environment()
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        Ok(self.view.capture().await?)
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let programs = self.display.programs();
        // The browser tracks its own actions. If not all drawing processes can be sampled, a change
        // may still be pending.
        let acted = programs.is_none().then(Instant::now);
        let mode = SettleMode::Frame;
        let settled = self.view.settle(settle, acted, programs.as_deref(), mode);
        Ok(settled.await?)
    }

    async fn close(self) -> Result<(), DeviceError> {
        let Self { view, display } = self;
        drop(view);
        display.close().await
    }
}
