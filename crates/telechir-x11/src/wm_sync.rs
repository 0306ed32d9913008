//! The window manager, as far as input must wait for it.

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

/// A window manager that is busy for so long hangs, as far as anybody can see. On a busy machine
/// one that does not may need some seconds.
const CEILING: Duration = Duration::from_secs(4);
/// One that hung the last time is given only so long.
const LITTLE: Duration = Duration::from_millis(500);

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
    window: AtomicU32,
    /// It did not answer the last time.
    is_late: AtomicBool,
}

impl Manager {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = Atoms::new(connection.x())?;
        let window = unseen_window(connection)?;
        // One round trip brings all replies; after it, reading them does not wait.
        connection.sync().await?;
        Ok(Self {
            atoms: request.reply()?,
            window: AtomicU32::new(window),
            is_late: AtomicBool::new(false),
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
        let window = self.window.load(Ordering::Relaxed);
        let question = ClientMessageEvent::new(32, window, kind, [0; 5]);
        connection
            .x()
            .send_event(false, connection.root(), mask, question)?;
        let patience = if self.is_late.load(Ordering::Relaxed) {
            LITTLE
        } else {
            CEILING
        };
        let heard = timeout(patience, self.hear_answer(connection, window)).await;
        self.is_late.store(heard.is_err(), Ordering::Relaxed);
        match heard {
            Ok(heard) => heard,
            Err(_) => {
                tracing::debug!("the window manager does not answer");
                // An answer that comes after all must not be taken for that to the next question.
                let another = unseen_window(connection)?;
                self.window.store(another, Ordering::Relaxed);
                connection.x().destroy_window(window)?;
                Ok(())
            }
        }
    }

    async fn hear_answer(&self, connection: &Connection, window: Window) -> Result<(), XError> {
        loop {
            if let Event::PropertyNotify(event) = connection.next_event().await?
                && event.window == window
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

fn unseen_window(connection: &Connection) -> Result<Window, XError> {
    let x = connection.x();
    let window = x.generate_id()?;
    let look = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    let class = WindowClass::INPUT_ONLY;
    x.create_window(0, window, connection.root(), 0, 0, 1, 1, 0, class, 0, &look)?;
    Ok(window)
}
