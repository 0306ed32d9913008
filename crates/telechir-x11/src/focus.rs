//! Which window the keyboard goes to, and whether its program has read what was typed.

use std::time::Duration;

use tokio::time::timeout;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask,
    InputFocus, Window,
};

use crate::connection::Connection;
use crate::error::XError;

/// A program that does not read its events for so long hangs.
const READ_CEILING: Duration = Duration::from_secs(2);
/// Windows lie in windows; deeper than this is a circle.
const DEEPEST: usize = 32;

x11rb::atom_manager! {
    /// Names that windows and their managers talk in.
    pub(crate) Atoms: AtomsRequest {
        WM_PROTOCOLS,
        WM_STATE,
        _NET_WM_PING,
    }
}

/// Knows where keys go.
#[derive(Debug)]
pub(crate) struct Focus {
    atoms: Atoms,
    /// Told apart from other programs' pings by its number.
    last_ping: u32,
}

/// Whether a program can say that it read its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It answers pings.
    Answers(Window),
    /// It does not: a ping could even end it (xterm takes any protocol message for "close").
    Mute,
}

impl Focus {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        Ok(Self {
            atoms: intern(connection).await?,
            last_ping: 0,
        })
    }

    /// Whether the program that gets the keys can say that it read them.
    pub(crate) async fn reader(&self, connection: &Connection) -> Result<Reader, XError> {
        let Some(window) = self.focused(connection).await? else {
            return Ok(Reader::Mute);
        };
        let protocols = self.protocols(connection, window).await?;
        Ok(if protocols.contains(&self.atoms._NET_WM_PING) {
            Reader::Answers(window)
        } else {
            Reader::Mute
        })
    }

    /// Waits until the program has read every event sent to it before.
    pub(crate) async fn wait_until_read(
        &mut self,
        connection: &Connection,
        window: Window,
    ) -> Result<(), XError> {
        self.last_ping = self.last_ping.wrapping_add(1);
        let data = [self.atoms._NET_WM_PING, self.last_ping, window, 0, 0];
        let ping = ClientMessageEvent::new(32, window, self.atoms.WM_PROTOCOLS, data);
        // The answer is sent to the root window; that a window ends, to those who listen to it.
        listen(
            connection,
            connection.root(),
            EventMask::SUBSTRUCTURE_NOTIFY,
        )?;
        listen(connection, window, EventMask::STRUCTURE_NOTIFY)?;
        connection
            .x()
            .send_event(false, window, EventMask::NO_EVENT, ping)?;
        let answer = timeout(READ_CEILING, self.hear_answer(connection, window)).await;
        listen(connection, window, EventMask::NO_EVENT)?;
        listen(connection, connection.root(), EventMask::NO_EVENT)?;
        match answer {
            Ok(heard) => heard,
            Err(_) => Err(XError::Silent {
                what: "type the text: the program does not read its keys",
                limit_ms: 2_000,
            }),
        }
    }

    async fn hear_answer(&self, connection: &Connection, window: Window) -> Result<(), XError> {
        loop {
            let event = connection.next_event().await?;
            let over = if let Event::ClientMessage(message) = &event {
                let [kind, number, ..] = message.data.as_data32();
                message.type_ == self.atoms.WM_PROTOCOLS
                    && kind == self.atoms._NET_WM_PING
                    && number == self.last_ping
            } else if let Event::DestroyNotify(gone) = &event {
                gone.window == window
            } else {
                // A window that was gone before we listened to it.
                matches!(&event, Event::Error(error) if error.bad_value == window)
            };
            if over {
                return Ok(());
            }
        }
    }

    /// The program's window that has the focus; none when nothing has it.
    async fn focused(&self, connection: &Connection) -> Result<Option<Window>, XError> {
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

    /// The program's window under the pointer.
    async fn under_pointer(&self, connection: &Connection) -> Result<Option<Window>, XError> {
        let mut window = connection.root();
        for _ in 0..DEEPEST {
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
            if self.is_programs(connection, window).await? {
                return Ok(Some(window));
            }
        }
        Ok(None)
    }

    /// The nearest window outwards that a program shows to the window manager.
    async fn enclosing(
        &self,
        connection: &Connection,
        inner: Window,
    ) -> Result<Option<Window>, XError> {
        let mut window = inner;
        for _ in 0..DEEPEST {
            if self.is_programs(connection, window).await? {
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

    async fn is_programs(&self, connection: &Connection, window: Window) -> Result<bool, XError> {
        let x = connection.x();
        let state = x.get_property(false, window, self.atoms.WM_STATE, AtomEnum::ANY, 0, 1)?;
        let protocols = self.protocols(connection, window);
        let has_protocols = !protocols.await?.is_empty();
        let state = or_gone(connection.reply(state).await)?;
        Ok(has_protocols || state.is_some_and(|state| state.type_ != x11rb::NONE))
    }

    async fn protocols(
        &self,
        connection: &Connection,
        window: Window,
    ) -> Result<Vec<Atom>, XError> {
        let x = connection.x();
        let atom = self.atoms.WM_PROTOCOLS;
        let property = x.get_property(false, window, atom, AtomEnum::ATOM, 0, 64)?;
        let property = or_gone(connection.reply(property).await)?;
        Ok(property
            .and_then(|property| Some(property.value32()?.collect()))
            .unwrap_or_default())
    }
}

async fn intern(connection: &Connection) -> Result<Atoms, XError> {
    let request = Atoms::new(connection.x())?;
    // One round trip brings all replies; after it, reading them does not wait.
    connection.sync().await?;
    Ok(request.reply()?)
}

pub(crate) fn listen(
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

/// A window may end at any moment; then there is nothing to say of it.
pub(crate) fn or_gone<T>(reply: Result<T, XError>) -> Result<Option<T>, XError> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(XError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
