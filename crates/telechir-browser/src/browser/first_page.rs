//! Waits for the first page, and for its window to match the screen pixel by pixel.

use std::time::Duration;

use telechir_device::DeviceError;
use telechir_protocol::Size;
use tokio::time::{Instant, sleep, timeout_at};

use super::Browser;
use crate::cdp_session::CdpSession;

/// A window manager needs a moment, longer on a loaded machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the window size is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Browser {
    /// Waits for the first tab and until its window fills the screen.
    pub(super) async fn first_page(&mut self) -> Result<(), DeviceError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut changes = self.registry.watch();
        while self.registry.tabs().is_empty() {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(unavailable("it opened no page".to_owned()));
            }
        }
        let (_, page) = self.front().await?;
        self.options.emulation.check(&page).await?;
        match &self.screen {
            Some(_) => wait_until_filled(self.setup.scale.size(self.size), &page, deadline).await,
            // A round trip: all earlier commands are in effect afterwards.
            None => page
                .evaluate("0")
                .await
                .map(|_| ())
                .map_err(DeviceError::from),
        }
    }
}

/// Waits until the page has this size in CSS pixels and starts at the screen's origin.
async fn wait_until_filled(
    size: Size,
    page: &CdpSession,
    deadline: Instant,
) -> Result<(), DeviceError> {
    let expected = format!("{},{},0,0", size.width, size.height);
    loop {
        let found = page
            .evaluate("[innerWidth, innerHeight, screenX, screenY].join()")
            .await?;
        if found == expected.as_str() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(unavailable(format!(
                "its window does not fill the screen: expected width, height, left and top \
                 {expected}, found {}; the screen needs a window manager",
                found.as_str().unwrap_or_default()
            )));
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "Chromium",
        message,
    }
}
