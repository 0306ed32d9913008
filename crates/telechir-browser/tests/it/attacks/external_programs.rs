//! A page that asks Chromium to start programs: no dialog of Chromium's own holds the window.

use std::time::Duration;

use telechir_browser::{Browser, Options, OwnNetwork};
use telechir_device::Computer as _;
use telechir_egress::Egress;
use telechir_policy::{NetworkClient, Policy};
use tokio::time::{Instant, sleep};

use crate::common::{SETTLE, click, go, notices_until, options, page, perform, title};
use crate::window::windowed_with;

async fn windowed() -> Browser {
    let policy = Policy::default_policy();
    windowed_with(Options {
        egress: Some(Egress::new(policy.gate(NetworkClient::Browser))),
        own_network: OwnNetwork::Required,
        ..options()
    })
    .await
}

/// The beginning of a page whose title is the number of clicks.
const CLICKS_COUNTED: &str = "<title>0</title>\
    <body style='background:rgb(1,2,3); position:fixed; inset:0; margin:0' \
    onclick='document.title = +document.title + 1'>";

async fn is_titled(browser: &mut Browser, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while title(browser).await != expected {
        assert!(Instant::now() < deadline, "the title is not {expected}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Opens a page that asks for this program at once and after each click, and clicks on it. A dialog
/// would take the clicks.
async fn attack(markup: &str, url: &str) {
    let mut browser = windowed().await;
    let attacker = page(&format!("{CLICKS_COUNTED}{markup}"));
    let done = go(&mut browser, &attacker).await.unwrap();
    let expected = format!("an external program to open \"{url}");
    if !done.text.unwrap_or_default().contains(&expected) {
        notices_until(&mut browser, &expected).await;
    }
    // The page that asked may have been replaced; a frame asks once more.
    let frame = if markup.contains("iframe") {
        markup
    } else {
        ""
    };
    let next = page(&format!("{CLICKS_COUNTED}{frame}"));
    go(&mut browser, &next).await.unwrap();
    for clicks in 1..=3 {
        browser.settle(SETTLE).await.unwrap();
        perform(&mut browser, click(512, 600)).await.unwrap();
        is_titled(&mut browser, &clicks.to_string()).await;
    }
    let seen = browser.capture().await.unwrap();
    for (x, y) in [(512, 300), (512, 100), (512, 600)] {
        assert_eq!(seen.pixel(x, y), Some([1, 2, 3]), "{x}, {y}");
    }
    // No program but Chromium runs, and bubblewrap.
    let programs = crate::isolation::programs(browser.pid().unwrap());
    let is_known = |name: &String| name.starts_with("chrom") || name == "bwrap";
    assert!(programs.iter().all(is_known), "{programs:?}");
    browser.close().await.unwrap();
}

#[tokio::test]
async fn a_frame_for_an_editor_opens_no_dialog() {
    let frame = "<iframe width=20 height=20 src='vscode://file/etc/passwd'></iframe>";
    attack(frame, "vscode:").await;
}

#[tokio::test]
async fn a_frame_for_file_transfer_opens_no_dialog() {
    attack(
        "<iframe width=20 height=20 src='ftp://example.org/x'></iframe>",
        "ftp:",
    )
    .await;
}

#[tokio::test]
async fn a_page_with_a_request_after_each_click_opens_no_dialog() {
    let script = "<script>\
        const ask = () => { location = 'zoommtg://x.example/join' };\
        addEventListener('click', ask); setTimeout(ask, 1000);\
        </script>";
    attack(script, "zoommtg:").await;
}
