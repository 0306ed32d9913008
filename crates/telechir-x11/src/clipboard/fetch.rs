//! Getting a selection from the program that owns it.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, GetPropertyReply, Property,
    PropertyNotifyEvent, Window, WindowClass,
};

use super::{Atoms, Offer};
use crate::connection::Connection;
use crate::error::XError;

/// An owner that does nothing for so long is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_MS: u64 = 2_000;
/// More is not taken: memory is ours, what is offered is not.
const MOST_BYTES: usize = 32 << 20;
/// Words of four bytes that a property is read by.
const PIECE: u32 = 1 << 16;

/// A window of ours, never shown, that selections are put down at.
#[derive(Debug)]
pub(super) struct Desk {
    window: Window,
}

impl Desk {
    pub(super) async fn new(connection: &Connection) -> Result<Self, XError> {
        use x11rb::connection::Connection as _;
        let x = connection.x();
        let window = x.generate_id()?;
        let look = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let class = WindowClass::INPUT_ONLY;
        let root = connection.root();
        let made = x.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &look)?;
        connection.checked(made).await?;
        Ok(Self { window })
    }

    /// The selection as `target`; none when its owner does not give it so, or nobody owns it.
    ///
    /// # Errors
    /// When the owner does not answer, or what it gives is too much.
    pub(super) async fn fetch(
        &self,
        connection: &Connection,
        atoms: &Atoms,
        (selection, target): (Atom, Atom),
    ) -> Result<Option<Offer>, XError> {
        let x = connection.x();
        let place = atoms.TELECHIR_SELECTION;
        x.delete_property(self.window, place)?;
        x.convert_selection(self.window, selection, target, place, x11rb::CURRENT_TIME)?;
        if !self.hear_answer(connection, (selection, target)).await? {
            return Ok(None);
        }
        let first = self.take(connection, place).await?;
        if first.type_ != atoms.INCR {
            return Ok(Some(Offer {
                target,
                kind: first.type_,
                format: first.format,
                data: first.value.into(),
            }));
        }
        // Piece by piece: each is put down when we took the one before, and an empty one ends it.
        let (mut kind, mut format, mut data) = (x11rb::NONE, 8, Vec::new());
        loop {
            self.hear_piece(connection, place).await?;
            let piece = self.take(connection, place).await?;
            if piece.value.is_empty() {
                break;
            }
            (kind, format) = (piece.type_, piece.format);
            data.extend_from_slice(&piece.value);
            within_bounds(data.len())?;
        }
        Ok(Some(Offer {
            target,
            kind,
            format,
            data: data.into(),
        }))
    }

    /// Whether the owner put something down.
    async fn hear_answer(
        &self,
        connection: &Connection,
        (selection, target): (Atom, Atom),
    ) -> Result<bool, XError> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Event::SelectionNotify(answer) = next(connection, end).await?
                && answer.requestor == self.window
                && (answer.selection, answer.target) == (selection, target)
            {
                return Ok(answer.property != x11rb::NONE);
            }
        }
    }

    async fn hear_piece(&self, connection: &Connection, place: Atom) -> Result<(), XError> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Event::PropertyNotify(PropertyNotifyEvent {
                window,
                atom,
                state: Property::NEW_VALUE,
                ..
            }) = next(connection, end).await?
                && (window, atom) == (self.window, place)
            {
                return Ok(());
            }
        }
    }

    /// Reads what was put down, whole, and takes it away.
    async fn take(&self, connection: &Connection, place: Atom) -> Result<GetPropertyReply, XError> {
        let x = connection.x();
        let mut whole: Option<GetPropertyReply> = None;
        loop {
            let read = whole.as_ref().map_or(0, |whole| whole.value.len());
            let offset = u32::try_from(read / 4).unwrap_or(u32::MAX);
            let piece = x.get_property(false, self.window, place, AtomEnum::ANY, offset, PIECE)?;
            let piece = connection.reply(piece).await?;
            let is_last = piece.bytes_after == 0;
            match &mut whole {
                Some(whole) => whole.value.extend_from_slice(&piece.value),
                None => whole = Some(piece),
            }
            let count = whole.as_ref().map_or(0, |whole| whole.value.len());
            within_bounds(count)?;
            if is_last {
                break;
            }
        }
        x.delete_property(self.window, place)?;
        connection.flush()?;
        whole.ok_or_else(|| XError::Impossible("The clipboard is empty.".to_owned()))
    }
}

async fn next(connection: &Connection, end: Instant) -> Result<Event, XError> {
    match timeout_at(end, connection.next_event()).await {
        Ok(event) => event,
        Err(_) => Err(XError::Silent {
            what: "get the clipboard: the program that owns it does not answer",
            limit_ms: PATIENCE_MS,
        }),
    }
}

fn within_bounds(bytes: usize) -> Result<(), XError> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(XError::Impossible(format!(
        "The clipboard holds more than {} MiB; that is not read.",
        MOST_BYTES >> 20
    )))
}
