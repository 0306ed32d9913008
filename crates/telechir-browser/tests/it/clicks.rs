//! Clicks by ref in many situations, each with a witness in the page that records what arrived.
//! `scripts/clicks.sh` shows the results beside those of Playwright, from the lines that are printed.

use telechir_browser::Browser;
use telechir_device::{DeviceError, Effect};
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;

use crate::common::{click_on, go, page, perform, script, scripted, text_of};

/// One situation a line: what is expected, its name, the page.
const SITUATIONS: &str = include_str!("../clicks/situations.txt");
/// The tests that share the situations, so that none takes long.
const SHARES: usize = 8;
/// Records which element each click reached.
const WITNESS: &str = include_str!("../clicks/witness.html");

/// The line that has the ref of the target.
async fn found_target(browser: &mut Browser) -> Option<String> {
    let query = "Target".to_owned();
    let found = text_of(browser, Action::Find { query, tab: None }).await;
    let mut lines = found.lines();
    let line = lines
        .find(|line| line.contains("\"Target") && line.contains('[') && !line.starts_with("text "));
    line.map(str::to_owned)
}

async fn clicked(browser: &mut Browser) -> Result<Effect, DeviceError> {
    // It may be in a frame that still loads.
    let found = assert_eventually!(found_target(browser).await, |found| found.is_some());
    let line = found.unwrap();
    let id = line.split_once('[').unwrap().1.split_once(']').unwrap().0;
    script(browser, "arm(), 0").await;
    let target = telechir_protocol::Target::Ref {
        id: id.to_owned(),
        frame: None,
    };
    Ok(perform(browser, click_on(target)).await?.effect)
}

/// What is wrong in a situation; `None` if all is as expected.
fn problem(expected: &str, done: &Result<Effect, DeviceError>, received: &str) -> Option<String> {
    let arrived = match expected.split_once(' ').unwrap_or((expected, "")) {
        ("hit", _) => match done {
            Ok(Effect::Confirmed) => "t",
            Ok(Effect::Delivered) => return Some("not confirmed".to_owned()),
            Err(error) => return Some(error.to_string()),
        },
        ("refused", fragment) => match done {
            Err(error) if error.to_string().contains(fragment) => "",
            other => return Some(format!("{other:?}")),
        },
        ("stale", _) => match done {
            Err(DeviceError::Stale { .. }) => "",
            other => return Some(format!("{other:?}")),
        },
        (other, _) => panic!("unknown expectation {other}"),
    };
    // A click on a label is followed by one on its control.
    let is_label = received == "label,t" && arrived == "t";
    (received != arrived && !is_label).then(|| format!("the page received {received:?}"))
}

/// Tests each SHARES-th situation, from this one.
#[expect(clippy::print_stdout, reason = "scripts/clicks.sh reads the results")]
async fn a_share_is_as_expected(first: usize) {
    let mut browser = scripted().await;
    let (mut count, mut problems) = (0, Vec::new());
    for line in SITUATIONS.lines().skip(first).step_by(SHARES) {
        let mut parts = line.splitn(3, " | ");
        let mut part = || parts.next().unwrap();
        let (expected, name, html) = (part(), part(), part());
        go(&mut browser, &page(&format!("{WITNESS}{html}")))
            .await
            .unwrap();
        let done = clicked(&mut browser).await;
        let received = script(&mut browser, "got.join()").await;
        count += 1;
        let problem = problem(expected, &done, &received);
        println!("click | {name} | {}", problem.as_deref().unwrap_or("right"));
        if let Some(problem) = problem {
            problems.push(format!("{name}: expected {expected}: {problem}"));
        }
    }
    assert!(count >= 10, "{count} situations");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_1() {
    a_share_is_as_expected(0).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_2() {
    a_share_is_as_expected(1).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_3() {
    a_share_is_as_expected(2).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_4() {
    a_share_is_as_expected(3).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_5() {
    a_share_is_as_expected(4).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_6() {
    a_share_is_as_expected(5).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_7() {
    a_share_is_as_expected(6).await;
}

#[tokio::test]
async fn a_click_reaches_its_target_or_is_refused_with_the_reason_8() {
    a_share_is_as_expected(7).await;
}
