//! A browser that ended under us: another one takes its place, and whoever asked is told.

use telechir_device::DeviceError;

use super::{Browser, Chromium};
use crate::options::Surface;

impl Browser {
    /// The same, unless the browser is gone: then a fresh one is there, and the error says so.
    pub(super) async fn or_anew<T>(
        &mut self,
        result: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let Err(lost @ DeviceError::Disconnected { .. }) = result else {
            return result;
        };
        // The screen of its window may be what is gone; nothing helps then. Nor is another's ours.
        let is_ours = matches!(self.chromium, Chromium::Started { .. });
        if self.client.is_lost().is_none() || !is_ours {
            return Err(lost);
        }
        match self.begin_anew().await {
            Ok(()) => Err(DeviceError::Restarted { device: "browser" }),
            Err(error) => {
                tracing::warn!(%error, "no other browser could be started in its place");
                Err(lost)
            }
        }
    }

    async fn begin_anew(&mut self) -> Result<(), DeviceError> {
        let surface = match self.screen.take() {
            Some(screen) => Surface::Window(screen),
            None => Surface::Headless(self.size),
        };
        let mut fresh = Self::launch(surface, self.options.clone()).await?;
        // Refs are never given twice: what they mean is known on, and is gone.
        std::mem::swap(&mut fresh.snapshots, &mut self.snapshots);
        *self = fresh;
        Ok(())
    }
}
