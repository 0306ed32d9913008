//! A browser in a window that fills a real screen: the same pixels, the same contract.

use std::time::Duration;

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{BoxScreen, Computer as _, Settle};
use telechir_protocol::{Action, Button, ClickCount};
use telechir_testkit::gate::{Part, require};
use telechir_testkit::page::PageWitness;

use crate::common::{SETTLE, at, click, go, options, page, perform, told};
use crate::pixels::check_squares;
use crate::screen::TestScreen;
use crate::server::{Answer, Server};

async fn windowed() -> Browser {
    windowed_with(options()).await
}

pub(crate) async fn windowed_with(options: Options) -> Browser {
    require(Part::Chromium);
    let screen = BoxScreen::new(TestScreen::open().await);
    Browser::launch(Surface::Window(screen), options)
        .await
        .unwrap()
}

async fn stage() -> (Browser, PageWitness, ()) {
    let mut browser = windowed().await;
    let witness = PageWitness::serve().await.unwrap();
    go(&mut browser, &witness.url()).await.unwrap();
    witness.until(|event| event.kind == "ready").await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    witness.take().await;
    (browser, witness, ())
}

telechir_device::computer_contract!(stage);

#[tokio::test]
async fn a_page_s_pixel_is_the_screen_s_pixel() {
    let (mut browser, _witness, ()) = stage().await;
    check_squares(&browser.capture().await.unwrap());
}

#[tokio::test]
async fn a_popup_fills_the_screen_and_the_opener_returns() {
    let mut browser = windowed().await;
    let opener = page(
        "<body style='background:rgb(1,2,3)' onclick=\"window.open('about:blank', 'x', 'width=300,height=200')\
         .document.write('<body style=background:rgb(9,8,7) onclick=window.close()>')\">",
    );
    go(&mut browser, &opener).await.unwrap();
    perform(&mut browser, click(500, 500)).await.unwrap();
    browser.page_context().await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let frame = browser.capture().await.unwrap();
    for (x, y) in [(0, 0), (1023, 767), (512, 384)] {
        assert_eq!(frame.pixel(x, y), Some([9, 8, 7]), "{x}, {y}");
    }
    perform(&mut browser, click(500, 500)).await.unwrap();
    browser.page_context().await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eq!(
        browser.capture().await.unwrap().pixel(512, 384),
        Some([1, 2, 3])
    );
}

#[tokio::test]
async fn no_menu_of_chromium_s_own_stays_over_the_page() {
    let mut browser = windowed().await;
    go(&mut browser, &page("<body style='background:rgb(1,2,3)'>"))
        .await
        .unwrap();
    browser.settle(SETTLE).await.unwrap();
    let before = browser.capture().await.unwrap();
    let right = Action::Click {
        at: Some(at(300, 300)),
        button: Button::Right,
        count: ClickCount::Single,
        modifiers: vec![],
    };
    perform(&mut browser, right).await.unwrap();
    // A menu of its own would need a moment to be made.
    let slow = Settle {
        quiet: Duration::from_millis(700),
        ..SETTLE
    };
    browser.settle(slow).await.unwrap();
    assert!(browser.capture().await.unwrap() == before);
}

#[tokio::test]
async fn what_a_page_wants_of_a_person_puts_nothing_over_it() {
    let mut browser = windowed().await;
    crate::events::wishes_are_told(&mut browser).await;
}

#[tokio::test]
async fn no_choice_of_chromium_s_own_is_put_over_the_page() {
    let mut browser = windowed().await;
    let site = Server::start(|_| {
        Some(Answer::page(
            "<title>asks</title><body style='background:rgb(1,2,3)' onclick='eval(unescape(location.hash.slice(1)))'>",
        ))
    })
    .await;
    for wish in [
        "navigator.usb.requestDevice({filters:[]})",
        "navigator.serial.requestPort()",
        "navigator.mediaDevices.getDisplayMedia()",
        "navigator.credentials.get({publicKey:{challenge:new Uint8Array(16)}})",
        "showOpenFilePicker()",
    ] {
        let url = site
            .url(&format!("/?{}#{wish}", wish.len()))
            .replace("127.0.0.1", "localhost");
        go(&mut browser, &url).await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        perform(&mut browser, click(300, 300)).await.unwrap();
        // A window of its own would need a moment to be made.
        let slow = Settle {
            quiet: Duration::from_millis(500),
            ..SETTLE
        };
        browser.settle(slow).await.unwrap();
        let frame = browser.capture().await.unwrap();
        for (x, y) in [(512, 20), (512, 200), (100, 100)] {
            assert_eq!(frame.pixel(x, y), Some([1, 2, 3]), "{wish} at {x}, {y}");
        }
    }
}

#[tokio::test]
async fn printing_puts_nothing_over_the_page() {
    let mut browser = windowed().await;
    go(
        &mut browser,
        &page("<body style='background:rgb(1,2,3)' onclick='print()'>"),
    )
    .await
    .unwrap();
    browser.settle(SETTLE).await.unwrap();
    let before = browser.capture().await.unwrap();
    perform(&mut browser, click(300, 300)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert!(browser.capture().await.unwrap() == before);
    told(&mut browser, "wanted to print").await;
    perform(&mut browser, click(300, 300)).await.unwrap();
}
