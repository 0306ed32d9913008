//! Tasks of MiniWoB++ (the Python package `miniwob`, whose pages `scripts/miniwob-pages.sh`
//! installs), solved by scripts through actions of the browser. The reward is the page's.
//!
//! A share runs with the other tests. `make miniwob` runs all tasks with five seeds each and writes
//! the table in `benchmarks/miniwob.md`.

mod choosing;
mod clicking;
mod dates;
mod dragging;
mod drawing;
mod driver;
mod forms;
mod lists;
mod mail;
mod moving;
mod report;
mod shapes;
mod snapshot_elements;
mod social;
mod tabs;
mod tasks;
mod typing;

use std::fs;
use std::path::Path;
use std::time::Duration;

use telechir_browser::{Browser, Options};
use tokio::time::{Instant, sleep};

use self::driver::{Driver, TaskError};
use self::report::Outcome;
use crate::common::{options, scripted};
use crate::server::{Answer, Server};
use crate::window::windowed_with;

/// The folder of the pages.
const PAGES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/miniwob/miniwob/html"
);
/// Tasks that also run in a window.
const IN_A_WINDOW: [&str; 5] = [
    "click-button",
    "drag-items",
    "enter-text",
    "scroll-text",
    "use-slider",
];
/// Tasks that run with the other tests, one per kind of action.
const SHARE: [&str; 18] = [
    "click-button-sequence",
    "click-checkboxes",
    "click-collapsible-2",
    "click-menu",
    "click-shape",
    "click-tab-2",
    "choose-date-easy",
    "choose-list",
    "copy-paste",
    "drag-box",
    "drag-items",
    "draw-circle",
    "email-inbox-noscroll",
    "enter-date",
    "highlight-text",
    "order-food",
    "scroll-text",
    "use-slider",
];
/// A page reports success within this time.
const VERDICT: Duration = Duration::from_secs(15);

/// Serves a file of the package.
fn file(path: &str) -> Option<Answer> {
    let path = path.split('?').next().unwrap_or_default();
    let kind = match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css",
        "png" => "image/png",
        "gif" => "image/gif",
        _ => "application/octet-stream",
    };
    let body = fs::read(Path::new(PAGES).join(path.trim_start_matches('/')));
    Some(match body {
        Ok(body) => Answer::file(kind, &body),
        Err(_) => Answer {
            status: "404 Not Found",
            ..Answer::default()
        },
    })
}

/// Runs tasks in a browser, each with these seeds.
async fn play(browser: Browser, tasks: &[&'static str], seeds: &[u32]) -> Vec<Outcome> {
    assert!(
        Path::new(PAGES).exists(),
        "the pages of MiniWoB++ are not installed: run scripts/miniwob-pages.sh, as `make test` does"
    );
    let site = Server::start(file).await;
    let mut driver = Driver::new(browser);
    let mut outcomes = Vec::new();
    for &task in tasks {
        for &seed in seeds {
            outcomes.push(episode(&mut driver, &site, task, seed).await);
        }
    }
    driver.close().await.unwrap();
    outcomes
}

/// Runs one task with one seed and returns the page's verdict.
async fn episode(driver: &mut Driver, site: &Server, task: &'static str, seed: u32) -> Outcome {
    let mut outcome = Outcome::new(task, seed);
    let url = site.url(&format!("/miniwob/{task}.html"));
    let started = start_episode(driver, &url, seed).await;
    let start = Instant::now();
    let solved = match started {
        Ok(()) => tasks::solve(task, driver).await,
        Err(error) => Err(error),
    };
    if let Err(TaskError(error)) = solved {
        outcome.error = Some(error);
        return outcome;
    }
    let limit = Instant::now() + VERDICT;
    loop {
        let state = driver
            .evaluate("[WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, WOB_REWARD_REASON]")
            .await
            .unwrap();
        if state[0] == true {
            outcome.took = start.elapsed();
            outcome.reward = state[1].as_f64();
            return outcome;
        }
        if Instant::now() > limit {
            outcome.error = Some("the page does not report completion".to_owned());
            return outcome;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Loads a page and starts an episode as a user does, by a click on its cover. Only the seed is set
/// by script.
async fn start_episode(driver: &mut Driver, url: &str, seed: u32) -> Result<(), TaskError> {
    driver.open(url).await?;
    driver
        .until("window.core && core.cover_div && core.cover_div.style.display === 'block'")
        .await?;
    driver.evaluate(&format!("Math.seedrandom({seed})")).await?;
    driver.click((150.0, 205.0)).await?;
    driver
        .until("core.cover_div.style.display === 'none'")
        .await?;
    let task = driver
        .evaluate("document.getElementById('query').textContent.replace(/\\s+/g, ' ').trim()")
        .await?;
    driver.task = task.as_str().unwrap_or_default().to_owned();
    Ok(())
}

/// The requested tasks: `all`, or some names.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment selects the tasks"
)]
fn requested_tasks() -> Option<String> {
    std::env::var("TELECHIR_MINIWOB").ok()
}

/// The requested tasks and seeds.
fn wanted() -> (Vec<&'static str>, &'static [u32]) {
    let Some(requested) = requested_tasks() else {
        return (SHARE.to_vec(), &[1]);
    };
    let is_requested =
        |name: &&&str| requested == "all" || requested.split(' ').any(|one| one == **name);
    let names = tasks::NAMES.iter().filter(is_requested).copied().collect();
    (names, &[1, 2, 3, 4, 5])
}

#[tokio::test]
async fn tasks_of_other_people_s_pages_are_solved() {
    let (names, seeds) = wanted();
    let outcomes = play(scripted().await, &names, seeds).await;
    let report_text = report::table(&outcomes);
    println!("{report_text}");
    // All tasks of the share, whose seed is fixed. Of all tasks, some depend on chance or time; the
    // table lists them.
    let solved = outcomes.iter().filter(|one| one.is_solved()).count();
    let least = if requested_tasks().is_some() { 90 } else { 100 };
    assert!(solved * 100 >= outcomes.len() * least, "{report_text}");
}

#[tokio::test]
async fn tasks_are_solved_in_a_window() {
    let options = Options {
        allows_scripts: true,
        ..options()
    };
    let outcomes = play(windowed_with(options).await, &IN_A_WINDOW, &[2]).await;
    assert!(
        outcomes.iter().all(Outcome::is_solved),
        "{}",
        report::table(&outcomes)
    );
}
