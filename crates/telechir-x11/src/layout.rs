//! The keyboard layout of the server: maps characters and keysyms to key presses.

use std::collections::HashMap;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::keysym;

/// A key with the modifiers for one character or keysym.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPress {
    /// The keycode of the key.
    pub(crate) code: u8,
    /// Whether Shift is required.
    pub(crate) shift: bool,
    /// Whether AltGr is required.
    pub(crate) level3: bool,
}

/// The complete mapping of the core protocol.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    first: u8,
    /// Keysyms per keycode: levels 1 and 2 of group 1, of group 2, then levels 3 and 4 of each.
    keysyms_per_key: usize,
    keysyms: Vec<u32>,
    groups: [LayoutIndex; 2],
}

#[derive(Clone, Debug, Default)]
struct LayoutIndex {
    keysyms: HashMap<u32, KeyPress>,
    chars: HashMap<char, KeyPress>,
}

impl Layout {
    pub(crate) async fn read(connection: &Connection) -> Result<Self, XError> {
        let x = connection.x();
        let setup = x.setup();
        let count = setup.max_keycode - setup.min_keycode + 1;
        let reply = connection
            .reply(x.get_keyboard_mapping(setup.min_keycode, count)?)
            .await?;
        Ok(Self::new(
            setup.min_keycode,
            usize::from(reply.keysyms_per_keycode),
            reply.keysyms,
        ))
    }

    pub(crate) fn new(first: u8, keysyms_per_key: usize, keysyms: Vec<u32>) -> Self {
        let mut layout = Self {
            first,
            keysyms_per_key,
            keysyms,
            groups: [LayoutIndex::default(), LayoutIndex::default()],
        };
        layout.leave_out(&[]);
        layout
    }

    /// Excludes keycodes from lookups: the keycode pool assigns them.
    pub(crate) fn leave_out(&mut self, codes: &[u8]) {
        self.groups = [0, 1].map(|group| self.index(group, codes));
    }

    /// The key press for a keysym in layout group `group`.
    pub(crate) fn of_keysym(&self, keysym: u32, group: usize) -> Option<KeyPress> {
        self.groups[group.min(1)].keysyms.get(&keysym).copied()
    }

    /// The key press for a character in layout group `group`.
    pub(crate) fn of_char(&self, c: char, group: usize) -> Option<KeyPress> {
        self.groups[group.min(1)].chars.get(&c).copied()
    }

    /// Keycodes without a keysym.
    ///
    /// Media keys are not counted as unused: programs react to their keycodes regardless of the
    /// keysym. Chromium navigates back on one of them and drops others.
    pub(crate) fn spare_codes(&self) -> Vec<u8> {
        self.keys()
            .filter(|(_, row)| row.iter().all(|keysym| *keysym == 0))
            .map(|key| key.0)
            .collect()
    }

    /// The keysyms of one keycode.
    pub(crate) fn row(&self, code: u8) -> &[u32] {
        let start = usize::from(code.saturating_sub(self.first)) * self.keysyms_per_key;
        self.keysyms
            .get(start..start + self.keysyms_per_key)
            .unwrap_or_default()
    }

    /// Changes the keysyms of one keycode locally; [`Self::write`] sends them.
    pub(crate) fn set_row(&mut self, code: u8, levels: [u32; 2]) {
        let start = usize::from(code.saturating_sub(self.first)) * self.keysyms_per_key;
        if let Some(row) = self.keysyms.get_mut(start..start + self.keysyms_per_key) {
            row.fill(0);
            for (slot, keysym) in row.iter_mut().zip(levels) {
                *slot = keysym;
            }
        }
    }

    /// Sends the mapping to the server in one request: each request makes other clients read the
    /// complete mapping again (up to 45 ms in a window manager), however small the change.
    pub(crate) async fn write(&self, connection: &Connection) -> Result<(), XError> {
        let count =
            u8::try_from(self.keysyms.len() / self.keysyms_per_key.max(1)).unwrap_or(u8::MAX);
        let keysyms_per_key = u8::try_from(self.keysyms_per_key).unwrap_or(u8::MAX);
        let x = connection.x();
        let change =
            x.change_keyboard_mapping(count, self.first, keysyms_per_key, &self.keysyms)?;
        connection.checked(change).await?;
        // Our own change needs no refresh.
        connection.drain()?;
        connection.take_remapped();
        Ok(())
    }

    fn keys(&self) -> impl Iterator<Item = (u8, &[u32])> {
        (self.first..=u8::MAX).zip(self.keysyms.chunks_exact(self.keysyms_per_key.max(1)))
    }

    fn index(&self, group: usize, left_out: &[u8]) -> LayoutIndex {
        let mut index = LayoutIndex::default();
        // Lower levels first, then lower keycodes: the simplest key press wins.
        for level in 0..4 {
            for (code, row) in self.keys().filter(|(code, _)| !left_out.contains(code)) {
                let row = KeyLevels::of_group(row, group);
                let keysym = row.levels[level];
                if keysym == 0 {
                    continue;
                }
                let key_press = KeyPress {
                    code,
                    shift: level % 2 == 1,
                    level3: level >= 2,
                };
                index.keysyms.entry(keysym).or_insert(key_press);
                if let Some(c) = keysym::to_char(keysym) {
                    index.chars.entry(c).or_insert(key_press);
                }
            }
        }
        index
    }
}

/// The four levels of one key in one layout group.
struct KeyLevels {
    levels: [u32; 4],
}

impl KeyLevels {
    fn of_group(row: &[u32], group: usize) -> Self {
        let at = |index: usize| row.get(index).copied().unwrap_or(0);
        // Keys without a second group use the first.
        let base = if group == 1 && at(2) != 0 { 2 } else { 0 };
        let mut levels = [at(base), at(base + 1), at(base + 4), at(base + 5)];
        // A single letter stands for its lower- and upper-case form.
        if let (Some(letter), 0) = (keysym::to_char(levels[0]), levels[1]) {
            let (lower, upper) = (letter.to_lowercase().next(), letter.to_uppercase().next());
            if let (Some(lower), Some(upper)) = (lower, upper)
                && lower != upper
            {
                levels[0] = keysym::of_char(lower);
                levels[1] = keysym::of_char(upper);
            }
        }
        Self { levels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three keys: a letter, a digit with AltGr levels, a letter with two groups; then an unused
    /// key.
    fn layout() -> Layout {
        let keysyms = [
            [0x61, 0x41, 0, 0, 0, 0],
            [0x32, 0x22, 0, 0, 0xb2, 0],
            [0x66, 0x46, 0x06c1, 0x06e1, 0, 0],
            [0; 6],
        ];
        Layout::new(8, 6, keysyms.concat())
    }

    fn key_press(code: u8, shift: bool, level3: bool) -> Option<KeyPress> {
        Some(KeyPress {
            code,
            shift,
            level3,
        })
    }

    #[test]
    fn finds_characters_on_all_levels() {
        let layout = layout();
        assert_eq!(layout.of_char('a', 0), key_press(8, false, false));
        assert_eq!(layout.of_char('A', 0), key_press(8, true, false));
        assert_eq!(layout.of_char('"', 0), key_press(9, true, false));
        assert_eq!(layout.of_char('²', 0), key_press(9, false, true));
        assert_eq!(layout.of_char('b', 0), None);
    }

    #[test]
    fn lookups_use_the_active_group() {
        let layout = layout();
        assert_eq!(layout.of_char('f', 0), key_press(10, false, false));
        assert_eq!(layout.of_char('f', 1), None);
        assert_eq!(layout.of_char('а', 1), key_press(10, false, false));
        assert_eq!(layout.of_char('a', 1), key_press(8, false, false));
    }

    #[test]
    fn unused_keycodes_have_no_keysym() {
        assert_eq!(layout().spare_codes(), [11]);
    }

    #[test]
    fn excluded_keycodes_are_not_found() {
        let mut layout = layout();
        layout.leave_out(&[8]);
        assert_eq!(layout.of_char('a', 0), None);
        assert_eq!(layout.of_char('2', 0), key_press(9, false, false));
    }
}
