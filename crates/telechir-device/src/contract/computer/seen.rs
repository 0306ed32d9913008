//! What a witness reports.

use std::future::Future;

use telechir_protocol::{Button, Key, Modifier};

/// One thing that arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The pointer came by.
    Motion {
        /// Where on the screen.
        at: (u32, u32),
    },
    /// A button went down.
    ButtonDown {
        /// Which one.
        button: Button,
        /// Where on the screen.
        at: (u32, u32),
        /// The modifiers that were down, in the order of [`Modifier`].
        modifiers: Vec<Modifier>,
    },
    /// A button came up.
    ButtonUp {
        /// Which one.
        button: Button,
        /// Where on the screen.
        at: (u32, u32),
    },
    /// The wheel turned; in clicks, right and down are positive. A page counts 100 pixels a click.
    Scroll {
        /// To the right.
        dx: f64,
        /// Down.
        dy: f64,
        /// The modifiers that were down, in the order of [`Modifier`].
        modifiers: Vec<Modifier>,
    },
    /// A key went down. A key that repeats by itself goes down again without coming up.
    KeyDown {
        /// Which one, as the layout and Shift make it.
        key: Key,
    },
    /// A key came up.
    KeyUp {
        /// Which one, as the layout and Shift make it.
        key: Key,
    },
}

impl Seen {
    /// Whether a button or key went down.
    pub(super) const fn is_press(&self) -> bool {
        matches!(self, Self::ButtonDown { .. } | Self::KeyDown { .. })
    }
}

/// Buttons and keys that went down and did not come up.
#[derive(Debug, Default, PartialEq)]
pub struct Pressed {
    /// In the order they went down.
    pub buttons: Vec<Button>,
    /// In the order they went down.
    pub keys: Vec<Key>,
}

impl Pressed {
    /// What is still down after all this.
    pub fn after(seen: &[Seen]) -> Self {
        let mut pressed = Self::default();
        for seen in seen {
            match seen {
                Seen::ButtonDown { button, .. } => pressed.buttons.push(*button),
                Seen::ButtonUp { button, .. } => pressed.buttons.retain(|down| down != button),
                Seen::KeyDown { key } => pressed.key_down(key),
                Seen::KeyUp { key } => pressed.keys.retain(|down| !is_same_key(down, key)),
                Seen::Motion { .. } | Seen::Scroll { .. } => {}
            }
        }
        pressed
    }

    /// Whether nothing is down.
    pub const fn is_empty(&self) -> bool {
        self.buttons.is_empty() && self.keys.is_empty()
    }

    fn key_down(&mut self, key: &Key) {
        if !self.keys.iter().any(|down| is_same_key(down, key)) {
            self.keys.push(key.clone());
        }
    }
}

/// Whether it is the same key, though Shift may have changed in between.
pub(super) fn is_same_key(one: &Key, other: &Key) -> bool {
    match (one, other) {
        (Key::Char(one), Key::Char(other)) => one.to_lowercase().eq(other.to_lowercase()),
        _ => one == other,
    }
}

/// Sees what a device's actions truly bring about.
pub trait Witness: Send {
    /// The top left corner, in pixels of the screen, of a place of at least 400 by 300 pixels where
    /// everything is seen.
    fn pad(&self) -> (u32, u32);

    /// A pixel of the screen where text can be typed after a click on it. The text field may have
    /// the focus from the start; it lies outside the pad or is the pad itself.
    fn field(&self) -> (u32, u32);

    /// Waits until `enough` holds for what arrived since the last [`forget`](Self::forget), or a
    /// ceiling of some seconds; then gives all that arrived, in order.
    fn seen(
        &mut self,
        enough: &(dyn Fn(&[Seen]) -> bool + Sync),
    ) -> impl Future<Output = Vec<Seen>> + Send;

    /// Waits until the field holds `expected`, or a ceiling of some seconds; gives what it holds.
    /// Enter is a new line.
    fn text(&mut self, expected: &str) -> impl Future<Output = String> + Send;

    /// Forgets everything that arrived so far, the text too.
    fn forget(&mut self) -> impl Future<Output = ()> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_up_in_another_case_is_up() {
        let down = Seen::KeyDown {
            key: Key::Char('A'),
        };
        let up = Seen::KeyUp {
            key: Key::Char('a'),
        };
        assert!(!Pressed::after(std::slice::from_ref(&down)).is_empty());
        assert!(Pressed::after(&[down.clone(), down, up]).is_empty());
    }

    #[test]
    fn buttons_are_told_apart() {
        let at = (0, 0);
        let down = Seen::ButtonDown {
            button: Button::Left,
            at,
            modifiers: vec![],
        };
        let up = Seen::ButtonUp {
            button: Button::Right,
            at,
        };
        assert_eq!(Pressed::after(&[down, up]).buttons, [Button::Left]);
    }
}
