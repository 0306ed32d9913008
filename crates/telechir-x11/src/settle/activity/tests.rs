//! Numbers of threads, and threads of our own.

use super::*;

#[test]
fn a_share_is_of_the_time_between() {
    let start = Instant::now();
    let later = start + Duration::from_millis(20);
    assert!((share((start, 5_000_000), (later, 15_000_000)) - 0.5).abs() < 1e-9);
}

fn until(until: Instant) -> Timely {
    Timely {
        until,
        short: SHORT,
        skips_first: false,
    }
}

/// A program of this machine, watched from when it has begun to do what it does.
async fn watched(script: &str) -> (telechir_process::Child, Work) {
    let spawn = telechir_process::Spawn::new("/bin/bash").args(["-c", script]);
    let child = spawn.spawn().await.unwrap();
    let program = child.pid().as_raw_nonzero().get().cast_unsigned();
    let mut work = Work::default();
    let cast = Cast {
        programs: vec![program],
        ..Cast::default()
    };
    let now = Instant::now();
    work.begin(cast, until(now + Duration::from_secs(60)), now);
    (child, work)
}

/// What is seen of it once it is as `wanted`, or after a while.
async fn look_for(work: &mut Work, wanted: impl Fn(Sleep) -> bool) -> Look {
    let start = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let look = work.look(start, Instant::now()).unwrap();
        if wanted(look.sleep) || start.elapsed() > Duration::from_secs(10) {
            return look;
        }
    }
}

#[tokio::test]
async fn who_waits_for_others_sleeps_soundly() {
    // It waits for its child, which has set itself a time that is too far off.
    let (_child, mut work) = watched("sleep 1000; true").await;
    let look = look_for(&mut work, |sleep| sleep == Sleep::Sound).await;
    assert_eq!(look.sleep, Sleep::Sound);
}

#[tokio::test]
async fn a_timer_of_a_child_is_seen() {
    let (_child, mut work) = watched("sleep 30; true").await;
    let look = look_for(&mut work, |sleep| matches!(sleep, Sleep::Until(_))).await;
    let Sleep::Until(at) = look.sleep else {
        panic!("{look:?}");
    };
    let left = at - Instant::now();
    assert!((20..=30).contains(&left.as_secs()), "{left:?}");
}

#[tokio::test]
async fn a_timer_of_a_first_thread_may_be_left_to_others() {
    let (_child, mut work) = watched("sleep 30; true").await;
    let timely = work.timely.unwrap();
    work.timely = Some(Timely {
        skips_first: true,
        ..timely
    });
    let look = look_for(&mut work, |sleep| sleep == Sleep::Sound).await;
    assert_eq!(look.sleep, Sleep::Sound);
}

#[tokio::test]
async fn who_works_is_awake_and_busy() {
    let (_child, mut work) = watched("while :; do :; done").await;
    let start = Instant::now();
    let mut look = look_for(&mut work, |sleep| sleep == Sleep::Awake).await;
    while !look.is_busy && start.elapsed() < Duration::from_secs(10) {
        look = look_for(&mut work, |sleep| sleep == Sleep::Awake).await;
    }
    assert_eq!((look.is_busy, look.sleep), (true, Sleep::Awake));
    assert!(work.actor().is_some());
}

#[tokio::test]
async fn a_server_that_works_is_busy_although_all_others_sleep() {
    let (_sleeper, mut work) = watched("sleep 1000; true").await;
    let (server, _) = watched("while :; do :; done").await;
    let mut cast = work.cast.clone();
    cast.server = Some(server.pid().as_raw_nonzero().get().cast_unsigned());
    let now = Instant::now();
    work.begin(cast, until(now + Duration::from_secs(60)), now);
    // The sleeper is no longer about to begin.
    let mut look = look_for(&mut work, |_| true).await;
    while !look.is_busy && now.elapsed() < Duration::from_secs(10) {
        look = look_for(&mut work, |_| true).await;
    }
    assert_eq!((look.is_busy, look.sleep), (true, Sleep::Awake));
}

#[test]
fn a_timer_that_shows_nothing_is_not_waited_for_for_ever() {
    let ms = Duration::from_millis;
    let wasted = |span: u64, times: u32| {
        let mut vain = Vain::default();
        (0..times).for_each(|_| vain.waste(ms(span)));
        vain
    };
    assert!(!wasted(90, 1).holds(ms(91)));
    assert!(wasted(90, 2).holds(ms(91)));
    assert!(!wasted(90, 2).holds(ms(250)));
    assert!(wasted(90, 4).holds(ms(250)));
    // Who looks again and again after a short while is given as long in all.
    assert!(!wasted(10, 11).holds(ms(10)));
    assert!(wasted(10, 12).holds(ms(10)));
}
