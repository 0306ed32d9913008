//! Times and rectangles, stepped by hand.

use super::*;

const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(2),
};
const SCREEN: Size = Size::new(1280, 800);

const fn area(width: i32, height: i32) -> Area {
    [10, 10, 10 + width, 10 + height]
}

/// What becomes of a wait during which `step` says what changes and how programs are; it is asked
/// every millisecond.
fn wait(known: &[Area], mut step: impl FnMut(u64) -> (Vec<Area>, Option<Programs>)) -> (u64, Next) {
    let start = Instant::now();
    let since = Since::Acted(start);
    let mut stillness = Stillness::new(start, since, SETTLE, SCREEN, known.to_vec());
    stillness.knows_all();
    for ms in 0.. {
        let now = start + Duration::from_millis(ms);
        let (changed, look) = step(ms);
        if !changed.is_empty() {
            stillness.changed(now, &changed);
        }
        if stillness.next(now) == Next::Look {
            stillness.looked(now, Duration::ZERO, look.map(|look| look.at(start)));
        }
        match stillness.next(now) {
            done @ Next::Done { .. } => return (ms, done),
            Next::Look => panic!("two looks at {ms} ms"),
            Next::Wait(until) => assert!(until > now, "a wait that is over at {ms} ms"),
        }
    }
    unreachable!("a wait has a ceiling")
}

/// How programs are, with times from the start.
#[derive(Clone, Copy)]
enum Programs {
    Work,
    /// They would, if they got a core.
    Starve,
    /// Now and then, not much.
    Stir,
    Sleep,
    SleepUntil(u64),
    SleepSomehow,
}

const fn done(held: Option<UnsettledReason>) -> Next {
    Next::Done {
        held,
        restless: None,
    }
}

/// The end of a wait during which something went on changing by itself.
const fn restless(area: Area) -> Next {
    Next::Done {
        held: Some(UnsettledReason::Animated),
        restless: Some(area),
    }
}

impl Programs {
    fn at(self, start: Instant) -> Look {
        Look {
            is_busy: matches!(self, Self::Work | Self::Starve),
            slowness: if matches!(self, Self::Starve) {
                3.0
            } else {
                1.0
            },
            sleep: match self {
                Self::Work | Self::Starve | Self::Stir => Sleep::Awake,
                Self::Sleep => Sleep::Sound,
                Self::SleepUntil(ms) => Sleep::Until(start + Duration::from_millis(ms)),
                Self::SleepSomehow => Sleep::Unknown,
            },
        }
    }
}

const IDLE: Option<Programs> = Some(Programs::SleepSomehow);

fn every(ms: u64, period: u64, area: Area) -> Vec<Area> {
    if ms.is_multiple_of(period) {
        vec![area]
    } else {
        Vec::new()
    }
}

fn once(ms: u64, at: u64, area: Area) -> Vec<Area> {
    if ms == at { vec![area] } else { Vec::new() }
}

#[test]
fn settles_after_the_quiet_period() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(90, 30)), IDLE));
    assert_eq!((ms, next), (70, done(None)));
}

#[test]
fn a_large_change_is_waited_for_longer() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(900, 600)), IDLE));
    assert_eq!((ms, next), (87, done(None)));
}

#[test]
fn programs_that_work_are_waited_for() {
    let (ms, next) = wait(&[], |ms| {
        let programs = if ms < 200 {
            Programs::Work
        } else {
            Programs::SleepSomehow
        };
        (once(ms, 180, area(90, 30)), Some(programs))
    });
    assert_eq!((ms, next), (230, done(None)));
}

#[test]
fn programs_that_work_for_ever_are_not() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Work)));
    assert!((1000..1010).contains(&ms), "{ms}");
    assert_eq!(next, done(Some(UnsettledReason::Busy)));
}

#[test]
fn who_gets_no_core_is_waited_for_longer() {
    let (ms, next) = wait(&[], |ms| {
        let programs = if ms < 1600 {
            Programs::Starve
        } else {
            Programs::Sleep
        };
        (once(ms, 1599, area(90, 30)), Some(programs))
    });
    assert!((1605..1615).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn of_whom_nothing_is_known_something_late_is_learned() {
    let start = Instant::now();
    let ms = |ms| start + Duration::from_millis(ms);
    let mut stillness = Stillness::new(start, Since::Acted(start), SETTLE, SCREEN, Vec::new());
    stillness.knows_all();
    let asleep = Some(Programs::Sleep.at(start));
    stillness.changed(ms(20), &[area(90, 30)]);
    stillness.looked(ms(30), Duration::ZERO, asleep);
    assert_eq!(stillness.learned(start), None);
    stillness.wonder(ms(650));
    assert_eq!(stillness.next(ms(40)), Next::Wait(ms(650)));
    stillness.changed(ms(610), &[area(90, 30)]);
    assert_eq!(stillness.learned(start), Some(Duration::from_millis(610)));
    // How they are is looked at once more before it is over.
    stillness.looked(ms(615), Duration::ZERO, asleep);
    assert_eq!(stillness.next(ms(650)), Next::Look);
    stillness.looked(ms(650), Duration::ZERO, asleep);
    assert_eq!(stillness.next(ms(650)), done(None));
}

#[test]
fn it_is_over_soon_when_all_sleep() {
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
fn where_cores_are_waited_for_linux_has_longer_for_its_own_part() {
    let start = Instant::now();
    let ends = |slowness| {
        let mut stillness = Stillness::new(start, Since::Acted(start), SETTLE, SCREEN, Vec::new());
        stillness.knows_all();
        stillness.changed(start, &[area(90, 30)]);
        let look = Look {
            slowness,
            ..Programs::Sleep.at(start)
        };
        let ends = (1..100).find(|ms| {
            let now = start + Duration::from_millis(*ms);
            stillness.looked(now, Duration::ZERO, Some(look));
            matches!(stillness.next(now), Next::Done { .. })
        });
        ends.map(Duration::from_millis)
    };
    assert_eq!(ends(1.0), Some(LEAST));
    assert_eq!(ends(3.0), Some(LEAST * 3));
    assert_eq!(ends(20.0), Some(SETTLE.quiet));
}

#[test]
fn where_others_may_draw_as_well_the_quiet_is_whole() {
    let start = Instant::now();
    let mut stillness = Stillness::new(start, Since::Acted(start), SETTLE, SCREEN, Vec::new());
    for ms in 1..50 {
        let now = start + Duration::from_millis(ms);
        let look = Look {
            is_busy: false,
            slowness: 1.0,
            sleep: Sleep::Sound,
        };
        stillness.looked(now, Duration::ZERO, Some(look));
        assert!(!matches!(stillness.next(now), Next::Done { .. }), "{ms}");
    }
    assert_eq!(stillness.next(start + SETTLE.quiet), done(None));
}

#[test]
fn a_timer_is_waited_for() {
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
fn it_is_not_over_as_soon_when_nothing_changed_yet() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Sleep)));
    assert!((25..30).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn a_timer_that_is_far_off_is_not() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::SleepUntil(500))));
    assert!((25..30).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn who_stirs_now_and_then_is_waited_for_a_little_longer() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(Programs::Stir)));
    assert!((100..105).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn where_no_program_is_known_the_quiet_is_longer() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(90, 30)), None));
    assert!((95..110).contains(&ms), "{ms}");
    assert_eq!(next, done(None));
}

#[test]
fn a_caret_does_not_count() {
    let (ms, next) = wait(&[], |ms| (every(ms, 40, area(1, 21)), IDLE));
    assert_eq!((ms, next), (50, done(None)));
}

#[test]
fn a_spinner_is_known_soon() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[], |ms| (every(ms, 20, spinner), IDLE));
    assert!((300..330).contains(&ms), "{ms}");
    assert_eq!(next, restless(spinner));
}

#[test]
fn two_spinners_are_as_one() {
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
    assert_eq!(next, restless([10, 10, 916, 616]));
}

#[test]
fn a_known_spinner_does_not_hold_it() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[spinner], |ms| (every(ms, 20, spinner), IDLE));
    assert_eq!(ms, 50);
    assert_eq!(next, restless(spinner));
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
fn a_video_is_known_after_a_second() {
    let (ms, next) = wait(&[], |ms| (every(ms, 33, area(640, 360)), IDLE));
    assert!((1000..1050).contains(&ms), "{ms}");
    assert_eq!(next, restless(area(640, 360)));
}

#[test]
fn a_screen_that_goes_on_changing_lasts_until_the_ceiling() {
    let (ms, next) = wait(&[], |ms| (every(ms, 20, area(1200, 700)), IDLE));
    assert_eq!(
        (ms, next),
        (2000, done(Some(UnsettledReason::StillChanging)))
    );
}

#[test]
fn a_screen_that_was_still_for_long_is_settled_at_once() {
    let start = Instant::now();
    let now = start + SETTLE.quiet;
    let still = |since| Stillness::new(now, since, SETTLE, SCREEN, Vec::new()).next(now);
    assert_eq!(still(Since::Changed(start)), done(None));
    assert_eq!(still(Since::Acted(start)), Next::Look);
}
