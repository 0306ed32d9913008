//! A browser in a window that fills a real screen: same pixels, same contract.

use std::time::Duration;

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{Computer as _, PageContextSource as _, Settle};
use telechir_protocol::{Action, Button, ClickCount};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::page::PageWitness;

use crate::common::{SETTLE, at, click, go, notices_until, options, page, perform};
use crate::pixels::check_squares;
use crate::screen::TestScreen;
use crate::server::{Answer, Server};

async fn windowed() -> Browser {
    windowed_with(options()).await
}

pub(crate) async fn windowed_with(options: Options) -> Browser {
    require(Component::Chromium);
    let screen = Box::new(TestScreen::open().await);
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

telechir_testkit::computer_contract!(stage);

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
async fn no_native_menu_covers_the_page() {
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
    // A native menu would take a moment to open.
    let slow = Settle {
        quiet: Duration::from_millis(700),
        ..SETTLE
    };
    browser.settle(slow).await.unwrap();
    assert!(browser.capture().await.unwrap() == before);
}

#[tokio::test]
async fn no_prompt_covers_the_page() {
    let mut browser = windowed().await;
    crate::events::requests_are_denied_and_reported(&mut browser).await;
}

#[tokio::test]
async fn no_native_chooser_covers_the_page() {
    let mut browser = windowed().await;
    let site = Server::start(|_| {
        Some(Answer::page(
            "<title>asks</title><body style='background:rgb(1,2,3)' onclick='eval(unescape(location.hash.slice(1)))'>",
        ))
    })
    .await;
    for request in [
        "navigator.usb.requestDevice({filters:[]})",
        "navigator.serial.requestPort()",
        "navigator.mediaDevices.getDisplayMedia()",
        "navigator.credentials.get({publicKey:{challenge:new Uint8Array(16)}})",
        "showOpenFilePicker()",
    ] {
        let url = site
            .url(&format!("/?{}#{request}", request.len()))
            .replace("127.0.0.1", "localhost");
        go(&mut browser, &url).await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        perform(&mut browser, click(300, 300)).await.unwrap();
        // A native window would take a moment to open.
        let slow = Settle {
            quiet: Duration::from_millis(500),
            ..SETTLE
        };
        browser.settle(slow).await.unwrap();
        let frame = browser.capture().await.unwrap();
        for (x, y) in [(512, 20), (512, 200), (100, 100)] {
            assert_eq!(frame.pixel(x, y), Some([1, 2, 3]), "{request} at {x}, {y}");
        }
    }
}

#[tokio::test]
async fn no_print_dialog_covers_the_page() {
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
    notices_until(&mut browser, "requested printing").await;
    perform(&mut browser, click(300, 300)).await.unwrap();
}
