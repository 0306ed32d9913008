//! Starts a new browser after Chromium exited unexpectedly, and connects again to an attached one.

use std::sync::Arc;
use std::time::Duration;

use telechir_device::{DeviceEnd, DeviceError};
use tokio::time::sleep;

use super::Browser;
use crate::attachment::{AttachedTabs, EndpointSource, Reachable};
use crate::launch::Chromium;
use crate::options::{OwnNetwork, Surface};

/// Pauses before the attempts to connect again: a gateway that restarts needs a moment.
const RECONNECT_PAUSES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(500),
    Duration::from_secs(2),
];

impl Browser {
    /// Returns the result, unless the browser is gone: then starts a new one, or connects again to
    /// an attached one, and the error says so.
    pub(super) async fn or_relaunch<T>(
        &mut self,
        result: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let Err(lost @ DeviceError::Disconnected { .. }) = result else {
            return result;
        };
        // If the screen is gone, too, a restart does not help.
        if self.client.loss().is_none() {
            return Err(lost);
        }
        match &self.chromium {
            Chromium::Attached { .. } => match self.reconnect(ActionEffect::Unknown).await {
                Some(reconnected) => Err(reconnected),
                None => Err(lost),
            },
            Chromium::Shared => Err(lost),
            Chromium::Started { .. } => match self.relaunch().await {
                Ok(()) => Err(DeviceError::Restarted { device: "browser" }),
                Err(error) => {
                    tracing::warn!(%error, "failed to restart the browser");
                    Err(lost)
                }
            },
        }
    }

    /// Fails if the connection to an attached browser was cut earlier, after connecting again.
    pub(super) async fn check_connection(&mut self) -> Result<(), DeviceError> {
        match (&self.chromium, self.client.loss()) {
            (Chromium::Attached { .. }, Some(lost)) => {
                let reconnected = self.reconnect(ActionEffect::None).await;
                Err(reconnected.unwrap_or_else(|| lost.into()))
            }
            _ => Ok(()),
        }
    }

    /// Connects again to an attached browser, in the same tab if it still exists; `None` if that is
    /// not possible.
    async fn reconnect(&mut self, effect: ActionEffect) -> Option<DeviceError> {
        let Chromium::Attached { attachment, .. } = &self.chromium else {
            return None;
        };
        let attachment = attachment.as_ref().clone();
        let remedy = match &attachment.tabs {
            AttachedTabs::Isolated => {
                "A new, empty browser context was opened; navigate to the page again"
            }
            AttachedTabs::Default | AttachedTabs::Existing(_) => {
                "The same tab is active again; refs are stale, so read the page again"
            }
        };
        let active = self.registry.active();
        let active = active.or_else(|| self.registry.most_recent());
        let target = active.map(|tab| tab.target);
        for pause in RECONNECT_PAUSES {
            sleep(pause).await;
            match self.connect_again(&attachment, target.clone()).await {
                Ok(()) => {
                    return Some(DeviceError::Reconnected {
                        device: "browser",
                        is_effect_unknown: effect == ActionEffect::Unknown,
                        remedy,
                    });
                }
                // The service has ended it: nothing is there to connect to.
                Err(ended) if is_end(&ended) => return Some(ended_during(ended, effect)),
                Err(error) => tracing::warn!(%error, "failed to reconnect to the browser"),
            }
        }
        None
    }

    async fn connect_again(
        &mut self,
        attachment: &Reachable,
        target: Option<String>,
    ) -> Result<(), DeviceError> {
        let keeps_data = attachment.tabs != AttachedTabs::Isolated;
        let mut options = self.options.clone();
        if keeps_data {
            // It was loaded already, and pages may have changed it since.
            options.storage_state.load = None;
        }
        let mut again = Self::connect(attachment.clone(), target, self.size, options).await?;
        if keeps_data {
            again.options.storage_state = self.options.storage_state.clone();
            again.initial_origins = std::mem::take(&mut self.initial_origins);
            again.registry.add_origins(self.registry.visited_origins());
        }
        std::mem::swap(&mut again.snapshots, &mut self.snapshots);
        again.initial_settings = self.initial_settings.clone();
        self.viewed.replace(&again.viewed);
        again.viewed = self.viewed.clone();
        *self = again;
        Ok(())
    }

    /// What the service of an attached browser has to say after an action.
    pub(super) async fn service_notice(&mut self) -> Option<String> {
        match &self.chromium {
            Chromium::Attached { attachment, .. } => match &attachment.source {
                EndpointSource::Service(service) => Arc::clone(service).after_action().await,
                EndpointSource::Fixed(_) => None,
            },
            Chromium::Started { .. } | Chromium::Shared => None,
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
        restarted.initial_settings = self.initial_settings.clone();
        self.viewed.replace(&restarted.viewed);
        restarted.viewed = self.viewed.clone();
        *self = restarted;
        Ok(())
    }
}

/// Whether it is known that the browser has ended.
fn is_end(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Disconnected { source, .. } if source.is::<DeviceEnd>())
}

/// What an action that was interrupted by a cut connection may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActionEffect {
    /// It had not started.
    None,
    Unknown,
}

/// The end of a browser, with what is not known of the action under way.
fn ended_during(ended: DeviceError, effect: ActionEffect) -> DeviceError {
    if effect == ActionEffect::None {
        return ended;
    }
    let DeviceError::Disconnected { device, source } = ended else {
        return ended;
    };
    let reason = format!("{source}; whether the action that was under way took effect is unknown");
    let source = Box::new(DeviceEnd { reason });
    DeviceError::Disconnected { device, source }
}
