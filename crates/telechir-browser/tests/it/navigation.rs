//! Loads arrive, fail or time out, and say so.

use std::time::{Duration, Instant};

use telechir_browser::{Addresses, Options};
use telechir_device::{Computer as _, DeviceError, Effect};
use telechir_protocol::Action;
use tokio::net::TcpListener;

use crate::common::{SETTLE, click, go, headless, headless_with, options, page, perform};

#[tokio::test]
async fn goes_back_and_forward_and_again() {
    let mut browser = headless().await;
    go(&mut browser, &page("<title>one</title>")).await.unwrap();
    let arrived = go(&mut browser, &page("<title>two</title>")).await.unwrap();
    assert_eq!(arrived.effect, Effect::Confirmed);
    let title = async |browser: &mut telechir_browser::Browser| {
        browser.settle(SETTLE).await.unwrap();
        browser.context().await.unwrap().tabs[0].title.clone()
    };
    assert_eq!(title(&mut browser).await, "two");
    perform(&mut browser, Action::Back { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "one");
    perform(&mut browser, Action::Forward { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "two");
    perform(&mut browser, Action::Reload { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "two");
    let refused = perform(&mut browser, Action::Forward { tab: None }).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn refuses_addresses_that_are_not_the_web_s() {
    let options = Options {
        addresses: Addresses::Web,
        ..options()
    };
    let mut browser = headless_with(options).await;
    for url in [
        "file:///etc/passwd",
        "chrome://settings",
        "javascript:alert(1)",
        "data:text/html,x",
        "view-source:http://h",
    ] {
        let refused = go(&mut browser, url).await;
        assert!(
            matches!(refused, Err(DeviceError::Refused { .. })),
            "{url}: {refused:?}"
        );
    }
    assert_eq!(
        browser.context().await.unwrap().url.as_deref(),
        Some("about:blank")
    );
}

#[tokio::test]
async fn a_host_that_refuses_is_an_error_in_words() {
    let mut browser = headless().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let refused = go(&mut browser, &format!("http://{address}/"))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("ERR_CONNECTION_REFUSED"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_host_that_never_answers_ends_at_the_limit_and_the_next_load_works() {
    let options = Options {
        navigation_limit: Duration::from_millis(800),
        ..options()
    };
    let mut browser = headless_with(options).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = Instant::now();
    let late = go(
        &mut browser,
        &format!("http://{}/", silent.local_addr().unwrap()),
    )
    .await;
    assert!(matches!(late, Err(DeviceError::Timeout { .. })), "{late:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
    let start = Instant::now();
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(browser.context().await.unwrap().tabs.len(), 1);
}

#[tokio::test]
async fn a_busy_page_is_a_time_out_and_the_browser_lives_on() {
    let options = Options {
        answer_limit: Duration::from_secs(1),
        ..options()
    };
    let mut browser = headless_with(options).await;
    go(&mut browser, &page("<body onmousedown='for(;;);'>"))
        .await
        .unwrap();
    let start = Instant::now();
    let late = perform(&mut browser, click(10, 10)).await;
    assert!(matches!(late, Err(DeviceError::Timeout { .. })), "{late:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_crashed_page_is_an_error_and_another_one_can_be_had() {
    let mut browser = headless().await;
    go(&mut browser, &page("<title>before</title>"))
        .await
        .unwrap();
    let renderers = crate::isolation::renderers(browser.pid());
    for pid in renderers {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let start = Instant::now();
    let mut failed = perform(&mut browser, click(10, 10)).await;
    while failed.is_ok() && start.elapsed() < Duration::from_secs(2) {
        failed = perform(&mut browser, click(10, 10)).await;
    }
    let error = failed.unwrap_err();
    assert!(error.to_string().contains("crashed"), "{error}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
}

#[tokio::test]
async fn settling_waits_for_what_a_click_fetches() {
    let mut browser = headless().await;
    go(
        &mut browser,
        &page("<body onclick=\"setTimeout(() => document.title = 'late', 60); \">"),
    )
    .await
    .unwrap();
    browser.settle(SETTLE).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let settled = browser.settle(SETTLE).await.unwrap();
    assert!(settled.settled);
    assert!(settled.waited < Duration::from_secs(2), "{settled:?}");
}
