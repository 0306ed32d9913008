//! Steps the state machine through times and rectangles.

use super::*;

const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(2),
};
const SCREEN: Size = Size::new(1280, 800);

const fn area(width: i32, height: i32) -> DamageRect {
    [10, 10, 10 + width, 10 + height]
}

/// Runs a wait in steps of one millisecond; `step` provides the changes and the activity.
fn wait(
    known: &[DamageRect],
    mut step: impl FnMut(u64) -> (Vec<DamageRect>, Option<Programs>),
) -> (u64, WaitStep) {
    let start = Instant::now();
    let since = SettleSince::Acted(start);
    let mut tracker = SettleTracker::new(start, since, SETTLE, SCREEN, known.to_vec());
    tracker.trust_idle();
    for ms in 0.. {
        let now = start + Duration::from_millis(ms);
        let (changed, sample) = step(ms);
        if !changed.is_empty() {
            tracker.changed(now, &changed);
        }
        if tracker.next(now) == WaitStep::Sample {
            tracker.sampled(now, Duration::ZERO, sample.map(|sample| sample.at(start)));
        }
        match tracker.next(now) {
            done @ WaitStep::Done { .. } => return (ms, done),
            WaitStep::Sample => panic!("two samples at {ms} ms"),
            WaitStep::Wait(until) => assert!(until > now, "a wait in the past at {ms} ms"),
        }
    }
    unreachable!("a wait has a ceiling")
}

/// Activity of the programs, with times from the start.
#[derive(Clone, Copy)]
enum Programs {
    Work,
    /// Ready to run, but without a core.
    Starved,
    /// Short work now and then.
    Occasional,
    Sleep,
    SleepUntil(u64),
    SleepUnknown,
}

const fn done(unsettled: Option<UnsettledReason>) -> WaitStep {
    WaitStep::Done {
        unsettled,
        animated: None,
    }
}

/// The end of a wait during which an area changed continuously.
const fn animated(area: DamageRect) -> WaitStep {
    WaitStep::Done {
        unsettled: Some(UnsettledReason::Animated),
        animated: Some(area),
    }
}

impl Programs {
    fn at(self, start: Instant) -> Sample {
        Sample {
            is_busy: matches!(self, Self::Work | Self::Starved),
            slowness: if matches!(self, Self::Starved) {
                3.0
            } else {
                1.0
            },
            sleep: match self {
                Self::Work | Self::Starved | Self::Occasional => Sleep::Awake,
                Self::Sleep => Sleep::Idle,
                Self::SleepUntil(ms) => Sleep::Until(start + Duration::from_millis(ms)),
                Self::SleepUnknown => Sleep::Unknown,
            },
        }
    }
}

const IDLE: Option<Programs> = Some(Programs::SleepUnknown);

fn every(ms: u64, period: u64, area: DamageRect) -> Vec<DamageRect> {
    if ms.is_multiple_of(period) {
        vec![area]
    } else {
        Vec::new()
    }
}

fn once(ms: u64, at: u64, area: DamageRect) -> Vec<DamageRect> {
    if ms == at { vec![area] } else { Vec::new() }
}

#[test]
fn settles_after_the_quiet_period() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(90, 30)), IDLE));
    assert_eq!((ms, next), (70, done(None)));
}

#[test]
fn a_large_change_extends_the_quiet_period() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(900, 600)), IDLE));
    assert_eq!((ms, next), (87, done(None)));
}

#[test]
fn busy_programs_extend_the_wait() {
    let (ms, next) = wait(&[], |ms| {
        let programs = if ms < 200 {
            Programs::Work
        } else {
            Programs::SleepUnknown
        };
        (once(ms, 180, area(90, 30)), Some(programs))
    });
    assert_eq!((ms, next), (230, done(None)));
}

#[test]
fn endlessly_busy_programs_end_the_wait_as_busy() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Work)));
    assert_eq!(ms, 2000, "the ceiling");
    assert_eq!(next, done(Some(UnsettledReason::Busy)));
}

#[test]
fn starved_programs_extend_the_wait() {
    let (ms, next) = wait(&[], |ms| {
        let programs = if ms < 1600 {
            Programs::Starved
        } else {
            Programs::Sleep
        };
        (once(ms, 1599, area(90, 30)), Some(programs))
    });
    assert!((1605..1615).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn a_late_update_of_an_unknown_program_is_learned() {
    let start = Instant::now();
    let ms = |ms| start + Duration::from_millis(ms);
    let mut tracker =
        SettleTracker::new(start, SettleSince::Acted(start), SETTLE, SCREEN, Vec::new());
    tracker.trust_idle();
    let asleep = Some(Programs::Sleep.at(start));
    tracker.changed(ms(20), &[area(90, 30)]);
    tracker.sampled(ms(30), Duration::ZERO, asleep);
    assert_eq!(tracker.learned_delay(start), None);
    tracker.watch_until(ms(650));
    assert_eq!(tracker.next(ms(40)), WaitStep::Wait(ms(650)));
    tracker.changed(ms(610), &[area(90, 30)]);
    assert_eq!(
        tracker.learned_delay(start),
        Some(Duration::from_millis(610))
    );
    // One more sample is required before the end.
    tracker.sampled(ms(615), Duration::ZERO, asleep);
    assert_eq!(tracker.next(ms(650)), WaitStep::Sample);
    tracker.sampled(ms(650), Duration::ZERO, asleep);
    assert_eq!(tracker.next(ms(650)), done(None));
}

#[test]
fn the_wait_ends_soon_after_all_threads_sleep() {
    let (ms, next) = wait(&[], |ms| {
        let programs = if ms < 22 {
            Programs::Work
        } else {
            Programs::Sleep
        };
        (once(ms, 20, area(900, 600)), Some(programs))
    });
    assert!((28..33).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn contention_extends_the_minimum_quiet_time() {
    let start = Instant::now();
    let ends = |slowness| {
        let mut tracker =
            SettleTracker::new(start, SettleSince::Acted(start), SETTLE, SCREEN, Vec::new());
        tracker.trust_idle();
        tracker.changed(start, &[area(90, 30)]);
        let sample = Sample {
            slowness,
            ..Programs::Sleep.at(start)
        };
        let ends = (1..100).find(|ms| {
            let now = start + Duration::from_millis(*ms);
            tracker.sampled(now, Duration::ZERO, Some(sample));
            matches!(tracker.next(now), WaitStep::Done { .. })
        });
        ends.map(Duration::from_millis)
    };
    assert_eq!(ends(1.0), Some(MIN_QUIET));
    assert_eq!(ends(3.0), Some(MIN_QUIET * 3));
    assert_eq!(ends(20.0), Some(SETTLE.quiet));
}

#[test]
fn without_full_sampling_the_quiet_period_applies() {
    let start = Instant::now();
    let mut tracker =
        SettleTracker::new(start, SettleSince::Acted(start), SETTLE, SCREEN, Vec::new());
    for ms in 1..50 {
        let now = start + Duration::from_millis(ms);
        let sample = Sample {
            is_busy: false,
            slowness: 1.0,
            sleep: Sleep::Idle,
        };
        tracker.sampled(now, Duration::ZERO, Some(sample));
        assert!(!matches!(tracker.next(now), WaitStep::Done { .. }), "{ms}");
    }
    assert_eq!(tracker.next(start + SETTLE.quiet), done(None));
}

#[test]
fn a_pending_timer_extends_the_wait() {
    let (ms, next) = wait(&[], |ms| {
        let programs = match ms {
            0..10 => Programs::Work,
            10..250 => Programs::SleepUntil(250),
            250..255 => Programs::Work,
            _ => Programs::Sleep,
        };
        (once(ms, 252, area(90, 30)), Some(programs))
    });
    assert!((260..266).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn the_wait_is_longer_if_nothing_changed_yet() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Sleep)));
    assert!((25..30).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn a_distant_timer_does_not_extend_the_wait() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::SleepUntil(500))));
    assert!((25..30).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn occasional_short_work_extends_the_wait_slightly() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Occasional)));
    assert!((100..105).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn without_samples_the_quiet_period_is_longer() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(90, 30)), None));
    assert!((95..110).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn a_caret_is_ignored() {
    let (ms, next) = wait(&[], |ms| (every(ms, 40, area(1, 21)), IDLE));
    assert_eq!((ms, next), (50, done(None)));
}

#[test]
fn a_spinner_is_recognized_after_300_ms() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[], |ms| (every(ms, 20, spinner), IDLE));
    assert!((300..330).contains(&ms), "{ms}");
    assert_eq!(next, animated(spinner));
}

#[test]
fn two_spinners_are_recognized_together() {
    let far = [900, 600, 916, 616];
    let (ms, next) = wait(&[], |ms| {
        (
            every(ms, 20, area(32, 32))
                .into_iter()
                .chain(every(ms, 30, far))
                .collect(),
            IDLE,
        )
    });
    assert!((300..330).contains(&ms), "{ms}");
    assert_eq!(next, animated([10, 10, 916, 616]));
}

#[test]
fn a_known_spinner_does_not_extend_the_wait() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[spinner], |ms| (every(ms, 20, spinner), IDLE));
    assert_eq!(ms, 50);
    assert_eq!(next, animated(spinner));
}

#[test]
fn a_known_spinner_does_not_hide_other_changes() {
    let spinner = area(32, 32);
    let news = [400, 300, 500, 330];
    let (ms, _) = wait(&[spinner], |ms| {
        (
            every(ms, 20, spinner)
                .into_iter()
                .chain(once(ms, 30, news))
                .collect(),
            IDLE,
        )
    });
    assert_eq!(ms, 80);
}

#[test]
fn a_video_is_recognized_after_a_second() {
    let (ms, next) = wait(&[], |ms| (every(ms, 33, area(640, 360)), IDLE));
    assert!((1000..1050).contains(&ms), "{ms}");
    assert_eq!(next, animated(area(640, 360)));
}

#[test]
fn a_continuously_changing_screen_ends_at_the_limit() {
    let (ms, next) = wait(&[], |ms| (every(ms, 20, area(1200, 700)), IDLE));
    assert_eq!(
        (ms, next),
        (2000, done(Some(UnsettledReason::StillChanging)))
    );
}

#[test]
fn a_screen_quiet_for_long_is_settled_at_once() {
    let start = Instant::now();
    let now = start + SETTLE.quiet;
    let still = |since| SettleTracker::new(now, since, SETTLE, SCREEN, Vec::new()).next(now);
    assert_eq!(still(SettleSince::Changed(start)), done(None));
    assert_eq!(still(SettleSince::Acted(start)), WaitStep::Sample);
}
