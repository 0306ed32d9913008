//! Sampling of real threads.

use super::*;

#[test]
fn a_share_is_relative_to_the_elapsed_time() {
    let start = Instant::now();
    let later = start + Duration::from_millis(20);
    assert!((share((start, 5_000_000), (later, 15_000_000)) - 0.5).abs() < 1e-9);
}

fn window_until(until: Instant) -> TimerWindow {
    TimerWindow {
        until,
        short: SHORT_TIMER,
        skips_first: false,
    }
}

/// Starts a local script and watches it.
async fn watched(script: &str) -> (telechir_process::Child, ProcessActivity) {
    let spawn = telechir_process::Spawn::new("/bin/bash").args(["-c", script]);
    let child = spawn.spawn().await.unwrap();
    let program = child.pid().as_raw_nonzero().get().cast_unsigned();
    let mut activity = ProcessActivity::default();
    let watched = WatchedProcesses {
        programs: vec![program],
        ..WatchedProcesses::default()
    };
    let now = Instant::now();
    activity.start(watched, window_until(now + Duration::from_secs(60)), now);
    (child, activity)
}

/// Samples until `wanted` matches, for up to 10 s.
async fn sample_until(activity: &mut ProcessActivity, wanted: impl Fn(Sleep) -> bool) -> Sample {
    let start = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let sample = activity.sample(start, Instant::now()).unwrap();
        if wanted(sample.sleep) || start.elapsed() > Duration::from_secs(10) {
            return sample;
        }
    }
}

#[tokio::test]
async fn a_program_waiting_for_its_child_is_idle() {
    // It waits for its child, whose timer is too distant.
    let (_child, mut activity) = watched("sleep 1000; true").await;
    let sample = sample_until(&mut activity, |sleep| sleep == Sleep::Idle).await;
    assert_eq!(sample.sleep, Sleep::Idle);
}

#[tokio::test]
async fn the_timer_of_a_child_is_found() {
    let (_child, mut activity) = watched("sleep 30; true").await;
    let sample = sample_until(&mut activity, |sleep| matches!(sleep, Sleep::Until(_))).await;
    let Sleep::Until(at) = sample.sleep else {
        panic!("{sample:?}");
    };
    let left = at - Instant::now();
    assert!((20..=30).contains(&left.as_secs()), "{left:?}");
}

#[tokio::test]
async fn timers_of_main_threads_can_be_skipped() {
    let (_child, mut activity) = watched("sleep 30; true").await;
    let window = activity.window.unwrap();
    activity.window = Some(TimerWindow {
        skips_first: true,
        ..window
    });
    let sample = sample_until(&mut activity, |sleep| sleep == Sleep::Idle).await;
    assert_eq!(sample.sleep, Sleep::Idle);
}

#[tokio::test]
async fn a_working_program_is_awake_and_busy() {
    let (_child, mut activity) = watched("while :; do :; done").await;
    let start = Instant::now();
    let mut sample = sample_until(&mut activity, |sleep| sleep == Sleep::Awake).await;
    while !sample.is_busy && start.elapsed() < Duration::from_secs(10) {
        sample = sample_until(&mut activity, |sleep| sleep == Sleep::Awake).await;
    }
    assert_eq!((sample.is_busy, sample.sleep), (true, Sleep::Awake));
    assert!(activity.busiest_program().is_some());
}

#[tokio::test]
async fn a_working_server_is_busy_while_all_others_sleep() {
    let (_sleeper, mut activity) = watched("sleep 1000; true").await;
    let (server, _) = watched("while :; do :; done").await;
    let mut watched = activity.watched.clone();
    watched.server = Some(server.pid().as_raw_nonzero().get().cast_unsigned());
    let now = Instant::now();
    activity.start(watched, window_until(now + Duration::from_secs(60)), now);
    // The sleeper has started by now.
    let mut sample = sample_until(&mut activity, |_| true).await;
    while !sample.is_busy && now.elapsed() < Duration::from_secs(10) {
        sample = sample_until(&mut activity, |_| true).await;
    }
    assert_eq!((sample.is_busy, sample.sleep), (true, Sleep::Awake));
}

#[tokio::test]
async fn a_polling_program_that_reacts_may_have_a_hidden_timer() {
    let poll = "exec python3 -c 'import select\nwhile True: select.select([], [], [], 0.02)'";
    let (_child, mut activity) = watched(poll).await;
    // The polls have no effect and are ignored after a while.
    let until = activity.window.unwrap().until;
    let sample = sample_until(&mut activity, |sleep| sleep == Sleep::Until(until)).await;
    assert_eq!(sample.sleep, Sleep::Until(until));
    activity.window = Some(window_until(Instant::now()));
    let sample = sample_until(&mut activity, |sleep| sleep == Sleep::Idle).await;
    assert_eq!(sample.sleep, Sleep::Idle, "after the window");
}

#[test]
fn a_timer_without_effect_is_ignored_after_some_repeats() {
    let ms = Duration::from_millis;
    let repeated = |span: u64, count: u32| {
        let mut ineffective = IneffectiveTimers::default();
        (0..count).for_each(|_| ineffective.record(ms(span)));
        ineffective
    };
    assert!(!repeated(90, 1).is_ineffective(ms(91)));
    assert!(repeated(90, 2).is_ineffective(ms(91)));
    assert!(!repeated(90, 2).is_ineffective(ms(250)));
    assert!(repeated(90, 4).is_ineffective(ms(250)));
    // Short repeated timers are waited for up to the same total time.
    assert!(!repeated(10, 11).is_ineffective(ms(10)));
    assert!(repeated(10, 12).is_ineffective(ms(10)));
}

#[test]
fn a_timer_is_periodic_only_if_it_expires_when_the_periodic_one_would() {
    let ms = Duration::from_millis;
    let start = Instant::now();
    let timer = |at: u64, span: u64| PendingTimer {
        at: start + ms(at),
        span: ms(span),
    };
    let caret = timer(120, 500);
    for at in [120, 620, 1_115] {
        assert!(is_due(caret, start + ms(at)), "{at}");
    }
    let seen = ThreadActivity {
        sched: SchedStat::default(),
        wanted_at_start: 0,
        unreported_ns: 0,
        timer: None,
        period: Some(caret),
        distant_timer: None,
    };
    assert!(seen.is_periodic(timer(120, 80)), "the rest of the caret's");
    assert!(!seen.is_periodic(timer(250, 250)), "a button's");
    assert!(!seen.is_periodic(timer(620, 510)), "longer");
}
