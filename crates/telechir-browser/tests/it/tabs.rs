//! Tabs: opened by actions or by a page, switched and closed.

use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::Action;

use crate::common::{SETTLE, click, go, headless, page, perform};

fn names(context: &telechir_device::PageContext) -> Vec<(&str, &str, bool)> {
    context
        .tabs
        .iter()
        .map(|tab| (tab.tab_id.as_str(), tab.title.as_str(), tab.active))
        .collect()
}

#[tokio::test]
async fn tabs_are_opened_switched_and_closed() {
    let mut browser = headless().await;
    go(&mut browser, &page("<title>one</title>")).await.unwrap();
    perform(
        &mut browser,
        Action::NewTab {
            url: Some(page("<title>two</title>")),
        },
    )
    .await
    .unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(
        names(&context),
        [("tab_1", "one", false), ("tab_2", "two", true)]
    );
    perform(
        &mut browser,
        Action::SwitchTab {
            tab: "tab_1".to_owned(),
        },
    )
    .await
    .unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(
        names(&context),
        [("tab_1", "one", true), ("tab_2", "two", false)]
    );
    perform(
        &mut browser,
        Action::CloseTab {
            tab: "tab_1".to_owned(),
        },
    )
    .await
    .unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(names(&context), [("tab_2", "two", true)]);
    let unknown = perform(
        &mut browser,
        Action::SwitchTab {
            tab: "tab_1".to_owned(),
        },
    )
    .await;
    assert!(
        matches!(unknown, Err(DeviceError::Refused { .. })),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn closing_the_last_tab_leaves_an_empty_one() {
    let mut browser = headless().await;
    perform(
        &mut browser,
        Action::CloseTab {
            tab: "tab_1".to_owned(),
        },
    )
    .await
    .unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(context.tabs.len(), 1);
    assert_eq!(context.url.as_deref(), Some("about:blank"));
    go(&mut browser, &page("<title>on</title>")).await.unwrap();
}

#[tokio::test]
async fn a_tab_opened_by_a_page_is_activated() {
    let mut browser = headless().await;
    let opener = page(
        "<title>opener</title><body onclick=\"window.open('about:blank').document.write('<title>opened</title><body onclick=window.close()>')\">",
    );
    go(&mut browser, &opener).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(context.tabs.len(), 2);
    assert!(context.tabs[1].active, "{context:?}");
    // The tab closes itself on a click, and the opener is active again.
    perform(&mut browser, click(10, 10)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(names(&context), [("tab_1", "opener", true)]);
}
