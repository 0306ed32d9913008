//! Reads a selection from the client that owns it.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, GetPropertyReply, Property,
    PropertyNotifyEvent, Window, WindowClass,
};

use super::selection_data::{SelectionAtoms, SelectionData};
use crate::connection::Connection;
use crate::error::XError;

/// Maximum wait for each reply of the owner.
const OWNER_TIMEOUT: Duration = Duration::from_secs(2);
const OWNER_TIMEOUT_MS: u64 = 2_000;
/// Maximum size of a selection in bytes; protects against unbounded memory use.
const MAX_BYTES: usize = 32 << 20;
/// Length of one property read in 32-bit words.
const CHUNK_UNITS: u32 = 1 << 16;

/// An unmapped window whose property receives selection data.
#[derive(Debug)]
pub(super) struct SelectionReader {
    window: Window,
}

impl SelectionReader {
    pub(super) async fn new(connection: &Connection) -> Result<Self, XError> {
        use x11rb::connection::Connection as _;
        let x = connection.x();
        let window = x.generate_id()?;
        let attributes = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let class = WindowClass::INPUT_ONLY;
        let root = connection.root();
        let made = x.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &attributes)?;
        connection.checked(made).await?;
        Ok(Self { window })
    }

    /// Reads the selection as `target`; `None` if it has no owner or the owner does not support the
    /// target.
    ///
    /// # Errors
    /// When the owner does not reply or the data exceeds [`MAX_BYTES`].
    pub(super) async fn fetch(
        &self,
        connection: &Connection,
        atoms: &SelectionAtoms,
        (selection, target): (Atom, Atom),
    ) -> Result<Option<SelectionData>, XError> {
        let x = connection.x();
        let property = atoms.TELECHIR_SELECTION;
        x.delete_property(self.window, property)?;
        x.convert_selection(
            self.window,
            selection,
            target,
            property,
            x11rb::CURRENT_TIME,
        )?;
        if !self
            .wait_for_notify(connection, (selection, target))
            .await?
        {
            return Ok(None);
        }
        let first = self.take_property(connection, property).await?;
        if first.type_ != atoms.INCR {
            return Ok(Some(SelectionData {
                target,
                kind: first.type_,
                format: first.format,
                data: first.value.into(),
            }));
        }
        // INCR transfer: deleting the property requests the next chunk; an empty chunk ends the
        // transfer.
        let (mut kind, mut format, mut data) = (x11rb::NONE, 8, Vec::new());
        loop {
            self.wait_for_chunk(connection, property).await?;
            let chunk = self.take_property(connection, property).await?;
            if chunk.value.is_empty() {
                break;
            }
            (kind, format) = (chunk.type_, chunk.format);
            data.extend_from_slice(&chunk.value);
            within_bounds(data.len())?;
        }
        Ok(Some(SelectionData {
            target,
            kind,
            format,
            data: data.into(),
        }))
    }

    /// Waits for the reply of the owner; false if it refused the conversion.
    async fn wait_for_notify(
        &self,
        connection: &Connection,
        (selection, target): (Atom, Atom),
    ) -> Result<bool, XError> {
        let end = Instant::now() + OWNER_TIMEOUT;
        loop {
            if let Event::SelectionNotify(answer) = next_event(connection, end).await?
                && answer.requestor == self.window
                && (answer.selection, answer.target) == (selection, target)
            {
                return Ok(answer.property != x11rb::NONE);
            }
        }
    }

    async fn wait_for_chunk(&self, connection: &Connection, property: Atom) -> Result<(), XError> {
        let end = Instant::now() + OWNER_TIMEOUT;
        loop {
            if let Event::PropertyNotify(PropertyNotifyEvent {
                window,
                atom,
                state: Property::NEW_VALUE,
                ..
            }) = next_event(connection, end).await?
                && (window, atom) == (self.window, property)
            {
                return Ok(());
            }
        }
    }

    /// Reads the complete property and deletes it.
    async fn take_property(
        &self,
        connection: &Connection,
        property: Atom,
    ) -> Result<GetPropertyReply, XError> {
        let x = connection.x();
        let mut reply: Option<GetPropertyReply> = None;
        loop {
            let read = reply.as_ref().map_or(0, |reply| reply.value.len());
            let offset = u32::try_from(read / 4).unwrap_or(u32::MAX);
            let chunk = x.get_property(
                false,
                self.window,
                property,
                AtomEnum::ANY,
                offset,
                CHUNK_UNITS,
            )?;
            let chunk = connection.reply(chunk).await?;
            let is_last = chunk.bytes_after == 0;
            match &mut reply {
                Some(reply) => reply.value.extend_from_slice(&chunk.value),
                None => reply = Some(chunk),
            }
            let count = reply.as_ref().map_or(0, |reply| reply.value.len());
            within_bounds(count)?;
            if is_last {
                break;
            }
        }
        x.delete_property(self.window, property)?;
        connection.flush()?;
        reply.ok_or_else(|| XError::Impossible("The clipboard is empty.".to_owned()))
    }
}

async fn next_event(connection: &Connection, end: Instant) -> Result<Event, XError> {
    match timeout_at(end, connection.next_event()).await {
        Ok(event) => event,
        Err(_) => Err(XError::TimedOut {
            what: "read the clipboard: the program that owns it does not reply",
            limit_ms: OWNER_TIMEOUT_MS,
        }),
    }
}

fn within_bounds(bytes: usize) -> Result<(), XError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(XError::Impossible(format!(
        "The clipboard contains more than {} MiB, the maximum that can be read.",
        MAX_BYTES >> 20
    )))
}
