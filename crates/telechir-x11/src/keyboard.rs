//! Keys and chords: from names to what the server's layout calls them.

use telechir_protocol::{Chord, Key, Modifier};
use tokio::time::Instant;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::KeyButMask;

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::Focus;
use crate::keycode_pool::{Lent, Spares};
use crate::keysym;
use crate::layout::{Layout, Stroke};
use crate::press_guard::{Grip, Part};

/// Everything known of the server's keyboard.
#[derive(Debug)]
pub(crate) struct Keyboard {
    pub(crate) layout: Layout,
    pub(crate) spares: Spares,
    pub(crate) focus: Focus,
    /// When text was last typed by borrowed keys, for programs that cannot say what they read.
    pub(crate) typed: Option<Instant>,
    has_xkb: bool,
}

/// What is switched on at the moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    /// Which of the layout's groups, such as Latin and Cyrillic.
    pub(crate) group: usize,
    /// The group that stays when no key that changes it is held.
    locked_group: u8,
    pub(crate) caps_lock: bool,
}

impl Keyboard {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let has_xkb = connection.has(xkb::X11_EXTENSION_NAME)?
            && connection
                .reply(connection.x().xkb_use_extension(1, 0)?)
                .await?
                .supported;
        if has_xkb {
            hear_of_layouts(connection).await?;
        }
        let mut layout = Layout::read(connection).await?;
        let spares = Spares::new(&layout);
        layout.leave_out(&spares.codes());
        let focus = Focus::new(connection).await?;
        Ok(Self {
            layout,
            spares,
            focus,
            typed: None,
            has_xkb,
        })
    }

    /// Brings the layout up to date and says what is switched on.
    pub(crate) async fn look(&mut self, connection: &Connection) -> Result<Modes, XError> {
        connection.drain()?;
        if connection.take_remapped() {
            self.layout = Layout::read(connection).await?;
            if !self.spares.are_in(&self.layout) {
                self.spares = Spares::new(&self.layout);
            }
            self.layout.leave_out(&self.spares.codes());
        }
        if !self.has_xkb {
            return Ok(Modes::default());
        }
        let core = u16::from(xkb::ID::USE_CORE_KBD);
        let state = connection
            .reply(connection.x().xkb_get_state(core)?)
            .await?;
        let locked = u16::from(state.locked_mods);
        Ok(Modes {
            group: usize::from(u8::from(state.group)),
            locked_group: state.locked_group.into(),
            caps_lock: locked & u16::from(KeyButMask::LOCK) != 0,
        })
    }

    /// The keys of a chord in the order they go down.
    pub(crate) async fn chord(
        &mut self,
        connection: &Connection,
        chord: &Chord,
    ) -> Result<Vec<Part>, XError> {
        let mut modes = self.look(connection).await?;
        let is_shortcut = chord
            .modifiers()
            .any(|modifier| modifier != Modifier::Shift);
        let mut parts = Vec::new();
        if is_shortcut && let Some(group) = self.group_of(chord, modes) {
            let (pressed, released) = (group, modes.locked_group);
            parts.push(Part::Group { pressed, released });
            modes.group = group.into();
        }
        let mut borrowed = false;
        self.spares.begin_batch();
        for key in chord.keys() {
            let stroke = match self.stroke(key, is_shortcut, modes)? {
                Found::InLayout(stroke) => stroke,
                Found::Missing(keysym) => {
                    borrowed = true;
                    self.borrow(keysym, is_shortcut)?
                }
            };
            parts.extend(self.shifts(stroke)?);
            parts.push(Part::Key(stroke.code));
        }
        if borrowed {
            self.apply(connection).await?;
        }
        Ok(parts)
    }

    /// The other group of the layout, when only that has all letters of a shortcut: where people
    /// write Cyrillic and Latin, ctrl+a is pressed as ctrl and the key of the Latin one.
    fn group_of(&self, chord: &Chord, modes: Modes) -> Option<u8> {
        let has_all = |group: usize| {
            let modes = Modes { group, ..modes };
            let mut keys = chord.keys().iter();
            keys.all(|key| matches!(self.stroke(key, true, modes), Ok(Found::InLayout(_))))
        };
        let other = usize::from(modes.group == 0);
        let helps = self.has_xkb && !has_all(modes.group) && has_all(other);
        helps.then(|| u8::from(other == 1))
    }

    /// The code of a key by itself, when the layout has it.
    pub(crate) fn code(&self, key: &Key) -> Option<u8> {
        match self.stroke(key, true, Modes::default()).ok()? {
            Found::InLayout(stroke) => Some(stroke.code),
            Found::Missing(_) => None,
        }
    }

    /// The keys that hold modifiers down.
    pub(crate) fn modifiers(&self, modifiers: &[Modifier]) -> Result<Vec<Part>, XError> {
        modifiers
            .iter()
            .map(|modifier| self.modifier(*modifier))
            .collect()
    }

    pub(crate) fn modifier(&self, modifier: Modifier) -> Result<Part, XError> {
        match self.layout.of_keysym(keysym::of_modifier(modifier), 0) {
            Some(stroke) => Ok(Part::Key(stroke.code)),
            None => Err(XError::Impossible(format!(
                "the keyboard layout has no key `{}`",
                Key::Modifier(modifier)
            ))),
        }
    }

    /// The keys that must be down for a stroke.
    pub(crate) fn shifts(&self, stroke: Stroke) -> Result<Vec<Part>, XError> {
        let mut parts = Vec::new();
        if stroke.shift {
            parts.push(self.modifier(Modifier::Shift)?);
        }
        if stroke.level3 {
            let alt_gr = self
                .layout
                .of_keysym(keysym::LEVEL3_SHIFT, 0)
                .ok_or_else(|| {
                    XError::Impossible("the keyboard layout has no AltGr key".to_owned())
                })?;
            parts.push(Part::Key(alt_gr.code));
        }
        Ok(parts)
    }

    fn stroke(&self, key: &Key, is_shortcut: bool, modes: Modes) -> Result<Found, XError> {
        let keysym = match key {
            Key::Modifier(modifier) => keysym::of_modifier(*modifier),
            Key::Named(named) => keysym::of_named(*named),
            // In a shortcut a letter names its key: `CTRL+A` is what others write `ctrl+a`.
            Key::Char(c) if is_shortcut => return Ok(self.of_char(small(*c), modes)),
            Key::Char(c) => return Ok(self.of_char(*c, modes)),
            Key::Other(name) => keysym::of_name(name).ok_or_else(|| {
                XError::Impossible(format!(
                    "there is no key `{name}`; use names such as Return, Page_Down, F5, ctrl"
                ))
            })?,
        };
        let found = self.layout.of_keysym(keysym, modes.group);
        Ok(found.map_or(Found::Missing(keysym), Found::InLayout))
    }

    /// The stroke of a character, wherever it comes from.
    pub(crate) fn of_char(&self, c: char, modes: Modes) -> Found {
        let found = self
            .layout
            .of_char(c, modes.group)
            .filter(|stroke| self.can_reach(*stroke));
        found.map_or_else(|| Found::Missing(keysym::of_char(c)), Found::InLayout)
    }

    fn can_reach(&self, stroke: Stroke) -> bool {
        self.shifts(stroke).is_ok()
    }

    fn borrow(&mut self, keysym: u32, is_shortcut: bool) -> Result<Stroke, XError> {
        let lent = if is_shortcut {
            self.spares.lend_plain(keysym)
        } else {
            self.spares.lend(keysym)
        };
        match lent {
            Lent::Already(stroke) | Lent::Newly(stroke) => Ok(stroke),
            Lent::Full => Err(XError::Impossible(
                "the keyboard layout has no free key to borrow for this chord".to_owned(),
            )),
        }
    }

    /// Tells the server what is lent, once nobody needs the old mapping any more.
    pub(crate) async fn apply(&mut self, connection: &Connection) -> Result<(), XError> {
        if self.spares.take_barrier() {
            self.wait_until_read(connection).await?;
        }
        self.spares.write_to(&mut self.layout);
        self.layout.write(connection).await
    }

    /// Gives borrowed keys back, so that a display that is not ours is left as it was.
    pub(crate) async fn give_back(&mut self, connection: &Connection) -> Result<(), XError> {
        if !self.spares.any_lent() {
            return Ok(());
        }
        self.wait_until_read(connection).await?;
        self.spares.clear();
        self.spares.write_to(&mut self.layout);
        self.layout.write(connection).await
    }
}

/// Where a key or character is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// The layout has it.
    InLayout(Stroke),
    /// A key must be borrowed for this keysym.
    Missing(u32),
}

fn small(c: char) -> char {
    let mut letters = c.to_lowercase();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => letter,
        _ => c,
    }
}

/// Presses a chord and releases it.
pub(crate) fn tap(grip: &mut Grip<'_>, parts: &[Part]) -> Result<(), XError> {
    press(grip, parts)?;
    parts.iter().rev().try_for_each(|part| grip.release(*part))
}

/// Presses a chord.
pub(crate) fn press(grip: &mut Grip<'_>, parts: &[Part]) -> Result<(), XError> {
    parts.iter().try_for_each(|part| grip.press(*part))
}

/// Asks to be told of other layouts: who speaks the extension is told in its words only.
async fn hear_of_layouts(connection: &Connection) -> Result<(), XError> {
    let wanted = xkb::EventType::NEW_KEYBOARD_NOTIFY | xkb::EventType::MAP_NOTIFY;
    let map = xkb::MapPart::KEY_TYPES | xkb::MapPart::KEY_SYMS | xkb::MapPart::MODIFIER_MAP;
    let details = xkb::SelectEventsAux::new();
    let asked = connection.x().xkb_select_events(
        u16::from(xkb::ID::USE_CORE_KBD),
        xkb::EventType::from(0u16),
        wanted,
        map,
        map,
        &details,
    )?;
    connection.checked(asked).await
}
