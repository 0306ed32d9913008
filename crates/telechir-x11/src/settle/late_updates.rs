//! What programs are used to do after a pause that nothing announces. Knows times only.
//!
//! LibreOffice, for one, brings its status bar up to date 600 ms after a key, and hides the timer
//! for it behind another that goes off every 150 ms. It was too early for that once: the next wait
//! in the same program is as long as it takes.

use std::collections::HashMap;
use std::time::Duration;

/// Later changes are not waited for: they may as well be a clock's.
const LATEST: Duration = Duration::from_millis(700);
/// Two times that differ by less are the same habit.
const BLUR: Duration = Duration::from_millis(50);
/// A habit that was right before may be wrong so often in a row.
const MOST_WRONG: u32 = 3;
/// So often what was seen once is taken for a habit; then it must be seen twice.
const MOST_LOST: u32 = 2;
/// Programs that are remembered.
const MOST: usize = 64;
/// So often a program is met before it is known; the first time is its start.
const MEETINGS: u32 = 4;
/// What a program that is not known does late, it does so long after the action.
pub(super) const CURIOUS: Duration = Duration::from_millis(650);

#[derive(Debug, Default)]
pub(super) struct Habits {
    known: HashMap<u32, Habit>,
    /// How often programs were met.
    met: HashMap<u32, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Habit {
    /// So long after the action something changes.
    after: Duration,
    /// Whether it is waited for.
    is_trusted: bool,
    /// How often it was right, and wrong since.
    right: u32,
    wrong: u32,
    /// How often it was given up since it was right.
    lost: u32,
}

impl Habits {
    /// After the wait, a program's screen still changed, so long after the action.
    pub(super) fn was_late(&mut self, program: u32, after: Duration) {
        if after > LATEST {
            return;
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let before = self.known.get(&program);
        let lost = before.map_or(0, |habit| habit.lost);
        let is_same = before.is_some_and(|habit| habit.after.abs_diff(after) < BLUR);
        let again = Habit {
            after,
            // What comes by chance, again and again, proves nothing.
            is_trusted: lost < MOST_LOST || is_same || before.is_some_and(|habit| habit.is_trusted),
            right: 0,
            wrong: 0,
            lost,
        };
        self.known.insert(program, again);
    }

    /// A wait was for this program.
    pub(super) fn meet(&mut self, program: u32) {
        if self.met.len() >= MOST {
            self.met.clear();
        }
        *self.met.entry(program).or_default() += 1;
    }

    /// Whether it is not known yet what a program does late.
    pub(super) fn is_new(&self, program: u32) -> bool {
        let met = self.met.get(&program).copied().unwrap_or_default();
        met < MEETINGS && self.of(program).is_none()
    }

    /// How long after an action the program's last change is to be expected.
    pub(super) fn of(&self, program: u32) -> Option<Duration> {
        let habit = self.known.get(&program)?;
        habit.is_trusted.then_some(habit.after)
    }

    /// The change that was expected came, the last one so long after the action.
    pub(super) fn was_right(&mut self, program: u32, after: Duration) {
        if let Some(habit) = self.known.get_mut(&program) {
            habit.after = habit.after.max(after.min(LATEST));
            habit.right += 1;
            (habit.wrong, habit.lost) = (0, 0);
        }
    }

    /// The change that was expected did not come.
    pub(super) fn was_wrong(&mut self, program: u32) {
        if let Some(habit) = self.known.get_mut(&program) {
            habit.wrong += 1;
            // Not all that it does has that effect.
            habit.is_trusted = habit.wrong <= habit.right.min(MOST_WRONG);
            habit.lost += u32::from(!habit.is_trusted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_late_change_is_expected_the_next_time() {
        let mut habits = Habits::default();
        assert_eq!(habits.of(7), None);
        habits.was_late(7, MS(610));
        assert_eq!(habits.of(7), Some(MS(610)));
        assert_eq!(habits.of(8), None);
    }

    #[test]
    fn a_program_is_known_when_it_was_late_or_met_often() {
        let mut habits = Habits::default();
        for _ in 0..MEETINGS {
            assert!(habits.is_new(7));
            habits.meet(7);
        }
        assert!(!habits.is_new(7));
        habits.was_late(8, MS(610));
        assert!(!habits.is_new(8));
    }

    #[test]
    fn one_chance_does_not_hide_a_habit() {
        let mut habits = Habits::default();
        habits.meet(7);
        habits.was_late(7, MS(440));
        habits.was_wrong(7);
        assert_eq!(habits.of(7), None);
        assert!(habits.is_new(7), "it was met once");
        habits.was_late(7, MS(600));
        assert_eq!(habits.of(7), Some(MS(600)));
    }

    #[test]
    fn who_was_late_by_chance_often_must_be_so_twice() {
        let mut habits = Habits::default();
        for after in [440, 610] {
            habits.was_late(7, MS(after));
            habits.was_wrong(7);
        }
        habits.was_late(7, MS(300));
        assert_eq!(habits.of(7), None);
        habits.was_late(7, MS(320));
        assert_eq!(habits.of(7), Some(MS(320)));
        habits.was_right(7, MS(320));
        habits.was_wrong(7);
        habits.was_wrong(7);
        habits.was_late(7, MS(500));
        assert_eq!(habits.of(7), Some(MS(500)), "a right one counts anew");
    }

    #[test]
    fn a_habit_that_was_right_may_fail_to_show_once() {
        let mut habits = Habits::default();
        habits.was_late(7, MS(610));
        habits.was_right(7, MS(620));
        habits.was_wrong(7);
        assert_eq!(habits.of(7), Some(MS(620)));
        habits.was_wrong(7);
        assert_eq!(habits.of(7), None);
    }

    #[test]
    fn what_comes_much_later_is_no_habit() {
        let mut habits = Habits::default();
        habits.was_late(7, MS(900));
        assert_eq!(habits.of(7), None);
    }
}
