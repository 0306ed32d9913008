//! Chords, held keys and literal text, as the page's own key events.

use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::refused;
use crate::input_state::{Hands, KEY, Pressed, key_down, key_up, release_all};
use crate::us_keyboard::{Stroke, bit};
use crate::cdp_session::{Page, or_closed};

/// After so long a held key begins to repeat, and then so often: the X server's own values.
const REPEAT_DELAY: Duration = Duration::from_millis(500);
const REPEAT_EVERY: Duration = Duration::from_millis(33);
/// A text is sent in pieces of so many key events, and each piece is waited for.
const BATCH: usize = 64;
/// Bounded time for one action.
const MOST_REPEATS: u32 = 1000;

/// The keyboard of one page.
#[derive(Debug)]
pub(crate) struct Keyboard<'a> {
    pub(crate) page: &'a Page,
    pub(crate) hands: &'a mut Hands,
}

impl Keyboard<'_> {
    /// Presses a chord and releases it, `repeat` times.
    pub(crate) async fn press(&mut self, chord: &Chord, repeat: u32) -> Result<(), DeviceError> {
        if repeat > MOST_REPEATS {
            return Err(refused(format!(
                "A key is repeated at most {MOST_REPEATS} times in one action."
            )));
        }
        let strokes = strokes(chord, self.hands.modifiers())?;
        for _ in 0..repeat.max(1) {
            let (pressed, _) = self.go_down(&strokes).await?;
            or_closed(release_all(pressed).await)?;
        }
        Ok(())
    }

    /// Keeps a chord down for a while; its last key repeats.
    pub(crate) async fn hold(
        &mut self,
        chord: &Chord,
        duration: Duration,
    ) -> Result<(), DeviceError> {
        let strokes = strokes(chord, self.hands.modifiers())?;
        let end = Instant::now() + duration;
        let (pressed, bits) = self.go_down(&strokes).await?;
        if let Some(last) = strokes.last().filter(|stroke| stroke.modifier == 0) {
            sleep(REPEAT_DELAY.min(duration)).await;
            while Instant::now() < end {
                self.page.call(KEY, key_down(last, bits, true)).await?;
                sleep_until((Instant::now() + REPEAT_EVERY).min(end)).await;
            }
        }
        sleep_until(end).await;
        or_closed(release_all(pressed).await)?;
        Ok(())
    }

    /// Presses a chord and leaves it pressed.
    pub(crate) async fn down(&mut self, chord: &Chord) -> Result<(), DeviceError> {
        let strokes = strokes(chord, self.hands.modifiers())?;
        let (pressed, _) = self.go_down(&strokes).await?;
        for (pressed, stroke) in pressed.into_iter().zip(strokes) {
            pressed.keep();
            self.hands.hold_key(stroke);
        }
        Ok(())
    }

    /// Releases a chord.
    pub(crate) async fn up(&mut self, chord: &Chord) -> Result<(), DeviceError> {
        for stroke in strokes(chord, 0)?.iter().rev() {
            self.hands.let_go_of_key(stroke);
            let event = key_up(stroke, self.hands.modifiers());
            or_closed(self.page.call(KEY, event).await.map(|_| ()))?;
        }
        Ok(())
    }

    /// Enters literal text: keys where a US keyboard has one, insertion where it has none.
    pub(crate) async fn write(&mut self, text: &str) -> Result<(), DeviceError> {
        let text = text.replace("\r\n", "\n");
        let bits = self.hands.modifiers();
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
            if batch.len() >= BATCH {
                self.page.call_all(std::mem::take(&mut batch)).await?;
            }
        }
        Ok(or_closed(self.page.call_all(batch).await)?)
    }

    /// Empties the control that has the focus.
    pub(crate) async fn clear(&mut self) -> Result<(), DeviceError> {
        let all = Chord::new(vec![Key::Modifier(Modifier::Ctrl), Key::Char('a')]);
        if let Some(all) = all {
            self.press(&all, 1).await?;
        }
        self.press(&Chord::from(NamedKey::Backspace), 1).await
    }

    async fn go_down(&self, strokes: &[Stroke]) -> Result<(Vec<Pressed>, u8), DeviceError> {
        let mut bits = self.hands.modifiers();
        let mut pressed = Vec::with_capacity(strokes.len());
        for stroke in strokes {
            pressed.push(Pressed::key(self.page, stroke, bits).await?);
            bits |= stroke.modifier;
        }
        Ok((pressed, bits))
    }
}

/// The keys of a chord in the order they go down, with the shift that a lone capital needs.
fn strokes(chord: &Chord, held: u8) -> Result<Vec<Stroke>, DeviceError> {
    let bits = chord
        .modifiers()
        .fold(held, |bits, modifier| bits | bit(modifier));
    let commands = bits & !bit(Modifier::Shift) != 0;
    let mut strokes: Vec<Stroke> = Vec::with_capacity(chord.keys().len());
    for key in chord.keys() {
        let stroke = Stroke::of(key).ok_or_else(|| {
            refused(format!(
                "There is no key named {key:?}.",
                key = key.to_string()
            ))
        })?;
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
        let shift = Stroke::of_modifier(Modifier::Shift);
        if stroke.shifted && bits & shift.modifier == 0 && !strokes.contains(&shift) {
            strokes.push(shift);
        }
        strokes.push(stroke);
    }
    Ok(strokes)
}

/// The key that writes this character of a text; none when it must be inserted.
fn key_for(c: char) -> Option<Stroke> {
    match c {
        '\n' | '\r' => Some(Stroke::of_named(NamedKey::Enter)),
        '\t' => Some(Stroke::of_named(NamedKey::Tab)),
        ' '..='~' => Some(Stroke::of_char(c)),
        _ => None,
    }
}

fn push_stroke(batch: &mut Vec<(&'static str, Value)>, stroke: &Stroke, held: u8) {
    let bits = if stroke.shifted {
        held | bit(Modifier::Shift)
    } else {
        held
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
    fn the_case_of_a_letter_says_nothing_beside_control() {
        assert_eq!(keys("ctrl+T"), ["Control", "t"]);
        assert_eq!(keys("ctrl+shift+t"), ["Control", "Shift", "T"]);
    }

    #[test]
    fn refuses_a_key_nobody_knows() {
        let chord = Chord::parse("ctrl+NoSuchKey").unwrap();
        assert!(matches!(
            strokes(&chord, 0),
            Err(DeviceError::Refused { .. })
        ));
    }
}
