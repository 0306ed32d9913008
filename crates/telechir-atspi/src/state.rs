//! The bits that applications give for states.

use telechir_device::{State, States, is_interactive};

use crate::role;

/// Bits by their number in `atspi-constants.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(u64);

const ENABLED: u32 = 8;
const PRESSED: u32 = 20;
const SENSITIVE: u32 = 24;
pub(crate) const DEFUNCT: u32 = 6;
pub(crate) const SHOWING: u32 = 25;
pub(crate) const VISIBLE: u32 = 30;
pub(crate) const MANAGES_DESCENDANTS: u32 = 31;

const MEANINGS: [(u32, State); 17] = [
    (1, State::Active),
    (3, State::Busy),
    (4, State::Checked),
    (7, State::Editable),
    (9, State::Expandable),
    (10, State::Expanded),
    (11, State::Focusable),
    (12, State::Focused),
    (16, State::Modal),
    (PRESSED, State::Pressed),
    (22, State::Selectable),
    (23, State::Selected),
    (32, State::Mixed),
    (33, State::Required),
    (36, State::Invalid),
    (41, State::Checkable),
    (43, State::ReadOnly),
];

impl Bits {
    /// From the two words that come over the bus.
    pub(crate) fn of(words: &[u32]) -> Self {
        let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0));
        Self(word(0) | word(1) << 32)
    }

    pub(crate) const fn has(self, bit: u32) -> bool {
        self.0 & (1 << bit) != 0
    }

    /// What they mean for an element of this role.
    pub(crate) fn meaning(self, role: u32) -> States {
        let name = role::name(role);
        let mut states = States::default();
        for (bit, state) in MEANINGS {
            if self.has(bit) {
                states.add(state);
            }
        }
        // Toolkits that do not know "checkable" have it in the role.
        if role == role::TOGGLE && self.has(PRESSED) {
            states.add(State::Checked);
        }
        if role == role::TOGGLE
            || matches!(
                &*name,
                "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio"
            )
        {
            states.add(State::Checkable);
        }
        let reacts = self.has(ENABLED) || self.has(SENSITIVE);
        if !reacts && is_interactive(&name, states) {
            states.add(State::Disabled);
        }
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_both_words_are_read() {
        let bits = Bits::of(&[1 << 4 | 1 << ENABLED, 1 << 9]);
        let expected = States::of(&[State::Checked, State::Checkable]);
        assert_eq!(bits.meaning(7), expected);
        assert_eq!(Bits::of(&[]).meaning(29), States::default());
    }

    #[test]
    fn what_does_not_react_is_disabled() {
        let states = Bits::of(&[0, 0]).meaning(43);
        assert_eq!(states, States::of(&[State::Disabled]));
        let states = Bits::of(&[1 << SENSITIVE, 0]).meaning(43);
        assert_eq!(states, States::default());
    }
}
