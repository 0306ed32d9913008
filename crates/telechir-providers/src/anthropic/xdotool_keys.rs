//! Encodes chords with X11 key names, as xdotool and the computer tools use them.

use telechir_protocol::{Chord, Key, Modifier, NamedKey};

/// Encodes a chord, such as `ctrl+shift+Page_Down`.
pub(super) fn chord(chord: &Chord) -> String {
    chord.keys().iter().map(key).collect::<Vec<_>>().join("+")
}

/// Encodes modifiers, such as `ctrl+shift`; none for an empty list.
pub(super) fn modifiers(modifiers: &[Modifier]) -> Option<String> {
    let names: Vec<&str> = modifiers.iter().map(|modifier| modifier.name()).collect();
    (!names.is_empty()).then(|| names.join("+"))
}

fn key(key: &Key) -> String {
    match key {
        Key::Modifier(modifier) => modifier.name().to_owned(),
        Key::Named(named) => named_key(*named).to_owned(),
        Key::Char(c) => character(*c).map_or_else(|| c.to_string(), str::to_owned),
        Key::Other(name) => name.clone(),
    }
}

fn named_key(named: NamedKey) -> &'static str {
    match named {
        NamedKey::Enter => "Return",
        NamedKey::Backspace => "BackSpace",
        NamedKey::Space => "space",
        NamedKey::PageUp => "Page_Up",
        NamedKey::PageDown => "Page_Down",
        NamedKey::ArrowUp => "Up",
        NamedKey::ArrowDown => "Down",
        NamedKey::ArrowLeft => "Left",
        NamedKey::ArrowRight => "Right",
        NamedKey::CapsLock => "Caps_Lock",
        NamedKey::NumLock => "Num_Lock",
        NamedKey::ScrollLock => "Scroll_Lock",
        NamedKey::PrintScreen => "Print",
        NamedKey::ContextMenu => "Menu",
        // The W3C and X11 names are the same.
        other => other.name(),
    }
}

/// Name of a punctuation character; `+` itself separates keys.
fn character(c: char) -> Option<&'static str> {
    Some(match c {
        '+' => "plus",
        '-' => "minus",
        ',' => "comma",
        '.' => "period",
        '/' => "slash",
        '\\' => "backslash",
        ';' => "semicolon",
        '\'' => "apostrophe",
        '[' => "bracketleft",
        ']' => "bracketright",
        '=' => "equal",
        '`' => "grave",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use telechir_protocol::{Chord, Key, NamedKey};

    #[test]
    fn an_encoded_chord_decodes_to_itself() {
        let names = NamedKey::ALL.into_iter().map(Chord::from);
        let signs = (' '..='~').filter_map(|c| Chord::new(vec![Key::Char(c)]));
        for chord in names.chain(signs) {
            let spelled = super::chord(&chord);
            assert_eq!(Chord::parse(&spelled), Some(chord), "{spelled}");
        }
        let combined = Chord::parse("ctrl++").expect("a chord");
        assert_eq!(super::chord(&combined), "ctrl+plus");
    }
}
