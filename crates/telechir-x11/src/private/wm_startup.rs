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

/// Interval for sending a request about the probe window again: a window manager that is starting
/// or busy may miss it.
const REPEAT_INTERVAL: Duration = Duration::from_millis(50);

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
    let root = connection.root();
    let map = || Ok(x.map_window(probe).map(drop)?);
    until_reparented(connection, probe, map, |parent| parent != root).await?;
    // Wait for the release: the next client may get the same window IDs.
    let unmap = || Ok(x.unmap_window(probe).map(drop)?);
    until_reparented(connection, probe, unmap, |parent| parent == root).await?;
    connection.checked(x.destroy_window(probe)?).await
}

/// Sends the request until the window has the parent that it leads to.
///
/// Window managers reparent each managed window into a frame and back when releasing it. They map
/// it only after that, so that an unmap request between the two has no effect.
async fn until_reparented(
    connection: &Connection,
    probe: Window,
    request: impl Fn() -> Result<(), XError>,
    is_there: impl Fn(Window) -> bool,
) -> Result<(), XError> {
    loop {
        request()?;
        let reparented = next_parent(connection, probe, &is_there);
        if let Ok(outcome) = timeout(REPEAT_INTERVAL, reparented).await {
            return outcome;
        }
    }
}

/// Waits until the window gets such a parent.
async fn next_parent(
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
