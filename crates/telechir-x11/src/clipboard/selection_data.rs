//! The data of selections, and the atoms of their protocol.

use std::sync::Arc;

use x11rb::protocol::xproto::{Atom, AtomEnum};

x11rb::atom_manager! {
    /// Atoms of the selection protocol (ICCCM).
    pub(super) SelectionAtoms: SelectionAtomsRequest {
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

impl SelectionAtoms {
    /// The targets for UTF-8 text.
    pub(super) const fn unicode(&self) -> [Atom; 3] {
        [self.UTF8_STRING, self.TEXT_PLAIN_UTF8, self.TEXT_PLAIN]
    }

    pub(super) fn is_text(&self, target: Atom) -> bool {
        self.unicode().contains(&target)
            || target == self.TEXT
            || target == u32::from(AtomEnum::STRING)
    }
}

/// The data of a selection for one target.
#[derive(Clone, Debug)]
pub(super) struct SelectionData {
    pub(super) target: Atom,
    pub(super) kind: Atom,
    /// Bits per unit: 8, 16 or 32.
    pub(super) format: u8,
    pub(super) data: Arc<[u8]>,
}
