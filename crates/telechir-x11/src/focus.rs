//! Finds the window with the keyboard focus and waits until its client has read its input.

use std::time::Duration;

use tokio::time::timeout;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask,
    InputFocus, Window,
};

use crate::connection::Connection;
use crate::error::XError;

/// Maximum wait for a client to read its events; longer means that it hangs.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum nesting of windows; deeper trees are treated as cycles.
const MAX_WINDOW_DEPTH: usize = 32;

x11rb::atom_manager! {
    /// Atoms of client windows (ICCCM, EWMH).
    pub(crate) FocusAtoms: FocusAtomsRequest {
        WM_PROTOCOLS,
        WM_STATE,
        WM_TAKE_FOCUS,
        _NET_WM_PING,
    }
}

/// Finds the focused client and pings it.
#[derive(Debug)]
pub(crate) struct Focus {
    atoms: FocusAtoms,
    /// Sequence number that distinguishes our pings from those of other clients.
    last_ping: u32,
}

/// Whether a client confirms that it has read its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputReader {
    /// The client replies to `_NET_WM_PING` on this window.
    AnswersPings(Window),
    /// The client does not support pings, which could even close it: xterm takes any protocol
    /// message for a close request. `None` if no client window has the focus.
    Silent(Option<Window>),
}

impl Focus {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        Ok(Self {
            atoms: intern(connection).await?,
            last_ping: 0,
        })
    }

    /// Whether the focused client confirms that it has read its events.
    pub(crate) async fn input_reader(
        &self,
        connection: &Connection,
    ) -> Result<InputReader, XError> {
        let Some(window) = self.focused(connection).await? else {
            return Ok(InputReader::Silent(None));
        };
        let protocols = self.protocols(connection, window).await?;
        Ok(if protocols.contains(&self.atoms._NET_WM_PING) {
            InputReader::AnswersPings(window)
        } else {
            InputReader::Silent(Some(window))
        })
    }

    /// Waits until the client has read every event sent before this call.
    pub(crate) async fn wait_until_read(
        &mut self,
        connection: &Connection,
        window: Window,
    ) -> Result<(), XError> {
        self.last_ping = self.last_ping.wrapping_add(1);
        let data = [self.atoms._NET_WM_PING, self.last_ping, window, 0, 0];
        let ping = ClientMessageEvent::new(32, window, self.atoms.WM_PROTOCOLS, data);
        // The pong is sent to the root window, the destruction of the window to clients that select
        // it.
        select_events(
            connection,
            connection.root(),
            EventMask::SUBSTRUCTURE_NOTIFY,
        )?;
        select_events(connection, window, EventMask::STRUCTURE_NOTIFY)?;
        connection
            .x()
            .send_event(false, window, EventMask::NO_EVENT, ping)?;
        let answer = timeout(READ_TIMEOUT, self.wait_for_pong(connection, window)).await;
        select_events(connection, window, EventMask::NO_EVENT)?;
        select_events(connection, connection.root(), EventMask::NO_EVENT)?;
        match answer {
            Ok(outcome) => outcome,
            Err(_) => Err(XError::TimedOut {
                what: "type the text: the focused program does not read its input",
                limit_ms: 2_000,
            }),
        }
    }

    async fn wait_for_pong(&self, connection: &Connection, window: Window) -> Result<(), XError> {
        loop {
            let event = connection.next_event().await?;
            let is_done = if let Event::ClientMessage(message) = &event {
                let [kind, number, ..] = message.data.as_data32();
                message.type_ == self.atoms.WM_PROTOCOLS
                    && kind == self.atoms._NET_WM_PING
                    && number == self.last_ping
            } else if let Event::DestroyNotify(gone) = &event {
                gone.window == window
            } else {
                // The window was destroyed before its events were selected.
                matches!(&event, Event::Error(error) if error.bad_value == window)
            };
            if is_done {
                return Ok(());
            }
        }
    }

    /// The client window with the focus; `None` if nothing has it.
    pub(crate) async fn focused(&self, connection: &Connection) -> Result<Option<Window>, XError> {
        let focus = connection
            .reply(connection.x().get_input_focus()?)
            .await?
            .focus;
        if focus == u32::from(InputFocus::NONE) {
            return Ok(None);
        }
        if focus == u32::from(InputFocus::POINTER_ROOT) || focus == connection.root() {
            return self.under_pointer(connection).await;
        }
        self.enclosing(connection, focus).await
    }

    /// The client window under the pointer.
    async fn under_pointer(&self, connection: &Connection) -> Result<Option<Window>, XError> {
        let mut window = connection.root();
        for _ in 0..MAX_WINDOW_DEPTH {
            let pointer = connection
                .reply(connection.x().query_pointer(window)?)
                .await;
            let child = match pointer {
                Ok(pointer) => pointer.child,
                Err(XError::Refused(_)) => return Ok(None),
                Err(error) => return Err(error),
            };
            if child == x11rb::NONE {
                break;
            }
            window = child;
            if self.is_client_window(connection, window).await? {
                return Ok(Some(window));
            }
        }
        Ok(None)
    }

    /// The nearest enclosing window that a client shows to the window manager.
    async fn enclosing(
        &self,
        connection: &Connection,
        inner: Window,
    ) -> Result<Option<Window>, XError> {
        let mut window = inner;
        for _ in 0..MAX_WINDOW_DEPTH {
            if self.is_client_window(connection, window).await? {
                return Ok(Some(window));
            }
            let tree = connection.reply(connection.x().query_tree(window)?).await;
            match tree {
                Ok(tree) if tree.parent != tree.root && tree.parent != x11rb::NONE => {
                    window = tree.parent;
                }
                Ok(_) | Err(XError::Refused(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether a client shows this window to the window manager.
    pub(crate) async fn is_client_window(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<bool, XError> {
        let has_protocols = !self.protocols(connection, window).await?.is_empty();
        Ok(has_protocols || self.is_managed(connection, window).await?)
    }

    /// Whether a window manager manages this window.
    pub(crate) async fn is_managed(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<bool, XError> {
        let x = connection.x();
        let state = x.get_property(false, window, self.atoms.WM_STATE, AtomEnum::ANY, 0, 1)?;
        let state = ignore_destroyed(connection.reply(state).await)?;
        Ok(state.is_some_and(|state| state.type_ != x11rb::NONE))
    }

    /// Whether the client itself takes the focus when the window manager offers it.
    pub(crate) async fn takes_focus(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<bool, XError> {
        let protocols = self.protocols(connection, window).await?;
        Ok(protocols.contains(&self.atoms.WM_TAKE_FOCUS))
    }

    async fn protocols(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<Vec<Atom>, XError> {
        let x = connection.x();
        let atom = self.atoms.WM_PROTOCOLS;
        let property = x.get_property(false, window, atom, AtomEnum::ATOM, 0, 64)?;
        let property = ignore_destroyed(connection.reply(property).await)?;
        Ok(property
            .and_then(|property| Some(property.value32()?.collect()))
            .unwrap_or_default())
    }
}

async fn intern(connection: &Connection) -> Result<FocusAtoms, XError> {
    let request = FocusAtoms::new(connection.x())?;
    // One round trip fetches all replies; reading them afterwards does not wait.
    connection.sync().await?;
    Ok(request.reply()?)
}

pub(crate) fn select_events(
    connection: &Connection,
    window: Window,
    events: EventMask,
) -> Result<(), XError> {
    let attributes = ChangeWindowAttributesAux::new().event_mask(events);
    connection
        .x()
        .change_window_attributes(window, &attributes)?;
    Ok(())
}

/// Maps a refused request to `None`: a window can be destroyed at any time.
pub(crate) fn ignore_destroyed<T>(reply: Result<T, XError>) -> Result<Option<T>, XError> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(XError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
