//! Chords, held keys and literal text as key events of the page.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};
use tokio::time::{Instant, sleep, sleep_until};

use crate::cdp_session::{CdpSession, or_closed};
use crate::error::refused;
use crate::input_state::{InputState, KEY, PressedInput, key_down, key_up, release_all};
use crate::us_keyboard::{CdpKey, bit};

/// Delay and interval of key repeat: the defaults of the X server.
const REPEAT_DELAY: Duration = Duration::from_millis(500);
const REPEAT_INTERVAL: Duration = Duration::from_millis(33);
/// Text is sent in batches of this many events; each batch is awaited.
const BATCH_EVENTS: usize = 64;
/// Bounds the duration of one action.
const MAX_REPEATS: u32 = 1000;

/// The keyboard of one page.
#[derive(Debug)]
pub(crate) struct PageKeyboard<'a> {
    pub(crate) page: &'a CdpSession,
    pub(crate) input: &'a mut InputState,
}

impl PageKeyboard<'_> {
    /// Presses and releases a chord `repeat` times.
    pub(crate) async fn press(&mut self, chord: &Chord, repeat: u32) -> Result<(), DeviceError> {
        if repeat > MAX_REPEATS {
            return Err(refused(format!(
                "A key can be repeated at most {MAX_REPEATS} times in one action."
            )));
        }
        let strokes = strokes(chord, self.input.modifiers())?;
        for _ in 0..repeat.max(1) {
            let (pressed, _) = self.press_all(&strokes).await?;
            or_closed(release_all(pressed).await)?;
        }
        Ok(())
    }

    /// Holds a chord for a duration; its last key repeats.
    pub(crate) async fn hold(
        &mut self,
        chord: &Chord,
        duration: Duration,
    ) -> Result<(), DeviceError> {
        let strokes = strokes(chord, self.input.modifiers())?;
        let end = Instant::now() + duration;
        let (pressed, bits) = self.press_all(&strokes).await?;
        if let Some(last) = strokes.last().filter(|stroke| stroke.modifier == 0) {
            sleep(REPEAT_DELAY.min(duration)).await;
            while Instant::now() < end {
                self.page.call(KEY, key_down(last, bits, true)).await?;
                sleep_until((Instant::now() + REPEAT_INTERVAL).min(end)).await;
            }
        }
        sleep_until(end).await;
        or_closed(release_all(pressed).await)?;
        Ok(())
    }

    /// Presses a chord and leaves it pressed.
    pub(crate) async fn down(&mut self, chord: &Chord) -> Result<(), DeviceError> {
        let strokes = strokes(chord, self.input.modifiers())?;
        let (pressed, _) = self.press_all(&strokes).await?;
        for (pressed, stroke) in pressed.into_iter().zip(strokes) {
            pressed.leave_pressed();
            self.input.hold_key(stroke);
        }
        Ok(())
    }

    /// Releases a chord that `down` pressed.
    pub(crate) async fn up(&mut self, chord: &Chord) -> Result<(), DeviceError> {
        for stroke in strokes(chord, 0)?.iter().rev() {
            self.input.release_key(stroke);
            let event = key_up(stroke, self.input.modifiers());
            or_closed(self.page.call(KEY, event).await.map(|_| ()))?;
        }
        Ok(())
    }

    /// Types literal text: key events for characters of a US keyboard, insertion for others.
    pub(crate) async fn write(&mut self, text: &str) -> Result<(), DeviceError> {
        let text = text.replace("\r\n", "\n");
        let bits = self.input.modifiers();
        let mut batch = Vec::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            match key_for(c) {
                Some(stroke) => {
                    push_stroke(&mut batch, &stroke, bits);
                    rest = &rest[c.len_utf8()..];
                }
                None => {
                    let end = rest.find(|c| key_for(c).is_some()).unwrap_or(rest.len());
                    batch.push(("Input.insertText", json!({ "text": &rest[..end] })));
                    rest = &rest[end..];
                }
            }
            if batch.len() >= BATCH_EVENTS {
                self.page.call_all(std::mem::take(&mut batch)).await?;
            }
        }
        Ok(or_closed(self.page.call_all(batch).await)?)
    }

    /// Clears the focused control.
    pub(crate) async fn clear(&mut self) -> Result<(), DeviceError> {
        let all = Chord::new(vec![Key::Modifier(Modifier::Ctrl), Key::Char('a')]);
        if let Some(all) = all {
            self.press(&all, 1).await?;
        }
        self.press(&Chord::from(NamedKey::Backspace), 1).await
    }

    async fn press_all(&self, strokes: &[CdpKey]) -> Result<(Vec<PressedInput>, u8), DeviceError> {
        let mut bits = self.input.modifiers();
        let mut pressed = Vec::with_capacity(strokes.len());
        for stroke in strokes {
            pressed.push(PressedInput::key(self.page, stroke, bits).await?);
            bits |= stroke.modifier;
        }
        Ok((pressed, bits))
    }
}

/// The keys of a chord in press order, with the shift that a lone capital needs.
fn strokes(chord: &Chord, pressed_bits: u8) -> Result<Vec<CdpKey>, DeviceError> {
    let bits = chord
        .modifiers()
        .fold(pressed_bits, |bits, modifier| bits | bit(modifier));
    let commands = bits & !bit(Modifier::Shift) != 0;
    let mut strokes: Vec<CdpKey> = Vec::with_capacity(chord.keys().len());
    for key in chord.keys() {
        let stroke = CdpKey::of(key)
            .ok_or_else(|| refused(format!("Unknown key {key:?}.", key = key.to_string())))?;
        let stroke = if commands {
            stroke.in_small_form()
        } else {
            stroke
        };
        let stroke = if bits & bit(Modifier::Shift) != 0 {
            stroke.with_shift()
        } else {
            stroke
        };
        let shift = CdpKey::of_modifier(Modifier::Shift);
        if stroke.shifted && bits & shift.modifier == 0 && !strokes.contains(&shift) {
            strokes.push(shift);
        }
        strokes.push(stroke);
    }
    Ok(strokes)
}

/// The key that types a character; `None` if it must be inserted.
fn key_for(c: char) -> Option<CdpKey> {
    match c {
        '\n' | '\r' => Some(CdpKey::of_named(NamedKey::Enter)),
        '\t' => Some(CdpKey::of_named(NamedKey::Tab)),
        ' '..='~' => Some(CdpKey::of_char(c)),
        _ => None,
    }
}

fn push_stroke(batch: &mut Vec<(&'static str, Value)>, stroke: &CdpKey, pressed_bits: u8) {
    let bits = if stroke.shifted {
        pressed_bits | bit(Modifier::Shift)
    } else {
        pressed_bits
    };
    batch.push((KEY, key_down(stroke, bits, false)));
    batch.push((KEY, key_up(stroke, bits)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(chord: &str) -> Vec<String> {
        let chord = Chord::parse(chord).unwrap();
        strokes(&chord, 0)
            .unwrap()
            .into_iter()
            .map(|stroke| stroke.key)
            .collect()
    }

    #[test]
    fn a_lone_capital_is_pressed_with_shift() {
        assert_eq!(keys("A"), ["Shift", "A"]);
        assert_eq!(keys("shift+a"), ["Shift", "A"]);
    }

    #[test]
    fn control_ignores_the_case_of_a_letter() {
        assert_eq!(keys("ctrl+T"), ["Control", "t"]);
        assert_eq!(keys("ctrl+shift+t"), ["Control", "Shift", "T"]);
    }

    #[test]
    fn refuses_an_unknown_key() {
        let chord = Chord::parse("ctrl+NoSuchKey").unwrap();
        assert!(matches!(
            strokes(&chord, 0),
            Err(DeviceError::Refused { .. })
        ));
    }
}
