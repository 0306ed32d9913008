//! The observations of a witness.

use std::future::Future;

use telechir_protocol::{Button, Key, Modifier};

/// One observed input event.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservedInput {
    /// The pointer moved, with or without a pressed button.
    Motion {
        /// Position on the screen.
        at: (u32, u32),
    },
    /// A button was pressed.
    ButtonDown {
        /// The pressed button; the wheel's turns are [`ObservedInput::Scroll`].
        button: Button,
        /// Position on the screen.
        at: (u32, u32),
        /// The pressed modifiers, in the order of [`Modifier`].
        modifiers: Vec<Modifier>,
    },
    /// A button was released.
    ButtonUp {
        /// The released button; the wheel's turns have no release.
        button: Button,
        /// Position on the screen.
        at: (u32, u32),
    },
    /// The wheel turned; in clicks, right and down are positive. A page counts 100 pixels per
    /// click.
    Scroll {
        /// Distance to the right in clicks.
        dx: f64,
        /// Distance down in clicks.
        dy: f64,
        /// The pressed modifiers, in the order of [`Modifier`].
        modifiers: Vec<Modifier>,
    },
    /// A key was pressed. Auto-repeat presses a key again without a release.
    KeyDown {
        /// The key under the present layout and Shift state.
        key: Key,
    },
    /// A key was released.
    KeyUp {
        /// The key under the present layout and Shift state.
        key: Key,
    },
}

impl ObservedInput {
    /// Whether a button or key was pressed.
    pub(super) const fn is_press(&self) -> bool {
        matches!(self, Self::ButtonDown { .. } | Self::KeyDown { .. })
    }
}

/// Buttons and keys that were pressed and not released.
#[derive(Debug, Default, PartialEq)]
pub struct StillPressed {
    /// Buttons in the order of their presses.
    pub buttons: Vec<Button>,
    /// Keys in the order of their presses.
    pub keys: Vec<Key>,
}

impl StillPressed {
    /// What is still pressed after these events.
    pub fn after(seen: &[ObservedInput]) -> Self {
        let mut pressed = Self::default();
        for seen in seen {
            match seen {
                ObservedInput::ButtonDown { button, .. } => pressed.buttons.push(*button),
                ObservedInput::ButtonUp { button, .. } => {
                    pressed.buttons.retain(|down| down != button)
                }
                ObservedInput::KeyDown { key } => pressed.key_down(key),
                ObservedInput::KeyUp { key } => pressed.keys.retain(|down| !is_same_key(down, key)),
                ObservedInput::Motion { .. } | ObservedInput::Scroll { .. } => {}
            }
        }
        pressed
    }

    /// Whether nothing is pressed.
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

/// Observes the input that a device's actions cause.
pub trait Witness: Send {
    /// The top left corner, in screen pixels, of an area of at least 400 by 300 pixels in which all
    /// input is observed.
    fn pad(&self) -> (u32, u32);

    /// A pixel of the screen where text can be typed after a click on it. The text field may have
    /// the focus from the start; it is outside the pad or is the pad itself.
    fn field(&self) -> (u32, u32);

    /// Waits until `enough` holds for the events since the last [`forget`](Self::forget), for at
    /// most a few seconds; then returns all of them in order.
    fn observed(
        &mut self,
        enough: &(dyn Fn(&[ObservedInput]) -> bool + Sync),
    ) -> impl Future<Output = Vec<ObservedInput>> + Send;

    /// Waits until the field contains `expected`, for at most a few seconds; returns its content.
    /// Enter is a newline.
    fn text(&mut self, expected: &str) -> impl Future<Output = String> + Send;

    /// Forgets all events, and the text.
    fn forget(&mut self) -> impl Future<Output = ()> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_up_in_another_case_is_up() {
        let down = ObservedInput::KeyDown {
            key: Key::Char('A'),
        };
        let up = ObservedInput::KeyUp {
            key: Key::Char('a'),
        };
        assert!(!StillPressed::after(std::slice::from_ref(&down)).is_empty());
        assert!(StillPressed::after(&[down.clone(), down, up]).is_empty());
    }

    #[test]
    fn buttons_are_distinguished() {
        let at = (0, 0);
        let down = ObservedInput::ButtonDown {
            button: Button::Left,
            at,
            modifiers: vec![],
        };
        let up = ObservedInput::ButtonUp {
            button: Button::Right,
            at,
        };
        assert_eq!(StillPressed::after(&[down, up]).buttons, [Button::Left]);
    }
}
