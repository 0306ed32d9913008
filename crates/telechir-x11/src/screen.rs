//! The [`Screen`] that a browser window is shown on.

use async_trait::async_trait;
use telechir_device::{DeviceError, Frame, Screen, ScreenViewer, Settle, Settled};
use telechir_protocol::Size;
use tokio::time::Instant;

use crate::display::XDisplay;
use crate::existing::ExistingDisplay;
use crate::monitors;
use crate::private::PrivateDisplay;
use crate::screen_view::ScreenView;
use crate::settle::SettleMode;
use crate::viewer::XViewer;

/// Refresh rate of the monitor in Hz. Chromium presents a frame at the next refresh; 120 Hz
/// shortens that wait compared to 60 Hz, its default if the server reports nothing. 240 Hz would
/// gain little and slow down animated pages.
const REFRESH_HZ: u32 = 120;

/// A screen without input: the browser in the window provides its own.
///
/// Created by [`PrivateDisplay::into_screen`](crate::PrivateDisplay::into_screen) and
/// [`ExistingDisplay::into_screen`](crate::ExistingDisplay::into_screen).
#[derive(Debug)]
pub struct XScreen {
    view: ScreenView,
    display: XDisplay,
}

impl PrivateDisplay {
    /// Opens a screen for a browser on this display, which ends with it. Sets the refresh rate to
    /// 120 Hz if the server supports it.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn into_screen(self) -> Result<XScreen, DeviceError> {
        let connection = self.connect().await?;
        match monitors::set_rate(&connection, REFRESH_HZ).await {
            Ok(true) => {}
            Ok(false) => tracing::debug!("the refresh rate of the browser's screen is unchanged"),
            Err(error) => {
                tracing::debug!(%error, "the refresh rate of the browser's screen is unchanged")
            }
        }
        XScreen::open(XDisplay::Private(Box::new(self))).await
    }
}

impl ExistingDisplay {
    /// Opens a screen for a browser on this display.
    ///
    /// # Errors
    /// When the server lacks an extension or is gone.
    pub async fn into_screen(self) -> Result<XScreen, DeviceError> {
        XScreen::open(XDisplay::Existing(self)).await
    }
}

impl XScreen {
    pub(crate) async fn open(display: XDisplay) -> Result<Self, DeviceError> {
        let view = ScreenView::open(display.connect().await?).await?;
        Ok(Self { view, display })
    }

    /// Ends every program on a private display.
    ///
    /// # Errors
    /// When something could not be ended.
    pub async fn close(self) -> Result<(), DeviceError> {
        let Self { view, display } = self;
        drop(view);
        display.close().await
    }
}

#[async_trait]
impl Screen for XScreen {
    fn size(&self) -> Size {
        self.view.size()
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.display.environment()
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = self.view.capture().await.map_err(DeviceError::from);
        self.display.explain(frame).await
    }

    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        Some(Box::new(XViewer::new(self.display.address(), None)))
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let programs = self.display.programs();
        // The browser tracks its own actions. If not all drawing processes can be sampled, a change
        // may still be pending.
        let acted = programs.is_none().then(Instant::now);
        let mode = SettleMode::Frame;
        let settled = self.view.settle(settle, acted, programs.as_deref(), mode);
        let settled = settled.await.map_err(DeviceError::from);
        self.display.explain(settled).await
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Self::close(*self).await
    }
}
