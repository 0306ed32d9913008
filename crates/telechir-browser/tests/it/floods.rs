//! Pages with unbounded content: each operation ends in bounded time, reports the outcome and
//! leaves a working browser.

use std::sync::OnceLock;
use std::time::Duration;

use telechir_browser::{Browser, Options};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::Action;
use tokio::time::{Instant, timeout};

use crate::common::{
    SETTLE, SIZE, click, go, headless, launched, launched_with, notices_until, options, page,
    perform, read, script, text_of, title,
};
use crate::server::{Answer, Server};

/// Longer than any operation may take on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

/// Awaits an operation that must end.
async fn ends<T>(what: &str, work: impl Future<Output = T>) -> T {
    match timeout(BOUND, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} takes longer than {BOUND:?}"),
    }
}

/// Verifies that the browser still works: shows, captures and reads another page.
async fn works_on(browser: &mut Browser) {
    ends("the next page", async {
        shows_another(browser).await.unwrap();
        assert!(read(browser, "full").await.contains("here"));
        perform(browser, click(10, 10)).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while title(browser).await != "clicked" {
            assert!(Instant::now() < deadline, "the click did not arrive");
        }
    })
    .await;
}

async fn shows_another(browser: &mut Browser) -> Result<(), DeviceError> {
    let next = page("<title>next</title><body onclick=\"document.title = 'clicked'\"><p>here");
    go(browser, &next).await?;
    browser.settle(SETTLE).await?;
    assert_eq!(browser.capture().await?.size(), SIZE);
    Ok(())
}

/// A black PNG with this side length: a small file with many pixels.
fn bomb(side: u32, frames: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    if frames > 1 {
        encoder.set_animated(frames, 0).unwrap();
        encoder.set_frame_delay(1, 100).unwrap();
    }
    let mut writer = encoder.write_header().unwrap();
    let line = side.div_ceil(8) as usize;
    let image = vec![0; line * side as usize];
    for _ in 0..frames {
        writer.write_image_data(&image).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn bombs(path: &str) -> Option<Answer> {
    static STILL: OnceLock<Vec<u8>> = OnceLock::new();
    static MOVING: OnceLock<Vec<u8>> = OnceLock::new();
    Some(match path {
        "/still.png" => Answer::file("image/png", STILL.get_or_init(|| bomb(30_000, 1))),
        "/moving.png" => Answer::file("image/png", MOVING.get_or_init(|| bomb(6_000, 8))),
        "/still" => Answer::page(
            "<title>still</title><img src=/still.png width=300><img src=/still.png alt=bomb>",
        ),
        "/moving" => Answer::page("<title>moving</title><img src=/moving.png alt=bomb>"),
        _ => return None,
    })
}

/// Either success or a clear error, and the browser was not restarted.
fn is_reported<T>(what: &str, done: Result<T, DeviceError>) {
    match done {
        Ok(_) | Err(DeviceError::Refused { .. } | DeviceError::Unresponsive { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
    }
}

#[tokio::test]
async fn a_decompression_bomb_costs_its_page_at_most() {
    let server = Server::start(bombs).await;
    let mut browser = launched_with(Options {
        max_memory_bytes: 2 << 30,
        ..options()
    })
    .await;
    for name in ["still", "moving"] {
        let url = server.url(&format!("/{name}"));
        is_reported("going there", ends(name, go(&mut browser, &url)).await);
        is_reported("settling", ends(name, browser.settle(SETTLE)).await);
        is_reported("a screenshot", ends(name, browser.capture()).await);
        let context = ends(name, browser.page_context()).await;
        is_reported("its context", context);
        works_on(&mut browser).await;
    }
}

#[tokio::test]
async fn a_page_of_too_many_elements_is_read_in_part() {
    // Layout precedes reading and takes long on a busy machine.
    let mut browser = launched_with(Options {
        allows_scripts: true,
        reply_timeout: BOUND / 2,
        ..options()
    })
    .await;
    let page = page("<title>many</title><button>first</button><main></main>");
    go(&mut browser, &page).await.unwrap();
    let many = "const text = ('<p>' + '<i></i>'.repeat(999) + '</p>').repeat(100);\
        for (let i = 0; i < 3; i++) document.querySelector('main').insertAdjacentHTML('beforeend', text);\
        document.getElementsByTagName('*').length > 3e5";
    assert_eq!(
        ends("making them", script(&mut browser, many)).await,
        "true"
    );
    for view in ["", "full", "interactive", "json"] {
        let text = ends(view, read(&mut browser, view)).await;
        assert!(text.len() < 1 << 20, "{view}: {} bytes", text.len());
        assert!(text.contains("first"), "{view}");
        let mut numbers = text.split(|c: char| !c.is_ascii_digit());
        let is_counted = numbers.any(|number| number.parse().is_ok_and(|left: u64| left > 150_000));
        assert!(
            is_counted,
            "{view}: {}",
            &text[text.len().saturating_sub(300)..]
        );
    }
    let query = "first".to_owned();
    let found = text_of(&mut browser, Action::Find { query, tab: None });
    assert!(ends("finding", found).await.contains("button"));
    let text = ends(
        "text",
        text_of(&mut browser, Action::PageText { tab: None }),
    )
    .await;
    assert!(text.len() < 1 << 20, "{} bytes", text.len());
    ends("a screenshot", browser.capture()).await.unwrap();
    works_on(&mut browser).await;
}

#[tokio::test]
async fn endless_logs_and_requests_are_truncated() {
    let server = Server::start(|path| {
        Some(Answer::page(match path {
            "/flood" => {
                "<title>flood</title><script>const long = 'x'.repeat(10000); let n = 0;\
                 console.log('y'.repeat(20_000_000));\
                 const flood = async () => { for (;;) { const requests = [];\
                 for (let i = 0; i < 20; i++) { console.log(n, long, { long });\
                 requests.push(fetch('/none?' + n++).catch(() => {})) } await Promise.all(requests) } };\
                 flood()</script>"
            }
            _ => "",
        }))
    })
    .await;
    let mut browser = launched().await;
    let there = ends("going there", go(&mut browser, &server.url("/flood"))).await;
    there.unwrap();
    ends("settling", browser.settle(SETTLE)).await.unwrap();
    let console = Action::ReadConsole { tab: None };
    let network = Action::ReadNetwork { tab: None };
    for (action, fragment) in [(console, "earlier lines"), (network, "earlier requests")] {
        let deadline = Instant::now() + BOUND;
        loop {
            let text = ends(fragment, text_of(&mut browser, action.clone())).await;
            assert!(text.len() < 300_000, "{} bytes", text.len());
            if text.contains(fragment) {
                break;
            }
            assert!(Instant::now() < deadline, "{}", text.len());
        }
    }
    // Chromium may still process so much output that the first page is late, which is reported.
    if let Err(late) = ends("a page", shows_another(&mut browser)).await {
        assert!(matches!(late, DeviceError::Timeout { .. }), "{late}");
    }
    works_on(&mut browser).await;
}

#[tokio::test]
async fn an_endless_redirect_is_aborted() {
    let server = Server::start(|path| {
        let (kind, count) = path.split_once('?').unwrap_or((path, "0"));
        let next = count.parse::<u64>().unwrap_or(0) + 1;
        Some(match kind {
            "/round" => Answer {
                status: "302 Found",
                head: format!("location: /round?{next}\r\n"),
                ..Answer::default()
            },
            "/refresh" => Answer::page(&format!(
                "<meta http-equiv=refresh content='0;url=/refresh?{next}'><p>on"
            )),
            "/script" => Answer::page(&format!(
                "<script>location = '/script?{next}'</script><p>on"
            )),
            "/states" => Answer::page(
                "<script>let n = 0; setInterval(() => history.pushState(null, '', '/states?' + n++), 0)</script>",
            ),
            _ => return None,
        })
    })
    .await;
    let mut browser = launched_with(Options {
        // Each of these pages lasts as long as one of them.
        navigation_timeout: Duration::from_secs(4),
        reply_timeout: Duration::from_secs(4),
        ..options()
    })
    .await;
    let round = ends("redirects", go(&mut browser, &server.url("/round"))).await;
    let Err(DeviceError::Refused { message }) = round else {
        panic!("{round:?}");
    };
    assert!(message.contains("ERR_TOO_MANY_REDIRECTS"), "{message}");
    for path in ["/refresh", "/script", "/states"] {
        let gone = ends(path, go(&mut browser, &server.url(path))).await;
        is_reported("settling", ends(path, browser.settle(SETTLE)).await);
        match ends(path, browser.capture()).await {
            // A page that never stays may have no screenshot, which is reported.
            Err(DeviceError::Timeout { .. }) => {}
            drawn => is_reported("a screenshot", drawn),
        }
        let context = ends(path, browser.page_context()).await.unwrap();
        match gone {
            Ok(_) => {
                // Between two of its pages, a tab may have no URL yet.
                let deadline = Instant::now() + BOUND;
                let mut url = context.url.unwrap();
                while !url.contains(path) {
                    assert!(Instant::now() < deadline, "{path}: {url:?}");
                    url = browser.page_context().await.unwrap().url.unwrap();
                }
            }
            Err(DeviceError::Timeout { .. }) => {
                let notices = context.notes.unwrap_or_default();
                assert!(
                    notices.contains("which is empty, is active now"),
                    "{notices:?}"
                );
            }
            Err(error) => panic!("{path}: {error}"),
        }
        works_on(&mut browser).await;
    }
}

#[tokio::test]
async fn endless_text_is_truncated() {
    let mut browser = launched_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await;
    let server = Server::start(|_| Some(Answer::page("<title>words</title><p>short"))).await;
    go(&mut browser, &server.url("/")).await.unwrap();
    let long = "document.title = 't'.repeat(5_000_000);\
        history.replaceState(null, '', '/' + 'u'.repeat(1_500_000));\
        document.querySelector('p').textContent = 'p'.repeat(500_000); 1";
    ends("long text", script(&mut browser, long)).await;
    let context = ends("its context", browser.page_context()).await.unwrap();
    let assert_short = |text: &str| assert!(text.len() < 5_000, "{} bytes", text.len());
    assert_short(context.url.as_deref().unwrap_or_default());
    for tab in &context.tabs {
        assert_short(&tab.title);
        assert_short(&tab.url);
    }
    let listed = ends("tabs", text_of(&mut browser, Action::ListTabs)).await;
    assert!(listed.len() < 10_000, "{} bytes", listed.len());
    for view in ["", "full", "interactive", "changes", "json"] {
        let text = ends(view, read(&mut browser, view)).await;
        assert!(text.len() < 100_000, "{view}: {} bytes", text.len());
    }
    let text = ends(
        "text",
        text_of(&mut browser, Action::PageText { tab: None }),
    )
    .await;
    assert!(text.len() < 1 << 20, "{} bytes", text.len());
    let alert = "setTimeout(() => { alert('a'.repeat(30_000_000)); document.title = 'on' }, 0); 1";
    ends("an alert", script(&mut browser, alert)).await;
    let (notices, _) = ends("its dialogs", notices_until(&mut browser, "shows an alert")).await;
    assert!(notices.len() < 5_000, "{} bytes", notices.len());
    works_on(&mut browser).await;
}

#[tokio::test]
async fn a_click_opens_one_tab_at_most() {
    let mut browser = headless().await;
    go(&mut browser, &page(OPENS)).await.unwrap();
    ends("a click", perform(&mut browser, click(10, 10)))
        .await
        .unwrap();
    let (_, changes) = ends(
        "its tab",
        notices_until(&mut browser, "A page opened tab_2"),
    )
    .await;
    assert_eq!(changes.len(), 1);
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 2);
    works_on(&mut browser).await;
}

/// Opens more windows than a browser may have tabs.
pub(crate) const OPENS: &str = "<title>opener</title>\
    <body onclick=\"for (let i = 0; i < 60; i++) window.open('about:blank', 'w' + i)\">";
