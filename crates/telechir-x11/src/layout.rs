//! The server's keyboard layout: which key, with which shifts, gives a character or keysym.

use std::collections::HashMap;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::keysym;

/// How to bring a key to give what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stroke {
    /// The key.
    pub(crate) code: u8,
    /// With Shift.
    pub(crate) shift: bool,
    /// With AltGr.
    pub(crate) level3: bool,
}

/// The whole mapping as the core protocol gives it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    first: u8,
    /// Keysyms per key: levels 1 and 2 of group 1, of group 2, then levels 3 and 4 of each.
    per: usize,
    keysyms: Vec<u32>,
    groups: [Index; 2],
}

#[derive(Clone, Debug, Default)]
struct Index {
    keysyms: HashMap<u32, Stroke>,
    chars: HashMap<char, Stroke>,
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

    pub(crate) fn new(first: u8, per: usize, keysyms: Vec<u32>) -> Self {
        let mut layout = Self {
            first,
            per,
            keysyms,
            groups: [Index::default(), Index::default()],
        };
        layout.leave_out(&[]);
        layout
    }

    /// Finds nothing on these keys any more: what they give changes, and is known elsewhere.
    pub(crate) fn leave_out(&mut self, codes: &[u8]) {
        self.groups = [0, 1].map(|group| self.index(group, codes));
    }

    /// The key that gives a keysym while `group` is active.
    pub(crate) fn of_keysym(&self, keysym: u32, group: usize) -> Option<Stroke> {
        self.groups[group.min(1)].keysyms.get(&keysym).copied()
    }

    /// The key that gives a character while `group` is active.
    pub(crate) fn of_char(&self, c: char, group: usize) -> Option<Stroke> {
        self.groups[group.min(1)].chars.get(&c).copied()
    }

    /// Keys that give nothing.
    ///
    /// Keys for sound, brightness and the like are no spare ones: programs obey them by their
    /// codes, whatever they give. Chromium goes back in its history, and loses others.
    pub(crate) fn spare_codes(&self) -> Vec<u8> {
        self.keys()
            .filter(|(_, row)| row.iter().all(|keysym| *keysym == 0))
            .map(|key| key.0)
            .collect()
    }

    /// The keysyms of one key.
    pub(crate) fn row(&self, code: u8) -> &[u32] {
        let start = usize::from(code.saturating_sub(self.first)) * self.per;
        self.keysyms
            .get(start..start + self.per)
            .unwrap_or_default()
    }

    /// Gives a key other keysyms, here only.
    pub(crate) fn set_row(&mut self, code: u8, levels: [u32; 2]) {
        let start = usize::from(code.saturating_sub(self.first)) * self.per;
        if let Some(row) = self.keysyms.get_mut(start..start + self.per) {
            row.fill(0);
            for (slot, keysym) in row.iter_mut().zip(levels) {
                *slot = keysym;
            }
        }
    }

    /// Makes the server's mapping this one, in one request: each costs other programs a rereading
    /// of the whole (a window manager as much as 45 ms), however little it changes.
    pub(crate) async fn write(&self, connection: &Connection) -> Result<(), XError> {
        let count = u8::try_from(self.keysyms.len() / self.per.max(1)).unwrap_or(u8::MAX);
        let per = u8::try_from(self.per).unwrap_or(u8::MAX);
        let x = connection.x();
        let change = x.change_keyboard_mapping(count, self.first, per, &self.keysyms)?;
        connection.checked(change).await?;
        // What the server tells of this is no news.
        connection.drain()?;
        connection.take_remapped();
        Ok(())
    }

    fn keys(&self) -> impl Iterator<Item = (u8, &[u32])> {
        (self.first..=u8::MAX).zip(self.keysyms.chunks_exact(self.per.max(1)))
    }

    fn index(&self, group: usize, left_out: &[u8]) -> Index {
        let mut index = Index::default();
        // Lower levels first, then lower keys: the plainest way to a character wins.
        for level in 0..4 {
            for (code, row) in self.keys().filter(|(code, _)| !left_out.contains(code)) {
                let row = Row::of_group(row, group);
                let keysym = row.levels[level];
                if keysym == 0 {
                    continue;
                }
                let stroke = Stroke {
                    code,
                    shift: level % 2 == 1,
                    level3: level >= 2,
                };
                index.keysyms.entry(keysym).or_insert(stroke);
                if let Some(c) = keysym::to_char(keysym) {
                    index.chars.entry(c).or_insert(stroke);
                }
            }
        }
        index
    }
}

/// The four levels of one key in one group.
struct Row {
    levels: [u32; 4],
}

impl Row {
    fn of_group(row: &[u32], group: usize) -> Self {
        let at = |index: usize| row.get(index).copied().unwrap_or(0);
        // A key without that group uses its first.
        let base = if group == 1 && at(2) != 0 { 2 } else { 0 };
        let mut levels = [at(base), at(base + 1), at(base + 4), at(base + 5)];
        // A letter alone stands for its small and its capital form.
        if let (Some(letter), 0) = (keysym::to_char(levels[0]), levels[1]) {
            let (small, capital) = (letter.to_lowercase().next(), letter.to_uppercase().next());
            if let (Some(small), Some(capital)) = (small, capital)
                && small != capital
            {
                levels[0] = keysym::of_char(small);
                levels[1] = keysym::of_char(capital);
            }
        }
        Self { levels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three keys: a letter, a digit with AltGr levels, a letter of two groups; then a spare.
    fn layout() -> Layout {
        let keysyms = [
            [0x61, 0x41, 0, 0, 0, 0],
            [0x32, 0x22, 0, 0, 0xb2, 0],
            [0x66, 0x46, 0x06c1, 0x06e1, 0, 0],
            [0; 6],
        ];
        Layout::new(8, 6, keysyms.concat())
    }

    fn stroke(code: u8, shift: bool, level3: bool) -> Option<Stroke> {
        Some(Stroke {
            code,
            shift,
            level3,
        })
    }

    #[test]
    fn finds_characters_on_all_levels() {
        let layout = layout();
        assert_eq!(layout.of_char('a', 0), stroke(8, false, false));
        assert_eq!(layout.of_char('A', 0), stroke(8, true, false));
        assert_eq!(layout.of_char('"', 0), stroke(9, true, false));
        assert_eq!(layout.of_char('²', 0), stroke(9, false, true));
        assert_eq!(layout.of_char('b', 0), None);
    }

    #[test]
    fn the_active_group_decides() {
        let layout = layout();
        assert_eq!(layout.of_char('f', 0), stroke(10, false, false));
        assert_eq!(layout.of_char('f', 1), None);
        assert_eq!(layout.of_char('а', 1), stroke(10, false, false));
        assert_eq!(layout.of_char('a', 1), stroke(8, false, false));
    }

    #[test]
    fn spare_keys_are_those_that_give_nothing() {
        assert_eq!(layout().spare_codes(), [11]);
    }

    #[test]
    fn what_is_left_out_is_not_found() {
        let mut layout = layout();
        layout.leave_out(&[8]);
        assert_eq!(layout.of_char('a', 0), None);
        assert_eq!(layout.of_char('2', 0), stroke(9, false, false));
    }
}
