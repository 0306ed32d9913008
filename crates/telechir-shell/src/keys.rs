//! Translates keys to the bytes that a terminal sends.

use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};

/// The bytes that a program reads when these keys are pressed.
///
/// # Errors
/// If a terminal has no bytes for them.
pub(crate) fn bytes(chord: &Chord) -> Result<Vec<u8>, DeviceError> {
    let refusal = || {
        let message = format!("Key `{chord}` has no terminal equivalent; send text instead.");
        DeviceError::Refused { message }
    };
    let modifiers: Vec<Modifier> = chord.modifiers().collect();
    let mut keys = chord
        .keys()
        .iter()
        .filter(|key| !matches!(key, Key::Modifier(_)));
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(refusal());
    };
    let has = |modifier| modifiers.contains(&modifier);
    if has(Modifier::Super) {
        return Err(refusal());
    }
    let plain = match key {
        Key::Char(c) if has(Modifier::Ctrl) => vec![control(*c).ok_or_else(refusal)?],
        Key::Char(c) if has(Modifier::Shift) => c.to_uppercase().to_string().into_bytes(),
        Key::Char(c) => c.to_string().into_bytes(),
        Key::Named(NamedKey::Space) if has(Modifier::Ctrl) => vec![0],
        Key::Named(NamedKey::Tab) if has(Modifier::Shift) => b"\x1b[Z".to_vec(),
        Key::Named(named) => sequence(*named).ok_or_else(refusal)?.as_bytes().to_vec(),
        Key::Modifier(_) | Key::Other(_) => return Err(refusal()),
    };
    let escape: &[u8] = if has(Modifier::Alt) { b"\x1b" } else { b"" };
    Ok([escape, &plain].concat())
}

/// The control character of a key.
fn control(c: char) -> Option<u8> {
    let upper = u8::try_from(c.to_ascii_uppercase()).ok()?;
    match upper {
        b'@'..=b'_' => Some(upper - b'@'),
        b'?' => Some(0x7f),
        b'/' => Some(0x1f),
        _ => None,
    }
}

const fn sequence(key: NamedKey) -> Option<&'static str> {
    Some(match key {
        NamedKey::Enter => "\r",
        NamedKey::Tab => "\t",
        NamedKey::Space => " ",
        NamedKey::Escape => "\x1b",
        NamedKey::Backspace => "\x7f",
        NamedKey::Delete => "\x1b[3~",
        NamedKey::Insert => "\x1b[2~",
        NamedKey::Home => "\x1b[H",
        NamedKey::End => "\x1b[F",
        NamedKey::PageUp => "\x1b[5~",
        NamedKey::PageDown => "\x1b[6~",
        NamedKey::ArrowUp => "\x1b[A",
        NamedKey::ArrowDown => "\x1b[B",
        NamedKey::ArrowRight => "\x1b[C",
        NamedKey::ArrowLeft => "\x1b[D",
        NamedKey::F1 => "\x1bOP",
        NamedKey::F2 => "\x1bOQ",
        NamedKey::F3 => "\x1bOR",
        NamedKey::F4 => "\x1bOS",
        NamedKey::F5 => "\x1b[15~",
        NamedKey::F6 => "\x1b[17~",
        NamedKey::F7 => "\x1b[18~",
        NamedKey::F8 => "\x1b[19~",
        NamedKey::F9 => "\x1b[20~",
        NamedKey::F10 => "\x1b[21~",
        NamedKey::F11 => "\x1b[23~",
        NamedKey::F12 => "\x1b[24~",
        NamedKey::CapsLock
        | NamedKey::NumLock
        | NamedKey::ScrollLock
        | NamedKey::PrintScreen
        | NamedKey::Pause
        | NamedKey::ContextMenu => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_bytes_of_a_terminal() {
        for (name, expected) in [
            ("enter", "\r"),
            ("q", "q"),
            ("shift+g", "G"),
            ("ctrl+c", "\x03"),
            ("ctrl+\\", "\x1c"),
            ("alt+x", "\x1bx"),
            ("Up", "\x1b[A"),
            ("shift+tab", "\x1b[Z"),
            ("F5", "\x1b[15~"),
            ("space", " "),
        ] {
            let chord = Chord::parse(name).expect("a chord");
            assert_eq!(
                bytes(&chord).ok(),
                Some(expected.as_bytes().to_vec()),
                "{name}"
            );
        }
        for name in ["super+l", "a+b", "ctrl", "Pause", "ctrl+é"] {
            let chord = Chord::parse(name).expect("a chord");
            assert!(bytes(&chord).is_err(), "{name}");
        }
    }
}
