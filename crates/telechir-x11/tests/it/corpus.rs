//! Compares the screenshot of real applications after settling with the screen two seconds later.
//!
//! The default run covers a terminal and an editor. `make soak` runs the full corpus on every
//! installed application and writes the table in `benchmarks/settling.md`.

mod cases;
mod fixture;
mod moving;
mod table;

use std::time::Duration;

use telechir_device::Settle;

use self::cases::App;
use self::fixture::{AppFixture, Outcome};

/// The values of a session.
const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(45),
    ceiling: Duration::from_secs(2),
};
/// The screen after this time counts as final.
const LATER: Duration = Duration::from_secs(2);

/// Runs every case of an application on a separate desktop.
async fn run_cases(app: &App) -> Vec<Outcome> {
    let mut fixture = AppFixture::start(app).await;
    let mut outcomes = Vec::new();
    for case in (app.cases)() {
        outcomes.push(fixture.run(case).await);
    }
    fixture.desktop.close().await.unwrap();
    outcomes
}

/// Whether to run the full corpus, as `make soak` does after installing the applications.
#[expect(clippy::disallowed_methods, reason = "test option set by the caller")]
fn runs_full_corpus() -> bool {
    std::env::var("TELECHIR_SETTLING").is_ok_and(|value| value == "all")
}

#[tokio::test]
async fn a_settled_screenshot_is_the_last() {
    let all = runs_full_corpus();
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
        outcomes.extend(run_cases(app).await);
        // The results so far, in case a later application fails.
        eprintln!("{}", table::table(&outcomes));
    }
    let report_of = table::table(&outcomes);
    println!("{report_of}");
    let known = outcomes.iter().filter(|one| !one.comes_later).count();
    let final_ones = outcomes
        .iter()
        .filter(|one| !one.comes_later && one.is_final())
        .count();
    // The default run tolerates one in ten, because other tests compete for the cores. The full
    // corpus has a floor for a busy machine; benchmarks/settling.md contains the measured results.
    let (least, percent) = if all { (60, 70) } else { (1, 90) };
    assert!(
        known >= least,
        "only {known} actions: an application is missing"
    );
    assert!(final_ones * 100 >= known * percent, "{report_of}");
    assert!(
        outcomes
            .iter()
            .all(|one| one.settled.waited <= SETTLE.ceiling * 2),
        "{report_of}"
    );
}
