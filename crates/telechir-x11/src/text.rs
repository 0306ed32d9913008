//! Typing text: any character arrives exactly, whatever the keyboard layout has.

use std::time::Duration;

use telechir_protocol::NamedKey;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::Reader;
use crate::keyboard::{Found, Keyboard, Modes};
use crate::keycode_pool::Lent;
use crate::keysym;
use crate::layout::Stroke;
use crate::press_guard::{Grip, Held, Part};

/// A program that cannot say what it read gets this long after each change of the mapping, and
/// [`MUTE_AFTER`] after each batch. Measured with xterm: exact in every run, and wrong without.
/// These two are the only waits for time alone.
const MUTE_BEFORE: Duration = Duration::from_millis(20);
const MUTE_AFTER: Duration = Duration::from_millis(60);
/// Strokes sent before we wait for the server to have taken them.
const STROKES_AT_ONCE: usize = 256;

/// One character, or a key that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letter {
    Char(char),
    Key(NamedKey),
}

impl Keyboard {
    /// Types text where the focus is. A new line is Enter, a tabulator is Tab.
    pub(crate) async fn type_text(
        &mut self,
        connection: &Connection,
        held: &mut Held,
        text: &str,
    ) -> Result<(), XError> {
        let letters = letters(text)?;
        let modes = self.look(connection).await?;
        let mut grip = Grip::new(connection, held);
        if modes.caps_lock {
            let caps_lock = self
                .layout
                .of_keysym(keysym::of_named(NamedKey::CapsLock), 0);
            // Capitals and small letters come out as written; the lock is set again at the end.
            caps_lock.map_or(Ok(()), |stroke| grip.press(Part::Lock(stroke.code)))?;
        }
        let mut rest = letters.as_slice();
        while !rest.is_empty() {
            let batch = self.plan(&mut rest, modes)?;
            if batch.remaps {
                self.apply(connection).await?;
                if self.focus.reader(connection).await? == Reader::Mute {
                    sleep(MUTE_BEFORE).await;
                }
            }
            self.play(&mut grip, &batch).await?;
        }
        drop(grip);
        connection.sync().await
    }

    /// Waits until what was typed by borrowed keys was read, as far as that can be known.
    pub(crate) async fn wait_until_read(&mut self, connection: &Connection) -> Result<(), XError> {
        match self.focus.reader(connection).await? {
            Reader::Answers(window) => self.focus.wait_until_read(connection, window).await?,
            Reader::Mute => {
                if let Some(typed) = self.typed {
                    sleep_until(typed + MUTE_AFTER).await;
                }
            }
        }
        self.spares.mark_read();
        Ok(())
    }

    /// As many letters as the free keys allow.
    fn plan(&mut self, rest: &mut &[Letter], modes: Modes) -> Result<Batch, XError> {
        let mut batch = Batch::default();
        self.spares.begin_batch();
        while let Some((letter, after)) = rest.split_first() {
            let stroke = match self.find(*letter, modes) {
                Found::InLayout(stroke) => stroke,
                Found::Missing(keysym) => {
                    batch.borrows = true;
                    match self.spares.lend(keysym) {
                        Lent::Already(stroke) => stroke,
                        Lent::Newly(stroke) => {
                            batch.remaps = true;
                            stroke
                        }
                        Lent::Full if self.spares.is_empty() => return Err(no_key(*letter)),
                        Lent::Full => break,
                    }
                }
            };
            batch.strokes.push(stroke);
            *rest = after;
        }
        Ok(batch)
    }

    fn find(&self, letter: Letter, modes: Modes) -> Found {
        match letter {
            Letter::Char(c) => self.of_char(c, modes),
            Letter::Key(key) => {
                let keysym = keysym::of_named(key);
                let found = self.layout.of_keysym(keysym, modes.group);
                found.map_or(Found::Missing(keysym), Found::InLayout)
            }
        }
    }

    async fn play(&mut self, grip: &mut Grip<'_>, batch: &Batch) -> Result<(), XError> {
        // Shift stays down from one stroke to the next that wants it, too.
        let mut down = Vec::new();
        for strokes in batch.strokes.chunks(STROKES_AT_ONCE) {
            for stroke in strokes {
                let wanted = self.shifts(*stroke)?;
                hold(grip, &mut down, wanted)?;
                grip.tap(Part::Key(stroke.code))?;
            }
            grip.connection().sync().await?;
        }
        hold(grip, &mut down, Vec::new())?;
        if batch.borrows {
            self.typed = Some(Instant::now());
        }
        Ok(())
    }
}

/// Releases what is down and not wanted any more, and presses what is wanted and not down.
fn hold(grip: &mut Grip<'_>, down: &mut Vec<Part>, wanted: Vec<Part>) -> Result<(), XError> {
    if *down == wanted {
        return Ok(());
    }
    let idle = down.iter().rev().filter(|part| !wanted.contains(part));
    for part in idle {
        grip.release(*part)?;
    }
    for part in &wanted {
        grip.press(*part)?;
    }
    *down = wanted;
    Ok(())
}

#[derive(Debug, Default)]
struct Batch {
    strokes: Vec<Stroke>,
    /// Keys were lent that the server does not know of yet.
    remaps: bool,
    /// Borrowed keys are used at all.
    borrows: bool,
}

pub(crate) fn letters(text: &str) -> Result<Vec<Letter>, XError> {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| match c {
            '\n' | '\r' => Ok(Letter::Key(NamedKey::Enter)),
            '\t' => Ok(Letter::Key(NamedKey::Tab)),
            c if c.is_control() => Err(XError::Impossible(format!(
                "the text holds the control character U+{:04X}; press keys with a key action",
                u32::from(c)
            ))),
            c => Ok(Letter::Char(c)),
        })
        .collect()
}

fn no_key(letter: Letter) -> XError {
    let what = match letter {
        Letter::Char(c) => format!("the character `{c}`"),
        Letter::Key(key) => format!("the key {key:?}"),
    };
    XError::Impossible(format!(
        "the keyboard layout has no key for {what}, and none to spare"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_and_tabulators_are_keys() {
        let enter = Letter::Key(NamedKey::Enter);
        let tab = Letter::Key(NamedKey::Tab);
        let expected = [Letter::Char('a'), enter, tab, enter, Letter::Char('é')];
        assert_eq!(letters("a\r\n\t\né").unwrap(), expected);
    }

    #[test]
    fn refuses_control_characters_by_name() {
        let error = letters("ok\u{1b}").unwrap_err();
        assert!(error.to_string().contains("U+001B"), "{error}");
    }
}
