//! Owning a selection: whoever wants it asks, at any time, so this has a connection of its own.

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

use super::{Atoms, Offer, Served};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::listen;

/// What goes into one property at most; beyond it, piece by piece. A request of the core protocol
/// holds 256 KiB.
const PIECE: usize = 128 << 10;
/// Transfers in pieces at a time; whoever never fetches the next piece makes room for others.
const MOST_TRANSFERS: usize = 16;
/// How long a change of owner may take.
const CEILING: Duration = Duration::from_secs(2);

/// What the owner is told to do.
enum Told {
    /// Own a selection with this in it.
    Own {
        selection: Atom,
        offers: Arc<[Offer]>,
        done: oneshot::Sender<Result<(), XError>>,
    },
    /// Let a selection go.
    Yield {
        selection: Atom,
        done: oneshot::Sender<Result<(), XError>>,
    },
}

/// A task that answers for the selections we own, until it is dropped.
#[derive(Debug)]
pub(super) struct Owner {
    told: mpsc::Sender<Told>,
    /// How often text was given to a program, and whether every transfer is over.
    served: watch::Receiver<Served>,
    task: JoinHandle<()>,
}

impl Owner {
    pub(super) async fn start(connection: Connection) -> Result<Self, XError> {
        let keeper = Keeper::new(connection).await?;
        let (told, hears) = mpsc::channel(4);
        let (serves, served) = watch::channel(Served::default());
        let task = tokio::spawn(keeper.run(hears, serves));
        Ok(Self { told, served, task })
    }

    pub(super) async fn own(&self, selection: Atom, offers: Arc<[Offer]>) -> Result<(), XError> {
        self.tell(|done| Told::Own {
            selection,
            offers,
            done,
        })
        .await
    }

    pub(super) async fn give_up(&self, selection: Atom) -> Result<(), XError> {
        self.tell(|done| Told::Yield { selection, done }).await
    }

    pub(super) fn served(&self) -> watch::Receiver<Served> {
        self.served.clone()
    }

    pub(super) fn is_there(&self) -> bool {
        !self.told.is_closed()
    }

    async fn tell(
        &self,
        what: impl FnOnce(oneshot::Sender<Result<(), XError>>) -> Told,
    ) -> Result<(), XError> {
        let (done, outcome) = oneshot::channel();
        let gone = || XError::Lost("the clipboard's connection ended".into());
        self.told.send(what(done)).await.map_err(|_| gone())?;
        match timeout(CEILING, outcome).await {
            Ok(outcome) => outcome.map_err(|_| gone())?,
            Err(_) => Err(XError::Silent {
                what: "put text on the clipboard",
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

/// A selection that is ours.
struct Owned {
    selection: Atom,
    since: Timestamp,
    offers: Arc<[Offer]>,
}

/// A transfer in pieces: the next one is put down when the program took the last.
struct Transfer {
    requestor: Window,
    property: Atom,
    offers: Arc<[Offer]>,
    which: usize,
    sent: usize,
}

struct Keeper {
    connection: Connection,
    atoms: Atoms,
    window: Window,
    owned: Vec<Owned>,
    transfers: Vec<Transfer>,
}

impl Keeper {
    async fn new(connection: Connection) -> Result<Self, XError> {
        let x = connection.x();
        let request = Atoms::new(x)?;
        let window = x.generate_id()?;
        let look = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let (class, root) = (WindowClass::INPUT_ONLY, connection.root());
        x.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &look)?;
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

    /// Serves until the server or our owner is gone.
    async fn run(mut self, mut told: mpsc::Receiver<Told>, serves: watch::Sender<Served>) {
        loop {
            // Both arms may be dropped while they wait: nothing is taken that is not handled.
            let done = tokio::select! {
                what = told.recv() => match what {
                    Some(what) => self.obey(what).await,
                    None => return,
                },
                event = self.connection.next_event() => match event {
                    Ok(event) => self.heed(&event, &serves),
                    Err(error) => Err(error),
                },
            };
            // A program that went while it was served is no trouble of ours; a lost server is.
            if let Err(XError::Lost(error)) = done {
                tracing::debug!(%error, "the clipboard is given up");
                return;
            }
        }
    }

    async fn obey(&mut self, what: Told) -> Result<(), XError> {
        match what {
            Told::Own {
                selection,
                offers,
                done,
            } => {
                let outcome = self.own(selection, offers).await;
                let _asker_is_gone = done.send(outcome);
            }
            Told::Yield { selection, done } => {
                self.owned.retain(|owned| owned.selection != selection);
                let x = self.connection.x();
                let outcome = x
                    .set_selection_owner(x11rb::NONE, selection, x11rb::CURRENT_TIME)
                    .map_err(XError::from);
                let outcome = match outcome {
                    Ok(_) => self.connection.sync().await,
                    Err(error) => Err(error),
                };
                let _asker_is_gone = done.send(outcome);
            }
        }
        Ok(())
    }

    async fn own(&mut self, selection: Atom, offers: Arc<[Offer]>) -> Result<(), XError> {
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
                "Another program took the clipboard at the same moment; try again.".to_owned(),
            ));
        }
        self.owned.retain(|owned| owned.selection != selection);
        self.owned.push(Owned {
            selection,
            since,
            offers,
        });
        Ok(())
    }

    /// The server's time, which ownership is counted from.
    async fn time(&mut self) -> Result<Timestamp, XError> {
        let x = self.connection.x();
        let kind = AtomEnum::INTEGER;
        let place = self.atoms.TELECHIR_SELECTION;
        x.change_property(PropMode::APPEND, self.window, place, kind, 8, 0, &[])?;
        loop {
            let event = self.connection.next_event().await?;
            if let Event::PropertyNotify(notice) = &event
                && notice.window == self.window
            {
                return Ok(notice.time);
            }
            self.heed(&event, &watch::Sender::new(Served::default()))?;
        }
    }

    fn heed(&mut self, event: &Event, serves: &watch::Sender<Served>) -> Result<(), XError> {
        if let Event::SelectionRequest(request) = event {
            self.answer(request, serves)?;
        } else if let Event::SelectionClear(clear) = event {
            self.owned
                .retain(|owned| owned.selection != clear.selection);
        } else if let Event::PropertyNotify(notice) = event
            && notice.state == Property::DELETE
        {
            self.go_on((notice.window, notice.atom))?;
        } else if let Event::DestroyNotify(gone) = event {
            self.transfers
                .retain(|transfer| transfer.requestor != gone.window);
        }
        let open = self.transfers.len();
        serves.send_if_modified(|served| std::mem::replace(&mut served.open, open) != open);
        self.connection.flush()
    }

    fn answer(
        &mut self,
        request: &SelectionRequestEvent,
        serves: &watch::Sender<Served>,
    ) -> Result<(), XError> {
        // Programs of long ago name no place.
        let property = if request.property == x11rb::NONE {
            request.target
        } else {
            request.property
        };
        let is_put = if request.target == self.atoms.MULTIPLE {
            false
        } else {
            self.put(
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
            property: if is_put { property } else { x11rb::NONE },
        };
        self.connection
            .x()
            .send_event(false, request.requestor, EventMask::NO_EVENT, notice)?;
        if is_put && self.atoms.is_text(request.target) {
            serves.send_modify(|served| served.texts += 1);
        }
        Ok(())
    }

    /// Puts a selection down as `target`; false when it cannot be had so.
    fn put(
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
            put32(
                &self.connection,
                (requestor, property),
                AtomEnum::ATOM,
                &targets,
            )?;
            return Ok(true);
        }
        if target == self.atoms.TIMESTAMP {
            let since = [owned.since];
            put32(
                &self.connection,
                (requestor, property),
                AtomEnum::INTEGER,
                &since,
            )?;
            return Ok(true);
        }
        let Some(which) = owned.offers.iter().position(|offer| offer.target == target) else {
            return Ok(false);
        };
        let offer = &owned.offers[which];
        if offer.data.len() <= PIECE {
            let count = units(offer.data.len(), offer.format);
            let (kind, format) = (offer.kind, offer.format);
            let mode = PropMode::REPLACE;
            x.change_property(mode, requestor, property, kind, format, count, &offer.data)?;
            return Ok(true);
        }
        let events = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
        listen(&self.connection, requestor, events)?;
        let size = [u32::try_from(offer.data.len()).unwrap_or(u32::MAX)];
        put32(
            &self.connection,
            (requestor, property),
            self.atoms.INCR,
            &size,
        )?;
        if self.transfers.len() == MOST_TRANSFERS {
            self.transfers.remove(0);
        }
        self.transfers.push(Transfer {
            requestor,
            property,
            offers: Arc::clone(&owned.offers),
            which,
            sent: 0,
        });
        Ok(true)
    }

    /// The next piece of a transfer, after the last was taken away. An empty one is the end.
    fn go_on(&mut self, place: (Window, Atom)) -> Result<(), XError> {
        let found = self
            .transfers
            .iter()
            .position(|transfer| (transfer.requestor, transfer.property) == place);
        let Some(at) = found else {
            return Ok(());
        };
        let transfer = &mut self.transfers[at];
        let offer = &transfer.offers[transfer.which];
        let rest = &offer.data[transfer.sent..];
        let piece = &rest[..rest.len().min(PIECE)];
        transfer.sent += piece.len();
        let count = units(piece.len(), offer.format);
        let (kind, format, mode) = (offer.kind, offer.format, PropMode::REPLACE);
        let (window, property) = place;
        self.connection
            .x()
            .change_property(mode, window, property, kind, format, count, piece)?;
        if piece.is_empty() {
            self.transfers.remove(at);
            let is_last = self.transfers.iter().all(|other| other.requestor != window);
            if is_last {
                listen(&self.connection, window, EventMask::NO_EVENT)?;
            }
        }
        Ok(())
    }
}

fn put32(
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

/// How many units of `format` bits so many bytes are.
fn units(bytes: usize, format: u8) -> u32 {
    let bytes_a_unit = usize::from(format / 8).max(1);
    u32::try_from(bytes / bytes_a_unit).unwrap_or(u32::MAX)
}
