//! The window manager, as far as input must wait for it.

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

/// A window manager that is busy for so long is not waited for.
const CEILING: Duration = Duration::from_millis(500);

x11rb::atom_manager! {
    /// Names that windows and their managers talk in.
    Atoms: AtomsRequest {
        _NET_SUPPORTED,
        _NET_REQUEST_FRAME_EXTENTS,
        _NET_FRAME_EXTENTS,
    }
}

/// A window manager stands between a press of a button and the window under it: it holds the
/// pointer still, decides on the focus, and lets go. Motions made meanwhile lose their places,
/// and keys go to the old focus.
#[derive(Debug)]
pub(crate) struct Manager {
    atoms: Atoms,
    /// A window of ours, never shown, about which we ask.
    window: Window,
}

impl Manager {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let x = connection.x();
        let request = Atoms::new(x)?;
        let window = x.generate_id()?;
        let look = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let class = WindowClass::INPUT_ONLY;
        x.create_window(0, window, connection.root(), 0, 0, 1, 1, 0, class, 0, &look)?;
        // One round trip brings all replies; after it, reading them does not wait.
        connection.sync().await?;
        Ok(Self {
            atoms: request.reply()?,
            window,
        })
    }

    /// Waits until the window manager, if there is one, has dealt with all input so far.
    ///
    /// It is asked how large a frame of its would be: it takes questions and input in order.
    pub(crate) async fn wait_until_done(&self, connection: &Connection) -> Result<(), XError> {
        if !self.answers(connection).await? {
            return Ok(());
        }
        let (kind, mask) = (
            self.atoms._NET_REQUEST_FRAME_EXTENTS,
            EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT,
        );
        let question = ClientMessageEvent::new(32, self.window, kind, [0; 5]);
        connection
            .x()
            .send_event(false, connection.root(), mask, question)?;
        match timeout(CEILING, self.hear_answer(connection)).await {
            Ok(heard) => heard,
            Err(_) => {
                tracing::debug!("the window manager does not answer");
                Ok(())
            }
        }
    }

    async fn hear_answer(&self, connection: &Connection) -> Result<(), XError> {
        loop {
            if let Event::PropertyNotify(event) = connection.next_event().await?
                && event.window == self.window
                && event.atom == self.atoms._NET_FRAME_EXTENTS
            {
                return Ok(());
            }
        }
    }

    /// Whether there is a window manager that takes the question. One may come or go at any time.
    async fn answers(&self, connection: &Connection) -> Result<bool, XError> {
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
