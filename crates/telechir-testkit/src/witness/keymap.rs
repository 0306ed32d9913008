//! Keycode lookup in the server's mapping at the time an event is read, as in real programs.

use telechir_protocol::{Key, Modifier};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};
use xkeysym::Keysym;

use crate::xvfb::XClient;

/// The server's mapping when it was last read.
#[derive(Debug)]
pub(super) struct Keymap {
    first: u8,
    per: usize,
    keysyms: Vec<u32>,
}

impl Keymap {
    pub(super) fn read(client: &XClient) -> Option<Self> {
        let setup = client.setup();
        let count = setup.max_keycode - setup.min_keycode + 1;
        let reply = client
            .get_keyboard_mapping(setup.min_keycode, count)
            .ok()?
            .reply()
            .ok()?;
        let per = usize::from(reply.keysyms_per_keycode);
        Some(Self {
            first: setup.min_keycode,
            per,
            keysyms: reply.keysyms,
        })
    }

    /// The keysym of a key with these modifiers.
    pub(super) fn keysym(&self, code: u8, state: KeyButMask) -> Keysym {
        let start = usize::from(code.saturating_sub(self.first)) * self.per;
        let row = self
            .keysyms
            .get(start..start + self.per)
            .unwrap_or_default();
        let at = |index: usize| Keysym::new(row.get(index).copied().unwrap_or(0));
        let is_letter = at(0).key_char().is_some_and(char::is_lowercase);
        let shift = state.contains(KeyButMask::SHIFT);
        let caps = state.contains(KeyButMask::LOCK) && is_letter;
        let chosen = at(usize::from(shift != caps));
        if chosen.raw() == 0 { at(0) } else { chosen }
    }
}

/// The key by its usual name.
pub(super) fn to_key(keysym: Keysym) -> Key {
    match to_char(keysym) {
        Some(c) if !c.is_control() => Key::parse(c.encode_utf8(&mut [0; 4])),
        _ => Key::parse(
            keysym
                .name()
                .unwrap_or("nameless")
                .trim_start_matches("XK_"),
        ),
    }
}

/// The character that a key types; Enter types a newline.
pub(super) fn to_char(keysym: Keysym) -> Option<char> {
    match keysym.raw() {
        0xff0d => Some('\n'),
        0xff09 => Some('\t'),
        raw @ 0x0100_0100..=0x0110_ffff => char::from_u32(raw - 0x0100_0000),
        _ => keysym.key_char().filter(|c| !c.is_control()),
    }
}

/// The pressed modifiers, in a fixed order.
pub(super) fn modifiers(state: KeyButMask) -> Vec<Modifier> {
    let masks = [
        (KeyButMask::CONTROL, Modifier::Ctrl),
        (KeyButMask::MOD1, Modifier::Alt),
        (KeyButMask::SHIFT, Modifier::Shift),
        (KeyButMask::MOD4, Modifier::Super),
    ];
    masks
        .into_iter()
        .filter(|(mask, _)| state.contains(*mask))
        .map(|(_, modifier)| modifier)
        .collect()
}
