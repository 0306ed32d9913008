//! A page that takes all memory: what ended it is said where the model reads it.

use telechir_browser::{Browser, Options};
use telechir_process::Cgroup;
use telechir_process::confinement::ResourceLimits;

use crate::common::{SIZE, go, launched_with, notices_until, options, page, title};

/// A page that takes more than the limit once it is loaded, without any action.
const GREEDY: &str = "<title>greedy</title><script>onload = () => setTimeout(() => {\
    const kept = []; for (let i = 0; i < 4000; i++) kept.push(new Uint8Array(1 << 20).fill(i)) }, 300)\
    </script>";

/// `None` if this machine cannot limit the memory of all processes together.
async fn limited() -> Option<Browser> {
    let group = Cgroup::new(&ResourceLimits::default());
    if !group.effective_limits().limits_totals() {
        return None;
    }
    let limited = Options {
        max_memory_bytes: 512 << 20,
        ..options()
    };
    Some(launched_with(limited).await)
}

async fn assert_explained(browser: &mut Browser) {
    go(browser, &page(GREEDY)).await.unwrap();
    notices_until(browser, "more than 512 MiB of memory").await;
    go(browser, &page("<title>next</title>")).await.unwrap();
    assert_eq!(title(browser).await, "next");
}

#[tokio::test]
async fn a_page_killed_for_memory_is_explained() {
    let Some(mut browser) = limited().await else {
        return;
    };
    assert_explained(&mut browser).await;
}

#[tokio::test]
async fn a_page_of_a_context_killed_for_memory_is_explained() {
    let Some(browser) = limited().await else {
        return;
    };
    let mut context = browser.isolated(SIZE, options()).await.unwrap();
    assert_explained(&mut context).await;
}
