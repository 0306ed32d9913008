//! What happens after the X server of a private desktop exits: the loss is explained, and the
//! desktop restarted, if enabled.

use telechir_device::{DeviceEnd, DeviceError};

use crate::PrivateDisplay;
use crate::desktop::Desktop;
use crate::display::XDisplay;
use crate::display_io::DisplayIo;

impl Desktop {
    /// Starts a new private display when its X server exits. The running action fails with
    /// [`DeviceError::Restarted`]. Has no effect on an existing display.
    #[must_use]
    pub const fn restarting(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Passes an outcome through; after the loss of the server, restarts the desktop.
    pub(crate) async fn or_restart<T>(
        &mut self,
        outcome: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let outcome = self.display.explain(outcome).await;
        let Err(DeviceError::Disconnected { device, source }) = outcome else {
            return outcome;
        };
        let options = self.display.private().map(|display| display.options());
        // The kill switch ended with the server; without it the session must not continue.
        let may_restart = self.restarts && !self.has_kill_switch();
        let Some(options) = options.filter(|_| may_restart) else {
            return Err(DeviceError::Disconnected { device, source });
        };
        tracing::warn!(%source, "the X server exited; starting a new desktop");
        let fresh = PrivateDisplay::start(options).await?;
        let display = XDisplay::Private(Box::new(fresh));
        self.io = DisplayIo::on(display.connect().await?).await?;
        self.display = display;
        Err(DeviceError::Restarted { device })
    }
}

impl XDisplay {
    /// Adds to the loss of a private server how it ended.
    pub(crate) async fn explain<T>(
        &self,
        outcome: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let (Err(DeviceError::Disconnected { device, .. }), Self::Private(display)) =
            (&outcome, self)
        else {
            return outcome;
        };
        let device = *device;
        match display.server_end().await {
            Some(reason) => Err(DeviceError::Disconnected {
                device,
                source: Box::new(DeviceEnd { reason }),
            }),
            None => outcome,
        }
    }
}
