//! The clipboard and the primary selection: reads from the owning client, writes by becoming the
//! owner.

mod fetch;
mod owner;
mod selection_data;

use std::sync::Arc;

use telechir_device::DeviceError;
use tokio::sync::watch;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _};

use self::fetch::SelectionReader;
use self::owner::Owner;
pub(crate) use self::owner::Served;
use self::selection_data::{SelectionAtoms, SelectionData};
use crate::connection::Connection;
use crate::display::XDisplay;
use crate::error::XError;

/// Maximum number of targets saved from another client's selection.
const MAX_TARGETS: usize = 32;

/// One of the two selections in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// The text copied with ctrl+c.
    Clipboard,
    /// The currently selected text, pasted with the middle button.
    Primary,
}

/// A saved selection, to be restored later.
#[derive(Debug)]
pub(crate) struct SavedSelection {
    selection: Selection,
    /// Absent if the selection had no owner.
    offers: Option<Arc<[SelectionData]>>,
}

/// The selections of a display.
#[derive(Debug)]
pub(crate) struct Clipboard {
    atoms: SelectionAtoms,
    reader: SelectionReader,
    /// Present after the first write.
    owner: Option<Owner>,
}

impl Clipboard {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = SelectionAtoms::new(connection.x())?;
        let reader = SelectionReader::new(connection).await?;
        Ok(Self {
            atoms: request.reply()?,
            reader,
            owner: None,
        })
    }

    /// The text of a selection; `None` if it has no owner.
    ///
    /// # Errors
    /// When the owner does not reply or offers no text.
    pub(crate) async fn read(
        &self,
        connection: &Connection,
        selection: Selection,
    ) -> Result<Option<String>, XError> {
        let atom = self.atom(selection);
        if !is_owned(connection, atom).await? {
            return Ok(None);
        }
        let targets = [
            self.atoms.UTF8_STRING,
            self.atoms.TEXT_PLAIN_UTF8,
            u32::from(AtomEnum::STRING),
        ];
        for target in targets {
            let found = self
                .reader
                .fetch(connection, &self.atoms, (atom, target))
                .await?;
            if let Some(offer) = found {
                return Ok(Some(text_of(&offer)));
            }
        }
        let targets = self.targets(connection, atom).await?;
        let names = names(connection, &targets).await?.join(", ");
        Err(XError::Impossible(format!(
            "The clipboard contains no text; its owner offers {names}."
        )))
    }

    /// Becomes the owner of a selection with this text.
    pub(crate) async fn write(
        &mut self,
        display: &XDisplay,
        selection: Selection,
        text: &str,
    ) -> Result<(), DeviceError> {
        let offers = self.offers_of(text);
        let atom = self.atom(selection);
        Ok(self.owner(display).await?.own(atom, offers).await?)
    }

    /// Reads every target of a selection that its owner delivers.
    pub(crate) async fn save(
        &self,
        connection: &Connection,
        selection: Selection,
    ) -> Result<SavedSelection, XError> {
        let atom = self.atom(selection);
        if !is_owned(connection, atom).await? {
            return Ok(SavedSelection {
                selection,
                offers: None,
            });
        }
        let mut offers = Vec::new();
        for target in self.targets(connection, atom).await? {
            if offers.len() == MAX_TARGETS {
                break;
            }
            let fetched = self.reader.fetch(connection, &self.atoms, (atom, target));
            offers.extend(fetched.await?);
        }
        Ok(SavedSelection {
            selection,
            offers: Some(offers.into()),
        })
    }

    /// Restores a saved selection.
    pub(crate) async fn restore(&self, saved: &SavedSelection) -> Result<(), XError> {
        let atom = self.atom(saved.selection);
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        match &saved.offers {
            Some(offers) => owner.own(atom, Arc::clone(offers)).await,
            None => owner.release(atom).await,
        }
    }

    /// Reports transfers to other clients; `None` before the first write.
    pub(crate) fn served(&self) -> Option<watch::Receiver<Served>> {
        self.owner.as_ref().map(Owner::served)
    }

    /// The task that owns selections on a separate connection; restarted after its connection is
    /// lost.
    async fn owner(&mut self, display: &XDisplay) -> Result<&Owner, DeviceError> {
        let owner = match self.owner.take().filter(Owner::is_running) {
            Some(owner) => owner,
            None => Owner::start(display.connect().await?).await?,
        };
        Ok(self.owner.insert(owner))
    }

    const fn atom(&self, selection: Selection) -> Atom {
        match selection {
            Selection::Clipboard => self.atoms.CLIPBOARD,
            // `AtomEnum::PRIMARY`; its conversion to `Atom` is not `const`.
            Selection::Primary => 1,
        }
    }

    /// The targets that the owner offers, without metadata and side-effect targets.
    async fn targets(&self, connection: &Connection, selection: Atom) -> Result<Vec<Atom>, XError> {
        let atoms = &self.atoms;
        let target = (selection, atoms.TARGETS);
        let Some(targets) = self.reader.fetch(connection, atoms, target).await? else {
            // An owner without TARGETS may still deliver text.
            return Ok(vec![atoms.UTF8_STRING]);
        };
        let about = [
            atoms.TARGETS,
            atoms.MULTIPLE,
            atoms.TIMESTAMP,
            atoms.SAVE_TARGETS,
            atoms.DELETE,
        ];
        Ok(targets
            .data
            .chunks_exact(4)
            .filter_map(|bytes| bytes.try_into().ok().map(u32::from_ne_bytes))
            .filter(|target| *target != x11rb::NONE && !about.contains(target))
            .collect())
    }

    fn offers_of(&self, text: &str) -> Arc<[SelectionData]> {
        let data: Arc<[u8]> = text.as_bytes().into();
        let utf8 = |target| SelectionData {
            target,
            kind: match target {
                target if target == self.atoms.TEXT => self.atoms.UTF8_STRING,
                target => target,
            },
            format: 8,
            data: Arc::clone(&data),
        };
        let mut offers: Vec<SelectionData> = self.atoms.unicode().map(utf8).into();
        offers.push(utf8(self.atoms.TEXT));
        // STRING is Latin-1; offered only if the text fits.
        let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        if let Some(latin) = latin {
            let string = u32::from(AtomEnum::STRING);
            offers.push(SelectionData {
                target: string,
                kind: string,
                format: 8,
                data: latin.into(),
            });
        }
        offers.into()
    }
}

async fn is_owned(connection: &Connection, selection: Atom) -> Result<bool, XError> {
    let owner = connection.x().get_selection_owner(selection)?;
    Ok(connection.reply(owner).await?.owner != x11rb::NONE)
}

async fn names(connection: &Connection, atoms: &[Atom]) -> Result<Vec<String>, XError> {
    let mut names = Vec::with_capacity(atoms.len());
    for atom in atoms {
        let name = connection
            .reply(connection.x().get_atom_name(*atom)?)
            .await?;
        names.push(String::from_utf8_lossy(&name.name).into_owned());
    }
    Ok(names)
}

fn text_of(offer: &SelectionData) -> String {
    let is_latin = offer.kind == u32::from(AtomEnum::STRING);
    let text = if is_latin {
        offer.data.iter().copied().map(char::from).collect()
    } else {
        String::from_utf8_lossy(&offer.data).into_owned()
    };
    // Some clients append a NUL byte.
    text.trim_end_matches('\0').to_owned()
}
