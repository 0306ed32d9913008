//! When the X server ends under a desktop of our own: another in its place, where that is wanted.

use telechir_device::DeviceError;

use crate::PrivateDisplay;
use crate::desktop::Desktop;
use crate::display::Display;
use crate::display_io::Body;

impl Desktop {
    /// When its X server ends, starts a fresh desktop in its place. What was under way fails and
    /// says so. Only a private display can be begun anew; on another this changes nothing.
    #[must_use]
    pub const fn beginning_anew(mut self) -> Self {
        self.begins_anew = true;
        self
    }

    /// What an action came to; after the loss of the server, with a fresh desktop in its place.
    pub(crate) async fn or_anew<T>(
        &mut self,
        outcome: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let Err(DeviceError::Disconnected { device, source }) = outcome else {
            return outcome;
        };
        let options = self.display.private().map(|display| display.options());
        // A person's way to stop it ended with the server; without it nothing goes on.
        let may_begin = self.begins_anew && !self.has_switch();
        let Some(options) = options.filter(|_| may_begin) else {
            return Err(DeviceError::Disconnected { device, source });
        };
        tracing::warn!(%source, "the X server ended; a fresh desktop is started");
        let fresh = PrivateDisplay::start(options).await?;
        let display = Display::Private(Box::new(fresh));
        self.body = Body::on(display.connect().await?).await?;
        self.display = display;
        Err(DeviceError::Restarted { device })
    }
}
