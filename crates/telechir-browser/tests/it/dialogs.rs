//! Dialogs of a page never block and are reported.

use std::time::{Duration, Instant};

use telechir_device::{Computer as _, PageContextSource as _};

use crate::common::{SETTLE, click, go, headless, page, perform};

#[tokio::test]
async fn alerts_confirms_and_prompts_are_dismissed_and_reported() {
    for (script, expected) in [
        ("alert('one')", "alert: \"one\""),
        ("document.title = confirm('two')", "(confirm): \"two\""),
        ("document.title = prompt('three')", "(prompt): \"three\""),
    ] {
        let mut browser = headless().await;
        go(&mut browser, &page(&format!("<body onclick=\"{script}\">")))
            .await
            .unwrap();
        let start = Instant::now();
        let performed = perform(&mut browser, click(10, 10)).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(2));
        let text = performed.text.unwrap_or_default();
        assert!(text.contains(expected), "{text:?}");
        browser.settle(SETTLE).await.unwrap();
        browser.capture().await.unwrap();
    }
}

#[tokio::test]
async fn a_beforeunload_prompt_is_accepted() {
    let mut browser = headless().await;
    go(
        &mut browser,
        &page("<script>onbeforeunload = event => event.preventDefault()</script>"),
    )
    .await
    .unwrap();
    // Pages may show this prompt only after user input.
    perform(&mut browser, click(10, 10)).await.unwrap();
    let left = go(&mut browser, &page("<title>next</title>"))
        .await
        .unwrap();
    assert!(left.text.unwrap_or_default().contains("beforeunload"));
    assert_eq!(browser.page_context().await.unwrap().tabs[0].title, "next");
}
