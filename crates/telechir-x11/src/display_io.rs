//! What pointer and keyboard do for each action.

use std::time::Duration;

use telechir_device::{ActionReport, DeviceError, Effect, ScreenTarget, Viewport};
use telechir_protocol::{Button, Chord, ClickCount, Key, Modifier, NamedKey, ScrollUnit};
use tokio::time::sleep;
use x11rb::protocol::xtest::{self, ConnectionExt as _};

use crate::clipboard::{Clipboard, Kept};
use crate::connection::Connection;
use crate::display::Display;
use crate::error::XError;
use crate::keyboard::{self, Keyboard};
use crate::pointer::{self, Spot};
use crate::press_guard::{Grip, Held};
use crate::screen_view::{Eyes, missing};
use crate::windows::Windows;
use crate::wm_sync::Manager;

/// More repetitions are a mistake; a held key repeats by itself.
const MOST_REPEATS: u32 = 1_000;

/// Eyes, pointer and keyboard of one screen. Dropping it releases whatever is pressed.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) eyes: Eyes,
    pub(crate) keyboard: Keyboard,
    pub(crate) manager: Manager,
    pub(crate) windows: Windows,
    pub(crate) clipboard: Clipboard,
    /// What the selections held before we pasted, until it is put back.
    pub(crate) kept: Vec<Kept>,
    held: Held,
}

impl Body {
    pub(crate) async fn on(connection: Connection) -> Result<Self, DeviceError> {
        if !connection.has(xtest::X11_EXTENSION_NAME)? {
            return Err(missing("XTEST"));
        }
        let version = connection
            .x()
            .xtest_get_version(2, 2)
            .map_err(XError::from)?;
        connection.reply(version).await?;
        let keyboard = Keyboard::new(&connection).await?;
        let manager = Manager::new(&connection).await?;
        let windows = Windows::new(&connection).await?;
        let clipboard = Clipboard::new(&connection).await?;
        let eyes = Eyes::open(connection).await?;
        Ok(Self {
            eyes,
            keyboard,
            manager,
            windows,
            clipboard,
            kept: Vec::new(),
            held: Held::default(),
        })
    }

    /// Releases everything that is still pressed.
    pub(crate) async fn release(&mut self) -> Result<(), XError> {
        self.held.release(&self.eyes.connection)?;
        self.eyes.connection.sync().await?;
        self.put_back().await
    }

    /// Leaves the keyboard's mapping as it was found.
    pub(crate) async fn give_back(&mut self) -> Result<(), XError> {
        self.keyboard.give_back(&self.eyes.connection).await
    }

    fn grip(&mut self) -> Grip<'_> {
        Grip::new(&self.eyes.connection, &mut self.held)
    }

    async fn sync(&self) -> Result<ActionReport, DeviceError> {
        self.eyes.connection.sync().await?;
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn cursor_position(
        &self,
        viewport: Viewport,
    ) -> Result<ActionReport, DeviceError> {
        let Spot { x, y } = pointer::position(&self.eyes.connection).await?;
        let (x, y) = viewport.seen_at(x.into(), y.into());
        Ok(ActionReport {
            effect: Effect::Confirmed,
            text: Some(format!("X={x},Y={y}")),
        })
    }

    pub(crate) async fn move_to(&mut self, at: &ScreenTarget) -> Result<ActionReport, DeviceError> {
        let spot = Spot::of(at)?;
        self.grip().move_to(spot.x, spot.y)?;
        let is_there = pointer::position(&self.eyes.connection).await? == spot;
        Ok(if is_there {
            ActionReport::confirmed()
        } else {
            ActionReport::delivered()
        })
    }

    /// Goes to a target when there is one.
    fn approach(&mut self, at: Option<&ScreenTarget>) -> Result<(), DeviceError> {
        if let Some(at) = at {
            let spot = Spot::of(at)?;
            self.grip().move_to(spot.x, spot.y)?;
        }
        Ok(())
    }

    pub(crate) async fn click(
        &mut self,
        at: Option<&ScreenTarget>,
        button: Button,
        count: ClickCount,
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at)?;
        self.keyboard.look(&self.eyes.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let connection = &self.eyes.connection;
        let mut grip = Grip::new(connection, &mut self.held);
        keyboard::press(&mut grip, &modifiers)?;
        pointer::click(&mut grip, button, count)?;
        // The modifiers stay until the click has reached its window.
        self.manager.wait_until_done(connection).await?;
        drop(grip);
        self.sync().await
    }

    pub(crate) async fn mouse_down(
        &mut self,
        at: Option<&ScreenTarget>,
        button: Button,
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at)?;
        let connection = &self.eyes.connection;
        let mut grip = Grip::new(connection, &mut self.held);
        grip.press(pointer::number(button))?;
        self.manager.wait_until_done(connection).await?;
        connection.sync().await?;
        grip.keep();
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn mouse_up(
        &mut self,
        at: Option<&ScreenTarget>,
        button: Button,
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at)?;
        self.grip().release_held(pointer::number(button))?;
        self.sync().await
    }

    pub(crate) async fn drag(
        &mut self,
        path: &[ScreenTarget],
        button: Button,
        modifiers: &[Modifier],
        duration: Option<Duration>,
    ) -> Result<ActionReport, DeviceError> {
        let mut spots = path.iter().map(Spot::of).collect::<Result<Vec<_>, _>>()?;
        if spots.len() == 1 {
            spots.insert(0, pointer::position(&self.eyes.connection).await?);
        }
        self.keyboard.look(&self.eyes.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let mut grip = Grip::new(&self.eyes.connection, &mut self.held);
        keyboard::press(&mut grip, &modifiers)?;
        pointer::drag(&mut grip, &self.manager, &spots, button, duration).await?;
        drop(grip);
        self.sync().await
    }

    pub(crate) async fn scroll(
        &mut self,
        at: Option<&ScreenTarget>,
        (dx, dy, unit): (f64, f64, ScrollUnit),
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at)?;
        self.keyboard.look(&self.eyes.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let mut grip = self.grip();
        keyboard::press(&mut grip, &modifiers)?;
        pointer::scroll(&mut grip, dx, dy, unit)?;
        drop(grip);
        self.sync().await
    }

    pub(crate) async fn type_text(
        &mut self,
        text: &str,
        at: Option<&ScreenTarget>,
        clear_first: bool,
        submit: bool,
        paste: Option<&Display>,
    ) -> Result<ActionReport, DeviceError> {
        if at.is_some() {
            self.click(at, Button::Left, ClickCount::Single, &[])
                .await?;
        }
        if clear_first {
            self.press_all(&[Key::Modifier(Modifier::Ctrl), Key::Char('a')])
                .await?;
            // What is pasted may not replace what is marked: a selection has one owner.
            if text.is_empty() || paste.is_some() {
                self.press_all(&[Key::Named(NamedKey::Delete)]).await?;
            }
        }
        let is_pasted = match paste {
            Some(display) if self.is_long_or_foreign(text).await? => {
                self.paste(display, text).await?
            }
            Some(_) | None => false,
        };
        if !is_pasted {
            let connection = &self.eyes.connection;
            self.keyboard
                .type_text(connection, &mut self.held, text)
                .await?;
        }
        if submit {
            self.press_all(&[Key::Named(NamedKey::Enter)]).await?;
        }
        Ok(ActionReport::delivered())
    }

    async fn press_all(&mut self, keys: &[Key]) -> Result<ActionReport, DeviceError> {
        match Chord::new(keys.to_vec()) {
            Some(chord) => self.key(&chord, 1).await,
            None => Ok(ActionReport::delivered()),
        }
    }

    pub(crate) async fn key(
        &mut self,
        chord: &Chord,
        repeat: u32,
    ) -> Result<ActionReport, DeviceError> {
        if !(1..=MOST_REPEATS).contains(&repeat) {
            let message = format!("repeat is {repeat}; give a number from 1 to {MOST_REPEATS}");
            return Err(DeviceError::Refused { message });
        }
        let parts = self.keyboard.chord(&self.eyes.connection, chord).await?;
        let mut grip = self.grip();
        for _ in 0..repeat {
            keyboard::tap(&mut grip, &parts)?;
        }
        drop(grip);
        self.sync().await
    }

    pub(crate) async fn hold_key(
        &mut self,
        chord: &Chord,
        duration: Duration,
    ) -> Result<ActionReport, DeviceError> {
        let parts = self.keyboard.chord(&self.eyes.connection, chord).await?;
        let mut grip = self.grip();
        keyboard::press(&mut grip, &parts)?;
        grip.connection().flush()?;
        sleep(duration).await;
        drop(grip);
        self.sync().await
    }

    pub(crate) async fn key_down(&mut self, chord: &Chord) -> Result<ActionReport, DeviceError> {
        let parts = self.keyboard.chord(&self.eyes.connection, chord).await?;
        let mut grip = self.grip();
        keyboard::press(&mut grip, &parts)?;
        grip.connection().sync().await?;
        grip.keep();
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn key_up(&mut self, chord: &Chord) -> Result<ActionReport, DeviceError> {
        let parts = self.keyboard.chord(&self.eyes.connection, chord).await?;
        let mut grip = self.grip();
        parts
            .iter()
            .rev()
            .try_for_each(|part| grip.release_held(*part))?;
        grip.release_group()?;
        drop(grip);
        self.sync().await
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // A server that is gone has nothing pressed.
        let _best_effort = self.held.release(&self.eyes.connection);
    }
}
