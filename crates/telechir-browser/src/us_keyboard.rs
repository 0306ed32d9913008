//! The keys of a US keyboard with their CDP parameters.

use telechir_protocol::{Key, Modifier, NamedKey};

/// A key with its CDP parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CdpKey {
    /// The W3C `key` value.
    pub(crate) key: String,
    /// The W3C `code` value; empty for a character without a key.
    pub(crate) code: &'static str,
    /// The Windows key code, which pages still read as `keyCode`.
    pub(crate) virtual_key: u32,
    /// The text it types without modifiers other than shift.
    pub(crate) text: Option<String>,
    /// 1 for the left one of two keys, else 0.
    pub(crate) location: u8,
    /// Whether it needs shift.
    pub(crate) shifted: bool,
    /// Its modifier bit, if it is a modifier.
    pub(crate) modifier: u8,
}

impl CdpKey {
    const fn new(key: String, code: &'static str, virtual_key: u32, text: Option<String>) -> Self {
        Self {
            key,
            code,
            virtual_key,
            text,
            location: 0,
            shifted: false,
            modifier: 0,
        }
    }

    /// The parameters of a key; `None` for an unknown name.
    pub(crate) fn of(key: &Key) -> Option<Self> {
        match key {
            Key::Modifier(modifier) => Some(Self::of_modifier(*modifier)),
            Key::Named(named) => Some(Self::of_named(*named)),
            Key::Char(c) => Some(Self::of_char(*c)),
            Key::Other(_) => None,
        }
    }

    /// The left key of a modifier.
    pub(crate) fn of_modifier(modifier: Modifier) -> Self {
        let (key, code, virtual_key) = match modifier {
            Modifier::Ctrl => ("Control", "ControlLeft", 17),
            Modifier::Alt => ("Alt", "AltLeft", 18),
            Modifier::Shift => ("Shift", "ShiftLeft", 16),
            Modifier::Super => ("Meta", "MetaLeft", 91),
        };
        Self {
            location: 1,
            modifier: bit(modifier),
            ..Self::new(key.to_owned(), code, virtual_key, None)
        }
    }

    /// The key that types a character; without `code` if a US keyboard has none.
    pub(crate) fn of_char(c: char) -> Self {
        let text = Some(c.to_string());
        if c.is_ascii_alphabetic() {
            let upper = c.to_ascii_uppercase();
            let code = LETTERS
                .get(usize::from(upper as u8 - b'A'))
                .copied()
                .unwrap_or_default();
            let stroke = Self::new(c.to_string(), code, u32::from(upper), text);
            return Self {
                shifted: c.is_ascii_uppercase(),
                ..stroke
            };
        }
        let found = SYMBOLS
            .iter()
            .find(|(plain, shifted, ..)| c == *plain || c == *shifted);
        match found {
            Some((_, shifted, code, virtual_key)) => {
                let stroke = Self::new(c.to_string(), code, *virtual_key, text);
                Self {
                    shifted: c == *shifted && c != ' ',
                    ..stroke
                }
            }
            None => Self::new(c.to_string(), "", 0, text),
        }
    }

    /// A named key; `code` and `key` differ only for the space bar.
    pub(crate) fn of_named(named: NamedKey) -> Self {
        use NamedKey as K;
        let (virtual_key, text) = match named {
            K::Enter => (13, Some("\r")),
            K::Space => return Self::new(" ".to_owned(), "Space", 32, Some(" ".to_owned())),
            K::Tab => (9, None),
            K::Escape => (27, None),
            K::Backspace => (8, None),
            K::Delete => (46, None),
            K::Insert => (45, None),
            K::Home => (36, None),
            K::End => (35, None),
            K::PageUp => (33, None),
            K::PageDown => (34, None),
            K::ArrowUp => (38, None),
            K::ArrowDown => (40, None),
            K::ArrowLeft => (37, None),
            K::ArrowRight => (39, None),
            K::CapsLock => (20, None),
            K::NumLock => (144, None),
            K::ScrollLock => (145, None),
            K::PrintScreen => (44, None),
            K::Pause => (19, None),
            K::ContextMenu => (93, None),
            K::F1 => (112, None),
            K::F2 => (113, None),
            K::F3 => (114, None),
            K::F4 => (115, None),
            K::F5 => (116, None),
            K::F6 => (117, None),
            K::F7 => (118, None),
            K::F8 => (119, None),
            K::F9 => (120, None),
            K::F10 => (121, None),
            K::F11 => (122, None),
            K::F12 => (123, None),
        };
        let name = named.name();
        Self::new(name.to_owned(), name, virtual_key, text.map(str::to_owned))
    }

    /// The same key with shift pressed.
    pub(crate) fn with_shift(self) -> Self {
        let mut chars = self.text.as_deref().unwrap_or_default().chars();
        let Some(c) = chars.next().filter(char::is_ascii_graphic) else {
            return self;
        };
        let upper = SYMBOLS
            .iter()
            .find(|(plain, ..)| c == *plain)
            .map_or(c, |(_, upper, ..)| *upper);
        Self::of_char(upper.to_ascii_uppercase())
    }

    /// The lower-case form of a letter: with control or alt, case has no meaning, and shift must be
    /// named.
    pub(crate) fn in_small_form(self) -> Self {
        let letter = self.shifted && self.key.chars().all(|c| c.is_ascii_alphabetic());
        match self.key.chars().next() {
            Some(c) if letter => Self::of_char(c.to_ascii_lowercase()),
            _ => self,
        }
    }
}

/// The CDP bit of a modifier.
pub(crate) const fn bit(modifier: Modifier) -> u8 {
    match modifier {
        Modifier::Alt => 1,
        Modifier::Ctrl => 2,
        Modifier::Super => 4,
        Modifier::Shift => 8,
    }
}

/// The `code` of each letter.
const LETTERS: [&str; 26] = [
    "KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI", "KeyJ", "KeyK", "KeyL",
    "KeyM", "KeyN", "KeyO", "KeyP", "KeyQ", "KeyR", "KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX",
    "KeyY", "KeyZ",
];

/// Character, shifted character, `code`, Windows key code.
const SYMBOLS: [(char, char, &str, u32); 22] = [
    (' ', ' ', "Space", 32),
    ('0', ')', "Digit0", 48),
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_has_a_key() {
        for c in ' '..='~' {
            let stroke = CdpKey::of_char(c);
            assert!(!stroke.code.is_empty() && stroke.virtual_key > 0, "{c:?}");
            assert_eq!(stroke.text.as_deref(), Some(c.to_string().as_str()));
        }
    }

    #[test]
    fn capitals_and_upper_symbols_need_shift() {
        let shifted: String = (' '..='~')
            .filter(|c| CdpKey::of_char(*c).shifted)
            .collect();
        assert_eq!(shifted, "!\"#$%&()*+:<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ^_{|}~");
    }

    #[test]
    fn shift_gives_the_upper_sign() {
        let with_shift = |c| CdpKey::of_char(c).with_shift().text.unwrap();
        assert_eq!(
            ['a', 'A', '1', '/', ' ', '!'].map(with_shift),
            ["A", "A", "!", "?", " ", "!"]
        );
    }

    #[test]
    fn a_character_on_no_key_still_writes_itself() {
        let stroke = CdpKey::of_char('é');
        assert_eq!((stroke.code, stroke.text.as_deref()), ("", Some("é")));
    }

    #[test]
    fn the_small_form_drops_only_the_case_of_letters() {
        assert_eq!(CdpKey::of_char('T').in_small_form(), CdpKey::of_char('t'));
        assert_eq!(CdpKey::of_char('+').in_small_form(), CdpKey::of_char('+'));
    }
}
