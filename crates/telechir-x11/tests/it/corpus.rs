//! Compares the screenshot of real applications after settling with the screen a while later.
//!
//! The default run covers five actions on a terminal and five on an editor: typing, output that
//! scrolls, menus and window sizes. `make soak` runs the full corpus on every installed application
//! and writes the table in `benchmarks/settling.md`.

mod cases;
mod fixture;
mod moving;
mod new_cases;
mod table;

use std::time::Duration;

use telechir_device::Settle;

use self::cases::{App, Case};
use self::fixture::{AppFixture, Outcome};

/// The values of a session.
const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(45),
    ceiling: Duration::from_secs(3),
};
/// The screen after this time counts as final: of an effect that no signal announces, the full
/// corpus sees more.
const LATER: Duration = Duration::from_secs(1);
const LATER_IN_FULL_CORPUS: Duration = Duration::from_secs(2);

/// Runs the cases of an application on a separate desktop.
async fn run_cases(app: &App, cases: Vec<Case>, later: Duration) -> Vec<Outcome> {
    let mut fixture = AppFixture::start(app).await;
    let mut outcomes = Vec::new();
    for case in cases {
        outcomes.push(fixture.run(case, later).await);
    }
    fixture.desktop.close().await.unwrap();
    outcomes
}

/// Whether to run the full corpus, as `make soak` does after installing the applications.
#[expect(clippy::disallowed_methods, reason = "test option set by the caller")]
fn runs_full_corpus() -> bool {
    std::env::var("TELECHIR_SETTLING").is_ok_and(|value| value == "all")
}

/// The programs to run, instead of all, for a look at some of them.
#[expect(clippy::disallowed_methods, reason = "test option set by the caller")]
fn requested_programs() -> Option<String> {
    std::env::var("TELECHIR_SETTLING_PROGRAMS").ok()
}

fn is_requested(app: &App) -> bool {
    requested_programs().is_none_or(|names| names.split(',').any(|name| name == app.program))
}

fn is_final(outcome: &&Outcome) -> bool {
    outcome.is_final()
}

/// Asserts that no wait was much longer than its limit.
fn assert_limited(outcomes: &[Outcome]) {
    let is_limited = |one: &Outcome| one.settled.waited <= SETTLE.ceiling * 2;
    assert!(
        outcomes.iter().all(is_limited),
        "{}",
        table::table(outcomes)
    );
}

/// Runs these cases of an application, in the order of the corpus. One screenshot may differ,
/// because other tests compete for the cores.
async fn check_named(app: &App, names: [&str; 5]) {
    let cases: Vec<Case> = (app.cases)()
        .into_iter()
        .filter(|case| names.contains(&case.name))
        .collect();
    assert_eq!(cases.len(), names.len(), "a case has another name");
    let outcomes = run_cases(app, cases, LATER).await;
    let final_ones = outcomes.iter().filter(is_final).count();
    assert!(
        final_ones + 1 >= outcomes.len(),
        "{}",
        table::table(&outcomes)
    );
    assert_limited(&outcomes);
}

#[tokio::test]
async fn a_settled_screenshot_of_a_terminal_is_the_last() {
    let names = [
        "types a word",
        "runs it",
        "prints five hundred lines",
        "clears the screen",
        "maximizes it",
    ];
    check_named(&cases::XTERM, names).await;
}

#[tokio::test]
async fn a_settled_screenshot_of_an_editor_is_the_last() {
    let names = [
        "types a line",
        "selects all",
        "opens the first menu",
        "closes the menu",
        "opens the search bar",
    ];
    check_named(&cases::MOUSEPAD, names).await;
}

/// Runs only in `make soak`, which installs the applications.
#[tokio::test]
async fn settled_screenshots_of_all_applications_are_the_last() {
    if !runs_full_corpus() {
        return;
    }
    let mut outcomes = Vec::new();
    for app in cases::ALL.into_iter().chain(new_cases::ALL) {
        if app.is_installed() && is_requested(app) {
            outcomes.extend(run_cases(app, (app.cases)(), LATER_IN_FULL_CORPUS).await);
            // The results so far, in case a later application fails.
            eprintln!("{}", table::table(&outcomes));
        }
    }
    let report = table::table(&outcomes);
    println!("{report}");
    if requested_programs().is_some() {
        return;
    }
    let known: Vec<&Outcome> = outcomes.iter().filter(|one| !one.comes_later).collect();
    assert!(
        known.len() >= 120,
        "only {} actions: an application is missing",
        known.len()
    );
    // The floor for a busy machine; benchmarks/settling.md contains the measured results.
    let final_ones = known.iter().copied().filter(is_final).count();
    assert!(final_ones * 100 >= known.len() * 70, "{report}");
    assert_limited(&outcomes);
}
