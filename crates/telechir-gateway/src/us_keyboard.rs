//! Which key of a US keyboard the members of a key event name: a browser obeys each of them for
//! something else, so an event whose members name different keys is none that a policy can judge.

use serde_json::{Map, Value};
use telechir_protocol::{Key, Modifier, NamedKey};

/// Characters of a key, its `code`, and its Windows key code.
const SYMBOLS: [(&str, &str, u64); 22] = [
    (" ", "Space", 32),
    ("0)", "Digit0", 48),
    ("1!", "Digit1", 49),
    ("2@", "Digit2", 50),
    ("3#", "Digit3", 51),
    ("4$", "Digit4", 52),
    ("5%", "Digit5", 53),
    ("6^", "Digit6", 54),
    ("7&", "Digit7", 55),
    ("8*", "Digit8", 56),
    ("9(", "Digit9", 57),
    (";:", "Semicolon", 186),
    ("=+", "Equal", 187),
    (",<", "Comma", 188),
    ("-_", "Minus", 189),
    (".>", "Period", 190),
    ("/?", "Slash", 191),
    ("`~", "Backquote", 192),
    ("[{", "BracketLeft", 219),
    ("\\|", "Backslash", 220),
    ("]}", "BracketRight", 221),
    ("'\"", "Quote", 222),
];

/// Characters and names of the keys of a number pad, and their Windows key codes.
const NUMBER_PAD: [(&str, &str, u64); 16] = [
    ("0", "Numpad0", 96),
    ("1", "Numpad1", 97),
    ("2", "Numpad2", 98),
    ("3", "Numpad3", 99),
    ("4", "Numpad4", 100),
    ("5", "Numpad5", 101),
    ("6", "Numpad6", 102),
    ("7", "Numpad7", 103),
    ("8", "Numpad8", 104),
    ("9", "Numpad9", 105),
    ("*", "NumpadMultiply", 106),
    ("+", "NumpadAdd", 107),
    ("-", "NumpadSubtract", 109),
    (".", "NumpadDecimal", 110),
    ("/", "NumpadDivide", 111),
    ("Enter", "NumpadEnter", 13),
];

/// Whether all members of an event name one key: `name` is its `key`, `typed` its `text`.
pub(crate) fn is_one_key(params: &Map<String, Value>, name: &str, typed: &str) -> bool {
    let name = match (name, typed) {
        ("", "\r" | "\n") => "Enter",
        ("", typed) => typed,
        (name, _) => name,
    };
    let key = Key::parse(name);
    let types_itself = match &key {
        Key::Named(NamedKey::Enter) => matches!(typed, "\r" | "\n" | ""),
        Key::Named(NamedKey::Space) => matches!(typed, " " | ""),
        Key::Named(NamedKey::Tab) => matches!(typed, "\t" | ""),
        Key::Named(NamedKey::Backspace) => matches!(typed, "\u{8}" | ""),
        Key::Named(NamedKey::Escape) => matches!(typed, "\u{1b}" | ""),
        Key::Named(_) | Key::Modifier(_) => typed.is_empty(),
        Key::Char(_) => {
            typed.is_empty() || is_same_letter(typed, name) || is_control_of(typed, name)
        }
        // Input methods and dead keys: no key of a keyboard, only text.
        Key::Other(_) => true,
    };
    let code = params.get("code").map_or(Some(""), Value::as_str);
    let virtual_key = match params.get("windowsVirtualKeyCode") {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64(),
    };
    let (Some(code), Some(virtual_key)) = (code, virtual_key) else {
        return false;
    };
    types_itself && names_key(&key, name, code, virtual_key)
}

fn is_same_letter(typed: &str, name: &str) -> bool {
    typed == name || typed.to_lowercase() == name.to_lowercase()
}

/// What a terminal gets for a letter with control, which some programs send as its text.
fn is_control_of(typed: &str, name: &str) -> bool {
    let (&[control], &[letter]) = (typed.as_bytes(), name.as_bytes()) else {
        return false;
    };
    letter.is_ascii_alphabetic() && control == letter & 0x1f
}

/// Whether the code and the Windows key code are absent, or those of the key.
fn names_key(key: &Key, name: &str, code: &str, virtual_key: u64) -> bool {
    let fits = |of: &[(&str, u64)]| {
        of.iter().any(|(its_code, its_number)| {
            (code.is_empty() || code == *its_code)
                && (virtual_key == 0 || virtual_key == *its_number)
        })
    };
    match key {
        Key::Modifier(Modifier::Shift) => fits(&[("ShiftLeft", 16), ("ShiftRight", 16)]),
        Key::Modifier(Modifier::Ctrl) => fits(&[("ControlLeft", 17), ("ControlRight", 17)]),
        Key::Modifier(Modifier::Alt) => fits(&[("AltLeft", 18), ("AltRight", 18)]),
        Key::Modifier(Modifier::Super) => fits(&[("MetaLeft", 91), ("MetaRight", 92)]),
        Key::Named(NamedKey::Space) => fits(&[("Space", 32)]),
        Key::Named(NamedKey::Enter) => fits(&[("Enter", 13), ("NumpadEnter", 13)]),
        Key::Named(named) => fits(&[(named.name(), number_of(*named))]),
        Key::Char(c) if c.is_ascii_alphabetic() => {
            let upper = c.to_ascii_uppercase();
            fits(&[(&format!("Key{upper}"), u64::from(u32::from(upper)))])
        }
        Key::Char(c) if c.is_ascii() => {
            let symbols = SYMBOLS.iter().filter(|(signs, ..)| signs.contains(*c));
            let pad = NUMBER_PAD.iter().filter(|(sign, ..)| *sign == name);
            let keys: Vec<_> = symbols.chain(pad).map(|key| (key.1, key.2)).collect();
            fits(&keys)
        }
        // Other layouts have them on the keys of symbols.
        Key::Char(_) | Key::Other(_) => virtual_key == 0 || (186..=226).contains(&virtual_key),
    }
}

fn number_of(named: NamedKey) -> u64 {
    use NamedKey as K;
    match named {
        K::Enter => 13,
        K::Space => 32,
        K::Tab => 9,
        K::Escape => 27,
        K::Backspace => 8,
        K::Delete => 46,
        K::Insert => 45,
        K::Home => 36,
        K::End => 35,
        K::PageUp => 33,
        K::PageDown => 34,
        K::ArrowUp => 38,
        K::ArrowDown => 40,
        K::ArrowLeft => 37,
        K::ArrowRight => 39,
        K::CapsLock => 20,
        K::NumLock => 144,
        K::ScrollLock => 145,
        K::PrintScreen => 44,
        K::Pause => 19,
        K::ContextMenu => 93,
        K::F1 => 112,
        K::F2 => 113,
        K::F3 => 114,
        K::F4 => 115,
        K::F5 => 116,
        K::F6 => 117,
        K::F7 => 118,
        K::F8 => 119,
        K::F9 => 120,
        K::F10 => 121,
        K::F11 => 122,
        K::F12 => 123,
    }
}
