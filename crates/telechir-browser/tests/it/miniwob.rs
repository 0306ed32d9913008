//! Tasks of MiniWoB++ (the Python package `miniwob`, whose pages `scripts/miniwob-pages.sh`
//! installs), solved by scripts through the session's own actions. The reward is the page's.
//!
//! Some of them run with the other tests. `make miniwob` asks for all, five seeds each, and writes
//! the table in `benchmarks/miniwob.md`.

mod choosing;
mod clicking;
mod dates;
mod dragging;
mod drawing;
mod forms;
mod driver;
mod lists;
mod mail;
mod moving;
mod snapshot_elements;
mod shapes;
mod social;
mod report;
mod tabs;
mod tasks;
mod typing;

use std::fs;
use std::path::Path;
use std::time::Duration;

use telechir_browser::{Browser, Options};
use tokio::time::{Instant, sleep};

use self::driver::{Hand, Trouble};
use self::report::Outcome;
use crate::common::{options, scripted};
use crate::server::{Answer, Server};
use crate::window::windowed_with;

/// Where the pages are.
const PAGES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/miniwob/miniwob/html"
);
/// Those that run in a window, too.
const IN_A_WINDOW: [&str; 5] = [
    "click-button",
    "drag-items",
    "enter-text",
    "scroll-text",
    "use-slider",
];
/// Those that run with the other tests: each way of acting once.
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
/// A page that was solved says so within this.
const VERDICT: Duration = Duration::from_secs(3);

/// Answers with a file of the package.
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

/// Plays tasks in a browser, each with these seeds.
async fn play(browser: Browser, tasks: &[&'static str], seeds: &[u32]) -> Vec<Outcome> {
    assert!(
        Path::new(PAGES).exists(),
        "the pages of MiniWoB++ are not installed: run scripts/miniwob-pages.sh, as `make test` does"
    );
    let site = Server::start(file).await;
    let mut hand = Hand::new(browser);
    let mut outcomes = Vec::new();
    for &task in tasks {
        for &seed in seeds {
            outcomes.push(episode(&mut hand, &site, task, seed).await);
        }
    }
    hand.close().await.unwrap();
    outcomes
}

/// One task with one seed, from its start to the page's verdict.
async fn episode(hand: &mut Hand, site: &Server, task: &'static str, seed: u32) -> Outcome {
    let mut outcome = Outcome::new(task, seed);
    let url = site.url(&format!("/miniwob/{task}.html"));
    let begun = begin(hand, &url, seed).await;
    let start = Instant::now();
    let solved = match begun {
        Ok(()) => tasks::solve(task, hand).await,
        Err(trouble) => Err(trouble),
    };
    if let Err(Trouble(trouble)) = solved {
        outcome.trouble = Some(trouble);
        return outcome;
    }
    let limit = Instant::now() + VERDICT;
    loop {
        let told = hand
            .look("[WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, WOB_REWARD_REASON]")
            .await
            .unwrap();
        if told[0] == true {
            outcome.took = start.elapsed();
            outcome.reward = told[1].as_f64();
            return outcome;
        }
        if Instant::now() > limit {
            outcome.trouble = Some("the page does not report completion".to_owned());
            return outcome;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Loads a page and begins an episode, as a person does: by a click on its cover. The seed is the
/// one thing that is set from outside.
async fn begin(hand: &mut Hand, url: &str, seed: u32) -> Result<(), Trouble> {
    hand.open(url).await?;
    hand.until("window.core && core.cover_div && core.cover_div.style.display === 'block'")
        .await?;
    hand.look(&format!("Math.seedrandom({seed})")).await?;
    hand.click((150.0, 205.0)).await?;
    hand.until("core.cover_div.style.display === 'none'")
        .await?;
    let task = hand
        .look("document.getElementById('query').textContent.replace(/\\s+/g, ' ').trim()")
        .await?;
    hand.task = task.as_str().unwrap_or_default().to_owned();
    Ok(())
}

/// What is asked for: `all`, or the names of some.
#[expect(clippy::disallowed_methods, reason = "who runs the tests says so")]
fn asked() -> Option<String> {
    std::env::var("TELECHIR_MINIWOB").ok()
}

/// The tasks that are asked for, and with how many seeds.
fn wanted() -> (Vec<&'static str>, &'static [u32]) {
    let Some(asked) = asked() else {
        return (SHARE.to_vec(), &[1]);
    };
    let is_asked = |name: &&&str| asked == "all" || asked.split(' ').any(|one| one == **name);
    let names = tasks::NAMES.iter().filter(is_asked).copied().collect();
    (names, &[1, 2, 3, 4, 5])
}

#[tokio::test]
async fn tasks_of_other_people_s_pages_are_solved() {
    let (names, seeds) = wanted();
    let outcomes = play(scripted().await, &names, seeds).await;
    let told = report::table(&outcomes);
    println!("{told}");
    // All of the share, whose seed is known. Of all tasks, some depend on chance or on time: the
    // table says which.
    let solved = outcomes.iter().filter(|one| one.is_solved()).count();
    let least = if asked().is_some() { 90 } else { 100 };
    assert!(solved * 100 >= outcomes.len() * least, "{told}");
}

#[tokio::test]
async fn they_are_solved_in_a_window_as_well() {
    let options = Options {
        scripts: true,
        ..options()
    };
    let outcomes = play(windowed_with(options).await, &IN_A_WINDOW, &[2]).await;
    assert!(
        outcomes.iter().all(Outcome::is_solved),
        "{}",
        report::table(&outcomes)
    );
}
