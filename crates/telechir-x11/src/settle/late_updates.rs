//! Learns which programs update the screen after an unannounced pause. Knows delays only.
//!
//! Example: LibreOffice updates its status bar 600 ms after a key, hidden behind another timer that
//! fires every 150 ms. The first time, the wait ends too early; the next wait in that program lasts
//! until the update.

use std::collections::HashMap;
use std::time::Duration;

/// Later changes are not waited for: they may as well come from a clock.
const MAX_DELAY: Duration = Duration::from_millis(700);
/// Two delays that differ by less belong to the same update.
const SAME_DELAY_TOLERANCE: Duration = Duration::from_millis(50);
/// Maximum consecutive misses of an update that occurred before.
const MAX_MISSES: u32 = 3;
/// How often a single observation is trusted; afterwards two matching ones are required.
const MAX_DROPS_UNCONFIRMED: u32 = 2;
/// Maximum number of remembered programs.
const MAX_PROGRAMS: usize = 64;
/// Number of waits until a program counts as known; the first one is its start.
const WAITS_UNTIL_KNOWN: u32 = 4;
/// How long after the action an unknown program is observed. Covers LibreOffice's updates after 600
/// ms.
pub(super) const UNKNOWN_WATCH: Duration = Duration::from_millis(650);

#[derive(Debug, Default)]
pub(super) struct LateUpdates {
    updates: HashMap<u32, LateUpdate>,
    /// Number of waits per program.
    waits: HashMap<u32, u32>,
}

#[derive(Clone, Copy, Debug)]
struct LateUpdate {
    /// Time between the action and the update.
    delay: Duration,
    /// Whether waits include this update.
    is_trusted: bool,
    /// How often it occurred, and how often it was missing since.
    hits: u32,
    misses: u32,
    /// How often it lost trust since it last occurred.
    drops: u32,
}

impl LateUpdates {
    /// Records a change that came `delay` after the action, after the wait had ended.
    pub(super) fn record_late(&mut self, program: u32, delay: Duration) {
        if delay > MAX_DELAY {
            return;
        }
        if self.updates.len() >= MAX_PROGRAMS {
            self.updates.clear();
        }
        let before = self.updates.get(&program);
        let drops = before.map_or(0, |update| update.drops);
        let is_same =
            before.is_some_and(|update| update.delay.abs_diff(delay) < SAME_DELAY_TOLERANCE);
        let updated = LateUpdate {
            delay,
            // Repeated coincidences are no evidence.
            is_trusted: drops < MAX_DROPS_UNCONFIRMED
                || is_same
                || before.is_some_and(|update| update.is_trusted),
            hits: 0,
            misses: 0,
            drops,
        };
        self.updates.insert(program, updated);
    }

    /// Records a wait for this program.
    pub(super) fn record_wait(&mut self, program: u32) {
        if self.waits.len() >= MAX_PROGRAMS {
            self.waits.clear();
        }
        *self.waits.entry(program).or_default() += 1;
    }

    /// Whether too little is known to tell if the program updates late.
    pub(super) fn is_unknown(&self, program: u32) -> bool {
        let waits = self.waits.get(&program).copied().unwrap_or_default();
        waits < WAITS_UNTIL_KNOWN && self.expected_delay(program).is_none()
    }

    /// The delay after which the program's last change is expected.
    pub(super) fn expected_delay(&self, program: u32) -> Option<Duration> {
        let update = self.updates.get(&program)?;
        update.is_trusted.then_some(update.delay)
    }

    /// Records that the expected change occurred; the last one came after `delay`.
    pub(super) fn record_hit(&mut self, program: u32, delay: Duration) {
        if let Some(update) = self.updates.get_mut(&program) {
            update.delay = update.delay.max(delay.min(MAX_DELAY));
            update.hits += 1;
            (update.misses, update.drops) = (0, 0);
        }
    }

    /// Records that the expected change did not occur.
    pub(super) fn record_miss(&mut self, program: u32) {
        if let Some(update) = self.updates.get_mut(&program) {
            update.misses += 1;
            // Not every action causes the update.
            update.is_trusted = update.misses <= update.hits.min(MAX_MISSES);
            update.drops += u32::from(!update.is_trusted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_late_update_is_expected_in_the_next_wait() {
        let mut late_updates = LateUpdates::default();
        assert_eq!(late_updates.expected_delay(7), None);
        late_updates.record_late(7, MS(610));
        assert_eq!(late_updates.expected_delay(7), Some(MS(610)));
        assert_eq!(late_updates.expected_delay(8), None);
    }

    #[test]
    fn a_program_is_known_after_a_late_update_or_enough_waits() {
        let mut late_updates = LateUpdates::default();
        for _ in 0..WAITS_UNTIL_KNOWN {
            assert!(late_updates.is_unknown(7));
            late_updates.record_wait(7);
        }
        assert!(!late_updates.is_unknown(7));
        late_updates.record_late(8, MS(610));
        assert!(!late_updates.is_unknown(8));
    }

    #[test]
    fn one_miss_does_not_prevent_learning_another_delay() {
        let mut late_updates = LateUpdates::default();
        late_updates.record_wait(7);
        late_updates.record_late(7, MS(440));
        late_updates.record_miss(7);
        assert_eq!(late_updates.expected_delay(7), None);
        assert!(late_updates.is_unknown(7), "after a single wait");
        late_updates.record_late(7, MS(600));
        assert_eq!(late_updates.expected_delay(7), Some(MS(600)));
    }

    #[test]
    fn after_repeated_misses_two_matching_observations_are_required() {
        let mut late_updates = LateUpdates::default();
        for delay in [440, 610] {
            late_updates.record_late(7, MS(delay));
            late_updates.record_miss(7);
        }
        late_updates.record_late(7, MS(300));
        assert_eq!(late_updates.expected_delay(7), None);
        late_updates.record_late(7, MS(320));
        assert_eq!(late_updates.expected_delay(7), Some(MS(320)));
        late_updates.record_hit(7, MS(320));
        late_updates.record_miss(7);
        late_updates.record_miss(7);
        late_updates.record_late(7, MS(500));
        assert_eq!(
            late_updates.expected_delay(7),
            Some(MS(500)),
            "a hit resets the drops"
        );
    }

    #[test]
    fn a_confirmed_update_may_be_missed_once() {
        let mut late_updates = LateUpdates::default();
        late_updates.record_late(7, MS(610));
        late_updates.record_hit(7, MS(620));
        late_updates.record_miss(7);
        assert_eq!(late_updates.expected_delay(7), Some(MS(620)));
        late_updates.record_miss(7);
        assert_eq!(late_updates.expected_delay(7), None);
    }

    #[test]
    fn changes_after_the_maximum_delay_are_not_learned() {
        let mut late_updates = LateUpdates::default();
        late_updates.record_late(7, MS(900));
        assert_eq!(late_updates.expected_delay(7), None);
    }
}
