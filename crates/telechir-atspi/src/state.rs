//! The state bits of AT-SPI and their meaning.

use telechir_device::{ElementState, ElementStates, is_interactive};

use crate::role;

/// State bits, numbered as in `atspi-constants.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(u64);

pub(crate) const ENABLED: u32 = 8;
const FOCUSABLE: u32 = 11;
pub(crate) const FOCUSED: u32 = 12;
const PRESSED: u32 = 20;
pub(crate) const SENSITIVE: u32 = 24;
pub(crate) const DEFUNCT: u32 = 6;
pub(crate) const SHOWING: u32 = 25;
pub(crate) const VISIBLE: u32 = 30;
pub(crate) const MANAGES_DESCENDANTS: u32 = 31;

const MEANINGS: [(u32, ElementState); 17] = [
    (1, ElementState::Active),
    (3, ElementState::Busy),
    (4, ElementState::Checked),
    (7, ElementState::Editable),
    (9, ElementState::Expandable),
    (10, ElementState::Expanded),
    (FOCUSABLE, ElementState::Focusable),
    (FOCUSED, ElementState::Focused),
    (16, ElementState::Modal),
    (PRESSED, ElementState::Pressed),
    (22, ElementState::Selectable),
    (23, ElementState::Selected),
    (32, ElementState::Mixed),
    (33, ElementState::Required),
    (36, ElementState::Invalid),
    (41, ElementState::Checkable),
    (43, ElementState::ReadOnly),
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
    pub(crate) fn meaning(self, role: u32) -> ElementStates {
        let name = role::name(role);
        let mut states = ElementStates::default();
        for (bit, state) in MEANINGS {
            if self.has(bit) {
                states.add(state);
            }
        }
        // Toolkits without the "checkable" state imply it by the role.
        if role == role::TOGGLE && self.has(PRESSED) {
            states.add(ElementState::Checked);
        }
        if role == role::TOGGLE
            || matches!(
                &*name,
                "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio"
            )
        {
            states.add(ElementState::Checkable);
        }
        let reacts = self.has(ENABLED) || self.has(SENSITIVE);
        if !reacts && is_interactive(&name, states) {
            states.add(ElementState::Disabled);
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
        let expected = ElementStates::of(&[ElementState::Checked, ElementState::Checkable]);
        assert_eq!(bits.meaning(7), expected);
        assert_eq!(Bits::of(&[]).meaning(29), ElementStates::default());
    }

    #[test]
    fn elements_without_enabled_or_sensitive_are_disabled() {
        let states = Bits::of(&[0, 0]).meaning(43);
        assert_eq!(states, ElementStates::of(&[ElementState::Disabled]));
        let states = Bits::of(&[1 << SENSITIVE, 0]).meaning(43);
        assert_eq!(states, ElementStates::default());
    }
}
