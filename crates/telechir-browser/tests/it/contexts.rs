//! Browser contexts: several isolated browsers in one Chromium, and emulation.

use telechir_browser::{Browser, ColorScheme, Emulation, Options, Surface};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::{Action, Size};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;

use crate::common::{SIZE, click_on, go, launched_with, options, perform, read, ref_of, text_of};
use crate::common::{script, title};

/// Reports what an earlier visit stored, and stores it.
const PAGE: &str = "<p id=p></p><script>\
    document.title = `knows ${document.cookie}, ${localStorage.seen}`;\
    document.cookie = 'login=ada'; localStorage.seen = 'before'</script>\
    <button onclick=\"window.open('{here}/other', '_blank')\">open</button>";

/// Reports the emulated values in a page, in a cross-site frame and in a worker.
const EMULATION_PAGE: &str = "<script>\
    const report = () => [navigator.language, navigator.languages.join('+'),\
        Intl.DateTimeFormat().resolvedOptions().locale,\
        Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent,\
        matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'].join(' | ');\
    if (parent !== self) parent.postMessage(report(), '*');\
    onmessage = event => document.body.dataset.frame = event.data;\
    const work = 'postMessage([navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone].join())';\
    new Worker(URL.createObjectURL(new Blob([work]))).onmessage = event => document.body.dataset.worker = event.data;\
    </script><body><script>parent === self && document.write(`<iframe src='{elsewhere}/report'></iframe>`)</script>";

fn austrian() -> Emulation {
    Emulation {
        locale: Some("de-AT".to_owned()),
        timezone: Some("Asia/Tokyo".to_owned()),
        user_agent: Some("Wanderer/1.0".to_owned()),
        color_scheme: Some(ColorScheme::Dark),
        ..Emulation::default()
    }
}

fn in_austria() -> Options {
    Options {
        allows_scripts: true,
        emulation: austrian(),
        ..options()
    }
}

const EXPECTED: &str = "de-AT | de-AT+de | de-AT | Asia/Tokyo | Wanderer/1.0 | dark";

async fn seen_by_all(browser: &mut Browser, site: &Site) {
    go(browser, &site.url("report")).await.unwrap();
    let page = script(browser, "report()").await;
    assert!(page.contains(EXPECTED), "the page: {page}");
    for (who, wanted) in [("frame", EXPECTED), ("worker", "de-AT,Asia/Tokyo")] {
        let look = format!("document.body.dataset.{who} ?? 'nothing yet'");
        let mut result = script(browser, &look).await;
        while result.contains("nothing yet") {
            result = script(browser, &look).await;
        }
        assert!(result.contains(wanted), "the {who}: {result}");
    }
}

#[tokio::test]
async fn emulation_applies_to_pages_frames_and_workers() {
    let site = Site::serve([("report", EMULATION_PAGE)]).await.unwrap();
    let mut browser = launched_with(in_austria()).await;
    seen_by_all(&mut browser, &site).await;
}

#[tokio::test]
async fn contexts_of_one_chromium_are_isolated_and_close_independently() {
    let site = Site::serve([
        ("page", PAGE),
        ("report", EMULATION_PAGE),
        ("other", "<title>other</title>"),
    ]);
    let site = site.await.unwrap();
    let scripted = Options {
        allows_scripts: true,
        ..options()
    };
    let mut first = launched_with(scripted).await;
    go(&mut first, &site.url("page")).await.unwrap();
    let small = Size::new(640, 480);
    let mut second = first.isolated(small, in_austria()).await.unwrap();
    go(&mut second, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut second).await, "knows , undefined");
    assert_eq!(
        script(&mut second, "[innerWidth, innerHeight].join()").await,
        "640,480"
    );
    assert_eq!(second.capture().await.unwrap().size(), small);
    let result = read(&mut second, "full").await;
    perform(&mut second, click_on(ref_of(&result, "open")))
        .await
        .unwrap();
    assert_eq!(title(&mut second).await, "other", "a popup is active");
    assert_eq!(second.page_context().await.unwrap().tabs.len(), 2);
    assert_eq!(first.page_context().await.unwrap().tabs.len(), 1);
    seen_by_all(&mut second, &site).await;
    // Emulation of one context does not affect the other.
    assert_ne!(script(&mut first, "navigator.language").await, "de-AT");
    go(&mut first, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut first).await, "knows login=ada, before");

    second.close().await.unwrap();
    let mut third = first.isolated(SIZE, options()).await.unwrap();
    go(&mut third, &site.url("page")).await.unwrap();
    assert_eq!(title(&mut third).await, "knows , undefined");
    first.close().await.unwrap();
    let lost = go(&mut third, &site.url("page")).await.unwrap_err();
    assert!(matches!(lost, DeviceError::Disconnected { .. }), "{lost:?}");
}

#[tokio::test]
async fn unknown_locales_zones_and_scales_are_errors() {
    require(Component::Chromium);
    let zone = Emulation {
        timezone: Some("Mars/Olympus".to_owned()),
        ..Emulation::default()
    };
    let locale = Emulation {
        locale: Some("no such language".to_owned()),
        ..Emulation::default()
    };
    for (emulation, fragment) in [
        (zone, "timezone \"Mars/Olympus\""),
        (locale, "locale \"no such"),
    ] {
        let options = Options {
            emulation,
            ..options()
        };
        let refused = Browser::launch(Surface::Headless(SIZE), options).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(fragment), "{refused}");
    }
    let options = Options {
        scale: 9.0,
        ..options()
    };
    let refused = Browser::launch(Surface::Headless(SIZE), options).await;
    assert!(refused.unwrap_err().to_string().contains("from 0.25 to 4"));
}

#[tokio::test]
async fn a_scale_applies_to_screenshots_and_points_but_not_to_page_sizes() {
    let mut browser = launched_with(Options {
        allows_scripts: true,
        scale: 2.0,
        ..options()
    })
    .await;
    let html = "<title>x</title><script>count = 0</script><body style='margin:0'><button style='position:absolute;\
         left:100px;top:50px;width:40px;height:20px' onclick='document.title =\
         [event.clientX, event.clientY, ++window.count]'>press</button>";
    go(&mut browser, &crate::common::page(html)).await.unwrap();
    let result = "[innerWidth, innerHeight, devicePixelRatio].join()";
    assert_eq!(script(&mut browser, result).await, "512,384,2");
    let frame = browser.capture().await.unwrap();
    assert_eq!(frame.size(), SIZE);
    perform(&mut browser, crate::common::click(240, 120))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "120,60,1");
    let result = read(&mut browser, "full").await;
    perform(&mut browser, click_on(ref_of(&result, "press")))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "120,60,2");
    let screenshot_with_elements = browser.screenshot_with_elements(9).await.unwrap();
    assert_eq!(screenshot_with_elements.pixel_ratio, 2.0);
    let region = screenshot_with_elements.marks[0].region;
    assert_eq!(region.size(), Size::new(80, 40));
    text_of(&mut browser, Action::CursorPosition).await;
}
