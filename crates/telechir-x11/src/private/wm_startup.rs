//! Waits until a window manager is running.

use std::time::Duration;

use tokio::time::timeout;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, Window, WindowClass,
};

use crate::connection::Connection;
use crate::error::XError;

/// Interval for mapping the probe window again: a starting window manager may miss the request.
const REMAP_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until a window manager adopts a probe window.
///
/// The announcement on the root window comes too early: openbox loses windows that are mapped
/// between its announcement and its event loop.
pub(super) async fn wait_for_wm(connection: &Connection) -> Result<(), XError> {
    let x = connection.x();
    let probe = x.generate_id()?;
    let look = CreateWindowAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    let class = WindowClass::INPUT_OUTPUT;
    x.create_window(0, probe, connection.root(), 0, 0, 1, 1, 0, class, 0, &look)?;
    loop {
        x.map_window(probe)?;
        let adopted = until_reparented(connection, probe, |parent| parent != connection.root());
        if let Ok(outcome) = timeout(REMAP_INTERVAL, adopted).await {
            outcome?;
            break;
        }
    }
    // Wait for the release: the next client may get the same window IDs.
    x.unmap_window(probe)?;
    until_reparented(connection, probe, |parent| parent == connection.root()).await?;
    connection.checked(x.destroy_window(probe)?).await
}

/// Window managers reparent each managed window into a frame and back when releasing it.
async fn until_reparented(
    connection: &Connection,
    probe: Window,
    is_there: impl Fn(Window) -> bool,
) -> Result<(), XError> {
    loop {
        if let Event::ReparentNotify(event) = connection.next_event().await?
            && event.window == probe
            && is_there(event.parent)
        {
            return Ok(());
        }
    }
}
