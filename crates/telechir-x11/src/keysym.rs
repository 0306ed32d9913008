//! Keysyms: the numbers of keys and characters in X11.

use std::collections::HashMap;
use std::sync::OnceLock;

use telechir_protocol::{Modifier, NamedKey};
use xkeysym::Keysym;

/// `ISO_Level3_Shift`, the AltGr key.
pub(crate) const LEVEL3_SHIFT: u32 = 0xfe03;
/// Offset of Unicode keysyms from their code points.
const UNICODE: u32 = 0x0100_0000;

/// The keysym of a modifier's left key.
pub(crate) const fn of_modifier(modifier: Modifier) -> u32 {
    match modifier {
        Modifier::Ctrl => 0xffe3,
        Modifier::Alt => 0xffe9,
        Modifier::Shift => 0xffe1,
        Modifier::Super => 0xffeb,
    }
}

/// The keysym of a named key.
pub(crate) const fn of_named(key: NamedKey) -> u32 {
    match key {
        NamedKey::Enter => 0xff0d,
        NamedKey::Tab => 0xff09,
        NamedKey::Space => 0x20,
        NamedKey::Escape => 0xff1b,
        NamedKey::Backspace => 0xff08,
        NamedKey::Delete => 0xffff,
        NamedKey::Insert => 0xff63,
        NamedKey::Home => 0xff50,
        NamedKey::End => 0xff57,
        NamedKey::PageUp => 0xff55,
        NamedKey::PageDown => 0xff56,
        NamedKey::ArrowUp => 0xff52,
        NamedKey::ArrowDown => 0xff54,
        NamedKey::ArrowLeft => 0xff51,
        NamedKey::ArrowRight => 0xff53,
        NamedKey::CapsLock => 0xffe5,
        NamedKey::NumLock => 0xff7f,
        NamedKey::ScrollLock => 0xff14,
        NamedKey::PrintScreen => 0xff61,
        NamedKey::Pause => 0xff13,
        NamedKey::ContextMenu => 0xff67,
        NamedKey::F1 => 0xffbe,
        NamedKey::F2 => 0xffbf,
        NamedKey::F3 => 0xffc0,
        NamedKey::F4 => 0xffc1,
        NamedKey::F5 => 0xffc2,
        NamedKey::F6 => 0xffc3,
        NamedKey::F7 => 0xffc4,
        NamedKey::F8 => 0xffc5,
        NamedKey::F9 => 0xffc6,
        NamedKey::F10 => 0xffc7,
        NamedKey::F11 => 0xffc8,
        NamedKey::F12 => 0xffc9,
    }
}

/// The keysym that all clients map to this character.
pub(crate) const fn of_char(c: char) -> u32 {
    let code = c as u32;
    match code {
        0x20..=0x7e | 0xa0..=0xff => code,
        _ => code | UNICODE,
    }
}

/// The character of a keysym; `None` for function keys such as F1.
pub(crate) fn to_char(keysym: u32) -> Option<char> {
    match keysym {
        0x0100_0100..=0x0110_ffff => char::from_u32(keysym & !UNICODE),
        _ => Keysym::new(keysym).key_char().filter(|c| !c.is_control()),
    }
}

/// Looks up a keysym by name (`XF86AudioPlay`, `KP_5`, `0xffbe`, `U20AC`), ignoring case.
pub(crate) fn of_name(name: &str) -> Option<u32> {
    let name = name.strip_prefix("XK_").unwrap_or(name);
    let table = KEYSYM_NAMES.get_or_init(KeysymNames::new);
    let found = table
        .exact
        .get(name)
        .or_else(|| table.any_case.get(&name.to_lowercase()));
    found.copied().or_else(|| of_number(name))
}

fn of_number(name: &str) -> Option<u32> {
    if let Some(hex) = name.strip_prefix("0x").or_else(|| name.strip_prefix("0X")) {
        let keysym = u32::from_str_radix(hex, 16).ok()?;
        let known = Keysym::new(keysym).name().is_some() || to_char(keysym).is_some();
        return known.then_some(keysym);
    }
    let hex = name.strip_prefix("U+").or_else(|| name.strip_prefix('U'))?;
    if hex.len() < 4 {
        return None;
    }
    char::from_u32(u32::from_str_radix(hex, 16).ok()?)
        .filter(|c| !c.is_control())
        .map(of_char)
}

static KEYSYM_NAMES: OnceLock<KeysymNames> = OnceLock::new();

/// Keysyms by name, inverted once from the table of names by keysym.
struct KeysymNames {
    exact: HashMap<String, u32>,
    /// Lower-case names; if two names differ only in case, the first keysym wins.
    any_case: HashMap<String, u32>,
}

impl KeysymNames {
    fn new() -> Self {
        // Characters, function keys and vendor keys (X11/XF86keysym.h).
        let known = (0x20..0x2100).chain(0xfd00..0x1_0000);
        let vendors = (0x1008_1000..0x1008_1400).chain(0x1008_fe00..0x1009_0000);
        let mut table = Self {
            exact: HashMap::new(),
            any_case: HashMap::new(),
        };
        for keysym in known.chain(vendors) {
            if let Some(name) = Keysym::new(keysym).name() {
                let name = name.strip_prefix("XK_").unwrap_or(name);
                let name = name.replacen("XF86XK_", "XF86", 1);
                table.any_case.entry(name.to_lowercase()).or_insert(keysym);
                table.exact.entry(name).or_insert(keysym);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_in_any_case_and_by_number() {
        assert_eq!(of_name("F13"), Some(0xffca));
        assert_eq!(of_name("kp_5"), Some(0xffb5));
        assert_eq!(of_name("XF86AudioPlay"), Some(0x1008_ff14));
        assert_eq!(of_name("ISO_Level3_Shift"), Some(LEVEL3_SHIFT));
        assert_eq!(of_name("0xffbe"), Some(0xffbe));
        assert_eq!(of_name("U20AC"), Some(0x0100_20ac));
        assert_eq!(of_name("eacute"), Some(0xe9));
        assert_eq!(of_name("Eacute"), Some(0xc9));
    }

    #[test]
    fn rejects_unknown_names() {
        for name in ["", "hyperspace", "0x", "0x1", "Up2", "U0007"] {
            assert_eq!(of_name(name), None, "{name}");
        }
    }

    #[test]
    fn characters_round_trip_through_keysyms() {
        for c in ['a', '~', 'é', 'я', '漢', '€', '😀', '\u{0301}'] {
            assert_eq!(to_char(of_char(c)), Some(c), "{c}");
        }
    }

    #[test]
    fn legacy_keysyms_have_their_characters() {
        assert_eq!(to_char(0x06c1), Some('а'));
        assert_eq!(to_char(0x20ac), Some('€'));
        assert_eq!(to_char(0xff0d), None);
    }
}
