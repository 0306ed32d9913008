//! Owns selections: other clients may request the data at any time, so a task serves them on its
//! own connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, Property,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, Timestamp, Window,
    WindowClass,
};

use super::selection_data::{SelectionAtoms, SelectionData};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::select_events;

/// Maximum size of one property write in bytes; larger data is sent incrementally. Core protocol
/// requests are limited to 256 KiB.
const CHUNK_BYTES: usize = 128 << 10;
/// Maximum number of incremental transfers at a time; beyond it the oldest is dropped.
const MAX_TRANSFERS: usize = 16;
/// Maximum duration of a change of owner.
const OWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Counters of the transfers to other clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// Number of text transfers since start.
    pub(crate) text_transfers: u64,
    /// Number of incremental transfers in progress.
    pub(crate) open_transfers: usize,
}

/// Commands to the task that owns the selections.
enum OwnerCommand {
    /// Become the owner of a selection with this data.
    Own {
        selection: Atom,
        offers: Arc<[SelectionData]>,
        done: oneshot::Sender<Result<(), XError>>,
    },
    /// Give up ownership of a selection.
    Release {
        selection: Atom,
        done: oneshot::Sender<Result<(), XError>>,
    },
}

/// A task that serves the owned selections until it is dropped.
#[derive(Debug)]
pub(super) struct Owner {
    commands: mpsc::Sender<OwnerCommand>,
    /// Counters of the transfers to other clients.
    served: watch::Receiver<Served>,
    task: JoinHandle<()>,
}

impl Owner {
    pub(super) async fn start(connection: Connection) -> Result<Self, XError> {
        let server = SelectionServer::new(connection).await?;
        let (commands, receiver) = mpsc::channel(4);
        let (served_sender, served) = watch::channel(Served::default());
        let task = tokio::spawn(server.run(receiver, served_sender));
        Ok(Self {
            commands,
            served,
            task,
        })
    }

    pub(super) async fn own(
        &self,
        selection: Atom,
        offers: Arc<[SelectionData]>,
    ) -> Result<(), XError> {
        self.send(|done| OwnerCommand::Own {
            selection,
            offers,
            done,
        })
        .await
    }

    pub(super) async fn release(&self, selection: Atom) -> Result<(), XError> {
        self.send(|done| OwnerCommand::Release { selection, done })
            .await
    }

    pub(super) fn served(&self) -> watch::Receiver<Served> {
        self.served.clone()
    }

    pub(super) fn is_running(&self) -> bool {
        !self.commands.is_closed()
    }

    async fn send(
        &self,
        make_command: impl FnOnce(oneshot::Sender<Result<(), XError>>) -> OwnerCommand,
    ) -> Result<(), XError> {
        let (done, outcome) = oneshot::channel();
        let gone = || XError::Lost("the clipboard connection was lost".into());
        self.commands
            .send(make_command(done))
            .await
            .map_err(|_| gone())?;
        match timeout(OWN_TIMEOUT, outcome).await {
            Ok(outcome) => outcome.map_err(|_| gone())?,
            Err(_) => Err(XError::TimedOut {
                what: "write the clipboard",
                limit_ms: 2_000,
            }),
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A selection that this client owns.
struct OwnedSelection {
    selection: Atom,
    since: Timestamp,
    offers: Arc<[SelectionData]>,
}

/// An INCR transfer: the next chunk is written after the requestor deletes the property.
struct IncrTransfer {
    requestor: Window,
    property: Atom,
    offers: Arc<[SelectionData]>,
    offer_index: usize,
    sent_bytes: usize,
}

struct SelectionServer {
    connection: Connection,
    atoms: SelectionAtoms,
    window: Window,
    owned: Vec<OwnedSelection>,
    transfers: Vec<IncrTransfer>,
}

impl SelectionServer {
    async fn new(connection: Connection) -> Result<Self, XError> {
        let x = connection.x();
        let request = SelectionAtoms::new(x)?;
        let window = x.generate_id()?;
        let attributes = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let (class, root) = (WindowClass::INPUT_ONLY, connection.root());
        x.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &attributes)?;
        connection.sync().await?;
        let atoms = request.reply()?;
        Ok(Self {
            connection,
            atoms,
            window,
            owned: Vec::new(),
            transfers: Vec::new(),
        })
    }

    /// Runs until the server disconnects or the [`Owner`] is dropped.
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<OwnerCommand>,
        served_sender: watch::Sender<Served>,
    ) {
        loop {
            // Both arms are cancel-safe: neither takes anything that it does not return.
            let done = tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.execute(command).await,
                    None => return,
                },
                event = self.connection.next_event() => match event {
                    Ok(event) => self.handle(&event, &served_sender),
                    Err(error) => Err(error),
                },
            };
            // A requestor that exits during a transfer is ignored; a lost server ends the task.
            if let Err(XError::Lost(error)) = done {
                tracing::debug!(%error, "clipboard ownership is lost");
                return;
            }
        }
    }

    async fn execute(&mut self, command: OwnerCommand) -> Result<(), XError> {
        match command {
            OwnerCommand::Own {
                selection,
                offers,
                done,
            } => {
                let outcome = self.own(selection, offers).await;
                let _caller_is_gone = done.send(outcome);
            }
            OwnerCommand::Release { selection, done } => {
                self.owned.retain(|owned| owned.selection != selection);
                let x = self.connection.x();
                let outcome = x
                    .set_selection_owner(x11rb::NONE, selection, x11rb::CURRENT_TIME)
                    .map_err(XError::from);
                let outcome = match outcome {
                    Ok(_) => self.connection.sync().await,
                    Err(error) => Err(error),
                };
                let _caller_is_gone = done.send(outcome);
            }
        }
        Ok(())
    }

    async fn own(&mut self, selection: Atom, offers: Arc<[SelectionData]>) -> Result<(), XError> {
        let since = self.time().await?;
        let x = self.connection.x();
        x.set_selection_owner(self.window, selection, since)?;
        let owner = self
            .connection
            .reply(x.get_selection_owner(selection)?)
            .await?
            .owner;
        if owner != self.window {
            return Err(XError::Impossible(
                "Another program took the clipboard at the same time; try again.".to_owned(),
            ));
        }
        self.owned.retain(|owned| owned.selection != selection);
        self.owned.push(OwnedSelection {
            selection,
            since,
            offers,
        });
        Ok(())
    }

    /// Current time of the server, the reference for ownership.
    async fn time(&mut self) -> Result<Timestamp, XError> {
        let x = self.connection.x();
        let kind = AtomEnum::INTEGER;
        let property = self.atoms.TELECHIR_SELECTION;
        x.change_property(PropMode::APPEND, self.window, property, kind, 8, 0, &[])?;
        loop {
            let event = self.connection.next_event().await?;
            if let Event::PropertyNotify(notice) = &event
                && notice.window == self.window
            {
                return Ok(notice.time);
            }
            self.handle(&event, &watch::Sender::new(Served::default()))?;
        }
    }

    fn handle(
        &mut self,
        event: &Event,
        served_sender: &watch::Sender<Served>,
    ) -> Result<(), XError> {
        if let Event::SelectionRequest(request) = event {
            self.answer_request(request, served_sender)?;
        } else if let Event::SelectionClear(clear) = event {
            self.owned
                .retain(|owned| owned.selection != clear.selection);
        } else if let Event::PropertyNotify(notice) = event
            && notice.state == Property::DELETE
        {
            self.send_next_chunk((notice.window, notice.atom))?;
        } else if let Event::DestroyNotify(gone) = event {
            self.transfers
                .retain(|transfer| transfer.requestor != gone.window);
        }
        let open_transfers = self.transfers.len();
        served_sender.send_if_modified(|served| {
            std::mem::replace(&mut served.open_transfers, open_transfers) != open_transfers
        });
        self.connection.flush()
    }

    fn answer_request(
        &mut self,
        request: &SelectionRequestEvent,
        served_sender: &watch::Sender<Served>,
    ) -> Result<(), XError> {
        // Obsolete clients (before ICCCM 2.0) leave the property empty.
        let property = if request.property == x11rb::NONE {
            request.target
        } else {
            request.property
        };
        let is_written = if request.target == self.atoms.MULTIPLE {
            false
        } else {
            self.write_property(
                (request.selection, request.target),
                request.requestor,
                property,
            )?
        };
        let notice = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: request.time,
            requestor: request.requestor,
            selection: request.selection,
            target: request.target,
            property: if is_written { property } else { x11rb::NONE },
        };
        self.connection
            .x()
            .send_event(false, request.requestor, EventMask::NO_EVENT, notice)?;
        if is_written && self.atoms.is_text(request.target) {
            served_sender.send_modify(|served| served.text_transfers += 1);
        }
        Ok(())
    }

    /// Writes the selection as `target` into a property; false if the target is not available.
    fn write_property(
        &mut self,
        (selection, target): (Atom, Atom),
        requestor: Window,
        property: Atom,
    ) -> Result<bool, XError> {
        let x = self.connection.x();
        let owned = self.owned.iter().find(|owned| owned.selection == selection);
        let Some(owned) = owned else {
            return Ok(false);
        };
        if target == self.atoms.TARGETS {
            let own = [self.atoms.TARGETS, self.atoms.TIMESTAMP];
            let targets = owned.offers.iter().map(|offer| offer.target);
            let targets: Vec<Atom> = own.into_iter().chain(targets).collect();
            write_property32(
                &self.connection,
                (requestor, property),
                AtomEnum::ATOM,
                &targets,
            )?;
            return Ok(true);
        }
        if target == self.atoms.TIMESTAMP {
            let since = [owned.since];
            write_property32(
                &self.connection,
                (requestor, property),
                AtomEnum::INTEGER,
                &since,
            )?;
            return Ok(true);
        }
        let Some(offer_index) = owned.offers.iter().position(|offer| offer.target == target) else {
            return Ok(false);
        };
        let offer = &owned.offers[offer_index];
        if offer.data.len() <= CHUNK_BYTES {
            let count = unit_count(offer.data.len(), offer.format);
            let (kind, format) = (offer.kind, offer.format);
            let mode = PropMode::REPLACE;
            x.change_property(mode, requestor, property, kind, format, count, &offer.data)?;
            return Ok(true);
        }
        let events = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
        select_events(&self.connection, requestor, events)?;
        let size = [u32::try_from(offer.data.len()).unwrap_or(u32::MAX)];
        write_property32(
            &self.connection,
            (requestor, property),
            self.atoms.INCR,
            &size,
        )?;
        if self.transfers.len() == MAX_TRANSFERS {
            self.transfers.remove(0);
        }
        self.transfers.push(IncrTransfer {
            requestor,
            property,
            offers: Arc::clone(&owned.offers),
            offer_index,
            sent_bytes: 0,
        });
        Ok(true)
    }

    /// Writes the next chunk after the requestor deleted the previous one. An empty chunk ends the
    /// transfer.
    fn send_next_chunk(&mut self, property: (Window, Atom)) -> Result<(), XError> {
        let found = self
            .transfers
            .iter()
            .position(|transfer| (transfer.requestor, transfer.property) == property);
        let Some(at) = found else {
            return Ok(());
        };
        let transfer = &mut self.transfers[at];
        let offer = &transfer.offers[transfer.offer_index];
        let rest = &offer.data[transfer.sent_bytes..];
        let chunk = &rest[..rest.len().min(CHUNK_BYTES)];
        transfer.sent_bytes += chunk.len();
        let count = unit_count(chunk.len(), offer.format);
        let (kind, format, mode) = (offer.kind, offer.format, PropMode::REPLACE);
        let (window, property) = property;
        self.connection
            .x()
            .change_property(mode, window, property, kind, format, count, chunk)?;
        if chunk.is_empty() {
            self.transfers.remove(at);
            let is_last = self.transfers.iter().all(|other| other.requestor != window);
            if is_last {
                select_events(&self.connection, window, EventMask::NO_EVENT)?;
            }
        }
        Ok(())
    }
}

fn write_property32(
    connection: &Connection,
    (window, property): (Window, Atom),
    kind: impl Into<Atom>,
    numbers: &[u32],
) -> Result<(), XError> {
    use x11rb::wrapper::ConnectionExt as _;
    let mode = PropMode::REPLACE;
    connection
        .x()
        .change_property32(mode, window, property, kind, numbers)?;
    Ok(())
}

/// Number of units of `format` bits in `bytes` bytes.
fn unit_count(bytes: usize, format: u8) -> u32 {
    let bytes_per_unit = usize::from(format / 8).max(1);
    u32::try_from(bytes / bytes_per_unit).unwrap_or(u32::MAX)
}
