//! Knowing that a window manager is at work.

use std::time::Duration;

use tokio::time::timeout;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, Window, WindowClass,
};

use crate::connection::Connection;
use crate::error::XError;

/// A request that a manager did not take while it was still starting is made again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Waits until a window manager shows a window of ours.
///
/// What managers announce on the root window comes too early: openbox loses windows that are shown
/// between its announcement and its first look at events.
pub(super) async fn wait_for_manager(connection: &Connection) -> Result<(), XError> {
    let x = connection.x();
    let probe = x.generate_id()?;
    let look = CreateWindowAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    let class = WindowClass::INPUT_OUTPUT;
    x.create_window(0, probe, connection.root(), 0, 0, 1, 1, 0, class, 0, &look)?;
    loop {
        x.map_window(probe)?;
        let adopted = until_moved(connection, probe, |parent| parent != connection.root());
        if let Ok(outcome) = timeout(AGAIN_AFTER, adopted).await {
            outcome?;
            break;
        }
    }
    // It must have let go of the window before we do: the next client gets the same numbers.
    x.unmap_window(probe)?;
    until_moved(connection, probe, |parent| parent == connection.root()).await?;
    connection.checked(x.destroy_window(probe)?).await
}

/// A manager gives every window a frame to be in, and takes it out at its end.
async fn until_moved(
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
