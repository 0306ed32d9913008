//! Waits until a page stopped painting, loading and fetching.

use telechir_device::{BoxScreen, DeviceError, Screen as _, Settle, Settled};
use telechir_protocol::Held;
use tokio::time::{Instant, timeout_at};

use crate::book::Book;
use crate::client::Client;

/// Waits for the tab in front, and for the screen its window is on.
pub(crate) async fn settle(
    client: &Client,
    book: &Book,
    screen: Option<&mut BoxScreen>,
    settle: Settle,
) -> Result<Settled, DeviceError> {
    let start = Instant::now();
    let deadline = start + settle.ceiling;
    let mut screen = screen;
    let mut restless = None;
    let held = loop {
        let quiet = quiet_page(client, book, start, settle, deadline).await?;
        let Some(screen) = &mut screen else {
            break (!quiet).then_some(Held::Loading);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let painted = screen
            .settle(Settle {
                quiet: settle.quiet,
                ceiling: left,
            })
            .await?;
        restless = painted.restless;
        if !quiet {
            break Some(Held::Loading);
        }
        if painted.held.is_some() {
            break painted.held;
        }
        // What was painted may have begun to load something.
        if is_quiet(book, start, settle) {
            break None;
        }
    };
    Ok(Settled {
        held,
        waited: start.elapsed(),
        restless,
    })
}

async fn quiet_page(
    client: &Client,
    book: &Book,
    start: Instant,
    settle: Settle,
    deadline: Instant,
) -> Result<bool, DeviceError> {
    let mut changes = book.watch();
    while !is_quiet(book, start, settle) {
        if let Some(lost) = client.is_lost() {
            return Err(lost.into());
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        // Looked at again when something happens, or when it may have been quiet for long enough.
        let next = (Instant::now() + settle.quiet).min(deadline);
        let _either_way_it_is_looked_at = timeout_at(next, changes.changed()).await;
    }
    Ok(true)
}

fn is_quiet(book: &Book, start: Instant, settle: Settle) -> bool {
    let Some(tab) = book.active() else {
        return true;
    };
    let (stirred, busy) = book.activity(&tab.target);
    // What stirred before the action did so for another reason.
    let last = stirred.map_or(start, |stirred| stirred.max(start));
    !busy && last.elapsed() >= settle.quiet
}
