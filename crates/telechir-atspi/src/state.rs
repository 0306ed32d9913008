//! The state bits of AT-SPI and their meaning.

use telechir_device::{State, States, is_interactive};

use crate::role;

/// State bits, numbered as in `atspi-constants.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(u64);

pub(crate) const ENABLED: u32 = 8;
const FOCUSABLE: u32 = 11;
const PRESSED: u32 = 20;
pub(crate) const SENSITIVE: u32 = 24;
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
    (FOCUSABLE, State::Focusable),
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

/// States that few elements have: showing, or one with a meaning. Focusable is excluded because
/// most roles have it.
pub(crate) const REMARKABLE: Bits = {
    let mut bits = Bits(1 << SHOWING);
    let mut at = 0;
    while at < MEANINGS.len() {
        if MEANINGS[at].0 != FOCUSABLE {
            bits.0 |= 1 << MEANINGS[at].0;
        }
        at += 1;
    }
    bits
};

impl Bits {
    /// A set of exactly these states.
    pub(crate) const fn of_states(states: &[u32]) -> Self {
        let mut bits = Self(0);
        let mut at = 0;
        while at < states.len() {
            bits.0 |= 1 << states[at];
            at += 1;
        }
        bits
    }

    /// The two 32-bit halves sent over the bus, lower half first.
    pub(crate) fn halves(self) -> [i32; 2] {
        let bytes = self.0.to_le_bytes();
        let (low, high) = bytes.split_at(4);
        [low, high].map(|half| i32::from_le_bytes(half.try_into().unwrap_or_default()))
    }

    /// Decodes the two 32-bit halves received over the bus.
    pub(crate) fn of(halves: &[u32]) -> Self {
        let half = |at: usize| u64::from(halves.get(at).copied().unwrap_or(0));
        Self(half(0) | half(1) << 32)
    }

    pub(crate) const fn has(self, bit: u32) -> bool {
        self.0 & (1 << bit) != 0
    }

    /// The meaning of the bits for an element with this role.
    pub(crate) fn meaning(self, role: u32) -> States {
        let name = role::name(role);
        let mut states = States::default();
        for (bit, state) in MEANINGS {
            if self.has(bit) {
                states.add(state);
            }
        }
        // Toolkits without the "checkable" state imply it by the role.
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
    fn reads_both_halves_of_the_state_set() {
        let bits = Bits::of(&[1 << 4 | 1 << ENABLED, 1 << 9]);
        let expected = States::of(&[State::Checked, State::Checkable]);
        assert_eq!(bits.meaning(7), expected);
        assert_eq!(Bits::of(&[]).meaning(29), States::default());
    }

    #[test]
    fn elements_without_enabled_or_sensitive_are_disabled() {
        let states = Bits::of(&[0, 0]).meaning(43);
        assert_eq!(states, States::of(&[State::Disabled]));
        let states = Bits::of(&[1 << SENSITIVE, 0]).meaning(43);
        assert_eq!(states, States::default());
    }
}
