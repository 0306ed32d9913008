//! What is pressed, and the promise that it is released.

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

/// Something that can be pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A key by its code.
    Key(u8),
    /// A button by its number.
    Button(u8),
    /// A key whose tap turned a lock off; another turns it on again.
    Lock(u8),
    /// Another group of the layout, such as Latin, and the one to go back to.
    Group { pressed: u8, released: u8 },
}

/// What `KeyDown` and `MouseDown` left pressed, in the order it went down.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<Part>);

impl Held {
    /// Releases all of it.
    pub(crate) fn release(&mut self, connection: &Connection) -> Result<(), XError> {
        while let Some(part) = self.0.last() {
            send_release(connection, *part)?;
            self.0.pop();
        }
        connection.flush()
    }
}

/// One action's hold on keys and buttons: what it pressed is released when it is dropped, in
/// reverse, whether the action ended, failed, or its future was dropped.
#[derive(Debug)]
pub(crate) struct Grip<'a> {
    connection: &'a Connection,
    held: &'a mut Held,
    pressed: Vec<Part>,
}

impl<'a> Grip<'a> {
    pub(crate) const fn new(connection: &'a Connection, held: &'a mut Held) -> Self {
        Self {
            connection,
            held,
            pressed: Vec::new(),
        }
    }

    /// Presses it, unless it is pressed already: then it is not this action's to release.
    pub(crate) fn press(&mut self, part: Part) -> Result<(), XError> {
        if self.held.0.contains(&part) || self.pressed.contains(&part) {
            return Ok(());
        }
        // Noted first: an unsent press is released in vain, an unnoted one never.
        self.pressed.push(part);
        let (kind, detail) = match part {
            Part::Key(code) => (KEY_PRESS_EVENT, code),
            Part::Button(number) => (BUTTON_PRESS_EVENT, number),
            Part::Lock(code) => return tap(self.connection, code),
            Part::Group { pressed, .. } => return lock_group(self.connection, pressed),
        };
        fake(self.connection, kind, detail)
    }

    /// Releases it, unless `KeyDown` or `MouseDown` keeps it pressed.
    pub(crate) fn release(&mut self, part: Part) -> Result<(), XError> {
        if let Some(at) = self.pressed.iter().position(|pressed| *pressed == part) {
            send_release(self.connection, part)?;
            self.pressed.remove(at);
        }
        Ok(())
    }

    /// Releases it, whoever pressed it.
    pub(crate) fn release_held(&mut self, part: Part) -> Result<(), XError> {
        send_release(self.connection, part)?;
        self.held.0.retain(|held| *held != part);
        Ok(())
    }

    /// Goes back to the layout's own group when `KeyDown` left another.
    pub(crate) fn release_group(&mut self) -> Result<(), XError> {
        let is_group = |part: &&Part| matches!(part, Part::Group { .. });
        match self.held.0.iter().find(is_group).copied() {
            Some(group) => self.release_held(group),
            None => Ok(()),
        }
    }

    /// Leaves it pressed after the action.
    pub(crate) fn keep(mut self) {
        let pressed = mem::take(&mut self.pressed);
        self.held.0.extend(pressed);
    }

    /// Presses and releases in one go; cannot be interrupted half way.
    pub(crate) fn tap(&mut self, part: Part) -> Result<(), XError> {
        self.press(part)?;
        self.release(part)
    }

    pub(crate) fn move_to(&self, x: i16, y: i16) -> Result<(), XError> {
        let root = self.connection.root();
        self.connection.hand().moves_to(x, y);
        // Detail 0: the position is absolute. Time 0: now.
        self.connection
            .x()
            .xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, root, x, y, 0)?;
        Ok(())
    }

    pub(crate) const fn connection(&self) -> &'a Connection {
        self.connection
    }
}

impl Drop for Grip<'_> {
    fn drop(&mut self) {
        for part in mem::take(&mut self.pressed).into_iter().rev() {
            // A connection that is gone takes its server's keys with it.
            let _best_effort = send_release(self.connection, part);
        }
        let _best_effort = self.connection.flush();
    }
}

/// Releases what anybody pressed by the extension that we press with. The server keeps those
/// presses apart from a person's, and lets go of none of theirs.
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

fn send_release(connection: &Connection, part: Part) -> Result<(), XError> {
    match part {
        Part::Key(code) => fake(connection, KEY_RELEASE_EVENT, code),
        Part::Button(number) => fake(connection, BUTTON_RELEASE_EVENT, number),
        Part::Lock(code) => tap(connection, code),
        Part::Group { released, .. } => lock_group(connection, released),
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
