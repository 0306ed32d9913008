//! What real applications show when the wait says that they are done, and two seconds later.
//!
//! The part that runs with the other tests has a terminal and an editor. `make soak` asks for all of
//! it, on every application that is installed, and writes the table in `benchmarks/settling.md`.

mod cases;
mod fixture;
mod moving;
mod table;

use std::time::Duration;

use telechir_device::{Computer as _, Settle};

use self::cases::App;
use self::fixture::{Outcome, Play};

/// As a session waits.
const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(45),
    ceiling: Duration::from_secs(2),
};
/// What is seen after so long is the end of it.
const LATER: Duration = Duration::from_secs(2);

/// Plays every act of an application, on a desktop of its own.
async fn play(app: &App) -> Vec<Outcome> {
    let mut play = Play::begin(app).await;
    let mut outcomes = Vec::new();
    for act in (app.acts)() {
        outcomes.push(play.act(act).await);
    }
    play.desktop.close().await.unwrap();
    outcomes
}

/// Whether everything is asked for, as `make soak` does, which installs what it needs.
#[expect(clippy::disallowed_methods, reason = "who runs the tests says so")]
fn is_all_asked() -> bool {
    std::env::var("TELECHIR_SETTLING").is_ok_and(|asked| asked == "all")
}

#[tokio::test]
async fn a_settled_screenshot_is_the_last() {
    let all = is_all_asked();
    let mut outcomes = Vec::new();
    let apps: Vec<&App> = if all {
        cases::ALL
            .iter()
            .copied()
            .filter(|app| app.is_installed())
            .collect()
    } else {
        vec![&cases::XTERM, &cases::MOUSEPAD]
    };
    for app in apps {
        outcomes.extend(play(app).await);
        // So far, should a later one end this.
        eprintln!("{}", table::table(&outcomes));
    }
    let told = table::table(&outcomes);
    println!("{told}");
    let known = outcomes.iter().filter(|one| !one.comes_later).count();
    let final_ones = outcomes
        .iter()
        .filter(|one| !one.comes_later && one.is_final())
        .count();
    // Of two applications one in ten may be off: other tests run beside it, and take its time. Of
    // all, a floor for a busy machine; benchmarks/settling.md says what is reached and what is wanted.
    let (least, percent) = if all { (60, 70) } else { (1, 90) };
    assert!(
        known >= least,
        "only {known} actions: an application is missing"
    );
    assert!(final_ones * 100 >= known * percent, "{told}");
    assert!(
        outcomes
            .iter()
            .all(|one| one.settled.waited <= SETTLE.ceiling * 2),
        "{told}"
    );
}
