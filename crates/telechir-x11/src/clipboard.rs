//! The clipboard and the primary selection: read from whoever owns them, written by owning them.

mod fetch;
mod owner;

use std::sync::Arc;

use telechir_device::DeviceError;
use tokio::sync::watch;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _};

use self::fetch::Desk;
use self::owner::Owner;
use crate::connection::Connection;
use crate::display::Display;
use crate::error::XError;

/// Forms that are kept of another program's selection, which is to be put back.
const MOST_FORMS: usize = 32;

x11rb::atom_manager! {
    /// Names that selections are spoken of in.
    Atoms: AtomsRequest {
        CLIPBOARD,
        TARGETS,
        MULTIPLE,
        TIMESTAMP,
        SAVE_TARGETS,
        DELETE,
        INCR,
        UTF8_STRING,
        TEXT,
        TEXT_PLAIN: b"text/plain",
        TEXT_PLAIN_UTF8: b"text/plain;charset=utf-8",
        TELECHIR_SELECTION,
    }
}

impl Atoms {
    /// The forms of a text that is UTF-8.
    const fn unicode(&self) -> [Atom; 3] {
        [self.UTF8_STRING, self.TEXT_PLAIN_UTF8, self.TEXT_PLAIN]
    }

    fn is_text(&self, target: Atom) -> bool {
        self.unicode().contains(&target)
            || target == self.TEXT
            || target == u32::from(AtomEnum::STRING)
    }
}

/// A selection in one form.
#[derive(Clone, Debug)]
struct Offer {
    target: Atom,
    kind: Atom,
    /// Bits of a unit: 8, 16 or 32.
    format: u8,
    data: Arc<[u8]>,
}

/// What programs were given so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// How often text was given.
    pub(crate) texts: u64,
    /// Transfers that are still under way.
    pub(crate) open: usize,
}

/// Which of the two selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// What was copied.
    Clipboard,
    /// What is marked.
    Primary,
}

/// A selection as it was, to be put back.
#[derive(Debug)]
pub(crate) struct Kept {
    selection: Selection,
    /// None when nobody owned it.
    offers: Option<Arc<[Offer]>>,
}

/// Both selections of a display.
#[derive(Debug)]
pub(crate) struct Clipboard {
    atoms: Atoms,
    desk: Desk,
    /// Only once something was written.
    owner: Option<Owner>,
}

impl Clipboard {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let request = Atoms::new(connection.x())?;
        let desk = Desk::new(connection).await?;
        Ok(Self {
            atoms: request.reply()?,
            desk,
            owner: None,
        })
    }

    /// The text of a selection; none when nobody owns it.
    ///
    /// # Errors
    /// When its owner does not answer or has no text.
    pub(crate) async fn read(
        &self,
        connection: &Connection,
        selection: Selection,
    ) -> Result<Option<String>, XError> {
        let atom = self.atom(selection);
        if !is_owned(connection, atom).await? {
            return Ok(None);
        }
        let forms = [
            self.atoms.UTF8_STRING,
            self.atoms.TEXT_PLAIN_UTF8,
            u32::from(AtomEnum::STRING),
        ];
        for form in forms {
            let found = self
                .desk
                .fetch(connection, &self.atoms, (atom, form))
                .await?;
            if let Some(offer) = found {
                return Ok(Some(text_of(&offer)));
            }
        }
        let forms = self.forms(connection, atom).await?;
        let names = names(connection, &forms).await?.join(", ");
        Err(XError::Impossible(format!(
            "The clipboard holds no text; its owner offers it as {names}."
        )))
    }

    /// Puts text into a selection of this display.
    pub(crate) async fn write(
        &mut self,
        display: &Display,
        selection: Selection,
        text: &str,
    ) -> Result<(), DeviceError> {
        let offers = self.offers_of(text);
        let atom = self.atom(selection);
        Ok(self.owner(display).await?.own(atom, offers).await?)
    }

    /// Everything in a selection, as far as its owner gives it.
    pub(crate) async fn keep(
        &self,
        connection: &Connection,
        selection: Selection,
    ) -> Result<Kept, XError> {
        let atom = self.atom(selection);
        if !is_owned(connection, atom).await? {
            return Ok(Kept {
                selection,
                offers: None,
            });
        }
        let mut offers = Vec::new();
        for form in self.forms(connection, atom).await? {
            if offers.len() == MOST_FORMS {
                break;
            }
            let fetched = self.desk.fetch(connection, &self.atoms, (atom, form));
            offers.extend(fetched.await?);
        }
        Ok(Kept {
            selection,
            offers: Some(offers.into()),
        })
    }

    /// Makes a selection what it was.
    pub(crate) async fn put_back(&self, kept: &Kept) -> Result<(), XError> {
        let atom = self.atom(kept.selection);
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        match &kept.offers {
            Some(offers) => owner.own(atom, Arc::clone(offers)).await,
            None => owner.give_up(atom).await,
        }
    }

    /// Tells when text is given to a program; none when nothing was written yet.
    pub(crate) fn served(&self) -> Option<watch::Receiver<Served>> {
        self.owner.as_ref().map(Owner::served)
    }

    /// Whoever answers for our selections, on a connection of its own; anew when it was lost.
    async fn owner(&mut self, display: &Display) -> Result<&Owner, DeviceError> {
        let owner = match self.owner.take().filter(Owner::is_there) {
            Some(owner) => owner,
            None => Owner::start(display.connect().await?).await?,
        };
        Ok(self.owner.insert(owner))
    }

    const fn atom(&self, selection: Selection) -> Atom {
        match selection {
            Selection::Clipboard => self.atoms.CLIPBOARD,
            // AtomEnum::PRIMARY, which is no constant of this type.
            Selection::Primary => 1,
        }
    }

    /// What the owner can give, without what only asks about it or does something.
    async fn forms(&self, connection: &Connection, selection: Atom) -> Result<Vec<Atom>, XError> {
        let atoms = &self.atoms;
        let target = (selection, atoms.TARGETS);
        let Some(targets) = self.desk.fetch(connection, atoms, target).await? else {
            // An owner that does not say may have text all the same.
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

    fn offers_of(&self, text: &str) -> Arc<[Offer]> {
        let data: Arc<[u8]> = text.as_bytes().into();
        let utf8 = |target| Offer {
            target,
            kind: match target {
                target if target == self.atoms.TEXT => self.atoms.UTF8_STRING,
                target => target,
            },
            format: 8,
            data: Arc::clone(&data),
        };
        let mut offers: Vec<Offer> = self.atoms.unicode().map(utf8).into();
        offers.push(utf8(self.atoms.TEXT));
        // What the encoding of old can say.
        let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        if let Some(latin) = latin {
            let string = u32::from(AtomEnum::STRING);
            offers.push(Offer {
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

fn text_of(offer: &Offer) -> String {
    let is_latin = offer.kind == u32::from(AtomEnum::STRING);
    let text = if is_latin {
        offer.data.iter().copied().map(char::from).collect()
    } else {
        String::from_utf8_lossy(&offer.data).into_owned()
    };
    // Some programs end it as a string of C.
    text.trim_end_matches('\0').to_owned()
}
