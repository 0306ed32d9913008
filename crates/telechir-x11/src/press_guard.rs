//! Presses keys and buttons and guarantees their release.

use std::mem;

use x11rb::NONE;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, ModMask,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;

/// An input that can be pressed and released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressable {
    /// A key, by keycode.
    Key(u8),
    /// A button, by number.
    Button(u8),
    /// A lock key: the first tap turned the lock off, releasing taps it again.
    Lock(u8),
    /// A layout group such as Latin, and the group to restore.
    Group { pressed: u8, released: u8 },
}

/// Inputs that `KeyDown` and `MouseDown` left pressed, in press order.
#[derive(Debug, Default)]
pub(crate) struct PressedInputs(Vec<Pressable>);

impl PressedInputs {
    /// Releases all inputs in reverse order.
    pub(crate) fn release(&mut self, connection: &Connection) -> Result<(), XError> {
        while let Some(input) = self.0.last() {
            send_release(connection, *input)?;
            self.0.pop();
        }
        connection.flush()
    }
}

/// The inputs pressed by one action. Dropping it releases them in reverse order, whether the action
/// completed, failed or was cancelled.
#[derive(Debug)]
pub(crate) struct PressGuard<'a> {
    connection: &'a Connection,
    already_pressed: &'a mut PressedInputs,
    pressed: Vec<Pressable>,
}

impl<'a> PressGuard<'a> {
    pub(crate) const fn new(
        connection: &'a Connection,
        already_pressed: &'a mut PressedInputs,
    ) -> Self {
        Self {
            connection,
            already_pressed,
            pressed: Vec::new(),
        }
    }

    /// Presses an input. If it is already pressed, this action will not release it.
    pub(crate) fn press(&mut self, input: Pressable) -> Result<(), XError> {
        if self.already_pressed.0.contains(&input) || self.pressed.contains(&input) {
            return Ok(());
        }
        // Recorded before sending: releasing an unpressed input is harmless, an unrecorded press
        // stays.
        self.pressed.push(input);
        let (kind, detail) = match input {
            Pressable::Key(code) => (KEY_PRESS_EVENT, code),
            Pressable::Button(number) => (BUTTON_PRESS_EVENT, number),
            Pressable::Lock(code) => return tap(self.connection, code),
            Pressable::Group { pressed, .. } => return lock_group(self.connection, pressed),
        };
        fake(self.connection, kind, detail)
    }

    /// Releases an input unless `KeyDown` or `MouseDown` left it pressed.
    pub(crate) fn release(&mut self, input: Pressable) -> Result<(), XError> {
        if let Some(at) = self.pressed.iter().position(|pressed| *pressed == input) {
            send_release(self.connection, input)?;
            self.pressed.remove(at);
        }
        Ok(())
    }

    /// Releases an input regardless of which action pressed it.
    pub(crate) fn force_release(&mut self, input: Pressable) -> Result<(), XError> {
        send_release(self.connection, input)?;
        self.already_pressed
            .0
            .retain(|already_pressed| *already_pressed != input);
        Ok(())
    }

    /// Restores the layout group if `KeyDown` left another one active.
    pub(crate) fn release_group(&mut self) -> Result<(), XError> {
        let is_group = |input: &&Pressable| matches!(input, Pressable::Group { .. });
        match self.already_pressed.0.iter().find(is_group).copied() {
            Some(group) => self.force_release(group),
            None => Ok(()),
        }
    }

    /// Leaves the inputs pressed after the action.
    pub(crate) fn leave_pressed(mut self) {
        let pressed = mem::take(&mut self.pressed);
        self.already_pressed.0.extend(pressed);
    }

    /// Presses and releases without an await point in between.
    pub(crate) fn tap(&mut self, input: Pressable) -> Result<(), XError> {
        self.press(input)?;
        self.release(input)
    }

    pub(crate) fn move_to(&self, x: i16, y: i16) -> Result<(), XError> {
        let root = self.connection.root();
        self.connection.synthetic_pointer().note_move(x, y);
        // Detail 0 means absolute coordinates, time 0 means now.
        self.connection
            .x()
            .xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, root, x, y, 0)?;
        Ok(())
    }

    pub(crate) const fn connection(&self) -> &'a Connection {
        self.connection
    }
}

impl Drop for PressGuard<'_> {
    fn drop(&mut self) {
        for input in mem::take(&mut self.pressed).into_iter().rev() {
            // If the connection is lost, its server is gone and nothing stays pressed.
            let _best_effort = send_release(self.connection, input);
        }
        let _best_effort = self.connection.flush();
    }
}

/// Releases all presses made through XTEST by any client. The server tracks them separately from
/// physical devices, whose keys stay pressed.
pub(crate) async fn release_all(connection: &Connection) -> Result<(), XError> {
    const BUTTONS: u8 = 9;
    let pressed = connection.reply(connection.x().query_keymap()?).await?.keys;
    let is_down = |code: &u8| pressed[usize::from(*code / 8)] & (1 << (code % 8)) != 0;
    for code in (8..=u8::MAX).filter(is_down) {
        fake(connection, KEY_RELEASE_EVENT, code)?;
    }
    for button in 1..=BUTTONS {
        fake(connection, BUTTON_RELEASE_EVENT, button)?;
    }
    connection.sync().await
}

fn send_release(connection: &Connection, input: Pressable) -> Result<(), XError> {
    match input {
        Pressable::Key(code) => fake(connection, KEY_RELEASE_EVENT, code),
        Pressable::Button(number) => fake(connection, BUTTON_RELEASE_EVENT, number),
        Pressable::Lock(code) => tap(connection, code),
        Pressable::Group { released, .. } => lock_group(connection, released),
    }
}

fn lock_group(connection: &Connection, group: u8) -> Result<(), XError> {
    let (keyboard, nothing) = (xkb::ID::USE_CORE_KBD.into(), ModMask::default());
    let group = xkb::Group::from(group);
    connection
        .x()
        .xkb_latch_lock_state(keyboard, nothing, nothing, true, group, nothing, false, 0)?;
    Ok(())
}

fn tap(connection: &Connection, code: u8) -> Result<(), XError> {
    fake(connection, KEY_PRESS_EVENT, code)?;
    fake(connection, KEY_RELEASE_EVENT, code)
}

fn fake(connection: &Connection, kind: u8, detail: u8) -> Result<(), XError> {
    connection
        .x()
        .xtest_fake_input(kind, detail, 0, NONE, 0, 0, 0)?;
    Ok(())
}
