//! Performs pointer and keyboard actions on one display.

use std::time::Duration;

use telechir_device::{ActionReport, DeviceError, Effect, ScreenAction, ScreenTarget, Viewport};
use telechir_protocol::{Button, Chord, ClickCount, Key, Modifier, NamedKey, ScrollUnit};
use tokio::time::{Instant, sleep};
use x11rb::protocol::xtest::{self, ConnectionExt as _};

use crate::clipboard::{Clipboard, SavedSelection};
use crate::connection::Connection;
use crate::display::XDisplay;
use crate::error::XError;
use crate::input_limit::InputLimit;
use crate::keyboard::{self, XKeyboard};
use crate::pointer::{self, Position};
use crate::press_guard::{PressGuard, PressedInputs};
use crate::screen_view::{ScreenView, missing};
use crate::settle::idle::Handling;
use crate::windows::WindowRegistry;
use crate::wm_sync::WmSync;

/// Maximum number of repetitions of a key action.
const MAX_REPEATS: u32 = 1_000;

/// Input that is older than this has been handled.
const MAX_HANDLING: Duration = Duration::from_secs(1);

/// The keys that follow typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextKeys {
    /// Ctrl, Alt or Super with another key. A program that completes the text with a delay gives
    /// these no other meaning until then.
    Shortcut,
    /// For example Enter or Tab, which such a program would lose.
    Other,
}

impl NextKeys {
    fn of(chord: &Chord) -> Self {
        let is_completing = |key: &Key| matches!(key, Key::Named(NamedKey::Enter | NamedKey::Tab));
        let mut modifiers = chord.modifiers();
        match modifiers.any(|modifier| modifier != Modifier::Shift)
            && !chord.keys().iter().any(is_completing)
        {
            true => Self::Shortcut,
            false => Self::Other,
        }
    }
}

/// The kind of the latest input.
#[derive(Clone, Copy, Debug)]
enum LatestInput {
    Text,
    /// A key, a click, a drag.
    Action,
}

/// View, pointer, keyboard, windows and clipboard of one display. Dropping it releases all pressed
/// inputs.
#[derive(Debug)]
pub(crate) struct DisplayIo {
    pub(crate) view: ScreenView,
    pub(crate) keyboard: XKeyboard,
    pub(crate) wm: WmSync,
    pub(crate) windows: WindowRegistry,
    pub(crate) clipboard: Clipboard,
    /// The windows that input may reach.
    pub(crate) input_limit: InputLimit,
    /// The selections as they were before a paste, until they are restored.
    pub(crate) saved_selections: Vec<SavedSelection>,
    /// The latest input, which the programs may still be handling.
    latest_input: Option<(Instant, LatestInput)>,
    pressed_inputs: PressedInputs,
}

impl DisplayIo {
    pub(crate) async fn on(connection: Connection) -> Result<Self, DeviceError> {
        if !connection.has(xtest::X11_EXTENSION_NAME)? {
            return Err(missing("XTEST"));
        }
        let version = connection
            .x()
            .xtest_get_version(2, 2)
            .map_err(XError::from)?;
        connection.reply(version).await?;
        let keyboard = XKeyboard::new(&connection).await?;
        let wm = WmSync::new(&connection).await?;
        let windows = WindowRegistry::new(&connection).await?;
        let clipboard = Clipboard::new(&connection).await?;
        let view = ScreenView::open(connection).await?;
        Ok(Self {
            view,
            keyboard,
            wm,
            windows,
            clipboard,
            input_limit: InputLimit::default(),
            saved_selections: Vec::new(),
            latest_input: None,
            pressed_inputs: PressedInputs::default(),
        })
    }

    /// Releases everything that is still pressed.
    pub(crate) async fn release(&mut self) -> Result<(), XError> {
        self.pressed_inputs.release(&self.view.connection)?;
        self.view.connection.sync().await?;
        self.restore_selections().await
    }

    /// Restores the keyboard mapping of the display.
    pub(crate) async fn restore_layout(&mut self) -> Result<(), XError> {
        self.keyboard.restore_layout(&self.view.connection).await
    }

    /// Refuses keys if the focus is no longer where the caller has judged it.
    async fn check_focus(&self) -> Result<(), XError> {
        let windows = (&self.windows, &self.keyboard.focus);
        let limit = &self.input_limit;
        limit.check_focus(&self.view.connection, windows).await
    }

    /// Refuses a press if another window is under the action's points than the caller has judged.
    pub(crate) async fn check_pointer(&self, action: &ScreenAction) -> Result<(), DeviceError> {
        let windows = (&self.windows, &self.keyboard.focus);
        let limit = &self.input_limit;
        limit
            .check_pointer(&self.view.connection, windows, action)
            .await
    }

    /// Waits until the focused program has handled the latest input: a key may open the dialog that
    /// the next one is for, and some keys after a text need a program that is quiet.
    async fn wait_until_handled(&mut self, next: NextKeys) -> Result<(), XError> {
        let latest = self
            .latest_input
            .filter(|(at, _)| at.elapsed() < MAX_HANDLING);
        let is_text = matches!(latest, Some((_, LatestInput::Text)));
        let is_shortcut = next == NextKeys::Shortcut;
        // After a shortcut the program may still complete the text: a next Enter waits for that.
        let input = match is_text && is_shortcut {
            true => LatestInput::Text,
            false => LatestInput::Action,
        };
        self.latest_input = Some((Instant::now(), input));
        if latest.is_none() {
            return Ok(());
        }
        let handling = match is_text && !is_shortcut {
            true => Handling::Quiet,
            false => Handling::Asleep,
        };
        let connection = &self.view.connection;
        self.keyboard
            .wait_until_handled(connection, handling)
            .await?;
        // The window manager gives a new window the focus.
        self.wm.wait_until_done(connection).await
    }

    fn press_guard(&mut self) -> PressGuard<'_> {
        PressGuard::new(&self.view.connection, &mut self.pressed_inputs)
    }

    async fn sync(&self) -> Result<ActionReport, DeviceError> {
        self.view.connection.sync().await?;
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn cursor_position(
        &self,
        viewport: Viewport,
    ) -> Result<ActionReport, DeviceError> {
        let Position { x, y } = pointer::position(&self.view.connection).await?;
        let (x, y) = viewport.screenshot_point(x.into(), y.into());
        Ok(ActionReport {
            effect: Effect::Confirmed,
            text: Some(format!("X={x},Y={y}")),
        })
    }

    pub(crate) async fn move_to(&mut self, at: &ScreenTarget) -> Result<ActionReport, DeviceError> {
        let position = Position::of(at)?;
        self.press_guard().move_to(position.x, position.y)?;
        let has_arrived = pointer::position(&self.view.connection).await? == position;
        Ok(if has_arrived {
            ActionReport::confirmed()
        } else {
            ActionReport::delivered()
        })
    }

    /// Moves the pointer to the target, if there is one.
    async fn approach(&mut self, at: Option<&ScreenTarget>) -> Result<(), DeviceError> {
        if let Some(at) = at {
            let position = Position::of(at)?;
            self.press_guard().move_to(position.x, position.y)?;
            let connection = &self.view.connection;
            self.windows
                .wait_without_tooltip(connection, position)
                .await?;
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
        self.latest_input = Some((Instant::now(), LatestInput::Action));
        self.approach(at).await?;
        self.keyboard.refresh(&self.view.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let connection = &self.view.connection;
        let mut guard = PressGuard::new(connection, &mut self.pressed_inputs);
        keyboard::press(&mut guard, &modifiers)?;
        pointer::click(&mut guard, button, count)?;
        // Keep the modifiers pressed until the click has reached its window.
        self.wm.wait_until_done(connection).await?;
        drop(guard);
        self.sync().await
    }

    pub(crate) async fn mouse_down(
        &mut self,
        at: Option<&ScreenTarget>,
        button: Button,
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at).await?;
        let connection = &self.view.connection;
        let mut guard = PressGuard::new(connection, &mut self.pressed_inputs);
        guard.press(pointer::number(button))?;
        self.wm.wait_until_done(connection).await?;
        connection.sync().await?;
        guard.leave_pressed();
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn mouse_up(
        &mut self,
        at: Option<&ScreenTarget>,
        button: Button,
    ) -> Result<ActionReport, DeviceError> {
        self.latest_input = Some((Instant::now(), LatestInput::Action));
        self.approach(at).await?;
        self.press_guard().force_release(pointer::number(button))?;
        self.sync().await
    }

    pub(crate) async fn drag(
        &mut self,
        path: &[ScreenTarget],
        button: Button,
        modifiers: &[Modifier],
        duration: Option<Duration>,
    ) -> Result<ActionReport, DeviceError> {
        self.latest_input = Some((Instant::now(), LatestInput::Action));
        let mut positions = path
            .iter()
            .map(Position::of)
            .collect::<Result<Vec<_>, _>>()?;
        if positions.len() == 1 {
            positions.insert(0, pointer::position(&self.view.connection).await?);
        }
        self.keyboard.refresh(&self.view.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let mut guard = PressGuard::new(&self.view.connection, &mut self.pressed_inputs);
        keyboard::press(&mut guard, &modifiers)?;
        pointer::drag(&mut guard, &self.wm, &positions, button, duration).await?;
        drop(guard);
        self.sync().await
    }

    pub(crate) async fn scroll(
        &mut self,
        at: Option<&ScreenTarget>,
        (dx, dy, unit): (f64, f64, ScrollUnit),
        modifiers: &[Modifier],
    ) -> Result<ActionReport, DeviceError> {
        self.approach(at).await?;
        self.keyboard.refresh(&self.view.connection).await?;
        let modifiers = self.keyboard.modifiers(modifiers)?;
        let mut guard = self.press_guard();
        keyboard::press(&mut guard, &modifiers)?;
        pointer::scroll(&mut guard, dx, dy, unit)?;
        drop(guard);
        self.sync().await
    }

    pub(crate) async fn type_text(
        &mut self,
        text: &str,
        at: Option<&ScreenTarget>,
        clear_first: bool,
        submit: bool,
        paste: Option<&XDisplay>,
    ) -> Result<ActionReport, DeviceError> {
        if at.is_some() {
            self.click(at, Button::Left, ClickCount::Single, &[])
                .await?;
        }
        if clear_first {
            self.press_all(&[Key::Modifier(Modifier::Ctrl), Key::Char('a')])
                .await?;
            // A paste may not replace the selected text: taking the primary selection can deselect it.
            if text.is_empty() || paste.is_some() {
                self.press_all(&[Key::Named(NamedKey::Delete)]).await?;
            }
        }
        let is_pasted = match paste {
            Some(display) if self.should_paste(text).await? => self.paste(display, text).await?,
            Some(_) | None => false,
        };
        if !is_pasted {
            self.wait_until_handled(NextKeys::Other).await?;
            let connection = &self.view.connection;
            let limit = (&self.input_limit, &self.windows);
            self.keyboard
                .type_text(connection, &mut self.pressed_inputs, limit, text)
                .await?;
            self.latest_input = Some((Instant::now(), LatestInput::Text));
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
        if !(1..=MAX_REPEATS).contains(&repeat) {
            let message = format!("repeat is {repeat}; expected 1 to {MAX_REPEATS}");
            return Err(DeviceError::Refused { message });
        }
        self.wait_until_handled(NextKeys::of(chord)).await?;
        let inputs = self.keyboard.chord(&self.view.connection, chord).await?;
        self.check_focus().await?;
        let mut guard = self.press_guard();
        for _ in 0..repeat {
            keyboard::tap(&mut guard, &inputs)?;
        }
        drop(guard);
        self.sync().await
    }

    pub(crate) async fn hold_key(
        &mut self,
        chord: &Chord,
        duration: Duration,
    ) -> Result<ActionReport, DeviceError> {
        self.wait_until_handled(NextKeys::of(chord)).await?;
        let inputs = self.keyboard.chord(&self.view.connection, chord).await?;
        self.check_focus().await?;
        let mut guard = self.press_guard();
        keyboard::press(&mut guard, &inputs)?;
        guard.connection().flush()?;
        sleep(duration).await;
        drop(guard);
        self.sync().await
    }

    pub(crate) async fn key_down(&mut self, chord: &Chord) -> Result<ActionReport, DeviceError> {
        self.wait_until_handled(NextKeys::of(chord)).await?;
        let inputs = self.keyboard.chord(&self.view.connection, chord).await?;
        self.check_focus().await?;
        let mut guard = self.press_guard();
        keyboard::press(&mut guard, &inputs)?;
        guard.connection().sync().await?;
        guard.leave_pressed();
        Ok(ActionReport::delivered())
    }

    pub(crate) async fn key_up(&mut self, chord: &Chord) -> Result<ActionReport, DeviceError> {
        let inputs = self.keyboard.chord(&self.view.connection, chord).await?;
        let mut guard = self.press_guard();
        inputs
            .iter()
            .rev()
            .try_for_each(|input| guard.force_release(*input))?;
        guard.release_group()?;
        drop(guard);
        self.sync().await
    }
}

impl Drop for DisplayIo {
    fn drop(&mut self) {
        // A server that is gone has nothing pressed.
        let _best_effort = self.pressed_inputs.release(&self.view.connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortcuts_need_no_quiet_program_after_a_text() {
        for (chord, expected) in [
            ("ctrl+s", NextKeys::Shortcut),
            ("ctrl+shift+s", NextKeys::Shortcut),
            ("alt+f", NextKeys::Shortcut),
            ("ctrl", NextKeys::Shortcut),
            ("Return", NextKeys::Other),
            ("Tab", NextKeys::Other),
            ("shift+Tab", NextKeys::Other),
            ("ctrl+Return", NextKeys::Other),
            ("Escape", NextKeys::Other),
            ("Down", NextKeys::Other),
            ("shift+a", NextKeys::Other),
        ] {
            let keys = Chord::parse(chord).expect("a chord");
            assert_eq!(NextKeys::of(&keys), expected, "{chord}");
        }
    }
}
