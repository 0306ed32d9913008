//! What real applications show when the wait says that they are done, and two seconds later.
//!
//! The part that runs with the other tests has a terminal and an editor. `make soak` runs all of
//! it, on every application that is installed, and writes the table in `docs/settling.md`.

mod acts;
mod stage;
mod table;

use std::time::Duration;

use telechir_device::{Computer as _, Settle};

use self::acts::App;
use self::stage::{Outcome, Play};

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

#[tokio::test]
async fn a_settled_picture_of_a_terminal_and_an_editor_is_the_last() {
    let mut outcomes = Vec::new();
    for app in [&acts::XTERM, &acts::MOUSEPAD] {
        outcomes.extend(play(app).await);
    }
    let told = table::table(&outcomes);
    let final_ones = outcomes.iter().filter(|one| one.is_final()).count();
    // One in ten may be off here: other tests run beside it, and take its time.
    assert!(final_ones * 10 >= outcomes.len() * 9, "{told}");
    assert!(
        outcomes
            .iter()
            .all(|one| one.settled.waited <= SETTLE.ceiling * 2),
        "{told}"
    );
}

/// Everything, measured.
#[tokio::test]
#[ignore = "minutes, and applications that only make soak installs"]
async fn settled_pictures_are_final() {
    let mut outcomes = Vec::new();
    for app in acts::ALL {
        if app.is_installed() {
            outcomes.extend(play(app).await);
            // So far, should a later one end this.
            eprintln!("{}", table::table(&outcomes));
        }
    }
    let told = table::table(&outcomes);
    println!("{told}");
    let known = outcomes.iter().filter(|one| !one.comes_later).count();
    let final_ones = outcomes
        .iter()
        .filter(|one| !one.comes_later && one.is_final())
        .count();
    assert!(
        known >= 60,
        "only {known} actions: an application is missing"
    );
    // A floor for a busy machine; docs/settling.md says what is reached and what is wanted.
    assert!(final_ones * 100 >= known * 70, "{final_ones} of {known}");
}
