//! Starts a new browser after Chromium exited unexpectedly.

use telechir_device::DeviceError;

use super::Browser;
use crate::launch::Chromium;
use crate::options::{OwnNetwork, Surface};

impl Browser {
    /// Returns the result, unless the browser is gone: then starts a new one, and the error says
    /// so.
    pub(super) async fn or_relaunch<T>(
        &mut self,
        result: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let Err(lost @ DeviceError::Disconnected { .. }) = result else {
            return result;
        };
        // If the screen is gone, too, a restart does not help. Chromium of another owner is not
        // restarted.
        let is_own = matches!(self.chromium, Chromium::Started { .. });
        if self.client.loss().is_none() || !is_own {
            return Err(lost);
        }
        match self.relaunch().await {
            Ok(()) => Err(DeviceError::Restarted { device: "browser" }),
            Err(error) => {
                tracing::warn!(%error, "failed to restart the browser");
                Err(lost)
            }
        }
    }

    fn has_own_network(&self) -> bool {
        self.options.egress.is_some() && self.shares_network.is_none()
    }

    async fn relaunch(&mut self) -> Result<(), DeviceError> {
        let surface = match self.screen.take() {
            Some(screen) => Surface::Window(screen),
            None => Surface::Headless(self.size),
        };
        let mut options = self.options.clone();
        if self.has_own_network() {
            // A page or a program may have exhausted what a namespace needs.
            options.own_network = OwnNetwork::Required;
        }
        let mut restarted = Self::launch(surface, options).await?;
        // Refs are never reused: the old ones stay known as gone.
        std::mem::swap(&mut restarted.snapshots, &mut self.snapshots);
        *self = restarted;
        Ok(())
    }
}
