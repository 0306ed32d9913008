//! Synchronizes input with the window manager.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, Window,
    WindowClass,
};

use crate::connection::Connection;
use crate::error::XError;

/// Maximum wait for the window manager. On a busy machine a responsive one may need several
/// seconds.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum wait if the previous wait timed out.
const TIMEOUT_AFTER_HANG: Duration = Duration::from_millis(500);

x11rb::atom_manager! {
    /// Atoms of the EWMH frame extents request.
    WmSyncAtoms: WmSyncAtomsRequest {
        _NET_SUPPORTED,
        _NET_REQUEST_FRAME_EXTENTS,
        _NET_FRAME_EXTENTS,
    }
}

/// Waits for the window manager after button presses. It grabs the pointer, decides on the focus
/// and replays the event; motions sent meanwhile lose their positions and keys go to the old focus.
#[derive(Debug)]
pub(crate) struct WmSync {
    atoms: WmSyncAtoms,
    /// An unmapped window that the requests refer to.
    window: AtomicU32,
    /// The previous wait timed out.
    has_hung: AtomicBool,
}

impl WmSync {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = WmSyncAtoms::new(connection.x())?;
        let window = create_unmapped_window(connection)?;
        // One round trip fetches all replies; reading them afterwards does not wait.
        connection.sync().await?;
        Ok(Self {
            atoms: request.reply()?,
            window: AtomicU32::new(window),
            has_hung: AtomicBool::new(false),
        })
    }

    /// Waits until the window manager, if there is one, has processed all input so far.
    ///
    /// Requests the frame extents of an unmapped window: requests and input are processed in order.
    pub(crate) async fn wait_until_done(&self, connection: &Connection) -> Result<(), XError> {
        if !self.is_supported(connection).await? {
            return Ok(());
        }
        let (kind, mask) = (
            self.atoms._NET_REQUEST_FRAME_EXTENTS,
            EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT,
        );
        let window = self.window.load(Ordering::Relaxed);
        let question = ClientMessageEvent::new(32, window, kind, [0; 5]);
        connection
            .x()
            .send_event(false, connection.root(), mask, question)?;
        let limit = if self.has_hung.load(Ordering::Relaxed) {
            TIMEOUT_AFTER_HANG
        } else {
            TIMEOUT
        };
        let outcome = timeout(limit, self.wait_for_reply(connection, window)).await;
        self.has_hung.store(outcome.is_err(), Ordering::Relaxed);
        match outcome {
            Ok(outcome) => outcome,
            Err(_) => {
                tracing::debug!("the window manager does not reply");
                // A late reply must not be mistaken for the reply to the next request.
                let new_window = create_unmapped_window(connection)?;
                self.window.store(new_window, Ordering::Relaxed);
                connection.x().destroy_window(window)?;
                Ok(())
            }
        }
    }

    async fn wait_for_reply(&self, connection: &Connection, window: Window) -> Result<(), XError> {
        loop {
            if let Event::PropertyNotify(event) = connection.next_event().await?
                && event.window == window
                && event.atom == self.atoms._NET_FRAME_EXTENTS
            {
                return Ok(());
            }
        }
    }

    /// Whether a window manager supports the request. It may start or exit at any time.
    async fn is_supported(&self, connection: &Connection) -> Result<bool, XError> {
        let (root, names) = (connection.root(), self.atoms._NET_SUPPORTED);
        let names = connection
            .x()
            .get_property(false, root, names, AtomEnum::ATOM, 0, 1024)?;
        let names = connection.reply(names).await?;
        let question = self.atoms._NET_REQUEST_FRAME_EXTENTS;
        Ok(names
            .value32()
            .is_some_and(|mut names| names.any(|name| name == question)))
    }
}

fn create_unmapped_window(connection: &Connection) -> Result<Window, XError> {
    let x = connection.x();
    let window = x.generate_id()?;
    let attributes = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    let class = WindowClass::INPUT_ONLY;
    x.create_window(
        0,
        window,
        connection.root(),
        0,
        0,
        1,
        1,
        0,
        class,
        0,
        &attributes,
    )?;
    Ok(window)
}
