//! Contexts: several browsers in one Chromium that know nothing of each other, and what pages are
//! told of whoever looks at them.

use telechir_browser::{Browser, ColorScheme, Emulation, Options, Surface};
use telechir_device::{Computer as _, DeviceError};
use telechir_protocol::{Action, Size};
use telechir_testkit::gate::{Part, require};
use telechir_testkit::site::Site;

use crate::common::{SIZE, ask, click_on, go, headless_with, options, perform, read, ref_of};
use crate::common::{script, scripted, title};

/// Says what an earlier visit stored, and stores it.
const PAGE: &str = "<p id=p></p><script>\
    document.title = `knows ${document.cookie}, ${localStorage.seen}`;\
    document.cookie = 'login=ada'; localStorage.seen = 'before'</script>\
    <button onclick=\"window.open('{here}/other', '_blank')\">open</button>";

/// What a page, a frame of another site in it and a worker of it are told.
const TOLD: &str = "<script>\
    const told = () => [navigator.language, navigator.languages.join('+'),\
        Intl.DateTimeFormat().resolvedOptions().locale,\
        Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent,\
        matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'].join(' | ');\
    if (parent !== self) parent.postMessage(told(), '*');\
    onmessage = event => document.body.dataset.frame = event.data;\
    const work = 'postMessage([navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone].join())';\
    new Worker(URL.createObjectURL(new Blob([work]))).onmessage = event => document.body.dataset.worker = event.data;\
    </script><body><script>parent === self && document.write(`<iframe src='{elsewhere}/told'></iframe>`)</script>";

fn austrian() -> Emulation {
    Emulation {
        locale: Some("de-AT".to_owned()),
        timezone: Some("Asia/Tokyo".to_owned()),
        user_agent: Some("Wanderer/1.0".to_owned()),
        color_scheme: Some(ColorScheme::Dark),
    }
}

const TOLD_IT: &str = "de-AT | de-AT+de | de-AT | Asia/Tokyo | Wanderer/1.0 | dark";

async fn seen_by_all(browser: &mut Browser, site: &Site) {
    go(browser, &site.url("told")).await.unwrap();
    let page = script(browser, "told()").await;
    assert!(page.contains(TOLD_IT), "the page: {page}");
    for (who, wanted) in [("frame", TOLD_IT), ("worker", "de-AT,Asia/Tokyo")] {
        let look = format!("document.body.dataset.{who} ?? 'nothing yet'");
        let mut told = script(browser, &look).await;
        while told.contains("nothing yet") {
            told = script(browser, &look).await;
        }
        assert!(told.contains(wanted), "the {who}: {told}");
    }
}

#[tokio::test]
async fn a_started_browser_is_whom_its_options_say_in_pages_frames_and_workers() {
    let site = Site::serve([("told", TOLD)]).await.unwrap();
    let mut browser = headless_with(Options {
        scripts: true,
        persona: austrian(),
        ..options()
    })
    .await;
    seen_by_all(&mut browser, &site).await;
}

#[tokio::test]
async fn contexts_of_one_chromium_share_nothing_and_end_alone() {
    let site = Site::serve([
        ("page", PAGE),
        ("told", TOLD),
        ("other", "<title>other</title>"),
    ]);
    let site = site.await.unwrap();
    let mut first = scripted().await;
    go(&mut first, &site.url("page")).await.unwrap();
    let small = Size::new(640, 480);
    let mut second = first.isolated(small, austrian()).await.unwrap();
    go(&mut second, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut second).await, "knows , undefined");
    assert_eq!(
        script(&mut second, "[innerWidth, innerHeight].join()").await,
        "640,480"
    );
    assert_eq!(second.capture().await.unwrap().size(), small);
    let told = read(&mut second, "all").await;
    perform(&mut second, click_on(ref_of(&told, "open")))
        .await
        .unwrap();
    assert_eq!(title(&mut second).await, "other", "a popup is in front");
    assert_eq!(second.page_context().await.unwrap().tabs.len(), 2);
    assert_eq!(first.page_context().await.unwrap().tabs.len(), 1);
    seen_by_all(&mut second, &site).await;
    // What one is told is not told to the other.
    assert_ne!(script(&mut first, "navigator.language").await, "de-AT");
    go(&mut first, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut first).await, "knows login=ada, before");

    second.close().await.unwrap();
    let mut third = first.isolated(SIZE, Emulation::default()).await.unwrap();
    go(&mut third, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut third).await, "knows , undefined");
    first.close().await.unwrap();
    let lost = go(&mut third, &site.url("page")).await.unwrap_err();
    assert!(matches!(lost, DeviceError::Disconnected { .. }), "{lost:?}");
}

#[tokio::test]
async fn what_chromium_does_not_know_is_one_message() {
    require(Part::Chromium);
    let zone = Emulation {
        timezone: Some("Mars/Olympus".to_owned()),
        ..Emulation::default()
    };
    let locale = Emulation {
        locale: Some("no such language".to_owned()),
        ..Emulation::default()
    };
    for (persona, words) in [
        (zone, "timezone \"Mars/Olympus\""),
        (locale, "locale \"no such"),
    ] {
        let options = Options {
            persona,
            ..options()
        };
        let refused = Browser::launch(Surface::Headless(SIZE), options).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let options = Options {
        scale: 9.0,
        ..options()
    };
    let refused = Browser::launch(Surface::Headless(SIZE), options).await;
    assert!(refused.unwrap_err().to_string().contains("from 0.25 to 4"));
}

#[tokio::test]
async fn at_another_scale_screenshots_and_places_are_the_screen_s_and_sizes_the_page_s() {
    let mut browser = headless_with(Options {
        scripts: true,
        scale: 2.0,
        ..options()
    })
    .await;
    let html = "<title>x</title><script>count = 0</script><body style='margin:0'><button style='position:absolute;\
         left:100px;top:50px;width:40px;height:20px' onclick='document.title =\
         [event.clientX, event.clientY, ++window.count]'>press</button>";
    go(&mut browser, &crate::common::page(html)).await.unwrap();
    let told = "[innerWidth, innerHeight, devicePixelRatio].join()";
    assert_eq!(script(&mut browser, told).await, "512,384,2");
    let frame = browser.capture().await.unwrap();
    assert_eq!(frame.size(), SIZE);
    perform(&mut browser, crate::common::click(240, 120))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "120,60,1");
    let told = read(&mut browser, "all").await;
    perform(&mut browser, click_on(ref_of(&told, "press")))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "120,60,2");
    let paired = browser.paired(9).await.unwrap();
    assert_eq!(paired.pixel_ratio, 2.0);
    let region = paired.marks[0].region;
    assert_eq!(region.size(), Size::new(80, 40));
    ask(&mut browser, Action::CursorPosition).await;
}
