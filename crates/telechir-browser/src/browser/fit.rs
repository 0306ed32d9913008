//! The first page: there, and exactly as large as the screen, so that a page's pixel is a screen's.

use std::time::Duration;

use telechir_device::{BoxScreen, DeviceError, Screen as _, Settle};
use tokio::time::{Instant, timeout_at};

use super::Browser;
use crate::page::Page;
use crate::scale::Scale;

/// A window manager needs a moment, more so on a loaded machine.
const LIMIT: Duration = Duration::from_secs(10);
/// How long the screen must be quiet before the window's size is looked at again.
const QUIET: Duration = Duration::from_millis(40);

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
        match &mut self.screen {
            Some(screen) => fills(screen, self.setup.scale, &page, deadline).await,
            // A round trip, so that all that was sent before is in force.
            None => page
                .evaluate("0")
                .await
                .map(|_| ())
                .map_err(DeviceError::from),
        }
    }
}

async fn fills(
    screen: &mut BoxScreen,
    scale: Scale,
    page: &Page,
    deadline: Instant,
) -> Result<(), DeviceError> {
    let size = scale.size(screen.size());
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
        let ceiling = QUIET * 4;
        screen
            .settle(Settle {
                quiet: QUIET,
                ceiling,
            })
            .await?;
    }
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "Chromium",
        message,
    }
}
