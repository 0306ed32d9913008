//! Types text exactly, including characters that the keyboard layout lacks.

use std::time::Duration;

use telechir_protocol::NamedKey;
use tokio::time::{Instant, sleep_until};
use x11rb::protocol::xproto::Window;

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::InputReader;
use crate::input_limit::InputLimit;
use crate::keyboard::{KeyLookup, KeyboardModes, XKeyboard};
use crate::keycode_pool::Allocation;
use crate::keysym;
use crate::layout::KeyPress;
use crate::press_guard::{PressGuard, Pressable, PressedInputs};
use crate::settle::idle::{Handling, Idle, wait_until_handled, wait_until_idle};
use crate::windows::WindowRegistry;

/// Minimum wait after each mapping change for clients that do not confirm reading;
/// [`SILENT_AFTER_BATCH`] after each batch. Measured with xterm on an idle machine: exact in every
/// run with these values, wrong without. On a busy machine the wait lasts until the client is idle.
const SILENT_AFTER_REMAP: Duration = Duration::from_millis(20);
const SILENT_AFTER_BATCH: Duration = Duration::from_millis(60);
/// Before and after Enter and Tab, a program is given time to react with a delay, up to this total
/// in one text: a long one is for an editor, and some programs are never quiet.
const QUIET_BUDGET: Duration = Duration::from_secs(1);
/// Key presses sent before waiting for the server.
const MAX_UNSYNCED_KEYS: usize = 256;

/// A character or the key that enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keystroke {
    Char(char),
    Key(NamedKey),
}

impl XKeyboard {
    /// Types text into the focused window. A line break is Enter, a tab character is Tab; each
    /// waits for what was typed before it, and what follows waits for it.
    pub(crate) async fn type_text(
        &mut self,
        connection: &Connection,
        pressed_inputs: &mut PressedInputs,
        limits: (&InputLimit, &WindowRegistry),
        text: &str,
    ) -> Result<(), XError> {
        let keystrokes = keystrokes(text)?;
        let modes = self.refresh(connection).await?;
        let mut guard = PressGuard::new(connection, pressed_inputs);
        if modes.caps_lock {
            let caps_lock = self
                .layout
                .of_keysym(keysym::of_named(NamedKey::CapsLock), 0);
            // Caps Lock is turned off while typing and restored at the end.
            caps_lock.map_or(Ok(()), |key_press| {
                guard.press(Pressable::Lock(key_press.code))
            })?;
        }
        let mut quiet_budget = QUIET_BUDGET;
        let mut is_responsive = true;
        // The first character may open what the others belong to: GTK's file dialogs show the field
        // for a path after `/`, and take a second `/` that arrives before for another first one.
        let opens_field = keystrokes
            .get(..2)
            .is_some_and(|first| are_both_chars(&first[0], &first[1]));
        let (first, others) = keystrokes.split_at(usize::from(opens_field));
        let runs = first.chunks(1).chain(others.chunk_by(are_both_chars));
        for (index, run) in runs.enumerate() {
            if opens_field && index == 1 {
                // It is about a field alone: Enter and Tab later are waited for in any case.
                self.wait_until_handled(connection, Handling::Opening)
                    .await?;
            } else if index > 0 && is_responsive {
                let started = Instant::now();
                let handling = match quiet_budget.is_zero() {
                    true => Handling::Asleep,
                    false => Handling::Quiet,
                };
                let idle = self.wait_until_handled(connection, handling).await?;
                is_responsive = handling == Handling::Quiet || idle == Idle::Reached;
                quiet_budget = quiet_budget.saturating_sub(started.elapsed());
            }
            let mut rest = run;
            while !rest.is_empty() {
                let batch = self.plan(&mut rest, modes)?;
                if batch.remaps {
                    self.apply(connection).await?;
                    self.wait_until_remapped(connection).await?;
                }
                self.send_batch(&mut guard, limits, &batch).await?;
            }
        }
        drop(guard);
        connection.sync().await
    }

    /// Waits until the focused program has handled all input so far: it has read it, as far as it
    /// confirms that, and has nothing left to do.
    pub(crate) async fn wait_until_handled(
        &mut self,
        connection: &Connection,
        handling: Handling,
    ) -> Result<Idle, XError> {
        match self.focus.input_reader(connection).await? {
            InputReader::AnswersPings(window) => {
                match self.focus.wait_until_read(connection, window).await {
                    Ok(()) => wait_until_handled(connection, window, handling).await,
                    Err(XError::TimedOut { .. }) => Ok(Idle::Busy),
                    Err(error) => Err(error),
                }
            }
            InputReader::Silent(Some(window)) if handling == Handling::Opening => {
                wait_until_handled(connection, window, handling).await
            }
            InputReader::Silent(Some(window)) => wait_until_idle(connection, window).await,
            InputReader::Silent(None) => Ok(Idle::Reached),
        }
    }

    /// Waits until the client has read the changed mapping. A Chromium that got no processor in
    /// between lost the first character of about one text in fifteen without this.
    async fn wait_until_remapped(&mut self, connection: &Connection) -> Result<(), XError> {
        match self.focus.input_reader(connection).await? {
            InputReader::AnswersPings(window) => {
                match self.focus.wait_until_read(connection, window).await {
                    // A program that is busy for longer reads the change before the keys.
                    Ok(()) | Err(XError::TimedOut { .. }) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            InputReader::Silent(window) => {
                let earliest = Instant::now() + SILENT_AFTER_REMAP;
                wait_for_silent(connection, window, earliest).await
            }
        }
    }

    /// Waits until the client has read the keys typed with assigned keycodes, as far as it confirms
    /// that.
    pub(crate) async fn wait_until_read(&mut self, connection: &Connection) -> Result<(), XError> {
        match self.focus.input_reader(connection).await? {
            InputReader::AnswersPings(window) => {
                self.focus.wait_until_read(connection, window).await?
            }
            InputReader::Silent(window) => {
                if let Some(typed) = self.typed {
                    wait_for_silent(connection, window, typed + SILENT_AFTER_BATCH).await?;
                }
            }
        }
        self.keycodes.mark_read();
        Ok(())
    }

    /// The next batch: as many keystrokes as the unused keycodes allow.
    fn plan(
        &mut self,
        rest: &mut &[Keystroke],
        modes: KeyboardModes,
    ) -> Result<KeystrokeBatch, XError> {
        let mut batch = KeystrokeBatch::default();
        self.keycodes.start_batch();
        while let Some((keystroke, after)) = rest.split_first() {
            let key_press = match self.find(*keystroke, modes) {
                KeyLookup::InLayout(key_press) => key_press,
                KeyLookup::NotInLayout(keysym) => {
                    batch.uses_pool = true;
                    match self.keycodes.allocate(keysym) {
                        Allocation::Existing(key_press) => key_press,
                        Allocation::New(key_press) => {
                            batch.remaps = true;
                            key_press
                        }
                        Allocation::Full if self.keycodes.is_empty() => {
                            return Err(no_key(*keystroke));
                        }
                        Allocation::Full => break,
                    }
                }
            };
            batch.key_presses.push(key_press);
            *rest = after;
        }
        Ok(batch)
    }

    fn find(&self, keystroke: Keystroke, modes: KeyboardModes) -> KeyLookup {
        match keystroke {
            Keystroke::Char(c) => self.of_char(c, modes),
            Keystroke::Key(key) => {
                let keysym = keysym::of_named(key);
                let found = self.layout.of_keysym(keysym, modes.group);
                found.map_or(KeyLookup::NotInLayout(keysym), KeyLookup::InLayout)
            }
        }
    }

    async fn send_batch(
        &mut self,
        guard: &mut PressGuard<'_>,
        (limit, windows): (&InputLimit, &WindowRegistry),
        batch: &KeystrokeBatch,
    ) -> Result<(), XError> {
        // Shift stays pressed between consecutive key presses that need it.
        let mut down = Vec::new();
        for key_presses in batch.key_presses.chunks(MAX_UNSYNCED_KEYS) {
            let windows = (windows, &self.focus);
            limit.check_focus(guard.connection(), windows).await?;
            for key_press in key_presses {
                let wanted = self.shifts(*key_press)?;
                set_shifts(guard, &mut down, wanted)?;
                guard.tap(Pressable::Key(key_press.code))?;
            }
            guard.connection().sync().await?;
        }
        set_shifts(guard, &mut down, Vec::new())?;
        if batch.uses_pool {
            self.typed = Some(Instant::now());
        }
        Ok(())
    }
}

/// Waits for a client that does not confirm reading: until `earliest`, and until it is idle.
async fn wait_for_silent(
    connection: &Connection,
    window: Option<Window>,
    earliest: Instant,
) -> Result<(), XError> {
    sleep_until(earliest).await;
    match window {
        Some(window) => wait_until_idle(connection, window).await.map(drop),
        None => Ok(()),
    }
}

/// Releases modifiers that are no longer needed and presses those that are.
fn set_shifts(
    guard: &mut PressGuard<'_>,
    down: &mut Vec<Pressable>,
    wanted: Vec<Pressable>,
) -> Result<(), XError> {
    if *down == wanted {
        return Ok(());
    }
    let idle = down.iter().rev().filter(|input| !wanted.contains(input));
    for input in idle {
        guard.release(*input)?;
    }
    for input in &wanted {
        guard.press(*input)?;
    }
    *down = wanted;
    Ok(())
}

/// Whether two keystrokes may be sent at once. Enter and Tab activate something or move the focus,
/// which programs do later than they read the key: GTK completes a file's name before, LibreOffice
/// moves the cell cursor by a message to itself. Keys that arrive in between are lost.
const fn are_both_chars(one: &Keystroke, next: &Keystroke) -> bool {
    matches!((one, next), (Keystroke::Char(_), Keystroke::Char(_)))
}

#[derive(Debug, Default)]
struct KeystrokeBatch {
    key_presses: Vec<KeyPress>,
    /// Assignments changed and must be sent to the server.
    remaps: bool,
    /// Whether any key press uses an assigned keycode.
    uses_pool: bool,
}

pub(crate) fn keystrokes(text: &str) -> Result<Vec<Keystroke>, XError> {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| match c {
            '\n' | '\r' => Ok(Keystroke::Key(NamedKey::Enter)),
            '\t' => Ok(Keystroke::Key(NamedKey::Tab)),
            c if c.is_control() => Err(XError::Impossible(format!(
                "the text contains the control character U+{:04X}; use a key action instead",
                u32::from(c)
            ))),
            c => Ok(Keystroke::Char(c)),
        })
        .collect()
}

fn no_key(keystroke: Keystroke) -> XError {
    let what = match keystroke {
        Keystroke::Char(c) => format!("the character `{c}`"),
        Keystroke::Key(key) => format!("the key {key:?}"),
    };
    XError::Impossible(format!(
        "the keyboard layout has neither a key nor an unused keycode for {what}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_and_tabs_are_typed_as_keys() {
        let enter = Keystroke::Key(NamedKey::Enter);
        let tab = Keystroke::Key(NamedKey::Tab);
        let expected = [
            Keystroke::Char('a'),
            enter,
            tab,
            enter,
            Keystroke::Char('é'),
        ];
        assert_eq!(keystrokes("a\r\n\t\né").unwrap(), expected);
    }

    #[test]
    fn refuses_control_characters_by_name() {
        let error = keystrokes("ok\u{1b}").unwrap_err();
        assert!(error.to_string().contains("U+001B"), "{error}");
    }
}
