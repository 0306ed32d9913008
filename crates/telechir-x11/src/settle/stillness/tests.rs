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

/// What becomes of a wait during which `step` says what changes and whether programs work; it
/// is asked every millisecond.
fn wait(known: &[Area], mut step: impl FnMut(u64) -> (Vec<Area>, Option<bool>)) -> (u64, Next) {
    let start = Instant::now();
    let since = Since::Acted(start);
    let mut stillness = Stillness::new(start, since, SETTLE, SCREEN, known.to_vec());
    for ms in 0.. {
        let now = start + Duration::from_millis(ms);
        let (changed, is_busy) = step(ms);
        if !changed.is_empty() {
            stillness.changed(now, &changed);
        }
        if stillness.next(now) == Next::Look {
            stillness.looked(now, is_busy);
        }
        match stillness.next(now) {
            done @ Next::Done { .. } => return (ms, done),
            Next::Look => panic!("two looks at {ms} ms"),
            Next::Wait(until) => assert!(until > now, "a wait that is over at {ms} ms"),
        }
    }
    unreachable!("a wait has a ceiling")
}

const fn done(settled: bool) -> Next {
    Next::Done {
        settled,
        restless: None,
    }
}

const IDLE: Option<bool> = Some(false);

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
    assert_eq!((ms, next), (70, done(true)));
}

#[test]
fn a_large_change_is_waited_for_longer() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(900, 600)), IDLE));
    assert_eq!((ms, next), (87, done(true)));
}

#[test]
fn programs_that_work_are_waited_for() {
    let (ms, next) = wait(&[], |ms| (once(ms, 180, area(90, 30)), Some(ms < 200)));
    assert_eq!((ms, next), (230, done(true)));
}

#[test]
fn programs_that_work_for_ever_are_not() {
    let (ms, next) = wait(&[], |_| (Vec::new(), Some(true)));
    assert_eq!((ms, next), (400, done(true)));
}

#[test]
fn where_no_program_is_known_the_quiet_is_longer() {
    let (ms, next) = wait(&[], |ms| (once(ms, 20, area(90, 30)), None));
    assert!((95..110).contains(&ms), "{ms}");
    assert_eq!(next, done(true));
}

#[test]
fn a_caret_does_not_count() {
    let (ms, next) = wait(&[], |ms| (every(ms, 40, area(1, 21)), IDLE));
    assert_eq!((ms, next), (50, done(true)));
}

#[test]
fn a_spinner_is_known_soon() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[], |ms| (every(ms, 20, spinner), IDLE));
    assert!((300..330).contains(&ms), "{ms}");
    let restless = Some(spinner);
    let settled = false;
    assert_eq!(next, Next::Done { settled, restless });
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
    let restless = Some([10, 10, 916, 616]);
    assert_eq!(
        next,
        Next::Done {
            settled: false,
            restless
        }
    );
}

#[test]
fn a_known_spinner_does_not_hold_it() {
    let spinner = area(32, 32);
    let (ms, next) = wait(&[spinner], |ms| (every(ms, 20, spinner), IDLE));
    assert_eq!(ms, 50);
    let restless = Some(spinner);
    assert_eq!(
        next,
        Next::Done {
            settled: false,
            restless
        }
    );
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
    let restless = Some(area(640, 360));
    assert_eq!(
        next,
        Next::Done {
            settled: false,
            restless
        }
    );
}

#[test]
fn a_screen_that_goes_on_changing_lasts_until_the_ceiling() {
    let (ms, next) = wait(&[], |ms| (every(ms, 20, area(1200, 700)), IDLE));
    assert_eq!((ms, next), (2000, done(false)));
}

#[test]
fn a_screen_that_was_still_for_long_is_settled_at_once() {
    let start = Instant::now();
    let now = start + SETTLE.quiet;
    let still = |since| Stillness::new(now, since, SETTLE, SCREEN, Vec::new()).next(now);
    assert_eq!(still(Since::Changed(start)), done(true));
    assert_eq!(still(Since::Acted(start)), Next::Look);
}
