//! Keys and chords with one spelling for all providers.

mod json;
mod names;

use std::fmt;

use serde::{Deserialize, Serialize};

/// A key that changes the meaning of others while it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Modifier {
    /// The control key, `ctrl`.
    Ctrl,
    /// The alt key, `alt`; also called option.
    Alt,
    /// The shift key, `shift`.
    Shift,
    /// The super key, `super`; also called meta, command or win.
    Super,
}

impl Modifier {
    /// All modifiers, in the order of a canonical chord.
    pub const ALL: [Self; 4] = [Self::Ctrl, Self::Alt, Self::Shift, Self::Super];

    /// The canonical name of the modifier.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ctrl => "ctrl",
            Self::Alt => "alt",
            Self::Shift => "shift",
            Self::Super => "super",
        }
    }

    /// Parses a modifier in any provider's spelling.
    pub fn parse(name: &str) -> Option<Self> {
        match Key::parse(name) {
            Key::Modifier(modifier) => Some(modifier),
            Key::Named(_) | Key::Char(_) | Key::Other(_) => None,
        }
    }
}

/// A key with a name instead of a character; spelled as in the W3C's list of key values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each name is the W3C's key value")]
pub enum NamedKey {
    Enter,
    Tab,
    Space,
    Escape,
    Backspace,
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    ArrowUp,
    ArrowDown,
    ArrowLeft,
    ArrowRight,
    CapsLock,
    NumLock,
    ScrollLock,
    PrintScreen,
    Pause,
    ContextMenu,
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    F9,
    F10,
    F11,
    F12,
}

/// One key of a chord.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A modifier; its left and right key are the same.
    Modifier(Modifier),
    /// A key with a name.
    Named(NamedKey),
    /// The key that types this character (a letter retains its case).
    Char(char),
    /// A key with an unknown name. A device that does not know it either rejects it.
    Other(String),
}

impl Key {
    /// Parses a key name in any provider's spelling and any case.
    ///
    /// An unknown name becomes [`Key::Other`], verbatim.
    pub fn parse(name: &str) -> Self {
        let name = match name.trim() {
            "" => name,
            trimmed => trimmed,
        };
        let mut chars = name.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => names::of_char(only),
            _ => names::of_name(name),
        }
    }

    /// One spelling of each key: `Char(' ')` is `Space`, and a known name is never `Other`.
    fn normalized(self) -> Self {
        match self {
            Self::Char(c) => names::of_char(c),
            Self::Other(name) => Self::parse(&name),
            Self::Modifier(_) | Self::Named(_) => self,
        }
    }

    fn canonical(&self) -> Self {
        match self {
            Self::Char(c) => Self::Char(lower(*c)),
            Self::Other(name) => Self::Other(name.to_lowercase()),
            Self::Modifier(_) | Self::Named(_) => self.clone(),
        }
    }
}

/// The lower case of a letter, if that is one character.
fn lower(c: char) -> char {
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Modifier(modifier) => f.write_str(modifier.name()),
            Self::Named(named) => f.write_str(named.name()),
            Self::Char(c) => write!(f, "{c}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// Keys pressed together: pressed in order, released in reverse. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "json::ChordForm", into = "json::ChordForm")]
pub struct Chord(Vec<Key>);

impl Chord {
    /// Creates a chord; none if there are no keys, or one has an empty name.
    pub fn new(keys: Vec<Key>) -> Option<Self> {
        let keys: Vec<Key> = keys.into_iter().map(Key::normalized).collect();
        let nameless = |key: &Key| matches!(key, Key::Other(name) if name.is_empty());
        (!keys.is_empty() && !keys.iter().any(nameless)).then_some(Self(keys))
    }

    /// Parses a chord as xdotool writes it: names joined by `+`, optionally surrounded by spaces.
    ///
    /// The plus key itself is `+`, so `ctrl++` is control and plus. A single space is the space
    /// bar. `ctrl alt f1` and `CTRL-ALT-F1` are also accepted if every part is known. None if a
    /// name is missing, as in `ctrl+`.
    ///
    /// ```
    /// use telechir_protocol::Chord;
    /// assert_eq!(Chord::parse("Control_L + T").unwrap().to_string(), "ctrl+t");
    /// assert_eq!(Chord::parse("ctrl++").unwrap().keys().len(), 2);
    /// assert_eq!(Chord::parse("ctrl+"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().count() == 1 {
            return Self::new(vec![Key::parse(text)]);
        }
        if let Some(chord) = Self::otherwise_joined(text) {
            return Some(chord);
        }
        let mut keys = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = split_name(rest)?;
            keys.push(Key::parse(name));
            match after {
                Some(after) => rest = after,
                None => return Self::new(keys),
            }
        }
    }

    /// A chord joined by spaces or by `-`: modifiers and one key, all of them known.
    fn otherwise_joined(text: &str) -> Option<Self> {
        let text = text.trim();
        let joint = [' ', '-'].into_iter().find(|joint| text.contains(*joint))?;
        if text.contains('+') || !matches!(Key::parse(text), Key::Other(_)) {
            return None;
        }
        let names = text.split(joint).filter(|name| !name.is_empty());
        let keys: Vec<Key> = names.map(Key::parse).collect();
        let (last, before) = keys.split_last()?;
        let modified = !before.is_empty()
            && before.iter().all(|key| matches!(key, Key::Modifier(_)))
            && !matches!(last, Key::Other(_));
        if modified { Self::new(keys) } else { None }
    }

    /// Creates a chord from a list of names. A name that is itself a chord (`ctrl+c`) adds all its
    /// keys. None if the list or a name is empty.
    pub fn from_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Option<Self> {
        let mut keys = Vec::new();
        for name in names {
            keys.extend(Self::parse(name.as_ref())?.0);
        }
        Self::new(keys)
    }

    /// The keys in the order in which they are pressed.
    pub fn keys(&self) -> &[Key] {
        &self.0
    }

    /// The modifiers in the order in which they are pressed.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> {
        self.0.iter().filter_map(|key| match key {
            Key::Modifier(modifier) => Some(*modifier),
            Key::Named(_) | Key::Char(_) | Key::Other(_) => None,
        })
    }

    /// The canonical form: modifiers sorted and unique, then the other keys, letters in lower case.
    /// Two chords that press the same keys have equal canonical forms.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let mut modifiers: Vec<Modifier> = self.modifiers().collect();
        modifiers.sort_unstable();
        modifiers.dedup();
        let mut keys: Vec<Key> = modifiers.into_iter().map(Key::Modifier).collect();
        for key in self.0.iter().map(Key::canonical) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Self(keys)
    }
}

impl From<Modifier> for Chord {
    fn from(modifier: Modifier) -> Self {
        Self(vec![Key::Modifier(modifier)])
    }
}

impl From<NamedKey> for Chord {
    fn from(named: NamedKey) -> Self {
        Self(vec![Key::Named(named)])
    }
}

/// Writes the canonical spelling, such as `ctrl+shift+t` or `Enter`.
impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spell(&self.canonical().0))
    }
}

fn spell(keys: &[Key]) -> String {
    keys.iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join("+")
}

/// Splits off the first name of a chord at its `+`; none if the name is empty.
fn split_name(text: &str) -> Option<(&str, Option<&str>)> {
    let start = text.trim_start();
    let (name, rest) = match start.strip_prefix('+') {
        Some(rest) => (&start[..1], rest),
        None => start.split_at(start.find('+').unwrap_or(start.len())),
    };
    let name = match name.trim_end() {
        "" if text.starts_with(' ') => " ",
        "" => return None,
        name => name,
    };
    match rest.trim_start() {
        "" => Some((name, None)),
        rest => rest.strip_prefix('+').map(|after| (name, Some(after))),
    }
}
