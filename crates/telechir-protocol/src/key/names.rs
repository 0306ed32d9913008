//! All names of keys that a provider, X11, the W3C or another vocabulary uses.

use super::{Key, Modifier, NamedKey};

impl NamedKey {
    /// All named keys, in the order of their declaration.
    pub const ALL: [Self; 33] = [
        Self::Enter,
        Self::Tab,
        Self::Space,
        Self::Escape,
        Self::Backspace,
        Self::Delete,
        Self::Insert,
        Self::Home,
        Self::End,
        Self::PageUp,
        Self::PageDown,
        Self::ArrowUp,
        Self::ArrowDown,
        Self::ArrowLeft,
        Self::ArrowRight,
        Self::CapsLock,
        Self::NumLock,
        Self::ScrollLock,
        Self::PrintScreen,
        Self::Pause,
        Self::ContextMenu,
        Self::F1,
        Self::F2,
        Self::F3,
        Self::F4,
        Self::F5,
        Self::F6,
        Self::F7,
        Self::F8,
        Self::F9,
        Self::F10,
        Self::F11,
        Self::F12,
    ];

    /// The W3C's name, such as `PageUp`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enter => "Enter",
            Self::Tab => "Tab",
            Self::Space => "Space",
            Self::Escape => "Escape",
            Self::Backspace => "Backspace",
            Self::Delete => "Delete",
            Self::Insert => "Insert",
            Self::Home => "Home",
            Self::End => "End",
            Self::PageUp => "PageUp",
            Self::PageDown => "PageDown",
            Self::ArrowUp => "ArrowUp",
            Self::ArrowDown => "ArrowDown",
            Self::ArrowLeft => "ArrowLeft",
            Self::ArrowRight => "ArrowRight",
            Self::CapsLock => "CapsLock",
            Self::NumLock => "NumLock",
            Self::ScrollLock => "ScrollLock",
            Self::PrintScreen => "PrintScreen",
            Self::Pause => "Pause",
            Self::ContextMenu => "ContextMenu",
            Self::F1 => "F1",
            Self::F2 => "F2",
            Self::F3 => "F3",
            Self::F4 => "F4",
            Self::F5 => "F5",
            Self::F6 => "F6",
            Self::F7 => "F7",
            Self::F8 => "F8",
            Self::F9 => "F9",
            Self::F10 => "F10",
            Self::F11 => "F11",
            Self::F12 => "F12",
        }
    }
}

/// The key of one character; white space is a named key.
pub(super) fn of_char(c: char) -> Key {
    match c {
        ' ' => Key::Named(NamedKey::Space),
        '\t' => Key::Named(NamedKey::Tab),
        '\n' | '\r' => Key::Named(NamedKey::Enter),
        _ => Key::Char(c),
    }
}

/// The key with a name of several characters. Case, `_`, `-` and spaces are ignored.
pub(super) fn of_name(name: &str) -> Key {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    modifier(&plain)
        .map(Key::Modifier)
        .or_else(|| named(&plain).map(Key::Named))
        .or_else(|| character(&plain).map(of_char))
        .or_else(|| keysym(&plain))
        .unwrap_or_else(|| Key::Other(name.trim().to_owned()))
}

fn modifier(plain: &str) -> Option<Modifier> {
    Some(match plain {
        "ctrl" | "control" | "ctl" | "controll" | "controlr" | "ctrll" | "ctrlr"
        | "controlleft" | "controlright" | "ctrlleft" | "ctrlright" => Modifier::Ctrl,
        "alt" | "altl" | "altr" | "altleft" | "altright" | "option" | "opt" | "optionl"
        | "optionr" | "optionleft" | "optionright" => Modifier::Alt,
        "shift" | "shiftl" | "shiftr" | "shiftleft" | "shiftright" => Modifier::Shift,
        "super" | "superl" | "superr" | "superleft" | "superright" | "meta" | "metal" | "metar"
        | "metaleft" | "metaright" | "cmd" | "cmdl" | "cmdr" | "command" | "commandl"
        | "commandr" | "commandleft" | "commandright" | "win" | "winl" | "winr" | "winleft"
        | "winright" | "windows" | "os" | "osleft" | "osright" => Modifier::Super,
        _ => return None,
    })
}

fn named(plain: &str) -> Option<NamedKey> {
    Some(match plain {
        "enter" | "return" | "ret" | "kpenter" | "numpadenter" => NamedKey::Enter,
        "tab" | "kptab" => NamedKey::Tab,
        "space" | "spacebar" | "kpspace" => NamedKey::Space,
        "escape" | "esc" => NamedKey::Escape,
        "backspace" | "bksp" | "bs" => NamedKey::Backspace,
        "delete" | "del" | "kpdelete" | "forwarddelete" => NamedKey::Delete,
        "insert" | "ins" | "kpinsert" => NamedKey::Insert,
        "home" | "kphome" => NamedKey::Home,
        "end" | "kpend" => NamedKey::End,
        "pageup" | "pgup" | "prior" | "kppageup" | "kpprior" => NamedKey::PageUp,
        "pagedown" | "pgdn" | "pgdown" | "next" | "kppagedown" | "kpnext" => NamedKey::PageDown,
        "arrowup" | "up" | "uparrow" | "kpup" => NamedKey::ArrowUp,
        "arrowdown" | "down" | "downarrow" | "kpdown" => NamedKey::ArrowDown,
        "arrowleft" | "left" | "leftarrow" | "kpleft" => NamedKey::ArrowLeft,
        "arrowright" | "right" | "rightarrow" | "kpright" => NamedKey::ArrowRight,
        "capslock" | "caps" => NamedKey::CapsLock,
        "numlock" => NamedKey::NumLock,
        "scrolllock" => NamedKey::ScrollLock,
        "printscreen" | "print" | "prtsc" | "prtscr" | "prntscrn" | "snapshot" => {
            NamedKey::PrintScreen
        }
        "pause" | "break" => NamedKey::Pause,
        "contextmenu" | "menu" | "apps" => NamedKey::ContextMenu,
        "f1" | "kpf1" => NamedKey::F1,
        "f2" | "kpf2" => NamedKey::F2,
        "f3" | "kpf3" => NamedKey::F3,
        "f4" | "kpf4" => NamedKey::F4,
        "f5" => NamedKey::F5,
        "f6" => NamedKey::F6,
        "f7" => NamedKey::F7,
        "f8" => NamedKey::F8,
        "f9" => NamedKey::F9,
        "f10" => NamedKey::F10,
        "f11" => NamedKey::F11,
        "f12" => NamedKey::F12,
        _ => return None,
    })
}

fn character(plain: &str) -> Option<char> {
    Some(match plain {
        "exclam" => '!',
        "quotedbl" => '"',
        "numbersign" => '#',
        "dollar" => '$',
        "percent" => '%',
        "ampersand" => '&',
        "apostrophe" | "quoteright" | "quote" => '\'',
        "parenleft" => '(',
        "parenright" => ')',
        "asterisk" | "multiply" | "kpmultiply" | "numpadmultiply" => '*',
        "plus" | "add" | "kpadd" | "numpadadd" => '+',
        "comma" | "kpseparator" => ',',
        "minus" | "subtract" | "kpsubtract" | "numpadsubtract" => '-',
        "period" | "dot" | "decimal" | "kpdecimal" | "numpaddecimal" => '.',
        "slash" | "divide" | "kpdivide" | "numpaddivide" => '/',
        "colon" => ':',
        "semicolon" => ';',
        "less" => '<',
        "equal" | "equals" | "kpequal" => '=',
        "greater" => '>',
        "question" => '?',
        "at" => '@',
        "bracketleft" => '[',
        "backslash" => '\\',
        "bracketright" => ']',
        "asciicircum" => '^',
        "underscore" => '_',
        "grave" | "quoteleft" | "backquote" => '`',
        "braceleft" => '{',
        "bar" => '|',
        "braceright" => '}',
        "asciitilde" => '~',
        _ => {
            return digit(plain)
                .or_else(|| code_letter(plain))
                .or_else(|| code_point(plain));
        }
    })
}

/// `KP_7`, `Digit7`, `Numpad7`.
fn digit(plain: &str) -> Option<char> {
    let rest = ["kp", "digit", "numpad"]
        .iter()
        .find_map(|head| plain.strip_prefix(head))?;
    only(rest).filter(char::is_ascii_digit)
}

/// The W3C's `KeyA`.
fn code_letter(plain: &str) -> Option<char> {
    only(plain.strip_prefix("key")?).filter(char::is_ascii_lowercase)
}

/// X11's number of a key, such as `0xff0d`.
fn keysym(plain: &str) -> Option<Key> {
    let number = u32::from_str_radix(plain.strip_prefix("0x")?, 16).ok()?;
    let named = |key| Some(Key::Named(key));
    match number {
        0x20..=0x7e | 0xa1..=0xff => char::from_u32(number).map(of_char),
        0x0100_00a1..=0x0110_ffff => {
            let c = char::from_u32(number - 0x0100_0000)?;
            (!c.is_control() && !c.is_whitespace()).then_some(Key::Char(c))
        }
        0xff08 => named(NamedKey::Backspace),
        0xff09 => named(NamedKey::Tab),
        0xff0d | 0xff8d => named(NamedKey::Enter),
        0xff13 => named(NamedKey::Pause),
        0xff14 => named(NamedKey::ScrollLock),
        0xff1b => named(NamedKey::Escape),
        0xff50 => named(NamedKey::Home),
        0xff51 => named(NamedKey::ArrowLeft),
        0xff52 => named(NamedKey::ArrowUp),
        0xff53 => named(NamedKey::ArrowRight),
        0xff54 => named(NamedKey::ArrowDown),
        0xff55 => named(NamedKey::PageUp),
        0xff56 => named(NamedKey::PageDown),
        0xff57 => named(NamedKey::End),
        0xff61 => named(NamedKey::PrintScreen),
        0xff63 => named(NamedKey::Insert),
        0xff67 => named(NamedKey::ContextMenu),
        0xff7f => named(NamedKey::NumLock),
        0xffbe..=0xffc9 => {
            let index = usize::try_from(number - 0xffbe).ok()?;
            FUNCTION_KEYS.get(index).copied().and_then(named)
        }
        0xffe1 | 0xffe2 => Some(Key::Modifier(Modifier::Shift)),
        0xffe3 | 0xffe4 => Some(Key::Modifier(Modifier::Ctrl)),
        0xffe5 => named(NamedKey::CapsLock),
        0xffe7 | 0xffe8 | 0xffeb | 0xffec => Some(Key::Modifier(Modifier::Super)),
        0xffe9 | 0xffea => Some(Key::Modifier(Modifier::Alt)),
        0xffff => named(NamedKey::Delete),
        _ => None,
    }
}

const FUNCTION_KEYS: [NamedKey; 12] = [
    NamedKey::F1,
    NamedKey::F2,
    NamedKey::F3,
    NamedKey::F4,
    NamedKey::F5,
    NamedKey::F6,
    NamedKey::F7,
    NamedKey::F8,
    NamedKey::F9,
    NamedKey::F10,
    NamedKey::F11,
    NamedKey::F12,
];

/// X11's `U20AC`.
fn code_point(plain: &str) -> Option<char> {
    let hex = plain
        .strip_prefix('u')
        .filter(|hex| (4..=6).contains(&hex.len()))?;
    let c = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
    (!c.is_control() && !c.is_whitespace()).then_some(c)
}

fn only(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
