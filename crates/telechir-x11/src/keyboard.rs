//! Keyboard input: maps keys and chords to keycodes of the server's layout.

use telechir_protocol::{Chord, Key, Modifier};
use tokio::time::Instant;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::KeyButMask;

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::Focus;
use crate::keycode_pool::{Allocation, KeycodePool};
use crate::keysym;
use crate::layout::{KeyPress, Layout};
use crate::press_guard::{PressGuard, Pressable};

/// The keyboard of the server: its layout and the keycodes assigned to missing characters.
#[derive(Debug)]
pub(crate) struct XKeyboard {
    pub(crate) layout: Layout,
    pub(crate) keycodes: KeycodePool,
    pub(crate) focus: Focus,
    /// Time of the latest typing with assigned keycodes, for clients that do not confirm reading.
    pub(crate) typed: Option<Instant>,
    has_xkb: bool,
}

/// The active group and locks of the keyboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyboardModes {
    /// Index of the active layout group, such as Latin or Cyrillic.
    pub(crate) group: usize,
    /// The group that stays active after all group keys are released.
    locked_group: u8,
    pub(crate) caps_lock: bool,
}

impl XKeyboard {
    pub(crate) async fn new(connection: &Connection) -> Result<Self, XError> {
        let has_xkb = connection.has(xkb::X11_EXTENSION_NAME)?
            && connection
                .reply(connection.x().xkb_use_extension(1, 0)?)
                .await?
                .supported;
        if has_xkb {
            select_layout_events(connection).await?;
        }
        let mut layout = Layout::read(connection).await?;
        let keycodes = KeycodePool::new(&layout);
        layout.leave_out(&keycodes.codes());
        let focus = Focus::new(connection).await?;
        Ok(Self {
            layout,
            keycodes,
            focus,
            typed: None,
            has_xkb,
        })
    }

    /// Updates the layout after mapping changes and reads the active modes.
    pub(crate) async fn refresh(
        &mut self,
        connection: &Connection,
    ) -> Result<KeyboardModes, XError> {
        connection.drain()?;
        if connection.take_remapped() {
            self.layout = Layout::read(connection).await?;
            if !self.keycodes.is_applied_to(&self.layout) {
                self.keycodes = KeycodePool::new(&self.layout);
            }
            self.layout.leave_out(&self.keycodes.codes());
        }
        if !self.has_xkb {
            return Ok(KeyboardModes::default());
        }
        let core = u16::from(xkb::ID::USE_CORE_KBD);
        let state = connection
            .reply(connection.x().xkb_get_state(core)?)
            .await?;
        let locked = u16::from(state.locked_mods);
        Ok(KeyboardModes {
            group: usize::from(u8::from(state.group)),
            locked_group: state.locked_group.into(),
            caps_lock: locked & u16::from(KeyButMask::LOCK) != 0,
        })
    }

    /// The inputs of a chord in the order in which they are pressed.
    pub(crate) async fn chord(
        &mut self,
        connection: &Connection,
        chord: &Chord,
    ) -> Result<Vec<Pressable>, XError> {
        let mut modes = self.refresh(connection).await?;
        let is_shortcut = chord
            .modifiers()
            .any(|modifier| modifier != Modifier::Shift);
        let mut inputs = Vec::new();
        if is_shortcut && let Some(group) = self.group_of(chord, modes) {
            let (pressed, released) = (group, modes.locked_group);
            inputs.push(Pressable::Group { pressed, released });
            modes.group = group.into();
        }
        let mut uses_pool = false;
        self.keycodes.start_batch();
        for key in chord.keys() {
            let key_press = match self.key_press(key, is_shortcut, modes)? {
                KeyLookup::InLayout(key_press) => key_press,
                KeyLookup::NotInLayout(keysym) => {
                    uses_pool = true;
                    self.allocate(keysym, is_shortcut)?
                }
            };
            inputs.extend(self.shifts(key_press)?);
            inputs.push(Pressable::Key(key_press.code));
        }
        if uses_pool {
            self.apply(connection).await?;
        }
        Ok(inputs)
    }

    /// The other layout group, if only that one has all keys of a shortcut: with a Cyrillic and a
    /// Latin group, ctrl+a is pressed with the key of the Latin group.
    fn group_of(&self, chord: &Chord, modes: KeyboardModes) -> Option<u8> {
        let has_all = |group: usize| {
            let modes = KeyboardModes { group, ..modes };
            let mut keys = chord.keys().iter();
            keys.all(|key| matches!(self.key_press(key, true, modes), Ok(KeyLookup::InLayout(_))))
        };
        let other = usize::from(modes.group == 0);
        let helps = self.has_xkb && !has_all(modes.group) && has_all(other);
        helps.then(|| u8::from(other == 1))
    }

    /// The keycode of a single key, if the layout has it.
    pub(crate) fn code(&self, key: &Key) -> Option<u8> {
        match self.key_press(key, true, KeyboardModes::default()).ok()? {
            KeyLookup::InLayout(key_press) => Some(key_press.code),
            KeyLookup::NotInLayout(_) => None,
        }
    }

    /// The keys that hold these modifiers.
    pub(crate) fn modifiers(&self, modifiers: &[Modifier]) -> Result<Vec<Pressable>, XError> {
        modifiers
            .iter()
            .map(|modifier| self.modifier(*modifier))
            .collect()
    }

    pub(crate) fn modifier(&self, modifier: Modifier) -> Result<Pressable, XError> {
        match self.layout.of_keysym(keysym::of_modifier(modifier), 0) {
            Some(key_press) => Ok(Pressable::Key(key_press.code)),
            None => Err(XError::Impossible(format!(
                "the keyboard layout has no key `{}`",
                Key::Modifier(modifier)
            ))),
        }
    }

    /// The modifier keys required for a key press.
    pub(crate) fn shifts(&self, key_press: KeyPress) -> Result<Vec<Pressable>, XError> {
        let mut inputs = Vec::new();
        if key_press.shift {
            inputs.push(self.modifier(Modifier::Shift)?);
        }
        if key_press.level3 {
            let alt_gr = self
                .layout
                .of_keysym(keysym::LEVEL3_SHIFT, 0)
                .ok_or_else(|| {
                    XError::Impossible("the keyboard layout has no AltGr key".to_owned())
                })?;
            inputs.push(Pressable::Key(alt_gr.code));
        }
        Ok(inputs)
    }

    fn key_press(
        &self,
        key: &Key,
        is_shortcut: bool,
        modes: KeyboardModes,
    ) -> Result<KeyLookup, XError> {
        let keysym = match key {
            Key::Modifier(modifier) => keysym::of_modifier(*modifier),
            Key::Named(named) => keysym::of_named(*named),
            // In a shortcut a letter names its key: `CTRL+A` means the same as `ctrl+a`.
            Key::Char(c) if is_shortcut => return Ok(self.of_char(lowercase(*c), modes)),
            Key::Char(c) => return Ok(self.of_char(*c, modes)),
            Key::Other(name) => keysym::of_name(name).ok_or_else(|| {
                XError::Impossible(format!(
                    "unknown key `{name}`; use names such as Return, Page_Down, F5, ctrl"
                ))
            })?,
        };
        let found = self.layout.of_keysym(keysym, modes.group);
        Ok(found.map_or(KeyLookup::NotInLayout(keysym), KeyLookup::InLayout))
    }

    /// The key press that produces a character, or the keysym to assign.
    pub(crate) fn of_char(&self, c: char, modes: KeyboardModes) -> KeyLookup {
        let found = self
            .layout
            .of_char(c, modes.group)
            .filter(|key_press| self.has_shift_keys(*key_press));
        found.map_or_else(
            || KeyLookup::NotInLayout(keysym::of_char(c)),
            KeyLookup::InLayout,
        )
    }

    fn has_shift_keys(&self, key_press: KeyPress) -> bool {
        self.shifts(key_press).is_ok()
    }

    fn allocate(&mut self, keysym: u32, is_shortcut: bool) -> Result<KeyPress, XError> {
        let allocation = if is_shortcut {
            self.keycodes.allocate_unshifted(keysym)
        } else {
            self.keycodes.allocate(keysym)
        };
        match allocation {
            Allocation::Existing(key_press) | Allocation::New(key_press) => Ok(key_press),
            Allocation::Full => Err(XError::Impossible(
                "the keyboard layout has no unused keycode left for this chord".to_owned(),
            )),
        }
    }

    /// Sends newly assigned keycodes to the server, after clients have read the keys typed with the
    /// old mapping.
    pub(crate) async fn apply(&mut self, connection: &Connection) -> Result<(), XError> {
        if self.keycodes.take_barrier() {
            self.wait_until_read(connection).await?;
        }
        self.keycodes.write_to(&mut self.layout);
        self.layout.write(connection).await
    }

    /// Unassigns all keycodes, so that an existing display keeps its own mapping.
    pub(crate) async fn restore_layout(&mut self, connection: &Connection) -> Result<(), XError> {
        if !self.keycodes.has_allocations() {
            return Ok(());
        }
        self.wait_until_read(connection).await?;
        self.keycodes.clear();
        self.keycodes.write_to(&mut self.layout);
        self.layout.write(connection).await
    }
}

/// How a key or character can be produced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyLookup {
    /// By this key press of the layout.
    InLayout(KeyPress),
    /// Only by assigning this keysym to an unused keycode.
    NotInLayout(u32),
}

fn lowercase(c: char) -> char {
    let mut chars = c.to_lowercase();
    match (chars.next(), chars.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

/// Presses and releases a chord.
pub(crate) fn tap(guard: &mut PressGuard<'_>, inputs: &[Pressable]) -> Result<(), XError> {
    press(guard, inputs)?;
    inputs
        .iter()
        .rev()
        .try_for_each(|input| guard.release(*input))
}

/// Presses all keys of a chord.
pub(crate) fn press(guard: &mut PressGuard<'_>, inputs: &[Pressable]) -> Result<(), XError> {
    inputs.iter().try_for_each(|input| guard.press(*input))
}

/// Selects layout change events: clients that use XKB receive no core `MappingNotify` events.
async fn select_layout_events(connection: &Connection) -> Result<(), XError> {
    let wanted = xkb::EventType::NEW_KEYBOARD_NOTIFY | xkb::EventType::MAP_NOTIFY;
    let map = xkb::MapPart::KEY_TYPES | xkb::MapPart::KEY_SYMS | xkb::MapPart::MODIFIER_MAP;
    let details = xkb::SelectEventsAux::new();
    let request = connection.x().xkb_select_events(
        u16::from(xkb::ID::USE_CORE_KBD),
        xkb::EventType::from(0u16),
        wanted,
        map,
        map,
        &details,
    )?;
    connection.checked(request).await
}
