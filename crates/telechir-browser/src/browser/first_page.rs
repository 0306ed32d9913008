//! The first page: there, and exactly as large as the screen, so that a page's pixel is a screen's.

use std::time::Duration;

use telechir_device::DeviceError;
use telechir_protocol::Size;
use tokio::time::{Instant, sleep, timeout_at};

use super::Browser;
use crate::cdp_session::Page;

/// A window manager needs a moment, more so on a loaded machine.
const LIMIT: Duration = Duration::from_secs(10);
/// How often the window's size is looked at.
const LOOK: Duration = Duration::from_millis(10);

impl Browser {
    /// Waits for the first tab, and for its window to fill the screen.
    pub(super) async fn first_page(&mut self) -> Result<(), DeviceError> {
        let deadline = Instant::now() + LIMIT;
        let mut changes = self.book.watch();
        while self.book.tabs().is_empty() {
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(unavailable("it opened no page".to_owned()));
            }
        }
        let (_, page) = self.front().await?;
        self.options.persona.check(&page).await?;
        match &self.screen {
            Some(_) => fills(self.setup.scale.size(self.size), &page, deadline).await,
            // A round trip, so that all that was sent before is in force.
            None => page
                .evaluate("0")
                .await
                .map(|_| ())
                .map_err(DeviceError::from),
        }
    }
}

/// Waits until the page has this size, in its own pixels, and begins where the screen does.
async fn fills(size: Size, page: &Page, deadline: Instant) -> Result<(), DeviceError> {
    let whole = format!("{},{},0,0", size.width, size.height);
    loop {
        let found = page
            .evaluate("[innerWidth, innerHeight, screenX, screenY].join()")
            .await?;
        if found == whole.as_str() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(unavailable(format!(
                "its window does not fill the screen (width, height, left, top are {}, not {whole}); \
                 the screen needs a window manager",
                found.as_str().unwrap_or_default()
            )));
        }
        sleep(LOOK).await;
    }
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "Chromium",
        message,
    }
}
